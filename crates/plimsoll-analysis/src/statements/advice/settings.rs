//! Settings of the application that each request reads again.

use plimsoll_sql::clauses::{Select, bare};

use super::{Advice, EVERY, StatementUse, changes_of, per_request_ms};

/// Last words of the names of tables that hold settings.
const NAMES: [&str; 14] = [
    "settings",
    "setting",
    "config",
    "configs",
    "configuration",
    "configurations",
    "options",
    "flags",
    "toggles",
    "translations",
    "locales",
    "languages",
    "currencies",
    "countries",
];
/// Words in names of tables and columns whose rows belong to somebody: these are not the same for all requests.
const OWNERS: [&str; 13] = [
    "user", "account", "customer", "tenant", "member", "owner", "session", "person", "client",
    "player", "author", "order", "product",
];

fn belongs_to_somebody(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    OWNERS.iter().any(|owner| lower.contains(owner))
}

/// Whether a table holds settings of the application, by its name.
fn holds_settings(table: &str) -> bool {
    let table = bare(table).to_ascii_lowercase();
    let last = table.rsplit('_').next().unwrap_or_default();
    NAMES.contains(&last) && !belongs_to_somebody(&table)
}

/// A statement of every request that reads settings by their names, where nothing writes them.
pub(super) fn advice(usage: &StatementUse, uses: &[StatementUse]) -> Option<Advice> {
    let calls = usage.calls_per_request.filter(|&calls| calls >= EVERY)?;
    let select = Select::of(&usage.statement)?;
    let [table] = select.tables.as_slice() else {
        return None;
    };
    let is_constant = holds_settings(table)
        && !select.locks
        && !select
            .equal
            .iter()
            .any(|column| belongs_to_somebody(column));
    if !is_constant || changes_of(&select, usage, uses) > 0.0 {
        return None;
    }
    let saves_ms = per_request_ms(usage);
    Some(Advice {
        reason: format!(
            "`{}` is executed {calls:.1} times per request, and no statement that was counted wrote to {table}: these are \
             settings that each request reads again",
            usage.statement
        ),
        remedy: format!(
            "read {table} when the application starts, keep it in memory, and read it again every minute or when it is \
             changed: this saves {saves_ms:.2} ms of database time and {calls:.0} round trips per request"
        ),
        sql: None,
        saves_ms: super::with_round_trip_ms(usage),
    })
}
