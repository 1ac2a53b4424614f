//! Settings of PostgreSQL, by `ALTER SYSTEM`.

use plimsoll_model::component::Tunable;

use super::PostgresCollector;
use crate::collectors::tunables::{TunableAccess, TunableClient, TunableError};

/// How its settings are changed.
pub(super) const ACCESS: TunableAccess = TunableAccess {
    value,
    set,
    manual_command,
    format_value,
    has_default: true,
};
/// The value of a setting without an entry in `postgresql.auto.conf`: it is reverted by removing the entry.
const UNSET: &str = "";

/// The current value.
fn value(client: &mut TunableClient<'_>) -> Result<Option<String>, TunableError> {
    let name = &client.tunable.setting;
    let question = format!(
        "SELECT setting FROM pg_file_settings WHERE name = '{name}' AND sourcefile LIKE '%/postgresql.auto.conf' \
         ORDER BY seqno DESC LIMIT 1"
    );
    Ok(Some(carry_out(client, &[&question])?.trim().to_owned()))
}

/// Changes it.
fn set(client: &mut TunableClient<'_>, value: &str) -> Result<(), TunableError> {
    let change = change(&client.tunable.setting, value);
    carry_out(client, &[&change, "SELECT pg_reload_conf()"])?;
    Ok(())
}

/// The manual command that sets it.
fn manual_command(tunable: &Tunable, value: &str) -> String {
    format!(
        "`{}`, then `SELECT pg_reload_conf()`, in PostgreSQL at {}",
        change(&tunable.setting, value),
        tunable.place
    )
}

/// A number in PostgreSQL's notation: sizes have units.
fn format_value(number: f64) -> String {
    format!("{:.0}kB", (number / 1024.0).ceil())
}

fn change(name: &str, value: &str) -> String {
    if value == UNSET {
        format!("ALTER SYSTEM RESET {name}")
    } else {
        format!("ALTER SYSTEM SET {name} = '{value}'")
    }
}

/// Statements, each by itself: `ALTER SYSTEM` cannot run in a transaction.
fn carry_out(client: &mut TunableClient<'_>, statements: &[&str]) -> Result<String, TunableError> {
    // The change outlives this run and the server: only under a configured login.
    if client.login.is_none_or(|login| login.user.is_empty()) {
        return Err(TunableError::new(
            "PostgreSQL keeps such a change in a file; it is made only as a configured role with the privilege: \
             `watch: { postgres: { at: …, user: …, password: … } }`"
                .to_owned(),
        ));
    }
    let mut postgres = PostgresCollector::new(client.login.cloned(), String::new());
    let mut lines = String::new();
    for statement in statements {
        lines = postgres.carry_out(&mut client.link, statement)?;
    }
    Ok(lines)
}
