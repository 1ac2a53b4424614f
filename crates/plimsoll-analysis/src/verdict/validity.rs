//! What makes a trial void: the generator, the machine, or too little to judge by.

use std::collections::BTreeMap;

use plimsoll_model::objective::Objective;
use plimsoll_model::trial::{Trial, TrialKind};
use plimsoll_model::verdict::VoidReason;
use plimsoll_model::window::Window;

use super::TrialFacts;
use super::answers::MeasuredSeconds;
use super::steady::is_steady;

/// Highest share of the generator's CPU that is valid, 0 to 1.
pub const GENERATOR_CPU_MAX: f64 = 0.85;
/// Most reasons of one kind reported.
const CUT_SHORT_MAX: usize = 5;
/// Requests beyond the quantile that a verdict needs.
const TAIL_REQUESTS_MIN: f64 = 10.0;
/// Difference between N and X·R that is valid.
const LITTLE_MAX: f64 = 0.05;
/// Requests below which Little's law is not checked: the ends of the interval weigh too much.
const LITTLE_REQUESTS_MIN: u64 = 1000;

/// What ended the load, or some of it, early: the same reason from several loops counts once.
pub(crate) fn cut_short(windows: &[Window]) -> Vec<VoidReason> {
    let mut reasons = Vec::new();
    for why in windows.iter().flat_map(|window| &window.load_errors) {
        let reason = VoidReason::CutShort { why: why.clone() };
        if !reasons.contains(&reason) && reasons.len() < CUT_SHORT_MAX {
            reasons.push(reason);
        }
    }
    reasons
}

/// CPU share of the busiest external script, 0 to 1.
fn process_cpu(windows: &[Window]) -> f64 {
    let mut used_us = BTreeMap::<u32, u64>::new();
    for window in windows {
        for (&journey, process) in &window.processes {
            *used_us.entry(journey).or_default() += process.cpu_us_max;
        }
    }
    let most = used_us.into_values().max().unwrap_or(0);
    most as f64 / 1e6 / (windows.len() as f64).max(1.0)
}

/// Faults of the generator and the machine; they void a trial whatever the target did.
pub(super) fn generator_and_machine(
    trial: &Trial,
    objective: &Objective,
    measured: &MeasuredSeconds<'_>,
    facts: &TrialFacts,
) -> Vec<VoidReason> {
    let mut reasons = Vec::new();
    if facts.open {
        let bound_us = lag_bound_us(objective) + facts.tick_us as f64;
        if measured.lag_us_p99_low() as f64 > bound_us {
            reasons.push(VoidReason::GeneratorLag {
                lag_ms_p99: trial.lag_us_p99 as f64 / 1e3,
                bound_ms: bound_us / 1e3,
            });
        }
        if trial.generator_cpu > GENERATOR_CPU_MAX {
            reasons.push(VoidReason::GeneratorCpu {
                share: trial.generator_cpu,
            });
        }
        let share = process_cpu(measured.windows);
        if share > GENERATOR_CPU_MAX {
            reasons.push(VoidReason::ProcessCpu { share });
        }
    }
    let sum = |count: fn(&Window) -> u64| measured.windows.iter().map(count).sum::<u64>();
    let ports = sum(|window| window.generator.ports_exhausted);
    if ports > 0 {
        reasons.push(VoidReason::GeneratorPorts { failures: ports });
    }
    let descriptors = sum(|window| window.generator.descriptors_exhausted);
    if descriptors > 0 {
        reasons.push(VoidReason::GeneratorDescriptors {
            failures: descriptors,
        });
    }
    reasons
}

/// Highest valid p99 of the generator's lag, µs: max(1 ms, 0.05 τ), τ the tightest latency bound.
pub fn lag_bound_us(objective: &Objective) -> f64 {
    let tightest = objective.latency.iter().map(|bound| bound.within_us).min();
    tightest.map_or(1000.0, |tau| (0.05 * tau as f64).max(1000.0))
}

/// The generator must reach the requested rate against the server that does nothing.
pub(super) fn self_test(trial: &Trial) -> Option<VoidReason> {
    (trial.throughput < 0.95 * trial.spec.rate).then_some(VoidReason::SelfTest {
        reached: trial.throughput,
        needed: trial.spec.rate,
    })
}

/// What makes a pass untrustworthy.
pub(super) fn of_a_pass(
    trial: &Trial,
    objective: &Objective,
    measured: &MeasuredSeconds<'_>,
    facts: &TrialFacts,
) -> Vec<VoidReason> {
    let mut reasons = Vec::new();
    if trial.spec.kind != TrialKind::Single {
        reasons.extend(too_few(trial, objective));
    }
    if !facts.overlapping {
        reasons.extend(little(trial, measured));
    }
    if !is_steady(trial.spec.kind, measured.windows) {
        reasons.push(VoidReason::NotSteady);
    }
    reasons
}

fn too_few(trial: &Trial, objective: &Objective) -> Option<VoidReason> {
    let tail = 1.0 - objective.strictest()?.quantile;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a small positive count"
    )]
    let needed = (TAIL_REQUESTS_MIN / tail - 1e-6).ceil() as u64;
    (trial.requests < needed).then_some(VoidReason::TooFewRequests {
        requests: trial.requests,
        needed,
    })
}

/// Little's law over the judged seconds: N = X·R, failures included, within 5 % and what the ends of the interval
/// allow: a request in flight at either end is only partly inside, and one that the generator sent late is counted
/// from its due moment in R but not yet in N.
fn little(trial: &Trial, measured: &MeasuredSeconds<'_>) -> Option<VoidReason> {
    let (first, last) = (measured.windows.first()?, measured.windows.last()?);
    let time_in_system: f64 = measured
        .windows
        .iter()
        .flat_map(|window| [&window.response, &window.failed])
        .map(|histogram| histogram.mean().unwrap_or(0.0) / 1e6 * histogram.count() as f64)
        .sum();
    let completed: u64 = measured.windows.iter().map(Window::completed).sum();
    if completed < LITTLE_REQUESTS_MIN {
        return None;
    }
    let length_s = measured.windows.len() as f64;
    let predicted = time_in_system / length_s;
    let at_ends = (first.in_flight.max(last.in_flight) + 1) as f64;
    let slack = 2.0 * at_ends * trial.response_us.p99 as f64 / 1e6 / length_s
        + trial.throughput * trial.lag_us_p99 as f64 / 1e6
        // Clocks are read to the microsecond, at both ends of every request.
        + trial.throughput * 2e-6;
    let difference = (trial.in_flight_mean - predicted).abs();
    (difference > LITTLE_MAX * predicted + slack).then_some(VoidReason::LittlesLaw {
        ratio: trial.in_flight_mean / predicted,
    })
}
