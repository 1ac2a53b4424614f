//! Tunables: a setting of a component is changed at run time, through its own interface, and reverted.
//!
//! Only settings of a short list, with plain values: the value to restore may come from a file.

mod kernel;
mod open_files;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use plimsoll_model::component::{ComponentAddress, ComponentKind, Login, Tunable};

use super::link::{ComponentLink, ScrapeError, shortly};
use super::mysql::MysqlCollector;
use super::own_name;
use super::postgres::PostgresCollector;
use crate::files::Files;
use crate::parse::haproxy::{rows, split};
pub use kernel::{kernel_setting, set_kernel_setting};
pub use open_files::{OpenFiles, open_files, set_open_files};

/// Time-out of a change: buffer pools may be reallocated.
const PATIENCE: Duration = Duration::from_secs(10);
/// Settings that may be changed.
const TUNABLES: [(ComponentKind, &str); 9] = [
    (ComponentKind::Redis, "maxclients"),
    (ComponentKind::Redis, "maxmemory"),
    (ComponentKind::Haproxy, "maxconn"),
    (ComponentKind::Mysql, "max_connections"),
    (ComponentKind::Mysql, "innodb_buffer_pool_size"),
    (ComponentKind::Mysql, "innodb_log_buffer_size"),
    (ComponentKind::Mysql, "innodb_io_capacity"),
    (ComponentKind::Postgres, "work_mem"),
    (ComponentKind::Postgres, "max_wal_size"),
];
/// The value of a setting without an entry in `postgresql.auto.conf`: it is reverted by removing the entry.
const UNSET: &str = "";
/// Longest value.
const VALUE_LEN_MAX: usize = 32;

/// Why a setting was not read or not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TunableError {
    text: String,
    /// It is unknown whether it was applied: no response arrived.
    is_open: bool,
}

impl TunableError {
    fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            is_open: false,
        }
    }

    /// Whether the change may have been applied despite the error.
    pub fn is_open(&self) -> bool {
        self.is_open
    }
}

impl fmt::Display for TunableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for TunableError {}

impl From<ScrapeError> for TunableError {
    fn from(error: ScrapeError) -> Self {
        Self {
            text: error.to_string(),
            is_open: matches!(error, ScrapeError::Late | ScrapeError::Closed),
        }
    }
}

impl From<std::io::Error> for TunableError {
    fn from(error: std::io::Error) -> Self {
        ScrapeError::from(error).into()
    }
}

/// A connection through which a setting is changed.
struct TunableClient<'a> {
    tunable: &'a Tunable,
    login: Option<&'a Login>,
    link: ComponentLink,
}

impl<'a> TunableClient<'a> {
    fn new(tunable: &'a Tunable, login: Option<&'a Login>) -> Result<Self, TunableError> {
        let is_known = TUNABLES
            .iter()
            .any(|(kind, name)| *kind == tunable.kind && *name == tunable.setting);
        if !is_known {
            let kind = tunable.kind.name();
            let text = format!(
                "`{}` of {kind} cannot be changed at run time",
                tunable.setting
            );
            return Err(TunableError::new(text));
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.:/".contains(c);
        if !tunable.of.chars().all(is_plain) {
            return Err(TunableError::new(format!(
                "`{}` is not a valid name",
                tunable.of
            )));
        }
        let mut link = ComponentLink::new(tunable.place.clone());
        link.begin(PATIENCE);
        Ok(Self {
            tunable,
            login,
            link,
        })
    }

    fn redis(&mut self, words: &[&str]) -> Result<Vec<String>, TunableError> {
        if self.link.open()?
            && let Some(login) = self.login
        {
            let words: &[&str] = match login.user.as_str() {
                "" => &["AUTH", &login.password],
                user => &["AUTH", user, &login.password],
            };
            replies(&mut self.link, words)?;
        }
        replies(&mut self.link, words)
    }

    fn mysql(&mut self, statement: &str) -> Result<String, TunableError> {
        let own_name = own_name(&mut Files::new(PathBuf::from("/")));
        let mut mysql = MysqlCollector::new(self.login.cloned(), own_name);
        Ok(mysql.carry_out(&mut self.link, statement)?)
    }

    /// Statements, each by itself: `ALTER SYSTEM` cannot run in a transaction.
    fn postgres(&mut self, statements: &[&str]) -> Result<String, TunableError> {
        // The change outlives this run and the server: only under a configured login.
        if self.login.is_none_or(|login| login.user.is_empty()) {
            return Err(TunableError::new(
                "PostgreSQL keeps such a change in a file; it is made only as a configured role with the privilege: \
                 `watch: { postgres: { at: …, user: …, password: … } }`"
                    .to_owned(),
            ));
        }
        let mut postgres = PostgresCollector::new(self.login.cloned(), String::new());
        let mut lines = String::new();
        for statement in statements {
            lines = postgres.carry_out(&mut self.link, statement)?;
        }
        Ok(lines)
    }

    fn haproxy(&mut self, command: &str) -> Result<String, TunableError> {
        if !matches!(
            self.tunable.place,
            ComponentAddress::Socket(_) | ComponentAddress::Tcp { .. }
        ) {
            return Err(TunableError::new(
                "HAProxy is changed through its stats socket, not through its stats page: watch the socket"
                    .to_owned(),
            ));
        }
        self.link.open()?;
        self.link.send(format!("{command}\n").as_bytes())?;
        let mut answer = Vec::new();
        self.link.rest(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer).trim().to_owned())
    }
}

/// The current value of a setting, in the form that [`set`] accepts to restore it.
///
/// # Errors
/// When the component cannot be reached, does not report it, or the setting is not a tunable.
pub fn value_of(tunable: &Tunable, login: Option<&Login>) -> Result<String, TunableError> {
    let mut client = TunableClient::new(tunable, login)?;
    let name = &tunable.setting;
    let value = match tunable.kind {
        ComponentKind::Redis => {
            let reply = client.redis(&["CONFIG", "GET", name])?;
            reply.get(1).cloned()
        }
        ComponentKind::Mysql => {
            let reply = client.mysql(&format!("SELECT @@GLOBAL.{name}"))?;
            Some(reply.trim().to_owned())
        }
        ComponentKind::Postgres => {
            let question = format!(
                "SELECT setting FROM pg_file_settings WHERE name = '{name}' AND sourcefile LIKE '%/postgresql.auto.conf' \
                 ORDER BY seqno DESC LIMIT 1"
            );
            Some(client.postgres(&[&question])?.trim().to_owned())
        }
        ComponentKind::Haproxy => {
            let reply = client.haproxy("show info;show stat")?;
            haproxy_value(&reply, &tunable.of)
        }
        _ => None,
    };
    let value = value.ok_or_else(|| TunableError::new(format!("{tunable} is not reported")))?;
    check(&value)?;
    if value.is_empty() && tunable.kind != ComponentKind::Postgres {
        return Err(TunableError::new(format!("{tunable} is not reported")));
    }
    Ok(value)
}

/// `maxconn` in HAProxy's output.
fn haproxy_value(output: &str, of: &str) -> Option<String> {
    let (info, csv) = split(output)?;
    if of.is_empty() {
        return crate::parse::haproxy::value(info, "Maxconn").map(str::to_owned);
    }
    let (proxy, server) = of.split_once('/').unwrap_or((of, "FRONTEND"));
    let own = rows(csv)
        .into_iter()
        .find(|row| row.proxy == proxy && row.server == server)?;
    // A server without a limit has 0.
    Some(own.limit.unwrap_or(0).to_string())
}

/// A value that is safe to send without quoting.
fn check(value: &str) -> Result<(), TunableError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '.';
    if value.len() <= VALUE_LEN_MAX && value.chars().all(is_plain) {
        Ok(())
    } else {
        Err(TunableError::new(format!(
            "`{}` is not a number that can be set",
            shortly(value)
        )))
    }
}

/// Changes a setting.
///
/// # Errors
/// When the component cannot be reached or refuses; the setting is then unchanged.
pub fn apply(tunable: &Tunable, login: Option<&Login>, value: &str) -> Result<(), TunableError> {
    check(value)?;
    let mut client = TunableClient::new(tunable, login)?;
    let name = &tunable.setting;
    match tunable.kind {
        ComponentKind::Redis => {
            client.redis(&["CONFIG", "SET", name, value])?;
        }
        ComponentKind::Mysql => {
            client.mysql(&format!("SET GLOBAL {name} = {value}"))?;
        }
        ComponentKind::Postgres => {
            let change = postgres_change(name, value);
            client.postgres(&[&change, "SELECT pg_reload_conf()"])?;
        }
        ComponentKind::Haproxy => {
            let reply = client.haproxy(&haproxy_change(tunable, value))?;
            if reply.starts_with("Permission denied") {
                return Err(TunableError::new(
                    "HAProxy's socket is read-only; set in its `global`: `stats socket PATH mode 600 level admin`, \
                     then reload it"
                        .to_owned(),
                ));
            }
            if !reply.is_empty() {
                return Err(TunableError::new(format!(
                    "HAProxy refuses: {}",
                    shortly(&reply)
                )));
            }
        }
        _ => {
            return Err(TunableError::new(format!(
                "{tunable} cannot be changed at run time"
            )));
        }
    }
    Ok(())
}

fn postgres_change(name: &str, value: &str) -> String {
    if value == UNSET {
        format!("ALTER SYSTEM RESET {name}")
    } else {
        format!("ALTER SYSTEM SET {name} = '{value}'")
    }
}

fn haproxy_change(tunable: &Tunable, value: &str) -> String {
    match tunable.of.as_str() {
        "" => format!("set maxconn global {value}"),
        of if of.contains('/') => format!("set maxconn server {of} {value}"),
        of => format!("set maxconn frontend {of} {value}"),
    }
}

/// A value in the component's notation; sizes of PostgreSQL have units.
pub fn format_value(tunable: &Tunable, number: f64) -> String {
    if tunable.kind == ComponentKind::Postgres {
        format!("{:.0}kB", (number / 1024.0).ceil())
    } else {
        format!("{number:.0}")
    }
}

/// The manual command that sets it.
pub fn manual_command(tunable: &Tunable, value: &str) -> String {
    let (name, place) = (&tunable.setting, &tunable.place);
    match tunable.kind {
        ComponentKind::Redis => {
            let way = match place {
                ComponentAddress::Tcp { host, port } => format!("-h {host} -p {port}"),
                place => format!("-s {place}"),
            };
            format!("`redis-cli {way} CONFIG SET {name} {value}`")
        }
        ComponentKind::Mysql => format!("`SET GLOBAL {name} = {value}` in MariaDB at {place}"),
        ComponentKind::Postgres => format!(
            "`{}`, then `SELECT pg_reload_conf()`, in PostgreSQL at {place}",
            postgres_change(name, value)
        ),
        _ => format!(
            "`echo '{}' | socat - {place}`",
            haproxy_change(tunable, value)
        ),
    }
}

/// Sends a command to Redis and reads its response: one text, or several.
fn replies(link: &mut ComponentLink, command: &[&str]) -> Result<Vec<String>, TunableError> {
    let mut bytes = format!("*{}\r\n", command.len());
    for argument in command {
        bytes.extend(["$", &argument.len().to_string(), "\r\n", argument, "\r\n"]);
    }
    link.send(bytes.as_bytes())?;
    let mut answer = Vec::new();
    let mut at = 0;
    let head = line(link, &mut answer, &mut at)?;
    let count = match head.split_at_checked(1) {
        Some(("+", text)) => return Ok(vec![text.to_owned()]),
        Some(("-", refused)) => {
            return Err(TunableError::new(format!(
                "Redis refuses: {}",
                shortly(refused)
            )));
        }
        Some(("*", count)) => count.parse::<usize>().ok(),
        _ => None,
    };
    let strange = || {
        TunableError::new(format!(
            "unexpected response from Redis ({})",
            shortly(&head)
        ))
    };
    let count = count.filter(|&count| count <= 64).ok_or_else(strange)?;
    let mut texts = Vec::new();
    for _ in 0..count {
        let head = line(link, &mut answer, &mut at)?;
        let len = head.strip_prefix('$').and_then(|len| len.parse().ok());
        let len: usize = len.ok_or_else(strange)?;
        let end = at.saturating_add(len).saturating_add(2);
        while answer.len() < end {
            if link.fill(&mut answer)? == 0 {
                return Err(ScrapeError::Closed.into());
            }
        }
        texts.push(String::from_utf8_lossy(&answer[at..end - 2]).into_owned());
        at = end;
    }
    Ok(texts)
}

/// The next line of a response.
fn line(
    link: &mut ComponentLink,
    answer: &mut Vec<u8>,
    at: &mut usize,
) -> Result<String, TunableError> {
    loop {
        let rest = &answer[*at..];
        if let Some(len) = rest.windows(2).position(|two| two == b"\r\n") {
            let text = String::from_utf8_lossy(&rest[..len]).into_owned();
            *at += len + 2;
            return Ok(text);
        }
        if link.fill(answer)? == 0 {
            return Err(ScrapeError::Closed.into());
        }
    }
}
