//! MariaDB and MySQL, by their status variables and the views that show sessions and locks.

use std::time::Duration;

use plimsoll_model::component::Login;
use plimsoll_model::metric;

use super::digest_stats::DigestStats;
use super::parse::{Status, status};
use super::wire::MysqlSession;
use crate::collectors::link::{ComponentLink, ScrapeError, shortly};
use crate::collectors::metrics::{MetricsRecorder, Sink};
use crate::collectors::query_error::QueryError;
use crate::collectors::statements::shapes::by_shape;
use crate::collectors::{Collected, Scraper};

/// Counters and levels.
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
    'max_statement_time', 'max_execution_time', 'innodb_flush_log_at_trx_commit', 'skip_name_resolve', 'join_buffer_size', \
    'read_buffer_size', 'read_rnd_buffer_size', 'thread_stack')";
/// Size of `InnoDB`'s files, for MariaDB and for MySQL since 8.0. The query reads each file, so it runs once.
const SIZES: [&str; 2] = [
    "SELECT 'size', SUM(FILE_SIZE) FROM information_schema.INNODB_SYS_TABLESPACES WHERE NAME <> 'innodb_temporary' AND \
     NAME NOT LIKE 'innodb_undo%'",
    "SELECT 'size', SUM(FILE_SIZE) FROM information_schema.INNODB_TABLESPACES WHERE SPACE_TYPE IN ('Single', 'General') OR \
     NAME = 'innodb_system'",
];
/// Time that must remain before the deadline for that.
const SIZE_TIME_MIN: Duration = Duration::from_millis(400);
/// The statements.
const RUNNING: &str = "SELECT 'running', LEFT(INFO, 400), COUNT(*) FROM information_schema.PROCESSLIST \
    WHERE COMMAND IN ('Query', 'Execute') AND ID <> CONNECTION_ID() AND INFO IS NOT NULL \
    GROUP BY LEFT(INFO, 400) ORDER BY 3 DESC LIMIT 100";
/// Sessions that hold rows that others wait for, and wait for none themselves: MariaDB.
const BLOCKERS: &str = "SELECT 'blocker', COALESCE(LEFT(b.trx_query, 400), ''), COUNT(*) FROM information_schema.INNODB_LOCK_WAITS w \
    JOIN information_schema.INNODB_TRX b ON b.trx_id = w.blocking_trx_id WHERE b.trx_state <> 'LOCK WAIT' \
    GROUP BY 2 ORDER BY 3 DESC LIMIT 10";
/// MySQL since 8.0.
const BLOCKERS_SYS: &str = "SELECT 'blocker', COALESCE(LEFT(b.trx_query, 400), ''), COUNT(*) FROM performance_schema.data_lock_waits w \
    JOIN information_schema.INNODB_TRX b ON b.trx_id = w.BLOCKING_ENGINE_TRANSACTION_ID WHERE b.trx_state <> 'LOCK WAIT' \
    GROUP BY 2 ORDER BY 3 DESC LIMIT 10";
/// Whether a session may list those of others.
const ACCESS: &str = "SELECT 'lacking', 'PROCESS' FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM information_schema.USER_PRIVILEGES \
    WHERE PRIVILEGE_TYPE = 'PROCESS')";
/// Statements that are recorded for a second at most.
const REPORTED_MAX: usize = 4;
/// Error codes of denied access: wrong password, host not let in, privilege lacking.
const DENIED: [&str; 5] = ["1045", "1130", "1227", "1142", "1698"];
/// As many sessions as there may be, of all or of this account.
const TOO_MANY: [&str; 2] = ["1040", "1203"];

/// MariaDB or MySQL.
#[derive(Debug, Default)]
pub(crate) struct MysqlCollector {
    login: Option<Login>,
    /// User name of this process on the machine.
    own_name: String,
    session: MysqlSession,
    /// Its views do not contain the files of settings.
    writes_unknown: bool,
    /// Uptime at the last scrape, s; and how often it decreased.
    uptime_s: u64,
    lives: u32,
    /// `InnoDB`'s data size, as a line, once queried; empty where there was no result.
    size: Option<String>,
    /// Its statement statistics.
    counted: DigestStats,
}

impl MysqlCollector {
    pub(crate) fn new(login: Option<Login>, own_name: String) -> Self {
        Self {
            login,
            own_name,
            ..Self::default()
        }
    }

    fn enter(&mut self, link: &mut ComponentLink) -> Result<(), QueryError> {
        let (user, password) = match &self.login {
            Some(login) => (login.user.as_str(), login.password.as_str()),
            None => (self.own_name.as_str(), ""),
        };
        link.open()?;
        self.session.enter(link, user, password)?;
        self.session.query(
            link,
            "SET SESSION TRANSACTION READ ONLY",
            &mut String::new(),
        )
    }

    /// Its session: a new one unless the connection is open.
    fn open_session(&mut self, link: &mut ComponentLink) -> Result<&mut MysqlSession, QueryError> {
        if !link.is_open() {
            self.enter(link)?;
        }
        Ok(&mut self.session)
    }

    /// Executes one statement; returns its rows.
    pub(in crate::collectors) fn carry_out(
        &mut self,
        link: &mut ComponentLink,
        statement: &str,
    ) -> Result<String, ScrapeError> {
        let mut lines = String::new();
        self.open_session(link)
            .and_then(|session| session.query(link, statement, &mut lines))
            .map_err(|error| error.into_scrape_error(&DENIED))?;
        Ok(lines)
    }

    fn answer(&mut self, link: &mut ComponentLink) -> Result<String, QueryError> {
        self.open_session(link)?;
        let mut lines = String::new();
        self.query_as(link, "status", STATUS, &mut lines)?;
        if !self.writes_unknown {
            let asked = self
                .session
                .query(link, &format!("{WRITTEN}{NAMES}"), &mut lines);
            self.writes_unknown = match asked {
                Ok(()) => false,
                Err(QueryError::Rejected { .. }) => true,
                Err(error) => return Err(error),
            };
        }
        if self.writes_unknown {
            self.query_as(link, "setting", &format!("{SETTINGS}{NAMES}"), &mut lines)?;
        }
        self.session.query(link, ACCESS, &mut lines)?;
        self.session.query(link, RUNNING, &mut lines)?;
        let is_waited = status(&lines).is_some_and(|read| {
            read.figures
                .get("innodb_row_lock_current_waits")
                .is_some_and(|&waits| waits > 0)
                && read.sees_all
        });
        if is_waited {
            let is_mariadb = self.session.version.contains("MariaDB");
            let question = if is_mariadb { BLOCKERS } else { BLOCKERS_SYS };
            match self.session.query(link, question, &mut lines) {
                // The blocking session is optional.
                Ok(()) | Err(QueryError::Rejected { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        self.add_size(link, &mut lines)?;
        if self.counted.sample(&mut self.session, link).is_err() {
            // What its sessions do is recorded; the next second opens a new session.
            link.close();
        }
        Ok(lines)
    }

    /// Its data size, queried once: a server that returns none is not queried again.
    fn add_size(&mut self, link: &mut ComponentLink, lines: &mut String) -> Result<(), QueryError> {
        if self.size.is_none() && link.has_time(SIZE_TIME_MIN) {
            let question = SIZES[usize::from(!self.session.version.contains("MariaDB"))];
            self.size = Some(String::new());
            let mut size = String::new();
            match self.session.query(link, question, &mut size) {
                Ok(()) => self.size = Some(size),
                Err(QueryError::Rejected { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        lines.push_str(self.size.as_deref().unwrap_or_default());
        Ok(())
    }

    /// Runs a query, and puts a word before each row.
    fn query_as(
        &mut self,
        link: &mut ComponentLink,
        word: &str,
        question: &str,
        lines: &mut String,
    ) -> Result<(), QueryError> {
        let mut own = String::new();
        self.session.query(link, question, &mut own)?;
        for line in own.lines() {
            lines.extend([word, "\t", line, "\n"]);
        }
        Ok(())
    }

    /// The rows; `None` where the server refuses another session.
    fn fetch(&mut self, link: &mut ComponentLink) -> Result<Option<String>, ScrapeError> {
        match self.answer(link) {
            Ok(lines) => Ok(Some(lines)),
            Err(QueryError::Rejected { code, .. }) if TOO_MANY.contains(&code.as_str()) => {
                link.close();
                Ok(None)
            }
            Err(error) => Err(error.into_scrape_error(&DENIED)),
        }
    }

    fn record(&mut self, text: Option<&str>, metrics: &mut MetricsRecorder<'_>) -> Collected {
        let refused = f64::from(u8::from(text.is_none()));
        metrics.level(metric::MYSQL_COLLECTOR_REFUSED, &[], Some(refused));
        let Some(text) = text else {
            return Ok(());
        };
        let read = status(text).ok_or_else(|| ScrapeError::Strange(shortly(text)))?;
        let uptime_s = read.figures.get("uptime").copied().unwrap_or(0);
        self.lives += u32::from(uptime_s < self.uptime_s);
        self.uptime_s = uptime_s;
        metrics.identity(&self.lives.to_string());
        if !read.sees_all {
            metrics.note(
                "limited view",
                "MariaDB shows this account only its own sessions; as an administrator: `GRANT PROCESS ON *.* TO …`",
            );
        }
        let mut settings = read.settings.iter();
        let is_off =
            settings.any(|setting| setting.name == "performance_schema" && setting.value == "OFF");
        self.counted.record(is_off, metrics);
        let size = read.size.map(|bytes| bytes as f64);
        metrics.level(metric::DATABASE_SIZE, &[], size);
        let entered_s = self.session.entered_s;
        metrics.level(metric::DATABASE_SESSION_START, &[], entered_s);
        record_status(&read, metrics);
        record_statements(&read, metrics);
        for setting in &read.settings {
            let value = match setting.value.as_str() {
                "ON" => Some(1.0),
                "OFF" => Some(0.0),
                number => number.parse().ok(),
            };
            metrics.setting(&setting.name, "", &setting.file, value);
        }
        Ok(())
    }
}

impl Scraper for MysqlCollector {
    fn known_as(&mut self, name: &str) {
        name.clone_into(&mut self.own_name);
    }

    fn collect(&mut self, link: &mut ComponentLink, sink: &mut Sink<'_>) -> Collected {
        let text = self.fetch(link)?;
        self.record(text.as_deref(), sink.answered())
    }

    fn remedy(&self, error: &ScrapeError) -> String {
        match error {
            ScrapeError::Denied(_) => "as its administrator: `CREATE USER plimsoll@localhost IDENTIFIED BY '…'; GRANT PROCESS ON *.* TO \
                plimsoll@localhost; GRANT SELECT ON performance_schema.* TO plimsoll@localhost`, and give name and password: `watch: { mariadb: { at: …, user: plimsoll, password: … } }`"
                .to_owned(),
            _ => "name the address it listens on, as `SHOW VARIABLES LIKE 'socket'` and `SHOW VARIABLES LIKE \
                'port'` show".to_owned(),
        }
    }
}

fn record_status(read: &Status, metrics: &mut MetricsRecorder<'_>) {
    let figure = |name: &str| read.figures.get(name).copied();
    for (name, field) in [
        (metric::MYSQL_SESSIONS, "threads_connected"),
        (metric::MYSQL_SESSIONS_RUNNING, "threads_running"),
        (
            metric::MYSQL_ROW_LOCKS_WAITED,
            "innodb_row_lock_current_waits",
        ),
    ] {
        metrics.level(name, &[], figure(field).map(|level| level as f64));
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
        metrics.counter(name, &[], figure(field), scale);
    }
}

fn record_statements(read: &Status, metrics: &mut MetricsRecorder<'_>) {
    let running = read
        .running
        .iter()
        .map(|row| (row.text.as_str(), row.sessions as f64));
    for (statement, sessions) in by_shape(running, REPORTED_MAX) {
        let of = [("statement", statement.as_str())];
        metrics.level(metric::MYSQL_RUNNING, &of, Some(sessions));
    }
    let blockers = read
        .blockers
        .iter()
        .map(|row| (row.text.as_str(), row.sessions as f64));
    for (statement, blocked) in by_shape(blockers, REPORTED_MAX) {
        // Without a statement it is idle, and holds its locks.
        let statement = if statement.is_empty() {
            "nothing"
        } else {
            &statement
        };
        metrics.level(
            metric::MYSQL_BLOCKING,
            &[("statement", statement)],
            Some(blocked),
        );
    }
}
