//! Rules about PostgreSQL, continued: the work of its sessions and its file access.

use plimsoll_model::metric;
use plimsoll_model::reading::label;
use plimsoll_sql::index::{advised, chooses};

use crate::diagnosis::component::{place, written};
use crate::diagnosis::rule::{RuleMatch, Sign, Words, append_clause};
use crate::diagnosis::statements::{busiest, counted_words, each_most, most};
use crate::diagnosis::stretch::{View, bounded};
use crate::rules::postgres::{
    ACTIVE_MIN, LOCK, append_statement, locks, of, servers, sessions, share,
};

/// How long a transaction may be idle, s.
const IDLE_MAX_S: f64 = 5.0;
/// Rows for which a table may be read whole.
const ROWS_MAX: f64 = 10_000.0;
/// Share of the active sessions from which one statement dominates the server.
const MOSTLY: f64 = 0.3;
/// Checkpoints in one stretch that are none by chance.
const CHECKPOINTS_MIN: f64 = 2.0;
/// Times a second that buffers of the log may be full.
const WAL_FULL_MAX: f64 = 1.0;

/// The table that is read whole most: its labels, rows a second, rows each time.
fn scanned<'a>(view: &View<'a>, at: &str) -> Option<(&'a str, f64, f64)> {
    let tables = view
        .series_of(metric::POSTGRES_ROWS_SCANNED)
        .filter(|series| place(series) == at);
    let tables: Vec<&'a str> = tables.collect();
    let read = tables.into_iter().filter_map(|series| {
        let table = label(series, "table")?;
        let scans = metric::series(metric::POSTGRES_SCANS, &[("at", at), ("table", table)]);
        let (rows, scans) = (view.mean(series)?, view.mean(&scans)?);
        (scans > 0.0).then(|| (table, rows, rows / scans))
    });
    read.max_by(|a, b| a.1.total_cmp(&b.1))
}

/// P7: the server spends its time in repeated sequential scans of a table.
pub(crate) fn scans(view: &View<'_>) -> Vec<Sign> {
    let signs = servers(view).into_iter().filter_map(|label_set| {
        let at = place(&label_set).to_owned();
        let active = view.mean(&sessions(&label_set, "active"))?;
        let (_, _, rows) = scanned(view, &at)?;
        let running = most(view, metric::POSTGRES_RUNNING, &at, "statement");
        // A role without access to statements has no share of one.
        // A statement that needs all rows reads them all, whatever indexes exist.
        let may_be_spared = running
            .first()
            .is_none_or(|(statement, sessions)| *sessions > MOSTLY * active && chooses(statement));
        let locked = share(view, &label_set, LOCK).unwrap_or(0.0);
        Some(Sign {
            label_set,
            magnitude: active,
            present: active >= ACTIVE_MIN && rows > ROWS_MAX && may_be_spared && locked < 0.5,
        })
    });
    signs.collect()
}

pub(crate) fn scans_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let at = place(case.label_set);
    let (table, per_second, each) = scanned(view, at).unwrap_or_default();
    let mut sentence = format!(
        "PostgreSQL read {per_second:.0} rows a second of {table}, {each:.0} per scan, by sequential scans of the \
         whole table"
    );
    let counted = counted_words(view, at);
    if counted.is_empty() {
        let what = "most of it in";
        append_statement(&mut sentence, case, metric::POSTGRES_RUNNING, what);
    } else {
        sentence.push_str(&counted);
    }
    let statement = busiest(view, metric::POSTGRES_RUNNING, at);
    let columns = statement.and_then(advised).map(|index| index.columns());
    let columns = columns.unwrap_or_else(|| "columns it filters by".to_owned());
    let rows = metric::series(
        metric::POSTGRES_ROWS_SCANNED,
        &[("at", at), ("table", table)],
    );
    Words::new(format!("a missing index on {table} in PostgreSQL ({at})"), sentence)
        .with(case.line(&rows, "rows read by sequential scans, per second"))
        .with(bounded(
            case.line(&sessions(case.label_set, "active"), "sessions executing a statement"),
            Some(ACTIVE_MIN),
        ))
        .advising(format!(
            "give it an index: `CREATE INDEX CONCURRENTLY ON {table} ({columns})`; check with `EXPLAIN` that it is \
             used. It takes space and slows each write to the table"
        ))
}

/// P8: a transaction stays open and does nothing while others wait for locks.
pub(crate) fn idle(view: &View<'_>) -> Vec<Sign> {
    let mut signs = locks(view);
    for sign in &mut signs {
        let idle = of(metric::POSTGRES_IDLE_IN_TRANSACTION, &sign.label_set);
        let idle_s = view.max(&idle).unwrap_or(0.0);
        let holds = most(
            view,
            metric::POSTGRES_BLOCKING,
            place(&sign.label_set),
            "state",
        );
        // A role with full access reads the lock holder; another reads only that a session is idle.
        let holds_it = holds.is_empty() || holds.iter().any(|(state, _)| state.starts_with("idle"));
        sign.present &= idle_s > IDLE_MAX_S && holds_it;
        sign.magnitude = idle_s;
    }
    signs
}

pub(crate) fn idle_words(case: &RuleMatch<'_>) -> Words {
    let idle = of(metric::POSTGRES_IDLE_IN_TRANSACTION, case.label_set);
    let mut sentence = format!(
        "a transaction was idle for {:.0} s while others waited for its locks",
        case.failing().max(&idle).unwrap_or(0.0)
    );
    append_statement(
        &mut sentence,
        case,
        metric::POSTGRES_BLOCKING,
        "its last statement",
    );
    append_statement(
        &mut sentence,
        case,
        metric::POSTGRES_WAITING,
        "most of them wait to execute",
    );
    Words::new(
        format!(
            "an idle transaction in PostgreSQL ({})",
            place(case.label_set)
        ),
        sentence,
    )
    .with(bounded(
        case.line(&idle, "idle time of the oldest transaction"),
        Some(IDLE_MAX_S),
    ))
    .with(case.line(
        &sessions(case.label_set, "idle in transaction"),
        "sessions idle in a transaction",
    ))
}

/// P9: sorts and hashes go to files.
pub(crate) fn spills_words(case: &RuleMatch<'_>) -> Words {
    let spilt = case.series(metric::POSTGRES_TEMPORARY);
    let at = place(case.label_set);
    let setting = case.failing().setting(at, "work_mem", "");
    let now =
        setting.map(|(now, file)| format!(" (now {:.1} MiB){}", now / 1_048_576.0, written(file)));
    let mut sentence = format!(
        "sorts and hashes of PostgreSQL wrote {:.1} MiB a second to temporary files",
        case.failing().mean(&spilt).unwrap_or(0.0) / 1_048_576.0
    );
    append_statement(
        &mut sentence,
        case,
        metric::POSTGRES_RUNNING,
        "most of it in",
    );
    if let Some((statement, each)) = each_most(case.failing(), metric::STATEMENT_SPILT, at) {
        append_clause(
            &mut sentence,
            format_args!(
                "; `{statement}` writes {:.1} MiB each time",
                each / 1_048_576.0
            ),
        );
    }
    Words::new(format!("work_mem of PostgreSQL ({at})"), sentence)
        .with(bounded(case.line(&spilt, "written to temporary files, per second"), Some(0.0)))
        .advising(format!(
            "raise `work_mem`{} for the role that runs these statements (`ALTER ROLE … SET work_mem = '64MB'`; each \
             sort of each session may allocate it), or let an index give the order",
            now.unwrap_or_default()
        ))
}

/// P10: checkpoints are requested ahead of schedule, or the WAL buffers are full.
pub(crate) fn checkpoints(view: &View<'_>) -> Vec<Sign> {
    let seconds = view.rows().count() as f64;
    let signs = servers(view).into_iter().filter_map(|label_set| {
        let mean = |metric| view.mean(&of(metric, &label_set));
        let requested = mean(metric::POSTGRES_CHECKPOINTS_REQUESTED)? * seconds;
        let timed = mean(metric::POSTGRES_CHECKPOINTS_TIMED)? * seconds;
        let full = mean(metric::POSTGRES_WAL_FULL).unwrap_or(0.0);
        let too_many = requested > timed && requested >= CHECKPOINTS_MIN;
        Some(Sign {
            magnitude: requested + full,
            present: too_many || full > WAL_FULL_MAX,
            label_set,
        })
    });
    signs.collect()
}

pub(crate) fn checkpoints_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let at = place(case.label_set);
    let [requested, full, wal] = [
        metric::POSTGRES_CHECKPOINTS_REQUESTED,
        metric::POSTGRES_WAL_FULL,
        metric::POSTGRES_WAL,
    ]
    .map(|metric| of(metric, case.label_set));
    let now = |name: &str| {
        let setting = view.setting(at, name, "");
        let now = setting
            .map(|(now, file)| format!(" (now {:.0} MiB){}", now / 1_048_576.0, written(file)));
        now.unwrap_or_default()
    };
    Words::new(
        format!("max_wal_size and wal_buffers of PostgreSQL ({at})"),
        format!(
            "PostgreSQL made {:.1} checkpoints a minute ahead of schedule, and its WAL buffers were full {:.0} times a \
             second",
            view.mean(&requested).unwrap_or(0.0) * 60.0,
            view.mean(&full).unwrap_or(0.0)
        ),
    )
    .with(case.line(&requested, "requested checkpoints, per second"))
    .with(case.line(&full, "times the WAL buffers were full, per second"))
    .with(case.line(&wal, "written to the write-ahead log, per second"))
    .advising(format!(
        "raise `max_wal_size`{}, which takes that much disk, and `wal_buffers`{}, which needs a restart",
        now("max_wal_size"),
        now("wal_buffers")
    ))
}

/// P12.
pub(crate) fn deadlocks_words(case: &RuleMatch<'_>) -> Words {
    let deadlocks = case.series(metric::POSTGRES_DEADLOCKS);
    let per_minute = case.failing().mean(&deadlocks).unwrap_or(0.0) * 60.0;
    let mut sentence = format!(
        "PostgreSQL resolved {:.0} deadlocks a minute",
        per_minute.max(1.0)
    );
    append_statement(
        &mut sentence,
        case,
        metric::POSTGRES_WAITING,
        "most frequent waiting statement",
    );
    Words::new(
        format!("deadlocks in PostgreSQL ({})", place(case.label_set)),
        sentence,
    )
    .with(bounded(
        case.line(&deadlocks, "deadlocks, per second"),
        Some(0.0),
    ))
}
