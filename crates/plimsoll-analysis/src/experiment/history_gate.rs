//! Does the newest run of a history pass? Never, when nothing could be compared.
//!
//! A change for the worse in the newest runs fails; so do two runs in a row that stand out for the worse on their control
//! chart. A single one is undecided: it may be a spike, and the run is to be repeated.

use std::collections::BTreeMap;

use plimsoll_model::history::HistoryEntry;

use super::history::HistoryChange;
use super::run_series::{HistoryOptions, MetricSeries, RunSeries};

/// Runs in a row that stand out before the gate fails.
const ROW_MIN: usize = 2;

/// The answer of the gate, worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GateVerdict {
    /// Compared, and no worse.
    Passed,
    /// Nothing was compared, or one run stands out.
    Undecided,
    /// The newest run is void.
    Void,
    /// It became worse.
    Regressed,
}

/// Why the gate answers as it does, of one metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GateReason<'a> {
    /// A change for the worse.
    Changed(&'a MetricSeries, HistoryChange),
    /// The newest runs stand out for the worse on the control chart; how many in a row.
    StandsOut(&'a MetricSeries, usize),
    /// Too few valid runs that may be compared.
    NothingCompared,
    /// The newest run has no valid measurement.
    NewestIsVoid,
}

/// The answer for the newest run of a command and name.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesGate<'a> {
    /// The series of the newest run.
    pub series: &'a RunSeries,
    /// The answer.
    pub verdict: GateVerdict,
    /// Why; empty when it passed.
    pub reasons: Vec<GateReason<'a>>,
    /// Metrics that were compared.
    pub compared: usize,
}

/// Judges the newest run of each command and name.
pub fn judge<'a>(
    series: &'a [RunSeries],
    entries: &[HistoryEntry],
    options: HistoryOptions,
) -> Vec<SeriesGate<'a>> {
    let mut newest: BTreeMap<(&str, &str), &RunSeries> = BTreeMap::new();
    for candidate in series {
        let key = candidate.key();
        let slot = newest.entry((&key.command, &key.name)).or_insert(candidate);
        if candidate.runs().last() > slot.runs().last() {
            *slot = candidate;
        }
    }
    newest
        .into_values()
        .map(|series| judge_series(series, entries, options))
        .collect()
}

/// The worst of the answers; without any, nothing was compared.
pub fn worst(gates: &[SeriesGate<'_>]) -> GateVerdict {
    let verdicts = gates.iter().map(|gate| gate.verdict);
    verdicts.max().unwrap_or(GateVerdict::Undecided)
}

fn judge_series<'a>(
    series: &'a RunSeries,
    entries: &[HistoryEntry],
    options: HistoryOptions,
) -> SeriesGate<'a> {
    let newest = series.runs().last().copied();
    let mut gate = SeriesGate {
        series,
        verdict: GateVerdict::Passed,
        reasons: Vec::new(),
        compared: 0,
    };
    if !newest.is_some_and(|newest| entries[newest].is_valid()) {
        gate.verdict = GateVerdict::Void;
        gate.reasons.push(GateReason::NewestIsVoid);
        return gate;
    }
    let oldest_recent = series.runs().len().saturating_sub(options.recent);
    let oldest_recent = series.runs().get(oldest_recent).copied();
    // A metric that the newest run lacks says nothing about it.
    let of_newest = series.metrics().iter().filter(|metric| {
        metric.direction().is_some() && metric.points().last().map(|point| point.0) == newest
    });
    for metric in of_newest {
        gate.judge_metric(metric, oldest_recent.unwrap_or(usize::MAX), options);
    }
    if gate.compared == 0 {
        gate.verdict = GateVerdict::Undecided;
        gate.reasons.push(GateReason::NothingCompared);
    }
    gate
}

impl<'a> SeriesGate<'a> {
    fn judge_metric(
        &mut self,
        metric: &'a MetricSeries,
        oldest_recent: usize,
        options: HistoryOptions,
    ) {
        let row = metric.chart().map(|chart| chart.worse_in_a_row);
        if row.is_none() && !metric.has_change_points() {
            return;
        }
        self.compared += 1;
        let row = row.unwrap_or(0);
        let (verdict, reason) = match metric.standing_change(oldest_recent, options) {
            Some(change) => (GateVerdict::Regressed, GateReason::Changed(metric, change)),
            None if row >= ROW_MIN => (GateVerdict::Regressed, GateReason::StandsOut(metric, row)),
            None if row > 0 => (GateVerdict::Undecided, GateReason::StandsOut(metric, row)),
            None => return,
        };
        self.verdict = self.verdict.max(verdict);
        self.reasons.push(reason);
    }
}

#[cfg(test)]
mod tests;
