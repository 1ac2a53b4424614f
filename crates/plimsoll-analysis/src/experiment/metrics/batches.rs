//! Batches of seconds of one run: what a single run says of its own variation (Law, Simulation Modeling and Analysis,
//! 9.5.3, batch means).
//!
//! Requests of one second resemble those of the next, so a batch lasts at least five seconds, and longer while
//! neighbouring batches still resemble each other. How much another run would differ, no batch can say.

use std::collections::BTreeMap;

use plimsoll_model::plan::Load;
use plimsoll_model::run::Run;
use plimsoll_model::schedule::LoadPhase;

use super::definition::{CPU_PER_REQUEST, MEAN, MEMORY, THROUGHPUT};
use super::totals::{SpanTotals, resources};
use super::{MetricValues, StepKey, spans};
use crate::stats::trend::autocorrelation;
use crate::summary::MeasuredSpan;

/// Shortest batch, seconds.
const SECONDS_MIN: u32 = 5;
/// Most batches of a run: more would be shorter, and so less independent.
const BATCHES_MAX: u32 = 30;
/// Fewest batches of a run on each side that can show a difference in one of five metrics at 95 %: 5 · 2 / C(10, 5) = .04.
pub const BATCHES_MIN: usize = 5;

/// The metrics of a run by batch of seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunBatches {
    seconds: u32,
    values: Vec<MetricValues>,
    steps: Vec<BTreeMap<StepKey, MetricValues>>,
}

impl RunBatches {
    /// The batches of `run`: as many as its judged seconds allow.
    pub fn of(run: &Run) -> Self {
        let spans = spans(run);
        let judged: u32 = spans.iter().map(due_seconds).sum();
        let mut seconds = judged.div_ceil(BATCHES_MAX).max(SECONDS_MIN);
        loop {
            let batches = Self::lasting(run, &spans, seconds);
            // Twice as long leaves half as many.
            if !batches.is_correlated() || batches.values.len() < 2 * BATCHES_MIN {
                return batches;
            }
            seconds *= 2;
        }
    }

    fn lasting(run: &Run, spans: &[MeasuredSpan], seconds: u32) -> Self {
        let mut batches = Self {
            seconds,
            ..Self::default()
        };
        let nominal = nominal_rate(&run.header.plan.load);
        for span in spans.iter().flat_map(|span| cut(*span, seconds)) {
            let totals = SpanTotals::of(run, &[span]);
            let mut values = totals.values(run.header.plan.classes_ms);
            if let Some(throughput) = nominal.and_then(|rate| totals.throughput_of_open(rate)) {
                values.insert(THROUGHPUT.to_owned(), throughput);
            }
            values.extend(
                resources(run, &[span], totals.requests())
                    .into_iter()
                    .filter(|(name, _)| name.starts_with(CPU_PER_REQUEST)),
            );
            // A level that a process once reached stays: its batches are one value, not several.
            values.retain(|name, _| !name.starts_with(MEMORY));
            batches.values.push(values);
            batches.steps.push(totals.steps());
        }
        batches
    }

    /// Whether the mean response times of neighbouring batches are more alike than by chance (5 %, one-sided).
    fn is_correlated(&self) -> bool {
        let means = self.of_metric(MEAN);
        means.len() >= BATCHES_MIN
            && autocorrelation(&means, 1) > 1.645 / (means.len() as f64).sqrt()
    }

    /// How long a batch is.
    pub fn seconds(&self) -> u32 {
        self.seconds
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.values.len()
    }

    /// The values of a metric; batches in which it was not measured are left out.
    pub fn of_metric(&self, name: &str) -> Vec<f64> {
        let values = self.values.iter();
        values
            .filter_map(|batch| batch.get(name).copied())
            .collect()
    }

    /// The same for a step.
    pub fn of_step(&self, step: &StepKey, name: &str) -> Vec<f64> {
        let steps = self.steps.iter().filter_map(|batch| batch.get(step));
        steps
            .filter_map(|values| values.get(name).copied())
            .collect()
    }
}

/// Mean rate of an open load as planned: two runs of a plan offer the same, whatever their seeds make of it.
fn nominal_rate(load: &Load) -> Option<f64> {
    let Load::Open { phases, .. } = load else {
        return None;
    };
    let lasting_s = load.lasting().as_secs_f64();
    let expected: f64 = phases.iter().map(LoadPhase::expected).sum();
    (lasting_s > 0.0).then(|| expected / lasting_s)
}

/// Seconds of a span in which requests became due.
fn due_seconds(span: &MeasuredSpan) -> u32 {
    span.due_until.saturating_sub(span.from)
}

/// Batches of a span: the last one takes the seconds that do not make a whole one, and what ended after the load.
fn cut(span: MeasuredSpan, seconds: u32) -> Vec<MeasuredSpan> {
    let count = due_seconds(&span) / seconds;
    let batch = |index: u32| {
        let from = span.from + index * seconds;
        if index + 1 < count {
            return MeasuredSpan::of_seconds(from, from + seconds);
        }
        MeasuredSpan {
            from,
            seconds: span.seconds - f64::from(from - span.from),
            ..span
        }
    };
    (0..count).map(batch).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_batch_takes_the_rest() {
        let span = MeasuredSpan {
            from: 3,
            due_until: 20,
            until: 22,
            seconds: 16.5,
        };
        let batches = cut(span, 5);
        let ends: Vec<(u32, u32, u32)> = batches
            .iter()
            .map(|batch| (batch.from, batch.due_until, batch.until))
            .collect();
        assert_eq!(ends, [(3, 8, 8), (8, 13, 13), (13, 20, 22)]);
        assert!((batches[2].seconds - 6.5).abs() < 1e-9);
        assert!(cut(MeasuredSpan::of_seconds(0, 4), 5).is_empty());
    }
}
