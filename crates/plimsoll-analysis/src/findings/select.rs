//! Which seconds of a run are B, P and F.

use std::cmp::Ordering;

use plimsoll_model::metric;
use plimsoll_model::plan::Target;
use plimsoll_model::run::Run;
use plimsoll_model::trial::{Trial, TrialKind};
use plimsoll_model::verdict::{TrialVerdict, VoidReason};

use super::unexplained;
use super::{Context, SecondRange, Stretches};
use crate::diagnosis::measure::of_target;
use crate::diagnosis::stretch::{Stretch3, View};
use crate::machines::tables;
use crate::rules::service::overload;
use crate::summary::Summary;
use crate::whole_run;

/// Length of F: later seconds may show the collapse and not its cause, s.
const FAILING_S: u32 = 30;

/// Loads above the boundary that are evaluated when the boundary itself shows nothing.
const BEYOND_MAX: usize = 4;

/// The stretches of a run, the boundary first and then higher loads, and the context that the rules need. At least one.
pub(super) fn of(run: &Run) -> (Vec<Stretches>, Context) {
    let plan = &run.header.plan;
    let objective = plan.objective.as_ref();
    let tightest = objective.and_then(|objective| {
        let bounds = objective.latency.iter().map(|bound| bound.within_us);
        bounds.min()
    });
    let searched = run
        .trials
        .iter()
        .any(|trial| trial.spec.kind != TrialKind::Step);
    let steps = if searched {
        Vec::new()
    } else {
        whole_run::steps(run)
    };
    let robbed = steps.iter().any(is_robbed) && !steps.iter().any(|step| step.verdict.is_fail());
    let context = Context {
        target: name_of(&plan.target),
        bound_us: tightest,
        open: plan.load.is_open(),
        robbed,
    };
    let stretches = if searched {
        of_trials(&run.trials)
    } else if robbed {
        of_trials(&whole_run::steps_despite_theft(run))
    } else if steps.is_empty() {
        vec![of_plain(run)]
    } else {
        of_trials(&steps)
    };
    (stretches, context)
}

/// Whether nothing but the hypervisor voids it.
fn is_robbed(step: &Trial) -> bool {
    let TrialVerdict::Void { reasons } = &step.verdict else {
        return false;
    };
    reasons
        .iter()
        .all(|reason| matches!(reason, VoidReason::Steal { .. }))
}

fn name_of(target: &Target) -> String {
    match (&target.unix_socket, target.addresses.first()) {
        (Some(path), _) => path.display().to_string(),
        (None, Some(address)) => address.to_string(),
        (None, None) => target.url.clone(),
    }
}

/// The boundary: the highest rate that passed and the lowest above it that failed. When the noise lets every rate
/// that failed lie below one that passed, the lowest that failed, and the highest below it that passed. Behind it the
/// same with each higher rate that failed: close to the line a resource is busy in some seconds only, and shows itself
/// further up.
fn of_trials(trials: &[Trial]) -> Vec<Stretches> {
    let by_rate = |a: &&Trial, b: &&Trial| -> Ordering {
        a.spec
            .rate
            .partial_cmp(&b.spec.rate)
            .unwrap_or(Ordering::Equal)
    };
    let is_usable =
        |trial: &&Trial| trial.spec.kind.counts_for_line() || trial.spec.kind == TrialKind::Step;
    let passed = || {
        trials
            .iter()
            .filter(is_usable)
            .filter(|trial| trial.verdict.is_pass())
    };
    let failed = || {
        trials
            .iter()
            .filter(is_usable)
            .filter(|trial| trial.verdict.is_fail())
    };
    let highest = passed().max_by(by_rate);
    let base: Vec<SecondRange> = trials
        .iter()
        .filter(|trial| matches!(trial.spec.kind, TrialKind::Anchor | TrialKind::Noise))
        .filter(|trial| !trial.verdict.is_fail())
        .map(|trial| trial.measured)
        .collect();
    let stretches = |failing: Option<&Trial>, passing: Option<&Trial>| Stretches {
        base: base.clone(),
        passing: passing.map(|trial| trial.measured),
        failing: failing.map(first_seconds),
    };
    let above = |trial: &&Trial| highest.is_none_or(|passed| trial.spec.rate > passed.spec.rate);
    let mut failing: Vec<&Trial> = failed().filter(above).collect();
    if failing.is_empty() {
        failing = failed().collect();
    }
    failing.sort_by(|a, b| by_rate(a, b));
    failing.dedup_by(|a, b| by_rate(a, b).is_eq());
    if failing.is_empty() {
        // Only the generator failed, so only its limits can be found.
        let void_trial = trials.iter().find(|trial| is_voided_by_generator(trial));
        return vec![stretches(void_trial, highest)];
    }
    let below = |failing: &Trial| {
        passed()
            .filter(|passed| passed.spec.rate <= failing.spec.rate)
            .max_by(by_rate)
    };
    failing
        .into_iter()
        .take(BEYOND_MAX)
        .map(|failing| stretches(Some(failing), below(failing)))
        .collect()
}

fn is_voided_by_generator(trial: &Trial) -> bool {
    let TrialVerdict::Void { reasons } = &trial.verdict else {
        return false;
    };
    reasons.iter().any(VoidReason::is_of_generator)
}

/// The first seconds at the full rate, warm-up included: a queue may overflow at once and never again.
pub(super) fn first_seconds(trial: &Trial) -> SecondRange {
    let from = trial.start_second.saturating_add(trial.spec.ramp_s);
    let to = trial.measured.1.max(from.saturating_add(1));
    (from, to.min(from.saturating_add(FAILING_S)))
}

/// A run without trials: the judged seconds, when they missed the objective or the generator failed; its first tenth
/// serves as the low load when the load began low.
fn of_plain(run: &Run) -> Stretches {
    let (Some(first), Some(last)) = (run.windows.first(), run.windows.last()) else {
        return Stretches::default();
    };
    let plan = &run.header.plan;
    let from = first
        .second
        .saturating_add(u32::try_from(plan.warmup.as_secs()).unwrap_or(u32::MAX));
    let span = (from.min(last.second), last.second.saturating_add(1));
    let missed = Summary::of(run)
        .objective
        .is_some_and(|objective| !objective.met);
    let generator_failed = run.windows.iter().any(|window| {
        window.generator.ports_exhausted > 0 || window.generator.descriptors_exhausted > 0
    });
    if !missed && !generator_failed {
        return Stretches::default();
    }
    let tenth = (span.1 - span.0) / 10;
    let offered = |(from, to): SecondRange| -> f64 {
        let windows = run.windows_between(from, to);
        let sum: u64 = windows.iter().map(|window| window.offered).sum();
        sum as f64 / f64::from(to.saturating_sub(from).max(1))
    };
    let start = (span.0, span.0 + tenth);
    let rest = (span.0 + tenth, span.1);
    let began_low = tenth > 0 && offered(start) < 0.6 * offered(rest);
    Stretches {
        base: if began_low { vec![start] } else { Vec::new() },
        passing: None,
        failing: Some(if began_low { rest } else { span }),
    }
}

/// The sentence for a failed load that no measurement explains: it lists the idle resources. `None` when nothing
/// failed.
pub fn not_known(run: &Run) -> Option<String> {
    let (candidates, context) = of(run);
    let boundary = candidates.first()?;
    boundary.failing?;
    let machines = tables(&run.readings);
    let on_each = Stretch3::on_each(&machines, &run.windows, boundary, &context);
    let mut serving: Vec<&Stretch3<'_>> = on_each
        .iter()
        .filter(|over| over.failing.serves_requests())
        .collect();
    // The time of a request is that of the machine where it arrives.
    serving.sort_by_key(|over| !over.failing.target_is_local());
    let Some(nearest) = serving.first() else {
        return Some(format!(
            "not known: {} is not on this machine, so only the generator was watched; run with the target's machine \
             watched to name the limit",
            context.target
        ));
    };
    let levels = serving.iter().flat_map(|over| levels(&over.failing));
    let levels: Vec<String> = levels.collect();
    let waiting = unexplained::time(&nearest.failing).unwrap_or_else(|| {
        "the time went into waiting for something else: a lock, a sleep, a remote call".to_owned()
    });
    let shape = if overload::collapse(nearest).iter().any(|sign| sign.present) {
        "; above the line it answers less than at the line: rejecting excess requests early would help"
    } else {
        ""
    };
    // Only machines behind it have an agent.
    let unwatched = if nearest.failing.target_is_local() {
        String::new()
    } else {
        format!("; the machine of {} was not watched", context.target)
    };
    Some(format!(
        "not known: no measured resource was at its limit ({}); {waiting}{shape}{unwatched}",
        if levels.is_empty() {
            "nothing was measured".to_owned()
        } else {
            levels.join(", ")
        }
    ))
}

/// How busy a machine and the target on it were.
fn levels(view: &View<'_>) -> Vec<String> {
    let series = [
        (metric::CPU_BUSY.to_owned(), "CPU"),
        (of_target(metric::PROCESS_CPU), "target's share of all CPUs"),
        (
            of_target(metric::THREAD_BUSIEST),
            "busiest thread's share of a CPU",
        ),
    ];
    let levels = series.iter().filter_map(|(series, what)| {
        let level = view.mean(series)? * 100.0;
        Some(match view.machine() {
            Some(machine) => format!("{what} on {machine} {level:.0} %"),
            None => format!("{what} {level:.0} %"),
        })
    });
    levels.collect()
}
