//! Cycles of a record: a limit is diagnosed, something is changed, the line is measured again.

use std::collections::BTreeMap;

use plimsoll_model::cycle::{CycleEntry, CycleResult};
use plimsoll_model::plan::LoadUnit;

use super::comparison::log_ratio;

/// A step of a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Cycle<'a> {
    /// Number within its name, from 0: a first measurement has nothing before it.
    pub number: usize,
    /// The measurement after the change.
    pub after: &'a CycleEntry,
    /// The measurement before it; `None` of a first one, and of a comparison, which holds both.
    pub before: Option<&'a CycleEntry>,
    /// What it gained; `None` where either side has no value.
    pub gain: Option<Gain>,
}

/// After over before, with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    /// The ratio.
    pub value: f64,
    /// Lower end; `None` without an interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

impl<'a> Cycle<'a> {
    /// The limit that the change was made against.
    pub fn diagnosis(&self) -> Option<&'a str> {
        match (&self.after.result, self.before) {
            (CycleResult::Comparison { limit_before, .. }, _) => limit_before.as_deref(),
            (_, before) => before?.limit.as_deref(),
        }
    }
}

/// The newest line of each unit.
type NewestLines<'a> = Vec<(LoadUnit, &'a CycleEntry)>;

/// The cycles of a record, whose entries are in the order of time.
pub fn cycles(entries: &[CycleEntry]) -> Vec<Cycle<'_>> {
    let mut newest: BTreeMap<(&str, Option<&str>), NewestLines<'_>> = BTreeMap::new();
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    let mut cycles = Vec::with_capacity(entries.len());
    for entry in entries {
        let known = newest
            .entry((&entry.name, entry.objective.as_deref()))
            .or_default();
        let before = match &entry.result {
            CycleResult::Line { unit, .. } => {
                let before = known.iter().find(|(known, _)| known == unit);
                let before = before.map(|(_, before)| *before);
                known.retain(|(known, _)| known != unit);
                known.push((*unit, entry));
                before
            }
            // Its next measurement is compared with the last line that there was.
            CycleResult::NoLine { .. } => known.last().map(|(_, before)| *before),
            CycleResult::Comparison { .. } => None,
        };
        let number = numbers.entry(&entry.name).or_default();
        cycles.push(Cycle {
            number: *number,
            after: entry,
            before,
            gain: gain(before, entry),
        });
        *number += 1;
    }
    cycles
}

fn gain(before: Option<&CycleEntry>, after: &CycleEntry) -> Option<Gain> {
    match &after.result {
        CycleResult::Comparison {
            before,
            after,
            estimate,
            low,
            high,
            ..
        } => {
            // A difference of shares is no ratio.
            let is_ratio = before.zip(*after).is_none_or(|(before, _)| before > 0.0);
            estimate.filter(|_| is_ratio).map(|value| Gain {
                value,
                low: *low,
                high: *high,
            })
        }
        CycleResult::Line { .. } => {
            let (before, after) = (logs(&before?.result)?, logs(&after.result)?);
            let [low, value, high] = log_ratio(before, after).map(f64::exp);
            Some(Gain {
                value,
                low: Some(low),
                high: Some(high),
            })
        }
        CycleResult::NoLine { .. } => None,
    }
}

/// Logarithms of the ends and the middle of a line.
fn logs(result: &CycleResult) -> Option<[f64; 3]> {
    match *result {
        CycleResult::Line {
            low, median, high, ..
        } if low > 0.0 && low <= median && median <= high => Some([low, median, high].map(f64::ln)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::cycle::CYCLE_FORMAT;

    use super::*;

    fn entry(name: &str, result: CycleResult, limit: &str) -> CycleEntry {
        CycleEntry {
            format: CYCLE_FORMAT,
            at: "2026-11-26T10:00:00Z".to_owned(),
            name: name.to_owned(),
            commit: None,
            change: Some("x".to_owned()),
            objective: Some("p95 < 800ms".to_owned()),
            result,
            limit: Some(limit.to_owned()),
            plimsoll: String::new(),
        }
    }

    fn line(low: f64, median: f64, high: f64) -> CycleResult {
        CycleResult::Line {
            unit: LoadUnit::RequestsPerSecond,
            low,
            median,
            high,
            confirmed: true,
        }
    }

    #[test]
    fn a_line_is_compared_with_the_line_before_of_its_name() {
        let entries = [
            entry("site", line(90.0, 100.0, 110.0), "CPU"),
            entry("other", line(9.0, 10.0, 11.0), "backlog"),
            entry("site", line(180.0, 200.0, 220.0), "pool"),
        ];
        let cycles = cycles(&entries);
        assert_eq!((cycles[0].number, cycles[0].gain), (0, None));
        assert_eq!((cycles[1].number, cycles[1].diagnosis()), (0, None));
        assert_eq!((cycles[2].number, cycles[2].diagnosis()), (1, Some("CPU")));
        let gain = cycles[2].gain.unwrap();
        assert!((gain.value - 2.0).abs() < 1e-12);
        // By hand: d = ln 2, below = d − 1.19157 · √(ln(200/180)² + ln(110/100)²) = 0.5239.
        assert!((gain.low.unwrap().ln() - 0.523_9).abs() < 5e-4, "{gain:?}");
        assert!(gain.high.unwrap() > 2.2, "{gain:?}");
    }

    #[test]
    fn a_measurement_without_a_line_gains_nothing_and_is_passed_over() {
        let entries = [
            entry("site", line(90.0, 100.0, 110.0), "CPU"),
            entry(
                "site",
                CycleResult::NoLine {
                    reason: "void".to_owned(),
                },
                "?",
            ),
            entry("site", line(180.0, 200.0, 220.0), "pool"),
        ];
        let cycles = cycles(&entries);
        assert_eq!((cycles[1].gain, cycles[1].diagnosis()), (None, Some("CPU")));
        assert_eq!(cycles[2].before, Some(&entries[0]));
        assert!(cycles[2].gain.is_some());
    }

    #[test]
    fn other_objectives_and_units_are_not_compared() {
        let mut other_objective = entry("site", line(180.0, 200.0, 220.0), "pool");
        other_objective.objective = None;
        let mut users = entry("site", line(180.0, 200.0, 220.0), "pool");
        if let CycleResult::Line { unit, .. } = &mut users.result {
            *unit = LoadUnit::Users;
        }
        let entries = [
            entry("site", line(90.0, 100.0, 110.0), "CPU"),
            other_objective,
            users,
        ];
        assert!(cycles(&entries).iter().all(|cycle| cycle.gain.is_none()));
    }

    #[test]
    fn a_comparison_holds_both_sides() {
        let comparison = CycleResult::Comparison {
            metric: "p95".to_owned(),
            verdict: "better".to_owned(),
            before: Some(100.0),
            after: Some(80.0),
            before_interval: Some((95.0, 105.0)),
            after_interval: None,
            estimate: Some(0.8),
            low: Some(0.75),
            high: Some(0.85),
            limit_before: Some("pool".to_owned()),
        };
        let entries = [entry("site", comparison, "CPU")];
        let cycles = cycles(&entries);
        assert_eq!(cycles[0].diagnosis(), Some("pool"));
        assert_eq!(cycles[0].gain.unwrap().low, Some(0.75));
    }
}
