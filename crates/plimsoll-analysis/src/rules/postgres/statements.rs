//! Statements that scan or spill.

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;
use plimsoll_model::reading::label;
use plimsoll_sql::index::{advised, chooses};

use crate::diagnosis::component::{place, subjects, written};
use crate::diagnosis::mitigation::{LimitSetting, Takes};
use crate::diagnosis::rule::{Check, Rule, RuleMatch, Sign, Symptom, Words, append_clause};
use crate::diagnosis::rule_id::RuleId::{C1, D1, D3, P1, P2, P4, P5, P7, P9, P11};
use crate::diagnosis::statements::{busiest, counted_words, each_most, most};
use crate::diagnosis::stretch::{View, bounded};
use crate::rules::databases::append_statement;
use crate::rules::in_front::BEFORE_STORES;
use crate::rules::postgres::locks::LOCK;
use crate::rules::postgres::{ACTIVE_MIN, sessions, share};

/// Rows for which a table may be read whole.
const ROWS_MAX: f64 = 10_000.0;
/// Share of the active sessions from which one statement dominates the server.
const MOSTLY: f64 = 0.3;

pub(crate) const RULES: &[Rule] = &[
    Rule::new(
        P7,
        "sequential scan: missing index",
        &[Check {
            strength: Strength::Queue,
            tier: Tier::Store,
            symptom: Symptom::Signs(scans),
            words: scans_words,
            remedy: "give the table an index",
            explains: &[BEFORE_STORES, &[P11, P1, P2, P4, P5, C1, D1]],
        }],
    ),
    Rule::new(
        P9,
        "sort/hash spill (`work_mem`)",
        &[Check {
            strength: Strength::Queue,
            tier: Tier::Store,
            symptom: Symptom::Increase {
                metric: metric::POSTGRES_TEMPORARY,
            },
            words: spills_words,
            remedy: "raise `work_mem`",
            explains: &[BEFORE_STORES, &[P11, D1, D3]],
        }],
    )
    .with_setting(LimitSetting::Component(
        "work_mem",
        Takes::MemoryOfEach(all_sessions),
    )),
];

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
fn scans(view: &View<'_>) -> Vec<Sign> {
    let signs = subjects(view, metric::POSTGRES_REFUSED)
        .into_iter()
        .filter_map(|label_set| {
            let at = place(&label_set).to_owned();
            let active = view.mean(&sessions(&label_set, "active"))?;
            let (_, _, rows) = scanned(view, &at)?;
            let running = most(view, metric::POSTGRES_RUNNING, &at, "statement");
            // A role without access to statements has no share of one.
            // A statement that needs all rows reads them all, whatever indexes exist.
            let may_be_spared = running.first().is_none_or(|(statement, sessions)| {
                *sessions > MOSTLY * active && chooses(statement)
            });
            let locked = share(view, &label_set, LOCK).unwrap_or(0.0);
            Some(Sign {
                label_set,
                magnitude: active,
                present: active >= ACTIVE_MIN && rows > ROWS_MAX && may_be_spared && locked < 0.5,
            })
        });
    signs.collect()
}

fn scans_words(case: &RuleMatch<'_>) -> Words {
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

/// P9: sorts and hashes go to files.
fn spills_words(case: &RuleMatch<'_>) -> Words {
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

/// The series of all sessions at an address.
fn all_sessions(at: &str) -> String {
    metric::series(metric::POSTGRES_SESSIONS, &[("at", at), ("state", "all")])
}
