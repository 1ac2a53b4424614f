//! Statements that scan, sort, or need temporary tables on disk.

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;
use plimsoll_sql::index::{Index, advised};

use crate::diagnosis::component::{of_component, place};
use crate::diagnosis::rule::{Check, Rule, RuleMatch, Sign, Symptom, Words, append_clause};
use crate::diagnosis::rule_id::RuleId::{C1, D1, Q1, Q2, Q3, Q4, Q5, Q7};
use crate::diagnosis::statements::{busiest, counted, counted_words, each, each_most};
use crate::diagnosis::stretch::{View, bounded};
use crate::rules::databases::append_statement;
use crate::rules::in_front::BEFORE_STORES;
use crate::rules::mysql::{OWN, now, over_all};

/// Mean number of sessions executing a statement below which they are not significant.
const RUNNING_MIN: f64 = 1.0;
/// Rows for which a table may be read whole.
const ROWS_MAX: f64 = 10_000.0;
/// Share of the temporary tables that may be on disk, and a rate per second beyond the collector's own.
const ON_DISK_MAX: f64 = 0.1;
const ON_DISK_MIN: f64 = 10.0;
/// Rows that are sorted for one statement, and the share of the time of all that such statements take.
const SORTED_MIN: f64 = 1000.0;
const SORTING_MAX: f64 = 0.2;

pub(crate) const RULES: &[Rule] = &[
    Rule::new(
        Q3,
        "full table scan",
        &[Check {
            strength: Strength::Queue,
            tier: Tier::Store,
            symptom: Symptom::Signs(scans),
            words: scans_words,
            remedy: "give the table an index",
            explains: &[BEFORE_STORES, &[Q1, Q2, Q7, C1, D1]],
        }],
    ),
    Rule::new(
        Q4,
        "filesort",
        &[Check {
            strength: Strength::Decomposition,
            tier: Tier::Store,
            symptom: Symptom::Signs(sorts),
            words: sorts_words,
            remedy: "let an index give the order",
            explains: &[BEFORE_STORES, &[Q1, Q2, C1]],
        }],
    ),
    Rule::new(
        Q5,
        "on-disk temp tables",
        &[Check {
            strength: Strength::Decomposition,
            tier: Tier::Store,
            symptom: Symptom::Signs(temporary),
            words: temporary_words,
            remedy: "select fewer and shorter columns",
            explains: &[BEFORE_STORES, &[Q1, Q2, C1, D1]],
        }],
    ),
];

/// Q3: the server spends its time in table scans.
fn scans(view: &View<'_>) -> Vec<Sign> {
    over_all(view, |label_set| {
        let mean = |metric| view.mean(&of_component(metric, label_set));
        let running = mean(metric::MYSQL_SESSIONS_RUNNING)? - OWN;
        let (rows, scans) = (
            mean(metric::MYSQL_ROWS_SCANNED)?,
            mean(metric::MYSQL_SCANS)?,
        );
        let each = if scans > 0.0 { rows / scans } else { rows };
        let waiting = mean(metric::MYSQL_ROW_LOCKS_WAITED).unwrap_or(0.0);
        let is_it = running >= RUNNING_MIN && each > ROWS_MAX && waiting < 0.5 * running;
        Some((running.max(0.0), is_it))
    })
}

fn scans_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let at = place(case.label_set);
    let [rows, scans] = [metric::MYSQL_ROWS_SCANNED, metric::MYSQL_SCANS]
        .map(|metric| of_component(metric, case.label_set));
    let per_second = view.mean(&rows).unwrap_or(0.0);
    let mut sentence = format!(
        "MariaDB read {per_second:.0} rows a second by table scans, {:.0} per scanning statement",
        per_second / view.mean(&scans).unwrap_or(0.0).max(1.0)
    );
    let counted = counted_words(view, at);
    if counted.is_empty() {
        let what = "most of it in";
        append_statement(&mut sentence, case, metric::MYSQL_RUNNING, what);
    } else {
        sentence.push_str(&counted);
    }
    if let Some((_, rows)) = each_most(view, metric::STATEMENT_EXAMINED, at) {
        append_clause(&mut sentence, format_args!(", examining {rows:.0} rows"));
    }
    let index = busiest(view, metric::MYSQL_RUNNING, at).and_then(advised);
    let table = index.as_ref().map_or("…", |index| index.table.as_str());
    let columns = index
        .as_ref()
        .map_or_else(|| "columns it filters by".to_owned(), Index::columns);
    Words::new(format!("a missing index in MariaDB ({at})"), sentence)
        .with(case.line(&rows, "rows read by table scans, per second"))
        .with(case.line(&scans, "table scans, per second"))
        .advising(format!(
            "give the table an index: `ALTER TABLE {table} ADD INDEX ({columns})`; check with `EXPLAIN` that it is \
             used. It takes space and slows each write to the table"
        ))
}

/// The statement with the most sorted rows, where such statements take a significant share of the time: rows per
/// execution.
fn sorting<'a>(view: &View<'a>, at: &str) -> Option<(&'a str, f64)> {
    let counted = counted(view, at);
    let all: f64 = counted.iter().map(|entry| entry.time).sum();
    let sorted = counted.iter().filter_map(|entry| {
        let rows = each(view, metric::STATEMENT_SORTED, at, entry)?;
        (rows >= SORTED_MIN).then_some((entry, rows))
    });
    let sorted: Vec<_> = sorted.collect();
    let time: f64 = sorted.iter().map(|(entry, _)| entry.time).sum();
    let first = sorted.first().map(|(entry, rows)| (entry.statement, *rows));
    first.filter(|_| time > SORTING_MAX * all)
}

/// Q4: sorts do not fit into their buffer, or the server spends its time sorting.
fn sorts(view: &View<'_>) -> Vec<Sign> {
    over_all(view, |label_set| {
        let passes = view.mean(&of_component(metric::MYSQL_SORT_PASSES, label_set))?;
        let running = view
            .mean(&of_component(metric::MYSQL_SESSIONS_RUNNING, label_set))
            .unwrap_or(0.0)
            - OWN;
        if counted(view, place(label_set)).is_empty() {
            return Some((passes, passes > 0.0));
        }
        // What sorts take is known, and a few that go through files are no limit.
        let is_sorting = running >= RUNNING_MIN && sorting(view, place(label_set)).is_some();
        Some((running.max(0.0), is_sorting))
    })
}

fn sorts_words(case: &RuleMatch<'_>) -> Words {
    let (view, at) = (case.failing(), place(case.label_set));
    let passes = case.series(metric::MYSQL_SORT_PASSES);
    let per_minute = view.mean(&passes).unwrap_or(0.0) * 60.0;
    let sorting = sorting(view, at);
    let pieces = format!(
        "merged {:.0} sorts a minute from pieces, because they do not fit into the sort buffer",
        per_minute.max(1.0)
    );
    let mut sentence = match sorting {
        Some((statement, rows)) if per_minute > 0.0 => {
            format!("MariaDB sorted {rows:.0} rows for each `{statement}`; it {pieces}")
        }
        Some((statement, rows)) => format!("MariaDB sorted {rows:.0} rows for each `{statement}`"),
        None => format!("MariaDB {pieces}"),
    };
    let statement =
        sorting
            .map(|(statement, _)| statement)
            .or(busiest(view, metric::MYSQL_RUNNING, at));
    let index = statement.and_then(advised).map_or(String::new(), |index| {
        format!(
            ": `ALTER TABLE {} ADD INDEX ({})`",
            index.table,
            index.columns()
        )
    });
    append_statement(&mut sentence, case, metric::MYSQL_RUNNING, "most of it in");
    Words::new(format!("sort_buffer_size of MariaDB ({})", place(case.label_set)), sentence)
        .with(bounded(case.line(&passes, "sort merge passes, per second"), Some(0.0)))
        .advising(format!(
            "let an index give the order{index}, or raise `sort_buffer_size`{}; each sort of each session may allocate it",
            now(case, "sort_buffer_size", true)
        ))
}

/// Q5: temporary tables do not fit into memory.
fn temporary(view: &View<'_>) -> Vec<Sign> {
    over_all(view, |label_set| {
        let disk = view.mean(&of_component(metric::MYSQL_TEMPORARY_ON_DISK, label_set))?;
        let all = view.mean(&of_component(metric::MYSQL_TEMPORARY_TABLES, label_set))?;
        Some((disk, disk >= ON_DISK_MIN && disk > ON_DISK_MAX * all))
    })
}

fn temporary_words(case: &RuleMatch<'_>) -> Words {
    let [all, disk] = [
        metric::MYSQL_TEMPORARY_TABLES,
        metric::MYSQL_TEMPORARY_ON_DISK,
    ]
    .map(|metric| of_component(metric, case.label_set));
    let view = case.failing();
    let by = each_most(view, metric::STATEMENT_ON_DISK, place(case.label_set));
    let mut sentence = format!(
        "of {:.0} temporary tables a second, MariaDB wrote {:.0} to disk",
        view.mean(&all).unwrap_or(0.0),
        view.mean(&disk).unwrap_or(0.0)
    );
    if let Some((statement, each)) = by {
        append_clause(
            &mut sentence,
            format_args!("; `{statement}` makes {each:.1} each time"),
        );
    }
    append_statement(&mut sentence, case, metric::MYSQL_RUNNING, "most of it in");
    Words::new(format!("tmp_table_size of MariaDB ({})", place(case.label_set)), sentence)
        .with(case.line(&disk, "temporary tables on disk, per second"))
        .with(case.line(&all, "temporary tables, per second"))
        .advising(format!(
            "select fewer and shorter columns (a text column goes to disk at once), let an index give the groups, or raise \
             `tmp_table_size`{} and `max_heap_table_size`{}",
            now(case, "tmp_table_size", true),
            now(case, "max_heap_table_size", true)
        ))
}
