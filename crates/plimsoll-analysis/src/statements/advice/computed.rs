//! Results that are computed anew each time where a sort, an aggregate or a temporary table is what costs: they can be
//! kept instead, by triggers or by a materialised view.

use plimsoll_sql::clauses::{Select, first_word};
use plimsoll_sql::summary_table::{SummaryTable, by_triggers, refreshed};

use super::{Advice, StatementUse, changes, dialect, is_plain_read, is_volatile, per_request_ms};

/// A statement that takes this long is worth being kept, ms.
const DEAR_MS: f64 = 5.0;
/// Seconds between two refreshes of a result that is computed as a whole.
const REFRESHED_S: u32 = 10;
/// It pays where keeping takes at most this share of the statement's present time.
const PAYS: f64 = 0.2;
/// Rows that are sorted each time from which the sort costs.
const SORTED_MIN: f64 = 1000.0;
/// What the trigger of one change takes at most, where no fast change was counted, ms.
const CHANGE_MS: f64 = 0.5;
/// Changes per second up to which they may all wait for one row: each holds it until it is committed.
const ONE_ROW_MAX: f64 = 50.0;
/// What makes a statement compute something from many rows.
const GATHERING: [&str; 12] = [
    "group by", "count(", "count (", "sum(", "sum (", "avg(", "avg (", "min(", "min (", "max(",
    "max (", "distinct",
];
/// Steps of plans that sort, aggregate or need a temporary table.
const STEPS: [(&str, &str); 4] = [
    ("filesort", "a sort"),
    ("temporary table", "a temporary table"),
    ("Sort", "a sort"),
    ("Aggregate", "an aggregate over many rows"),
];

/// What costs in a statement that is computed from many rows; `None` where nothing shows that.
fn cost(usage: &StatementUse) -> Option<String> {
    let lower = usage.statement.to_ascii_lowercase();
    let plan = usage.plan.as_deref().unwrap_or_default();
    if let Some(bytes) = usage.spilt.filter(|&bytes| bytes > 0.0) {
        let mebibytes = bytes / 1_048_576.0;
        return Some(format!(
            "a sort or hash of {mebibytes:.1} MiB in temporary files"
        ));
    }
    if usage.on_disk.is_some_and(|tables| tables >= 0.5) {
        return Some("a temporary table on disk".to_owned());
    }
    if let Some(rows) = usage.sorted.filter(|&rows| rows >= SORTED_MIN) {
        return Some(format!("a sort of {rows:.0} rows"));
    }
    let step = STEPS.iter().find(|(word, _)| plan.contains(word));
    let gathers = GATHERING.iter().any(|word| lower.contains(word));
    if let Some((_, words)) = step {
        return Some((*words).to_owned());
    }
    if gathers {
        return Some("an aggregate over many rows".to_owned());
    }
    (lower.matches(" join ").count() > 1).then(|| "a join of several tables".to_owned())
}

/// What keeping a result takes.
struct Upkeep {
    /// Changes of its tables per second.
    changes: f64,
    /// What the trigger adds to each, ms.
    each_ms: f64,
}

fn upkeep(select: &Select, usage: &StatementUse, uses: &[StatementUse]) -> Upkeep {
    let all = || changes(&select.tables, &usage.at, uses);
    Upkeep {
        changes: all().map(|other| other.calls).sum(),
        // A trigger's change of one row costs no more than the fastest statement that changes the table.
        each_ms: all().map(|other| other.each_ms).fold(CHANGE_MS, f64::min),
    }
}

/// A result that could be kept. Where an index would spare the work, that is better: it is fresh, and reads stay as they
/// are.
pub(super) fn advice(usage: &StatementUse, uses: &[StatementUse]) -> Option<Advice> {
    let is_read =
        first_word(&usage.statement).eq_ignore_ascii_case("select") && !is_volatile(usage);
    // Of a session's time, the share that it takes now.
    let now = usage.calls * usage.each_ms / 1e3;
    if !is_read || usage.each_ms < DEAR_MS || usage.index.is_some() {
        return None;
    }
    let cost = cost(usage)?;
    let select = Select::of(&usage.statement);
    let reason = format!(
        "`{}` computes {:.0} rows anew {:.1} times a second, {:.1} ms each; {cost} is what costs",
        usage.statement, usage.rows, usage.calls, usage.each_ms
    );
    let kept = select
        .as_ref()
        .and_then(|select| kept(select, usage, uses, now));
    let (remedy, sql, share) = kept.or_else(|| computed_ahead(select.as_ref(), usage, now))?;
    Some(Advice {
        reason,
        remedy,
        sql,
        saves_ms: per_request_ms(usage) * (1.0 - share),
    })
}

/// Kept fresh by triggers: the remedy, its SQL, and the share of the present time that it takes.
fn kept(
    select: &Select,
    usage: &StatementUse,
    uses: &[StatementUse],
    now: f64,
) -> Option<(String, Option<String>, f64)> {
    let table = by_triggers(select, dialect(usage))?;
    let upkeep = upkeep(select, usage, uses);
    let then = upkeep.changes * upkeep.each_ms / 1e3;
    // Without keys, or with few groups, changes wait for each other.
    let groups = if select.equal.is_empty() {
        usage.rows.max(1.0)
    } else {
        f64::INFINITY
    };
    if then > PAYS * now || upkeep.changes > ONE_ROW_MAX * groups {
        return None;
    }
    let SummaryTable {
        keys,
        create,
        read,
        name,
    } = table;
    let of = if keys.is_empty() {
        "all changes wait for its one row".to_owned()
    } else {
        format!(
            "changes with the same {} wait for each other",
            keys.join(", ")
        )
    };
    let remedy = format!(
        "keep the counts in {name}, which triggers keep fresh, and read them there. Cost to writes: each of the {:.1} \
         changes of {} a second that were counted also changes a row of it (up to {:.1} ms, {:.1} % of a CPU in all, in \
         place of {:.0} %), and {of} until they are committed. Columns of its key must not be null",
        upkeep.changes,
        select.tables.join(", "),
        upkeep.each_ms,
        then * 100.0,
        now * 100.0
    );
    let sql = format!("{create}\n-- in place of the statement:\n{read};");
    Some((remedy, Some(sql), then / now))
}

/// Computed as a whole from time to time, where the result is the same for all requests.
fn computed_ahead(
    select: Option<&Select>,
    usage: &StatementUse,
    now: f64,
) -> Option<(String, Option<String>, f64)> {
    let table = select.and_then(|select| refreshed(select, dialect(usage), REFRESHED_S));
    // A statement of another form must be the same each time.
    if table.is_none() && (select.is_some() || !is_plain_read(usage)) {
        return None;
    }
    let then = usage.each_ms / 1e3 / f64::from(REFRESHED_S);
    if then > PAYS * now {
        return None;
    }
    let how = if usage.without_index.is_some() {
        "keep its rows in a table that an EVENT refreshes (`CREATE EVENT … ON SCHEDULE EVERY 10 SECOND`)"
    } else {
        "keep its rows in a materialized view (`CREATE MATERIALIZED VIEW … AS` this statement) with a unique index, \
         and refresh it by `REFRESH MATERIALIZED VIEW CONCURRENTLY`"
    };
    let remedy = format!(
        "{how}: refreshed every {REFRESHED_S} s, it takes about {:.1} % of a CPU instead of {:.0} %; it costs writes \
         nothing, and readers get data up to {REFRESHED_S} s old",
        then * 100.0,
        now * 100.0
    );
    let sql = table.map(|table| {
        format!(
            "{}\n-- in place of the statement:\n{};",
            table.create, table.read
        )
    });
    Some((remedy, sql, then / now))
}
