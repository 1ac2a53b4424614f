//! PostgreSQL, by its statistics views over one session that can only read.

use std::time::Duration;

use plimsoll_model::component::Login;
use plimsoll_model::metric;

use super::parse::{Statistics, statistics};
use super::statement_stats::StatementStats;
use super::wire::{PostgresLogin, PostgresSession};
use crate::collectors::link::{ComponentLink, ScrapeError, shortly};
use crate::collectors::metrics::{MetricsRecorder, Sink};
use crate::collectors::query_error::QueryError;
use crate::collectors::statements::shapes::by_shape;
use crate::collectors::{Collected, Scraper};

/// Sent after login: the session is read-only, and no query takes longer than this.
const RULES: &str = "SET default_transaction_read_only = on; SET statement_timeout = '900ms'; SET lock_timeout = '200ms'; \
    SET idle_in_transaction_session_timeout = '5s'";
/// The busiest database that the role may connect to.
const BUSIEST: &str = "SELECT datname FROM pg_stat_database WHERE datname IS NOT NULL AND datname NOT LIKE 'template%' \
    AND has_database_privilege(datname, 'CONNECT') ORDER BY datname = 'postgres', xact_commit + xact_rollback DESC LIMIT 1";
/// The statistics views, each with a word that identifies its rows.
const QUESTION: &str = "\
SELECT 'start', extract(epoch FROM pg_postmaster_start_time());
SELECT 'access', pg_has_role('pg_read_all_stats', 'USAGE');
SELECT 'session', coalesce(state, ''), coalesce(wait_event_type, ''), coalesce(wait_event, ''), count(*)
  FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() GROUP BY 2, 3, 4 LIMIT 200;
SELECT 'idle', coalesce(extract(epoch FROM clock_timestamp() - min(state_change)), 0)
  FROM pg_stat_activity WHERE state LIKE 'idle in transaction%';
SELECT 'locks', count(*) FROM pg_locks WHERE NOT granted;
SELECT 'running', left(query, 400), count(*), count(*) FILTER (WHERE wait_event_type = 'Lock')
  FROM pg_stat_activity WHERE state = 'active' AND backend_type = 'client backend' AND pid <> pg_backend_pid()
  GROUP BY 2 ORDER BY 3 DESC LIMIT 100;
SELECT 'blocker', coalesce(b.state, ''), left(b.query, 400), count(*) FROM (SELECT unnest(pg_blocking_pids(pid)) AS pid
  FROM pg_stat_activity WHERE wait_event_type = 'Lock' LIMIT 20) w JOIN pg_stat_activity b USING (pid)
  WHERE b.wait_event_type IS DISTINCT FROM 'Lock' GROUP BY 2, 3 ORDER BY 4 DESC LIMIT 10;
SELECT 'table', schemaname || '.' || relname, seq_scan, seq_tup_read FROM pg_stat_user_tables
  WHERE seq_scan > 0 ORDER BY seq_tup_read DESC LIMIT 5;
SELECT 'total', v.name, v.total FROM (SELECT sum(blks_read) r, sum(blks_hit) h, sum(temp_bytes) t, sum(deadlocks) d,
  sum(xact_commit) c, sum(xact_rollback) b FROM pg_stat_database) s
  CROSS JOIN LATERAL (VALUES ('read', r), ('hit', h), ('temp', t), ('deadlocks', d), ('commit', c), ('rollback', b))
  v(name, total);
SELECT 'setting', name, CASE unit WHEN '8kB' THEN setting::numeric * 8192 WHEN 'kB' THEN setting::numeric * 1024
  WHEN 'MB' THEN setting::numeric * 1048576 ELSE setting::numeric END, coalesce(sourcefile || ':' || sourceline, '')
  FROM pg_settings WHERE vartype IN ('integer', 'real') AND name IN ('max_connections', 'reserved_connections',
  'superuser_reserved_connections', 'shared_buffers', 'effective_cache_size', 'work_mem', 'max_wal_size', 'wal_buffers',
  'jit_above_cost');
SELECT 'setting', name, CASE setting WHEN 'off' THEN '0' ELSE '1' END, coalesce(sourcefile || ':' || sourceline, '')
  FROM pg_settings WHERE name IN ('jit', 'fsync', 'synchronous_commit');
SELECT 'setting', name, reset_val, '' FROM pg_settings WHERE name = 'statement_timeout';";
/// Size of the databases that the role may connect to. The query reads each file, so it runs once.
const SIZE: &str = "SELECT 'size', sum(pg_database_size(oid)) FROM pg_database WHERE datallowconn AND \
    has_database_privilege(oid, 'CONNECT')";
/// Time that must remain before the deadline for that.
const SIZE_TIME_MIN: Duration = Duration::from_millis(400);
/// The write-ahead log, and sessions, from version 14.
const SINCE_14: &str = "SELECT 'total', 'sessions', sum(sessions) FROM pg_stat_database;
SELECT 'total', 'wal', wal_bytes FROM pg_stat_wal;
SELECT 'total', 'wal full', wal_buffers_full FROM pg_stat_wal;";
/// Checkpoints before version 17, and since.
const CHECKPOINTS: [&str; 2] = [
    "SELECT 'total', 'timed', checkpoints_timed FROM pg_stat_bgwriter;
SELECT 'total', 'requested', checkpoints_req FROM pg_stat_bgwriter;",
    "SELECT 'total', 'timed', num_timed FROM pg_stat_checkpointer;
SELECT 'total', 'requested', num_requested FROM pg_stat_checkpointer;",
];
/// Statements, tables and blockers that are recorded for a second at most.
const REPORTED_MAX: usize = 4;
/// Error codes of denied access: wrong password, no such role or not from there, not allowed.
pub(super) const DENIED: [&str; 3] = ["28P01", "28000", "42501"];
/// Error code for too many sessions.
const TOO_MANY: &str = "53300";
/// Error code of a query that exceeded its time-out.
pub(super) const TOO_LONG: &str = "57014";
/// Waits of active sessions, by the server's type.
const WAITS: [(&str, &str); 5] = [
    ("none", ""),
    ("lock", "Lock"),
    ("lwlock", "LWLock"),
    ("io", "IO"),
    ("client", "Client"),
];
/// Wait events that are recorded one by one.
const EVENTS: [&str; 3] = ["DataFileRead", "WALSync", "WALWrite"];

/// PostgreSQL.
#[derive(Debug, Default)]
pub(crate) struct PostgresCollector {
    login: Option<Login>,
    /// User name of this process on the machine.
    own_name: String,
    session: PostgresSession,
    /// The chosen database, where none is configured.
    database: Option<String>,
    /// Size of its databases, as a line, once queried; empty where there was no result.
    size: Option<String>,
    /// Its statement statistics.
    counted: StatementStats,
}

impl PostgresCollector {
    pub(crate) fn new(login: Option<Login>, own_name: String) -> Self {
        Self {
            login,
            own_name,
            ..Self::default()
        }
    }

    fn enter(&mut self, link: &mut ComponentLink) -> Result<(), QueryError> {
        let named = self.login.clone();
        let login = named.as_ref();
        let users = match login {
            Some(login) => vec![login.user.clone()],
            // A client on the Unix socket is authenticated by its user on the machine.
            None => vec![self.own_name.clone(), "postgres".to_owned()],
        };
        let password = login.map_or("", |login| login.password.as_str());
        let database = login.map_or("", |login| login.database.as_str());
        let chosen = self.database.clone();
        let mut refused = None;
        for user in users.iter().filter(|user| !user.is_empty()) {
            let database = match (database, &chosen) {
                ("", Some(chosen)) => chosen.as_str(),
                ("", None) => "postgres",
                (named, _) => named,
            };
            let entry = PostgresLogin {
                user,
                password,
                database,
            };
            link.open()?;
            match self.session.enter(link, entry) {
                Ok(()) => {
                    return self.settle(
                        link,
                        entry,
                        login.is_none_or(|login| login.database.is_empty()),
                    );
                }
                Err(error) => refused = Some(error),
            }
            link.close();
            if !matches!(&refused, Some(QueryError::Rejected { code, .. }) if code == "28000") {
                break;
            }
        }
        Err(refused.unwrap_or(ScrapeError::Closed.into()))
    }

    /// Sets the session's rules, in the database where most happens.
    fn settle(
        &mut self,
        link: &mut ComponentLink,
        entry: PostgresLogin<'_>,
        is_free: bool,
    ) -> Result<(), QueryError> {
        if is_free && self.database.is_none() {
            let mut busiest = String::new();
            self.session.query(link, BUSIEST, &mut busiest)?;
            let busiest = busiest.trim();
            if !busiest.is_empty() && busiest != entry.database {
                let there = PostgresLogin {
                    database: busiest,
                    ..entry
                };
                link.close();
                link.open()?;
                self.database = Some(busiest.to_owned());
                if self.session.enter(link, there).is_err() {
                    // Everything but the tables is visible from any database.
                    link.close();
                    link.open()?;
                    self.database = Some(entry.database.to_owned());
                    self.session.enter(link, entry)?;
                }
            }
        }
        self.counted.renew();
        self.session.query(link, RULES, &mut String::new())
    }

    /// Its session: a new one unless the connection is open.
    fn open_session(
        &mut self,
        link: &mut ComponentLink,
    ) -> Result<&mut PostgresSession, QueryError> {
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
        let version = self.open_session(link)?.version;
        let since_14 = if version >= 14 { SINCE_14 } else { "" };
        let checkpoints = CHECKPOINTS[usize::from(version >= 17)];
        let question = format!("{QUESTION}\n{since_14}\n{checkpoints}");
        let mut lines = String::new();
        self.session.query(link, &question, &mut lines)?;
        if self.size.is_none() && link.has_time(SIZE_TIME_MIN) {
            let mut size = String::new();
            let asked = self.session.query(link, SIZE, &mut size);
            self.size = Some(if asked.is_ok() { size } else { String::new() });
            if !matches!(asked, Ok(()) | Err(QueryError::Rejected { .. })) {
                link.close();
                return Ok(lines);
            }
        }
        lines.push_str(self.size.as_deref().unwrap_or_default());
        if self.counted.sample(&mut self.session, link).is_err() {
            // What its sessions do is recorded; the next second opens a new session.
            link.close();
        }
        Ok(lines)
    }

    /// The rows; `None` where the server refuses another session.
    fn fetch(&mut self, link: &mut ComponentLink) -> Result<Option<String>, ScrapeError> {
        match self.answer(link) {
            Ok(lines) => Ok(Some(lines)),
            Err(QueryError::Rejected { code, .. }) if code == TOO_MANY => {
                link.close();
                Ok(None)
            }
            // It is being shut down: no response from now on.
            Err(QueryError::Rejected { code, .. }) if code.starts_with("57P") => Err(
                ScrapeError::Absent("it is starting up or shutting down".to_owned()),
            ),
            Err(QueryError::Rejected { code, .. }) if code == TOO_LONG => Err(ScrapeError::Late),
            Err(error) => Err(error.into_scrape_error(&DENIED)),
        }
    }

    fn record(&mut self, text: Option<&str>, metrics: &mut MetricsRecorder<'_>) -> Collected {
        let refused = f64::from(u8::from(text.is_none()));
        metrics.level(metric::POSTGRES_REFUSED, &[], Some(refused));
        let Some(text) = text else {
            return Ok(());
        };
        let read = statistics(text).ok_or_else(|| ScrapeError::Strange(shortly(text)))?;
        metrics.identity(&read.started);
        if !read.sees_all {
            metrics.note(
                "limited view",
                "PostgreSQL shows this role only its own sessions; as an administrator: `GRANT pg_monitor TO …`",
            );
        }
        self.counted.record(metrics);
        record_sessions(&read, metrics);
        record_statements(&read, metrics);
        metrics.level(metric::POSTGRES_IDLE_IN_TRANSACTION, &[], Some(read.idle_s));
        metrics.level(
            metric::POSTGRES_LOCKS_WAITED,
            &[],
            Some(read.locks_waited as f64),
        );
        for (name, total) in [
            (metric::POSTGRES_BLOCKS_READ, "read"),
            (metric::POSTGRES_BLOCKS_HIT, "hit"),
            (metric::POSTGRES_TEMPORARY, "temp"),
            (metric::DATABASE_SESSIONS_BEGUN, "sessions"),
            (metric::POSTGRES_DEADLOCKS, "deadlocks"),
            (metric::POSTGRES_COMMITS, "commit"),
            (metric::POSTGRES_ROLLBACKS, "rollback"),
            (metric::POSTGRES_WAL, "wal"),
            (metric::POSTGRES_WAL_FULL, "wal full"),
            (metric::POSTGRES_CHECKPOINTS_TIMED, "timed"),
            (metric::POSTGRES_CHECKPOINTS_REQUESTED, "requested"),
        ] {
            metrics.counter(name, &[], read.totals.get(total).copied(), 1.0);
        }
        let entered_s = self.session.entered_s;
        metrics.level(metric::DATABASE_SESSION_START, &[], entered_s);
        let size = read.size.map(|bytes| bytes as f64);
        metrics.level(metric::DATABASE_SIZE, &[], size);
        for table in read.tables.iter().take(REPORTED_MAX) {
            let of = [("table", table.name.as_str())];
            metrics.counter(metric::POSTGRES_SCANS, &of, Some(table.scans), 1.0);
            metrics.counter(metric::POSTGRES_ROWS_SCANNED, &of, Some(table.rows), 1.0);
        }
        for setting in &read.settings {
            let value = setting.value.parse().ok();
            metrics.setting(&setting.name, "", &setting.file, value);
        }
        Ok(())
    }
}

impl Scraper for PostgresCollector {
    fn known_as(&mut self, name: &str) {
        name.clone_into(&mut self.own_name);
    }

    fn collect(&mut self, link: &mut ComponentLink, sink: &mut Sink<'_>) -> Collected {
        let text = self.fetch(link)?;
        self.record(text.as_deref(), sink.answered())
    }

    fn remedy(&self, error: &ScrapeError) -> String {
        match error {
            ScrapeError::Denied(_) => "as an administrator: `CREATE ROLE plimsoll LOGIN PASSWORD '…' IN ROLE \
                pg_monitor`, allow it in pg_hba.conf, and give name and password: `watch: { postgres: { at: …, \
                user: plimsoll, password: … } }`; or, for the socket, a role named like the user who runs Plimsoll: \
                `CREATE ROLE … LOGIN IN ROLE pg_monitor`"
                .to_owned(),
            _ => "name the address that PostgreSQL listens on, as `SHOW port` and `SHOW unix_socket_directories` \
                show"
                .to_owned(),
        }
    }
}

/// Sessions by state, and what active ones wait for. Every series has a value every second: absent does not mean
/// zero.
fn record_sessions(read: &Statistics, metrics: &mut MetricsRecorder<'_>) {
    let count = |is_it: &dyn Fn(&str, &str, &str) -> bool| -> f64 {
        let own = read
            .sessions
            .iter()
            .filter(|own| is_it(&own.state, &own.kind, &own.event));
        own.map(|own| own.count as f64).sum()
    };
    for state in ["active", "idle", "idle in transaction"] {
        let of_state =
            count(&|have, _, _| have == state || have.strip_suffix(" (aborted)") == Some(state));
        metrics.level(
            metric::POSTGRES_SESSIONS,
            &[("state", state)],
            Some(of_state),
        );
    }
    // The collector's own is one of them.
    let all = count(&|_, _, _| true) + 1.0;
    metrics.level(metric::POSTGRES_SESSIONS, &[("state", "all")], Some(all));
    for (label, kind) in WAITS {
        let waiting = count(&|state, have, _| state == "active" && have == kind);
        metrics.level(metric::POSTGRES_ACTIVE, &[("wait", label)], Some(waiting));
    }
    for event in EVENTS {
        let waiting = count(&|state, _, have| state == "active" && have == event);
        metrics.level(metric::POSTGRES_ACTIVE, &[("event", event)], Some(waiting));
    }
    // Which internal lock it is has a name of its own.
    let internal = read
        .sessions
        .iter()
        .filter(|own| own.state == "active" && own.kind == "LWLock");
    for own in internal.take(REPORTED_MAX) {
        let of = [("event", own.event.as_str())];
        metrics.level(metric::POSTGRES_ACTIVE, &of, Some(own.count as f64));
    }
}

/// Statements that run, those that wait for a lock, and those that block others.
fn record_statements(read: &Statistics, metrics: &mut MetricsRecorder<'_>) {
    let running = read.running.iter();
    let all = running
        .clone()
        .map(|statement| (statement.text.as_str(), statement.sessions as f64));
    for (statement, sessions) in by_shape(all, REPORTED_MAX) {
        let of = [("statement", statement.as_str())];
        metrics.level(metric::POSTGRES_RUNNING, &of, Some(sessions));
    }
    let waiting = running.map(|statement| (statement.text.as_str(), statement.waiting as f64));
    for (statement, sessions) in by_shape(waiting, REPORTED_MAX) {
        let of = [("statement", statement.as_str())];
        metrics.level(metric::POSTGRES_WAITING, &of, Some(sessions));
    }
    for idle in [true, false] {
        let state = if idle {
            "idle in transaction"
        } else {
            "active"
        };
        let blockers = read
            .blockers
            .iter()
            .filter(|blocker| blocker.state.starts_with("idle") == idle);
        let blockers = blockers.map(|blocker| (blocker.text.as_str(), blocker.blocked as f64));
        for (statement, blocked) in by_shape(blockers, REPORTED_MAX) {
            let of = [("state", state), ("statement", statement.as_str())];
            metrics.level(metric::POSTGRES_BLOCKING, &of, Some(blocked));
        }
    }
}
