//! The same comparisons in virtual time: many of them, and the same again for the same seeds.

use std::time::Duration;

use anyhow::Result;
use plimsoll_analysis::experiment::comparison::usual_rules::usual_verdicts;
use plimsoll_analysis::experiment::effect::{Criteria, Direction};
use plimsoll_analysis::experiment::metrics::{ERRORS, P50, P95, P99, THROUGHPUT};
use plimsoll_analysis::experiment::trial::Scale;
use plimsoll_harness::workspace::Workspace;
use plimsoll_lab::experiment::block::Blocks as _;
use plimsoll_lab::experiment::comparison_blocks::{
    BASELINE_CELL, CANDIDATE_CELL, ComparisonBlocks, LOOKS_AT_RATE,
};
use plimsoll_lab::experiment::trial::{
    PlannedTrial, RecordedOutcome, TrialRecord, TrialRole, TrialTraffic,
};
use plimsoll_model::histogram::Histogram;
use plimsoll_model::seed::Seed;
use plimsoll_testkit::compared_services::ComparedServices;
use plimsoll_testkit::queue::{histogram_of, quantiles_of};
use serde_json::{Value, json};

use super::{JUDGED, SERVICE_US, SLOWER_US, otava};

/// What a comparison may take.
const BUDGET: Duration = Duration::from_mins(10);
/// What a trial takes, ms: five seconds, and the time between trials.
const TRIAL_MS: u64 = 6_500;
/// Blocks at most: the budget ends every comparison before.
const BLOCKS_MAX: u32 = 100;
/// Requests per second.
const RATE: f64 = 100.0;

/// The results of comparisons of equal services, and of a quarter as many of a slower one, as those on sockets have them.
pub(super) fn results(workspace: &Workspace, comparisons: u64) -> Result<Vec<Value>> {
    otava::install(workspace)?;
    let equal = (0..comparisons).map(|seed| compare(SERVICE_US, seed));
    let slower = (0..comparisons / 4).map(|seed| compare(SLOWER_US, seed));
    let mut results: Vec<Value> = equal.chain(slower).collect();
    let series: Vec<&Value> = results.iter().map(|it| &it["series"]).collect();
    let verdicts = otava::verdicts(workspace, &series)?;
    for (result, verdict) in results.iter_mut().zip(verdicts) {
        result["otava"] = json!(verdict);
    }
    Ok(results
        .into_iter()
        .map(|compared| json!({ "compared": compared }))
        .collect())
}

/// A comparison by the command's own blocks, until it ends.
fn compare(service_us: u64, seed: u64) -> Value {
    let seed = Seed(seed);
    let criteria = Criteria::standard(Direction::LowerIsBetter, Scale::Ratio, seed);
    let mut blocks = ComparisonBlocks::new(LOOKS_AT_RATE, BUDGET, criteria, seed);
    let mut services = ComparedServices::new(service_us as f64 / SERVICE_US as f64, seed);
    let mut course = Course::default();
    for block in 0..BLOCKS_MAX {
        let planned = blocks.next_block(block, &course.records);
        if planned.is_empty() {
            break;
        }
        services.begin_block(block);
        for (position, (cell, _)) in (0..).zip(planned) {
            let times = services.trial(position, cell == CANDIDATE_CELL);
            course.add(block, position, cell, times);
        }
    }
    let result = blocks.result(&course.records);
    let rules = usual_verdicts(
        &ComparisonBlocks::trials(&course.records),
        JUDGED,
        Some([&course.last[0], &course.last[1]]),
    );
    let rules: Vec<Value> = rules
        .iter()
        .map(|it| json!({ "rule": it.rule, "verdict": it.verdict.name() }))
        .collect();
    let ended_ms = course.records.last().map_or(0, |record| record.ended_ms);
    json!({
        "service_us": service_us,
        "seed": seed.0,
        "verdict": result.comparison().verdict().name(),
        "blocks": { "valid": result.valid(), "void": result.void() },
        "usual_rules": rules,
        "series": course.series,
        "seconds": ended_ms as f64 / 1000.0,
        "p50": { "ratio": course.ratio() },
    })
}

/// The trials of a comparison so far.
#[derive(Default)]
struct Course {
    records: Vec<TrialRecord>,
    /// The judged metric of the trials that measured, of the baseline and of the candidate.
    series: [Vec<f64>; 2],
    /// Logarithms of their medians.
    medians: [Vec<f64>; 2],
    /// The requests of the last trial of each side.
    last: [Histogram; 2],
}

impl Course {
    fn add(&mut self, block: u32, position: u32, cell: usize, times: Option<Vec<f64>>) {
        let outcome = match times {
            None => RecordedOutcome::Void("planted".to_owned()),
            Some(times) => self.measured(usize::from(cell != BASELINE_CELL), &times),
        };
        let index = self.records.len() as u64;
        self.records.push(TrialRecord {
            trial: PlannedTrial {
                index: u32::try_from(index).unwrap_or(u32::MAX),
                block,
                position,
                cell,
                role: TrialRole::Cell,
                seed: Seed(u64::from(block)),
            },
            began_ms: index * TRIAL_MS,
            ended_ms: (index + 1) * TRIAL_MS,
            outcome,
            traffic: TrialTraffic::default(),
            runs: Vec::new(),
            notes: Vec::new(),
        });
    }

    fn measured(&mut self, side: usize, times: &[f64]) -> RecordedOutcome {
        let [p50, p95, p99] = quantiles_of(times);
        self.series[side].push(p95);
        self.medians[side].push(p50.ln());
        self.last[side] = histogram_of(times);
        let metrics = [
            (THROUGHPUT, RATE),
            (P50, p50),
            (P95, p95),
            (P99, p99),
            (ERRORS, 0.0),
        ];
        RecordedOutcome::Measured(metrics.map(|(name, value)| (name.to_owned(), value)).into())
    }

    /// The ratio of the geometric means of p50.
    fn ratio(&self) -> f64 {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
        (mean(&self.medians[1]) - mean(&self.medians[0])).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_has_what_the_page_needs() {
        let slower = compare(SLOWER_US, 1);
        assert_eq!(slower["verdict"], "worse", "{slower}");
        let ratio = slower["p50"]["ratio"].as_f64().unwrap();
        assert!((1.03..1.25).contains(&ratio), "{ratio}");
        assert_eq!(slower["usual_rules"].as_array().unwrap().len(), 3);
        let seconds = slower["seconds"].as_f64().unwrap();
        assert!((1.0..=600.0).contains(&seconds), "{seconds}");
        assert_eq!(compare(SLOWER_US, 1), slower);
    }
}
