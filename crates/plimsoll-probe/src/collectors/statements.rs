//! Statement statistics of a database, as increases since the last sample, by the statement's form.

pub(super) mod shapes;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use plimsoll_model::metric;

use super::metrics::MetricsRecorder;
use crate::clock;
use shapes::shape;

/// The counters of a statement, and the factors to the metric's unit. A counter that a database does not have is
/// `None`.
pub(super) const COUNTS: [(&str, f64); 9] = [
    (metric::STATEMENT_CALLS, 1.0),
    (metric::STATEMENT_TIME, 1e-6),
    (metric::STATEMENT_ROWS, 1.0),
    (metric::STATEMENT_EXAMINED, 1.0),
    (metric::STATEMENT_SCANS, 1.0),
    (metric::STATEMENT_SORTED, 1.0),
    (metric::STATEMENT_ON_DISK, 1.0),
    (metric::STATEMENT_BLOCKS, 1.0),
    (metric::STATEMENT_SPILT, 1.0),
];
/// Index of the time among these.
pub(super) const TIME: usize = 1;
/// Statements recorded in the first sample at most, by their time and by their number, and in the whole run.
const REPORTED_AT_ONCE: usize = 8;
const FREQUENT_AT_ONCE: usize = 8;
const REPORTED_MAX: usize = 32;
/// Statements that are remembered.
const KNOWN_MAX: usize = 20_000;
/// Words of the probe's own statements.
const OWN: [&str; 15] = [
    "pg_stat_",
    "pg_settings",
    "pg_locks",
    "pg_has_role",
    "pg_postmaster_start_time",
    "information_schema.PROCESSLIST",
    "information_schema.SYSTEM_VARIABLES",
    "information_schema.INNODB_",
    "information_schema.USER_PRIVILEGES",
    "performance_schema",
    "SHOW GLOBAL ",
    "pg_index",
    "pg_extension",
    "current_database()",
    "plimsoll_plan",
];

/// Totals of one statement, in the order of [`COUNTS`].
pub(super) type StatementTotals = [Option<u64>; COUNTS.len()];

/// Whether a statement is one of the probe's.
fn is_own(text: &str) -> bool {
    let text = text.replace('`', "");
    let begins = [
        "SET default_transaction_read_only",
        "SET SESSION TRANSACTION READ",
        "EXPLAIN ",
    ];
    OWN.iter().any(|word| text.contains(word)) || begins.iter().any(|word| text.starts_with(word))
}

/// The totals so far.
#[derive(Debug, Default)]
pub(super) struct Statements {
    /// By the database's own name of a statement.
    before: BTreeMap<String, StatementTotals>,
    before_ns: u64,
    /// Statements missing from the first sample may have existed before: only some are read.
    was_full: bool,
    is_begun: bool,
    /// There was a sample since the last record.
    is_fresh: bool,
    /// By form: increases since the last sample, per second.
    rates: BTreeMap<String, [Option<f64>; COUNTS.len()]>,
    /// By form: time over the run, µs.
    times: BTreeMap<String, u64>,
    /// By form: executions over the run.
    calls: BTreeMap<String, u64>,
    reported: BTreeSet<String>,
    /// Which of [`COUNTS`] this database has.
    counted: [bool; COUNTS.len()],
}

impl Statements {
    /// Statements with an increase since the last sample, the most expensive first: those whose text is worth
    /// fetching.
    pub(super) fn risen<'a>(&self, rows: &'a [(String, StatementTotals)]) -> Vec<&'a str> {
        let risen = rows.iter().filter_map(|(id, totals)| {
            let rise = self.rise(id, totals)?;
            (rise[0]? > 0).then_some((id.as_str(), rise[TIME]?))
        });
        let mut risen: Vec<(&str, u64)> = risen.collect();
        risen.sort_by_key(|entry| Reverse(entry.1));
        risen.into_iter().map(|(id, _)| id).collect()
    }

    /// Increase of a statement; `None` without an earlier value.
    fn rise(&self, id: &str, totals: &StatementTotals) -> Option<StatementTotals> {
        match self.before.get(id) {
            Some(before) => {
                let mut rise = *totals;
                for (rise, before) in rise.iter_mut().zip(before) {
                    // A decrease means a reset: its value has accumulated since.
                    *rise = rise.map(|now| now.checked_sub(before.unwrap_or(0)).unwrap_or(now));
                }
                Some(rise)
            }
            None => (self.is_begun && !self.was_full).then_some(*totals),
        }
    }

    /// Records a sample: statements by the database's id with their totals, the maximum number of statements, and
    /// the text of each that is known.
    pub(super) fn take(
        &mut self,
        rows: Vec<(String, StatementTotals)>,
        rows_max: usize,
        text_of: impl Fn(&str) -> Option<String>,
    ) {
        let now_ns = clock::now_ns();
        let seconds = now_ns.saturating_sub(self.before_ns) as f64 / 1e9;
        self.rates.clear();
        for (id, totals) in &rows {
            for (counted, total) in self.counted.iter_mut().zip(totals) {
                *counted |= total.is_some();
            }
            let Some(rise) = self.rise(id, totals).filter(|rise| rise[0] > Some(0)) else {
                continue;
            };
            let text = text_of(id).filter(|text| !is_own(text));
            let Some(form) = text.map(|text| shape(&text)) else {
                continue;
            };
            if form.is_empty() || self.times.len() >= KNOWN_MAX && !self.times.contains_key(&form) {
                continue;
            }
            *self.times.entry(form.clone()).or_default() += rise[TIME].unwrap_or(0);
            *self.calls.entry(form.clone()).or_default() += rise[0].unwrap_or(0);
            let rates = self.rates.entry(form).or_default();
            for (rate, rise) in rates.iter_mut().zip(rise) {
                if let Some(rise) = rise.filter(|_| seconds > 0.0) {
                    *rate = Some(rate.unwrap_or(0.0) + rise as f64 / seconds);
                }
            }
        }
        self.was_full |= rows.len() >= rows_max;
        self.is_begun = true;
        self.is_fresh = true;
        self.before_ns = now_ns;
        if self.before.len().saturating_add(rows.len()) > KNOWN_MAX {
            self.before.clear();
        }
        self.before.extend(rows);
    }

    /// The forms that took most time in this run, the most expensive first.
    pub(super) fn dearest(&self) -> Vec<&str> {
        most(&self.times, REPORTED_AT_ONCE)
    }

    /// Records the most expensive statements, the most frequent ones, which cost round trips, and those recorded before;
    /// nothing without a new sample.
    pub(super) fn record(&mut self, metrics: &mut MetricsRecorder<'_>) {
        if !std::mem::take(&mut self.is_fresh) {
            return;
        }
        let frequent = most(&self.calls, FREQUENT_AT_ONCE);
        let forms: Vec<String> = [self.dearest(), frequent]
            .concat()
            .into_iter()
            .map(str::to_owned)
            .collect();
        for form in forms {
            if self.reported.len() < REPORTED_MAX {
                self.reported.insert(form);
            }
        }
        for form in &self.reported {
            let of = [("statement", form.as_str())];
            let rates = self.rates.get(form).copied().unwrap_or_default();
            for ((&(name, scale), rate), counted) in COUNTS.iter().zip(rates).zip(self.counted) {
                // Absent does not mean zero.
                let rate = rate.or(counted.then_some(0.0));
                metrics.level(name, &of, rate.map(|rate| rate * scale));
            }
        }
    }
}

/// The forms with the highest totals, the highest first.
fn most(totals: &BTreeMap<String, u64>, count_max: usize) -> Vec<&str> {
    let mut forms: Vec<(&String, &u64)> = totals.iter().collect();
    forms.sort_by_key(|entry| Reverse(*entry.1));
    let most = forms.into_iter().take(count_max);
    most.map(|(form, _)| form.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_of_applications_for_the_schema_are_not_the_probes() {
        for (text, right) in [
            (
                "SELECT `INFO` FROM `information_schema`.`PROCESSLIST` WHERE `COMMAND` = ?",
                true,
            ),
            ("SELECT x FROM pg_stat_activity", true),
            (
                "SELECT column_name FROM information_schema.columns WHERE table_name = $1",
                false,
            ),
            ("SHOW TABLES LIKE ?", false),
        ] {
            assert_eq!(is_own(text), right, "{text}");
        }
    }

    fn totals(calls: u64, time_us: u64) -> StatementTotals {
        let mut totals = StatementTotals::default();
        totals[0] = Some(calls);
        totals[TIME] = Some(time_us);
        totals
    }

    fn take(statements: &mut Statements, rows: &[(&str, StatementTotals)]) {
        let rows = rows
            .iter()
            .map(|(id, totals)| ((*id).to_owned(), *totals))
            .collect();
        statements.take(rows, 9, |id| match id {
            "unknown" => None,
            "own" => Some("SELECT x FROM pg_stat_activity".to_owned()),
            id => Some(format!("SELECT {id} FROM t WHERE a = 1")),
        });
    }

    #[test]
    fn only_what_rose_in_the_run_counts() {
        let mut statements = Statements::default();
        take(
            &mut statements,
            &[("a", totals(1000, 9_000_000)), ("own", totals(1, 1))],
        );
        assert!(statements.dearest().is_empty() && statements.rates.is_empty());
        take(
            &mut statements,
            &[
                ("a", totals(1002, 9_000_200)),
                ("b", totals(1, 300)),
                ("own", totals(9, 9000)),
                ("unknown", totals(5, 5000)),
            ],
        );
        let forms = ["SELECT b FROM t WHERE a = ?", "SELECT a FROM t WHERE a = ?"];
        assert_eq!(statements.dearest(), forms);
        assert!(statements.rates[forms[0]][0].is_some_and(|rate| rate > 0.0));
        // One that was evicted and counted again.
        take(
            &mut statements,
            &[("a", totals(3, 700)), ("b", totals(1, 300))],
        );
        assert_eq!(statements.times[forms[1]], 900);
        assert_eq!(statements.times[forms[0]], 300);
    }

    #[test]
    fn of_many_statements_a_new_one_may_be_old() {
        let mut statements = Statements::default();
        let all = ["a", "b", "c", "d", "e", "f", "g", "h", "i"].map(|id| (id, totals(1, 1)));
        take(&mut statements, &all);
        take(&mut statements, &[("new", totals(1000, 1_000_000))]);
        assert!(statements.dearest().is_empty());
        let rows = vec![("new".to_owned(), totals(1001, 1_000_001))];
        assert_eq!(statements.risen(&rows), ["new"]);
    }
}
