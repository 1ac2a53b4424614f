//! pgbouncer, by the tables of its console.

use plimsoll_model::component::Login;
use plimsoll_model::metric;

use super::parse::{PgbouncerRow, number, tables};
use crate::collectors::link::{ComponentLink, ScrapeError, shortly};
use crate::collectors::metrics::{FileSetting, MetricsRecorder, Sink};
use crate::collectors::postgres::wire::{PostgresLogin, PostgresSession};
use crate::collectors::query_error::QueryError;
use crate::collectors::{Collected, Scraper};

/// The database that is its console.
const CONSOLE: &str = "pgbouncer";
/// The commands, each with the word that identifies its rows.
const TABLES: [(&str, &str); 4] = [
    ("pool", "SHOW POOLS"),
    ("database", "SHOW DATABASES"),
    ("stats", "SHOW STATS"),
    ("config", "SHOW CONFIG"),
];
/// Pools that are recorded at most.
const POOLS_MAX: usize = 16;
/// Settings that hold for all.
const SETTINGS: [&str; 4] = [
    "default_pool_size",
    "reserve_pool_size",
    "max_client_conn",
    "max_db_connections",
];

/// pgbouncer.
#[derive(Debug)]
pub(crate) struct PgbouncerCollector {
    login: Option<Login>,
    /// Settings from its configuration files, if found.
    settings: Vec<FileSetting>,
    session: PostgresSession,
}

impl PgbouncerCollector {
    pub(crate) fn new(login: Option<Login>, settings: Vec<FileSetting>) -> Self {
        Self {
            login,
            settings,
            session: PostgresSession::default(),
        }
    }

    fn answer(&mut self, link: &mut ComponentLink) -> Result<String, QueryError> {
        if link.open()? {
            let login = self.login.as_ref();
            let entry = PostgresLogin {
                user: login.map_or(CONSOLE, |login| login.user.as_str()),
                password: login.map_or("", |login| login.password.as_str()),
                database: CONSOLE,
            };
            self.session
                .enter(link, entry)
                .map_err(|error| match error {
                    // It has one error code for everything.
                    QueryError::Rejected { message, .. } => {
                        QueryError::Scrape(ScrapeError::Denied(shortly(&message)))
                    }
                    error @ QueryError::Scrape(_) => error,
                })?;
        }
        let mut lines = String::new();
        for (word, question) in TABLES {
            lines.push_str(word);
            lines.push('\n');
            self.session.table(link, question, &mut lines)?;
            lines.push('\n');
        }
        Ok(lines)
    }

    fn record(&mut self, text: &str, metrics: &mut MetricsRecorder<'_>) -> Collected {
        let tables = tables(text);
        let Some(pools) = tables.get("pool") else {
            return Err(ScrapeError::Strange(shortly(text)));
        };
        let rows = |word: &str| tables.get(word).map_or(&[][..], Vec::as_slice);
        let is_own = |row: &&PgbouncerRow| {
            text_of(row, "database") == CONSOLE || text_of(row, "name") == CONSOLE
        };
        for pool in pools.iter().filter(|row| !is_own(row)).take(POOLS_MAX) {
            record_pool(pool, metrics);
        }
        for database in rows("database")
            .iter()
            .filter(|row| !is_own(row))
            .take(POOLS_MAX)
        {
            let name = text_of(database, "name");
            let size = number(database, "pool_size").map(|size| size as f64);
            let file = self
                .settings
                .iter()
                .find(|known| known.name == "pool_size" && known.of == name);
            metrics.setting(
                "pool_size",
                name,
                file.map_or("", |known| known.file.as_str()),
                size,
            );
        }
        for stats in rows("stats")
            .iter()
            .filter(|row| !is_own(row))
            .take(POOLS_MAX)
        {
            let of = [("database", text_of(stats, "database"))];
            let waited = number(stats, "total_wait_time");
            metrics.counter(metric::PGBOUNCER_WAIT_TIME, &of, waited, 1e-6);
            let done = number(stats, "total_xact_count");
            metrics.counter(metric::PGBOUNCER_TRANSACTIONS, &of, done, 1.0);
        }
        for name in SETTINGS {
            let mut config = rows("config").iter();
            let value = config.find(|row| text_of(row, "key") == name);
            let value = value.and_then(|row| number(row, "value"));
            let file = self.settings.iter().find(|known| known.name == name);
            metrics.setting(
                name,
                "",
                file.map_or("", |known| known.file.as_str()),
                value.map(|value| value as f64),
            );
        }
        Ok(())
    }
}

impl Scraper for PgbouncerCollector {
    fn collect(&mut self, link: &mut ComponentLink, sink: &mut Sink<'_>) -> Collected {
        let text = self
            .answer(link)
            .map_err(|error| error.into_scrape_error(&[]))?;
        self.record(&text, sink.answered())
    }

    fn remedy(&self, error: &ScrapeError) -> String {
        match error {
            ScrapeError::Denied(_) => "add `stats_users = plimsoll` to `[pgbouncer]` in /etc/pgbouncer/pgbouncer.ini and a line for it to its \
                `auth_file` (`\"plimsoll\" \"PASSWORD\"`), then `systemctl reload pgbouncer`, and give name and password: \
                `watch: { pgbouncer: { at: …, user: plimsoll, password: … } }`"
                .to_owned(),
            _ => "name the address that pgbouncer listens on, `listen_addr`, `listen_port` and `unix_socket_dir` in \
                its configuration"
                .to_owned(),
        }
    }
}

fn text_of<'a>(row: &'a PgbouncerRow, name: &str) -> &'a str {
    row.get(name).map_or("", String::as_str)
}

fn record_pool(pool: &PgbouncerRow, metrics: &mut MetricsRecorder<'_>) {
    let level = |name: &str| number(pool, name).map(|value| value as f64);
    let name = format!("{}/{}", text_of(pool, "database"), text_of(pool, "user"));
    let of = |state| [("pool", name.as_str()), ("state", state)];
    // `sv_used` connections (idle and not checked recently) count as idle.
    let idle = level("sv_idle").map(|idle| idle + level("sv_used").unwrap_or(0.0));
    metrics.level(metric::PGBOUNCER_CLIENTS, &of("active"), level("cl_active"));
    metrics.level(
        metric::PGBOUNCER_CLIENTS,
        &of("waiting"),
        level("cl_waiting"),
    );
    metrics.level(
        metric::PGBOUNCER_SESSIONS,
        &of("active"),
        level("sv_active"),
    );
    metrics.level(metric::PGBOUNCER_SESSIONS, &of("idle"), idle);
    let waits = level("maxwait").map(|whole| whole + level("maxwait_us").unwrap_or(0.0) / 1e6);
    metrics.level(metric::PGBOUNCER_WAIT, &[("pool", name.as_str())], waits);
}
