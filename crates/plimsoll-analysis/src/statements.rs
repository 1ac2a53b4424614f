//! The most expensive statements: the counters of a database for each, over a run.

mod advice;

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_model::metric;
use plimsoll_model::reading::{SeriesTable, label};
use plimsoll_model::run::Run;
use plimsoll_sql::index::advised;

use crate::machines::{MachineTable, tables};

pub use advice::{Advice, advice};

/// Most statements that a report shows.
pub const STATEMENTS_MAX: usize = 12;
/// Texts of a plan where an index would help: of PostgreSQL, and of MariaDB.
const LACKING: [&str; 3] = ["Seq Scan", "whole table", "sorted (filesort)"];
/// Share of the calls without an index from which one is missing.
const MOSTLY: f64 = 0.5;

/// What a statement cost.
#[derive(Clone, Debug, PartialEq)]
pub struct StatementUse {
    /// Address of the database.
    pub at: String,
    /// Its form, without values.
    pub statement: String,
    /// Share of the time of all statements that were counted by name there.
    pub share: f64,
    /// Executions per second.
    pub calls: f64,
    /// The same for each request of this run; `None` without requests. Others may use the database too.
    pub calls_per_request: Option<f64>,
    /// Time of each, ms.
    pub each_ms: f64,
    /// Rows that each answered with, or changed.
    pub rows: f64,
    /// Rows examined for each of these, where counted.
    pub examined_per_row: Option<f64>,
    /// Share of its calls without an index, where that is counted.
    pub without_index: Option<f64>,
    /// Rows that were sorted for each, where that is counted.
    pub sorted: Option<f64>,
    /// Temporary tables on disk for each, where that is counted.
    pub on_disk: Option<f64>,
    /// Bytes that each wrote to temporary files, where that is counted.
    pub spilt: Option<f64>,
    /// Its plan, where sampled.
    pub plan: Option<String>,
    /// The cost of this plan by PostgreSQL's planner, and with the index that it lacks, where HypoPG could pretend that it
    /// was there.
    pub with_index: Option<(f64, f64)>,
    /// The statement that creates its missing index, where its form reveals it.
    pub index: Option<String>,
}

/// The statements that cost most over a run, most first; empty where no database counts them.
pub fn of(run: &Run) -> Vec<StatementUse> {
    let mut uses: Vec<StatementUse> = tables(&run.readings)
        .iter()
        .flat_map(|machine| on_machine(run, machine))
        .collect();
    let mut whole = BTreeMap::<String, f64>::new();
    for usage in &uses {
        *whole.entry(usage.at.clone()).or_default() += usage.share;
    }
    for usage in &mut uses {
        let whole = whole.get(&usage.at).copied().unwrap_or(0.0);
        usage.share = if whole > 0.0 {
            usage.share / whole
        } else {
            0.0
        };
    }
    uses.retain(|usage| usage.calls > 0.0);
    uses.sort_by(|a, b| b.share.total_cmp(&a.share));
    uses
}

/// The statements that the databases of a machine count.
fn on_machine(run: &Run, machine: &MachineTable<'_>) -> Vec<StatementUse> {
    let table = machine.readings();
    let counted = table.names_of(metric::STATEMENT_CALLS);
    let uses = counted.filter_map(|series| {
        let mut usage = statement_use(
            (run, table),
            label(series, "at")?,
            label(series, "statement")?,
        )?;
        if let Some(name) = machine.name() {
            usage.at = format!("{} on {name}", usage.at);
        }
        Some(usage)
    });
    uses.collect()
}

/// Sum of the increases of a series, and the seconds in which it was read.
fn sum(table: &SeriesTable, series: &str) -> Option<(f64, BTreeSet<u32>)> {
    let values = table.values(series)?.iter().zip(table.seconds());
    let read = values.filter(|(value, _)| !value.is_nan());
    let (mut sum, mut seconds) = (0.0, BTreeSet::new());
    for (value, &second) in read {
        sum += value;
        seconds.insert(second);
    }
    Some((sum, seconds))
}

/// One statement; `share` is its time at first, s.
fn statement_use(
    (run, table): (&Run, &SeriesTable),
    at: &str,
    statement: &str,
) -> Option<StatementUse> {
    let labels = [("at", at), ("statement", statement)];
    let total = |metric: &str| sum(table, &metric::series(metric, &labels)).map(|(sum, _)| sum);
    let (calls, seconds) = sum(table, &metric::series(metric::STATEMENT_CALLS, &labels))?;
    let windows = run
        .windows
        .iter()
        .filter(|window| seconds.contains(&window.second));
    let requests: u64 = windows.map(|window| window.sent).sum();
    let each = |metric: &str| {
        total(metric)
            .filter(|_| calls > 0.0)
            .map(|total| total / calls)
    };
    let time_s = total(metric::STATEMENT_TIME)?;
    let rows = total(metric::STATEMENT_ROWS).unwrap_or(0.0);
    let is_own = |series: &&str| {
        label(series, "at") == Some(at) && label(series, "statement") == Some(statement)
    };
    let planned = table.names_of(metric::STATEMENT_PLAN).find(is_own);
    let plan = planned.and_then(|series| label(series, "plan"));
    let tried = table.names_of(metric::STATEMENT_WITH_INDEX).find(is_own);
    let last = |series: &str| {
        let mut values = table.values(series)?.iter().rev();
        values.find(|value| !value.is_nan()).copied()
    };
    let without_index = each(metric::STATEMENT_SCANS);
    let is_mariadb = without_index.is_some();
    let lacks_index = without_index.is_some_and(|share| share > MOSTLY)
        || plan.is_some_and(|plan| LACKING.iter().any(|word| plan.contains(word)));
    let index = advised(statement).filter(|_| lacks_index).map(|index| {
        if is_mariadb {
            format!(
                "ALTER TABLE {} ADD INDEX ({})",
                index.table,
                index.columns()
            )
        } else {
            format!(
                "CREATE INDEX CONCURRENTLY ON {} ({})",
                index.table,
                index.columns()
            )
        }
    });
    Some(StatementUse {
        at: at.to_owned(),
        statement: statement.to_owned(),
        share: time_s,
        calls: calls / (seconds.len().max(1) as f64),
        calls_per_request: (requests > 0).then(|| calls / requests as f64),
        each_ms: if calls > 0.0 {
            time_s / calls * 1e3
        } else {
            0.0
        },
        rows: if calls > 0.0 { rows / calls } else { 0.0 },
        examined_per_row: total(metric::STATEMENT_EXAMINED)
            .map(|examined| examined / rows.max(1.0)),
        without_index,
        sorted: each(metric::STATEMENT_SORTED),
        on_disk: each(metric::STATEMENT_ON_DISK),
        spilt: each(metric::STATEMENT_SPILT),
        plan: plan.map(str::to_owned),
        with_index: planned
            .and_then(last)
            .zip(tried.and_then(last))
            .filter(|(without, with)| with < without),
        index,
    })
}
