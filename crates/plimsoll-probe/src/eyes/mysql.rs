//! MariaDB and MySQL, by their status variables and the views that show sessions and locks.

mod counted;
mod plans;
mod wire;

use std::time::Duration;

use plimsoll_model::metric;
use plimsoll_model::part::Login;

use super::Source;
use super::fault::Fault;
use super::figures::Figures;
use super::link::{Blind, Link, shortly};
use crate::parse::mysql::{Status, status};
use crate::parse::statement::by_shape;
use counted::Counted;
use wire::Session;

/// What is counted and what is there.
const STATUS: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Uptime', 'Threads_connected', 'Threads_running', \
    'Connection_errors_max_connections', 'Questions', 'Created_tmp_tables', 'Created_tmp_disk_tables', \
    'Sort_merge_passes', 'Sort_rows', 'Select_scan', 'Select_full_join', 'Handler_read_rnd_next', \
    'Innodb_row_lock_current_waits', 'Innodb_row_lock_time', 'Innodb_row_lock_waits', 'Innodb_buffer_pool_reads', \
    'Innodb_buffer_pool_read_requests', 'Innodb_buffer_pool_wait_free', 'Innodb_log_waits', 'Innodb_deadlocks', 'Connections')";
/// Settings with the files where they are written: MariaDB since 10.5.
const WRITTEN: &str = "SELECT 'setting', VARIABLE_NAME, GLOBAL_VALUE, GLOBAL_VALUE_PATH FROM information_schema.SYSTEM_VARIABLES \
    WHERE VARIABLE_NAME IN (";
/// The same without.
const SETTINGS: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name IN (";
const NAMES: &str = "'max_connections', 'innodb_buffer_pool_size', 'tmp_table_size', 'max_heap_table_size', 'sort_buffer_size', \
    'innodb_log_buffer_size', 'innodb_io_capacity', 'innodb_lock_wait_timeout', 'performance_schema', \
    'max_statement_time', 'max_execution_time')";
/// What `InnoDB`'s files hold, of MariaDB and of MySQL since 8.0. It looks at each of them, so it is asked once.
const SIZES: [&str; 2] = [
    "SELECT 'size', SUM(FILE_SIZE) FROM information_schema.INNODB_SYS_TABLESPACES WHERE NAME <> 'innodb_temporary' AND \
     NAME NOT LIKE 'innodb_undo%'",
    "SELECT 'size', SUM(FILE_SIZE) FROM information_schema.INNODB_TABLESPACES WHERE SPACE_TYPE IN ('Single', 'General') OR \
     NAME = 'innodb_system'",
];
/// What must be left of a question's time for that.
const SIZE_TIME_MIN: Duration = Duration::from_millis(400);
/// What is carried out.
const RUNNING: &str = "SELECT 'running', LEFT(INFO, 400), COUNT(*) FROM information_schema.PROCESSLIST \
    WHERE COMMAND IN ('Query', 'Execute') AND ID <> CONNECTION_ID() AND INFO IS NOT NULL \
    GROUP BY LEFT(INFO, 400) ORDER BY 3 DESC LIMIT 100";
/// Who holds rows that others wait for, and waits for none himself: MariaDB.
const BLOCKERS: &str = "SELECT 'blocker', COALESCE(LEFT(b.trx_query, 400), ''), COUNT(*) FROM information_schema.INNODB_LOCK_WAITS w \
    JOIN information_schema.INNODB_TRX b ON b.trx_id = w.blocking_trx_id WHERE b.trx_state <> 'LOCK WAIT' \
    GROUP BY 2 ORDER BY 3 DESC LIMIT 10";
/// MySQL since 8.0.
const BLOCKERS_SYS: &str = "SELECT 'blocker', COALESCE(LEFT(b.trx_query, 400), ''), COUNT(*) FROM performance_schema.data_lock_waits w \
    JOIN information_schema.INNODB_TRX b ON b.trx_id = w.BLOCKING_ENGINE_TRANSACTION_ID WHERE b.trx_state <> 'LOCK WAIT' \
    GROUP BY 2 ORDER BY 3 DESC LIMIT 10";
/// Whether a session may see those of others.
const ACCESS: &str = "SELECT 'lacking', 'PROCESS' FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM information_schema.USER_PRIVILEGES \
    WHERE PRIVILEGE_TYPE = 'PROCESS')";
/// Statements that are told of a second.
const TOLD_MAX: usize = 4;
/// Codes of those who may not ask: wrong password, host not let in, privilege lacking.
const DENIED: [&str; 5] = ["1045", "1130", "1227", "1142", "1698"];
/// As many sessions as there may be, of all or of this account.
const TOO_MANY: [&str; 2] = ["1040", "1203"];
/// What an answer begins with that came to nobody.
const REFUSED: &str = "refused";

/// MariaDB or MySQL.
#[derive(Debug, Default)]
pub(crate) struct Mysql {
    login: Option<Login>,
    /// Whoever runs this, as the machine knows him.
    own_name: String,
    session: Session,
    /// Its views do not tell where settings are written.
    writes_unknown: bool,
    /// When it was asked last, s since its start; and how often that fell.
    uptime_s: u64,
    lives: u32,
    /// What `InnoDB` holds, as a line, when that was asked; empty where it did not say.
    size: Option<String>,
    /// What it counts of statements.
    counted: Counted,
}

impl Mysql {
    pub(crate) fn new(login: Option<Login>, own_name: String) -> Self {
        Self {
            login,
            own_name,
            ..Self::default()
        }
    }

    fn enter(&mut self, link: &mut Link) -> Result<(), Fault> {
        let (user, password) = match &self.login {
            Some(login) => (login.user.as_str(), login.password.as_str()),
            None => (self.own_name.as_str(), ""),
        };
        link.open()?;
        self.session.enter(link, user, password)?;
        self.session.ask(
            link,
            "SET SESSION TRANSACTION READ ONLY",
            &mut String::new(),
        )
    }

    /// Carries out one statement; its rows.
    pub(super) fn carry_out(&mut self, link: &mut Link, statement: &str) -> Result<String, Blind> {
        let mut lines = String::new();
        let entered = if link.is_open() {
            Ok(())
        } else {
            self.enter(link)
        };
        entered
            .and_then(|()| self.session.ask(link, statement, &mut lines))
            .map_err(|fault| fault.into_blind(&DENIED))?;
        Ok(lines)
    }

    fn answer(&mut self, link: &mut Link) -> Result<String, Fault> {
        if !link.is_open() {
            self.enter(link)?;
        }
        let mut lines = String::new();
        self.ask_as(link, "status", STATUS, &mut lines)?;
        if !self.writes_unknown {
            let asked = self
                .session
                .ask(link, &format!("{WRITTEN}{NAMES}"), &mut lines);
            self.writes_unknown = match asked {
                Ok(()) => false,
                Err(Fault::Said { .. }) => true,
                Err(fault) => return Err(fault),
            };
        }
        if self.writes_unknown {
            self.ask_as(link, "setting", &format!("{SETTINGS}{NAMES}"), &mut lines)?;
        }
        self.session.ask(link, ACCESS, &mut lines)?;
        self.session.ask(link, RUNNING, &mut lines)?;
        let is_waited = status(&lines).is_some_and(|read| {
            read.figures
                .get("innodb_row_lock_current_waits")
                .is_some_and(|&waits| waits > 0)
                && read.sees_all
        });
        if is_waited {
            let is_mariadb = self.session.version.contains("MariaDB");
            let question = if is_mariadb { BLOCKERS } else { BLOCKERS_SYS };
            match self.session.ask(link, question, &mut lines) {
                // Who holds it is a help and no more.
                Ok(()) | Err(Fault::Said { .. }) => {}
                Err(fault) => return Err(fault),
            }
        }
        self.add_size(link, &mut lines)?;
        if self.counted.look(&mut self.session, link).is_err() {
            // What its sessions do is known; the next second begins a session of its own.
            link.close();
        }
        Ok(lines)
    }

    /// What its tables hold, asked once: a server that does not say is not asked again.
    fn add_size(&mut self, link: &mut Link, lines: &mut String) -> Result<(), Fault> {
        if self.size.is_none() && link.has_time(SIZE_TIME_MIN) {
            let question = SIZES[usize::from(!self.session.version.contains("MariaDB"))];
            self.size = Some(String::new());
            let mut size = String::new();
            match self.session.ask(link, question, &mut size) {
                Ok(()) => self.size = Some(size),
                Err(Fault::Said { .. }) => {}
                Err(fault) => return Err(fault),
            }
        }
        lines.push_str(self.size.as_deref().unwrap_or_default());
        Ok(())
    }

    /// Asks, and puts a word before each row.
    fn ask_as(
        &mut self,
        link: &mut Link,
        word: &str,
        question: &str,
        lines: &mut String,
    ) -> Result<(), Fault> {
        let mut own = String::new();
        self.session.ask(link, question, &mut own)?;
        for line in own.lines() {
            lines.extend([word, "\t", line, "\n"]);
        }
        Ok(())
    }
}

impl Source for Mysql {
    fn known_as(&mut self, name: &str) {
        name.clone_into(&mut self.own_name);
    }

    fn ask(&mut self, link: &mut Link) -> Result<String, Blind> {
        match self.answer(link) {
            Ok(lines) => Ok(lines),
            Err(Fault::Said { code, message }) if TOO_MANY.contains(&code.as_str()) => {
                link.close();
                Ok(format!("{REFUSED}\t{message}"))
            }
            Err(fault) => Err(fault.into_blind(&DENIED)),
        }
    }

    fn tell(&mut self, text: &str, figures: &mut Figures<'_>) -> Result<(), Blind> {
        let is_refused = text.starts_with(REFUSED);
        let refused = f64::from(u8::from(is_refused));
        figures.level(metric::MYSQL_EYE_REFUSED, &[], Some(refused));
        if is_refused {
            return Ok(());
        }
        let read = status(text).ok_or_else(|| Blind::Strange(shortly(text)))?;
        let uptime_s = read.figures.get("uptime").copied().unwrap_or(0);
        self.lives += u32::from(uptime_s < self.uptime_s);
        self.uptime_s = uptime_s;
        figures.identity(&self.lives.to_string());
        if !read.sees_all {
            figures.note(
                "sees little",
                "MariaDB shows this account only its own sessions; as an administrator: `GRANT PROCESS ON *.* TO …`",
            );
        }
        let mut settings = read.settings.iter();
        let is_off = settings.any(|one| one.name == "performance_schema" && one.value == "OFF");
        self.counted.tell(is_off, figures);
        let size = read.size.map(|bytes| bytes as f64);
        figures.level(metric::DATABASE_SIZE, &[], size);
        let entered_s = self.session.entered_s;
        figures.level(metric::DATABASE_SESSION_START, &[], entered_s);
        tell_figures(&read, figures);
        tell_statements(&read, figures);
        for setting in &read.settings {
            figures.setting(&setting.name, "", &setting.file, setting.value.parse().ok());
        }
        Ok(())
    }

    fn remedy(&self, blind: &Blind) -> String {
        match blind {
            Blind::Denied(_) => "as its administrator: `CREATE USER eye@localhost IDENTIFIED BY '…'; GRANT PROCESS ON *.* TO \
                eye@localhost; GRANT SELECT ON performance_schema.* TO eye@localhost`, and give name and password: `watch: { mariadb: { at: …, user: eye, password: … } }`"
                .to_owned(),
            _ => "say where it listens, as `SHOW VARIABLES LIKE 'socket'` and `SHOW VARIABLES LIKE 'port'` tell".to_owned(),
        }
    }
}

fn tell_figures(read: &Status, figures: &mut Figures<'_>) {
    let figure = |name: &str| read.figures.get(name).copied();
    for (name, field) in [
        (metric::MYSQL_SESSIONS, "threads_connected"),
        (metric::MYSQL_SESSIONS_RUNNING, "threads_running"),
        (
            metric::MYSQL_ROW_LOCKS_WAITED,
            "innodb_row_lock_current_waits",
        ),
    ] {
        figures.level(name, &[], figure(field).map(|level| level as f64));
    }
    for (name, field, scale) in [
        (
            metric::MYSQL_REFUSED,
            "connection_errors_max_connections",
            1.0,
        ),
        (metric::MYSQL_STATEMENTS, "questions", 1.0),
        (metric::MYSQL_TEMPORARY_TABLES, "created_tmp_tables", 1.0),
        (
            metric::MYSQL_TEMPORARY_ON_DISK,
            "created_tmp_disk_tables",
            1.0,
        ),
        (metric::MYSQL_SORT_PASSES, "sort_merge_passes", 1.0),
        (metric::MYSQL_SCANS, "select_scan", 1.0),
        (metric::MYSQL_ROWS_SCANNED, "handler_read_rnd_next", 1.0),
        (metric::MYSQL_ROW_LOCK_TIME, "innodb_row_lock_time", 1e-3),
        (metric::MYSQL_ROW_LOCK_WAITS, "innodb_row_lock_waits", 1.0),
        (metric::MYSQL_POOL_READS, "innodb_buffer_pool_reads", 1.0),
        (
            metric::MYSQL_POOL_REQUESTS,
            "innodb_buffer_pool_read_requests",
            1.0,
        ),
        (
            metric::MYSQL_POOL_WAITS,
            "innodb_buffer_pool_wait_free",
            1.0,
        ),
        (metric::MYSQL_LOG_WAITS, "innodb_log_waits", 1.0),
        (metric::MYSQL_DEADLOCKS, "innodb_deadlocks", 1.0),
        (metric::DATABASE_SESSIONS_BEGUN, "connections", 1.0),
    ] {
        figures.counter(name, &[], figure(field), scale);
    }
}

fn tell_statements(read: &Status, figures: &mut Figures<'_>) {
    let running = read
        .running
        .iter()
        .map(|one| (one.text.as_str(), one.sessions as f64));
    for (statement, sessions) in by_shape(running, TOLD_MAX) {
        let of = [("statement", statement.as_str())];
        figures.level(metric::MYSQL_RUNNING, &of, Some(sessions));
    }
    let blockers = read
        .blockers
        .iter()
        .map(|one| (one.text.as_str(), one.sessions as f64));
    for (statement, blocked) in by_shape(blockers, TOLD_MAX) {
        // Without a statement it does nothing, and holds what it has.
        let statement = if statement.is_empty() {
            "nothing"
        } else {
            &statement
        };
        figures.level(
            metric::MYSQL_BLOCKING,
            &[("statement", statement)],
            Some(blocked),
        );
    }
}
