//! One trial: windows in, verdict out.
//!
//! A trial is judged on the requests that were **due** in its judged seconds, whenever they ended. Windows hold
//! requests by the second of their end, so the due moment is worked back from the response time (see
//! [`answers::due_since`]). The order of decisions: what voids the generator or the machine, then what
//! breaks the objective, then what makes a pass untrustworthy. An overloaded queue is never steady, so a failure is
//! decided before steadiness is checked.

pub mod answers;
mod browsers;
pub mod early;
pub mod leak;
pub mod recovery;
mod soak;
mod steady;
mod theft;
mod thresholds;
mod validity;
pub(crate) mod workers;

pub use early::early;
pub use recovery::recovered;
pub use theft::STEAL_SHARE_MAX;
pub use thresholds::ThresholdObjective;
pub(crate) use validity::cut_short;
pub use validity::{GENERATOR_CPU_MAX, lag_bound_us};

use std::collections::BTreeMap;

use plimsoll_model::broadcast::{BroadcastReach, Reached};
use plimsoll_model::histogram::Histogram;
use plimsoll_model::objective::{Answers, Objective};
use plimsoll_model::plan::LoadUnit;
use plimsoll_model::trial::{Percentiles, Trial, TrialKind, TrialSpec};
use plimsoll_model::verdict::{FailReason, TrialVerdict, VoidReason};
use plimsoll_model::window::Window;
use plimsoll_model::worker::WorkerRecord;

use crate::stats::trend::{mann_kendall_correlated, theil_sen};
use answers::MeasuredSeconds;
use workers::WorkerBounds;

/// Growth of the requests in flight that counts as a backlog, as a share of the offered rate per second.
const BACKLOG_SLOPE: f64 = 0.01;
/// Share of users that may be lost where the objective has no bound on errors.
const LOST_SHARE_MAX: f64 = 0.01;
/// Significance of that growth.
const BACKLOG_P: f64 = 0.01;

/// Input beyond the windows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrialFacts {
    /// Position of the trial in the run, from 0.
    pub index: u32,
    /// First second of run time that the trial used, ramp included.
    pub start_second: u32,
    /// Event loops of the generator.
    pub cores: u32,
    /// Share of the machine's CPU that the hypervisor took, 0 to 1, one value per second; empty when unknown.
    pub steal: Vec<f64>,
    /// Share of the machine's CPU that was busy, 0 to 1, in the same seconds.
    pub busy: Vec<f64>,
    /// Share of the machine's CPU that the browsers of the plan used, 0 to 1, in the same seconds; 0 or empty without browsers.
    pub browsers: Vec<f64>,
    /// Time within which arrivals are sent in one go, µs; a lag up to this is expected.
    pub tick_us: u64,
    /// Whether arrivals were independent of answers. Lag and CPU of the generator void open load only.
    pub open: bool,
    /// Thresholds of steps, journeys and groups.
    pub thresholds: Vec<ThresholdObjective>,
    /// Whether a page's time contains that of its resources, so that Little's law does not hold for the counts.
    pub overlapping: bool,
    /// Requests in flight at low load ([`crate::search::Search::anchor_in_flight`]); used by recovery trials only.
    pub anchor_in_flight: f64,
    /// Hosts that carried a part of the trial each; empty where this machine carried it.
    pub workers: Vec<WorkerRecord>,
}

/// Judges a trial from all its windows: ramp, warm-up, judged seconds and drain, ascending.
///
/// A trial whose only fault is [`VoidReason::NotSteady`] deserves twice the time once; the search requests it.
pub fn evaluate(
    spec: &TrialSpec,
    objective: &Objective,
    windows: &[Window],
    facts: &TrialFacts,
) -> Trial {
    let level = level_seconds(spec, windows, facts.start_second);
    let dropped = steady::seconds_to_drop(spec, windows, level);
    let measured_seconds = (level.0 + dropped, level.1);
    let measured = MeasuredSeconds::of(windows, measured_seconds);
    let mut trial = describe(spec, objective, &measured, facts);
    trial.verdict = verdict(&trial, objective, windows, &measured, facts);
    if spec.kind == TrialKind::Recovery
        && let Some(seconds) = recovered(windows, facts.anchor_in_flight, objective)
    {
        trial.measured.0 = facts.start_second + seconds;
    }
    trial
}

/// The seconds at the trial's rate, half-open; a trial that was stopped early ends with its last arrival
/// or when its users are gone.
fn level_seconds(spec: &TrialSpec, windows: &[Window], start: u32) -> (u32, u32) {
    let from = start + spec.ramp_s + spec.warmup_s;
    let planned = from + spec.measure_s;
    // Users who all wait offer no requests, and are a load nevertheless.
    let is_loaded = |window: &&Window| window.offered > 0 || window.users > 0;
    let last_loaded = windows.iter().rev().find(is_loaded);
    let stopped = last_loaded.map_or(from, |window| window.second + 1);
    // A second without arrivals at the very end is chance, not a stop, unless several are missing.
    let rate = spec.requests_per_second();
    let to = if rate > 0.0 && stopped + 2 < planned && f64::from(planned - stopped) * rate > 5.0 {
        stopped
    } else {
        planned
    };
    (from, to.max(from))
}

/// Everything about the trial but its verdict.
fn describe(
    spec: &TrialSpec,
    objective: &Objective,
    measured: &MeasuredSeconds<'_>,
    facts: &TrialFacts,
) -> Trial {
    let answers = measured.answers();
    let strictest = objective.strictest();
    Trial {
        index: facts.index,
        spec: *spec,
        start_second: facts.start_second,
        measured: measured.seconds,
        verdict: TrialVerdict::Pass,
        requests: answers.total(),
        bad: strictest.map_or(answers.failed, |bound| answers.bad(bound.within_us)),
        errors: answers.failed,
        throughput: measured.throughput(),
        response_us: Percentiles::of(answers.good),
        objective_us: strictest.and_then(|bound| measured.quantile_us(bound)),
        in_flight_mean: measured.in_flight_mean(),
        lag_us_p99: measured.lag_us(0.99),
        generator_cpu: measured.generator_cpu(facts.cores),
        stolen_share: theft::share(facts),
    }
}

fn verdict(
    trial: &Trial,
    objective: &Objective,
    windows: &[Window],
    measured: &MeasuredSeconds<'_>,
    facts: &TrialFacts,
) -> TrialVerdict {
    // The measured load was not the requested one.
    let reasons = validity::cut_short(windows);
    if !reasons.is_empty() {
        return TrialVerdict::Void { reasons };
    }
    // A target that has recovered has recovered, whatever the machine did meanwhile.
    let well_again = trial.spec.kind == TrialKind::Recovery
        && recovered(windows, facts.anchor_in_flight, objective).is_some();
    if well_again {
        return TrialVerdict::Pass;
    }
    let failed = failure(trial, objective, windows, measured, facts);
    // One client alone is no load: a wrong answer stays wrong under CPU steal, and one that is fast enough in spite
    // of it is fast enough.
    if trial.spec.kind == TrialKind::Single {
        match failed {
            Some(FailReason::Errors) => {
                return TrialVerdict::Fail {
                    reason: FailReason::Errors,
                };
            }
            None if trial.requests > 0 => return TrialVerdict::Pass,
            _ => {}
        }
    }
    let mut reasons = validity::generator_and_machine(trial, objective, measured, facts);
    let bounds = WorkerBounds {
        objective,
        tick_us: facts.tick_us,
        is_paced: facts.open,
    };
    reasons.extend(workers::voids(&facts.workers, bounds));
    reasons.extend(theft::voids(trial, failed.is_some(), facts));
    reasons.extend(browsers::voids(trial.spec.kind, failed.is_some(), facts));
    if reasons.is_empty() {
        match trial.spec.kind {
            TrialKind::SelfTest => reasons.extend(validity::self_test(trial)),
            // These have no objective: they are compared with one another.
            TrialKind::Noise | TrialKind::Anchor => {}
            TrialKind::Recovery => {
                return TrialVerdict::Fail {
                    reason: FailReason::Backlog,
                };
            }
            // A step is short by design: it reports measurements, not the line.
            TrialKind::Step => {
                if let Some(reason) = failed {
                    return TrialVerdict::Fail { reason };
                }
            }
            _ => {
                if let Some(reason) = failed {
                    return TrialVerdict::Fail { reason };
                }
                reasons = validity::of_a_pass(trial, objective, measured, facts);
            }
        }
    }
    if reasons.is_empty() {
        TrialVerdict::Pass
    } else {
        TrialVerdict::Void { reasons }
    }
}

/// Why the trial broke the objective, if it did.
fn failure(
    trial: &Trial,
    objective: &Objective,
    windows: &[Window],
    measured: &MeasuredSeconds<'_>,
    facts: &TrialFacts,
) -> Option<FailReason> {
    let spec = &trial.spec;
    if windows
        .iter()
        .any(|window| window.in_flight > spec.in_flight_cap)
    {
        return Some(FailReason::InFlightCap);
    }
    if too_many_lost(spec, objective, windows) {
        return Some(FailReason::Errors);
    }
    let broken = match spec.kind {
        TrialKind::Soak => soak::broken(objective, measured.windows),
        _ => broken(objective, measured.answers()),
    };
    if broken.is_some() {
        return broken;
    }
    if objective.has_broadcast_bounds() && broadcasts_break(objective, windows, measured.windows) {
        return Some(FailReason::Threshold);
    }
    let mut thresholds = facts.thresholds.iter();
    if !thresholds.all(|threshold| threshold.holds(windows, measured.windows)) {
        return Some(FailReason::Threshold);
    }
    (spec.kind != TrialKind::Single && backlog_grows(spec.requests_per_second(), measured))
        .then_some(FailReason::Backlog)
}

/// Whether broadcasts broke a bound: reach over all of the trial, since it is known when all subscribers have left;
/// latency over its judged seconds. A message that did not arrive in so short a time breaks no bound.
fn broadcasts_break(objective: &Objective, trial: &[Window], measured: &[Window]) -> bool {
    let mut latency = Histogram::new();
    for websocket in measured
        .iter()
        .filter_map(|window| window.websocket.as_ref())
    {
        for broadcast in websocket.channels.values() {
            latency.merge(&broadcast.latency);
        }
    }
    let mut by_channel = BTreeMap::<u32, BroadcastReach>::new();
    for websocket in trial.iter().filter_map(|window| window.websocket.as_ref()) {
        for (&channel, broadcast) in &websocket.channels {
            by_channel.entry(channel).or_default().add(broadcast);
        }
    }
    let mut reached = Reached::default();
    for reach in by_channel.values() {
        reached.add(reach.result());
    }
    objective.broadcasts_break(&latency, reached.ratio())
}

/// The bound that answers broke, if any.
fn broken(objective: &Objective, answers: Answers<'_>) -> Option<FailReason> {
    if !objective.errors_hold(answers) {
        return Some(FailReason::Errors);
    }
    let holds = objective.latency.iter().all(|bound| bound.holds(answers));
    (!holds).then_some(FailReason::Latency)
}

/// Users that left for good, because a login failed or their data ran out, are a load that was not there. As many may be
/// lost as requests may fail. Whoever gave up was replaced, and the request that took too long has failed.
fn too_many_lost(spec: &TrialSpec, objective: &Objective, windows: &[Window]) -> bool {
    let lost: u64 = windows
        .iter()
        .map(|window| window.users_lost.saturating_sub(window.users_given_up()))
        .sum();
    let came = match spec.unit {
        _ if spec.kind == TrialKind::Single => 0.0,
        LoadUnit::SessionsPerSecond => spec.rate * f64::from(spec.offered_s()),
        LoadUnit::RequestsPerSecond | LoadUnit::Users => spec.rate,
    };
    lost as f64 > objective.errors_max.unwrap_or(LOST_SHARE_MAX) * came
}

/// Requests in flight grow by more than a hundredth of the rate each second, and not by chance.
fn backlog_grows(rate: f64, measured: &MeasuredSeconds<'_>) -> bool {
    let series: Vec<f64> = measured
        .windows
        .iter()
        .map(|window| window.in_flight_mean)
        .collect();
    let steep = theil_sen(&series).is_some_and(|line| line.slope > BACKLOG_SLOPE * rate);
    steep && mann_kendall_correlated(&series).p < BACKLOG_P
}

/// Whether the trial's only fault is that no steady state was found.
pub fn only_unsteady(verdict: &TrialVerdict) -> bool {
    matches!(verdict, TrialVerdict::Void { reasons } if reasons == &[VoidReason::NotSteady])
}

#[cfg(test)]
mod tests;
