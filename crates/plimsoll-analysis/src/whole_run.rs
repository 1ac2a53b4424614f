//! Judges a plain run as a whole, and each step of a sweep on its own.

use plimsoll_model::metric;
use plimsoll_model::objective::Objective;
use plimsoll_model::outcome::{Outcome, OutcomeCounts};
use plimsoll_model::plan::{Load, LoadUnit, Plan};
use plimsoll_model::run::Run;
use plimsoll_model::trial::{Trial, TrialKind, TrialSpec};
use plimsoll_model::verdict::{TrialVerdict, Verdict, VoidReason};
use plimsoll_model::window::Window;

use crate::aborts;
use crate::summary::breakdown::Breakdown;
use crate::summary::websockets::WebSocketSummary;
use crate::summary::{Summary, full_seconds};
use crate::verdict::workers::{self, WorkerBounds};
use crate::verdict::{self, TrialFacts};

/// The judgement of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The verdict that decides the exit code.
    pub verdict: Verdict,
    /// Why the measurement is not valid; empty when it is.
    pub void: Vec<VoidReason>,
}

/// Judges all judged seconds of `run` together. Without an objective a valid run is [`Verdict::Met`].
pub fn evaluate(run: &Run) -> Judgement {
    let is_whole = verdict::cut_short(&run.windows).is_empty();
    if is_whole && is_unreachable(&run.windows) {
        return Judgement {
            verdict: Verdict::Unreachable,
            void: Vec::new(),
        };
    }
    let void = void_reasons(run);
    let summary = Summary::of(run);
    let is_aborted = aborts::first_hit(run).is_some();
    let users = summary.breakdown.as_ref().and_then(|by_step| by_step.users);
    let nobody_got_in = summary.requests == 0 && users.is_some_and(|users| users.lost > 0)
        || opened_nothing(run, &summary);
    let objective = summary.objective.as_ref();
    let objective_met = objective.is_none_or(|objective| objective.met);
    let breakdown = summary.breakdown.as_ref();
    let thresholds_met = breakdown.map_or(Some(true), Breakdown::met);
    let verdict = match thresholds_met {
        _ if !void.is_empty() => Verdict::Void,
        _ if is_aborted || nobody_got_in || !objective_met || thresholds_met == Some(false) => {
            Verdict::Missed
        }
        // A threshold without events is void, and must not pass. Nor must a bound without requests.
        None => Verdict::Undecided,
        Some(_) if summary.lacks_requests(&run.header.plan) => Verdict::Undecided,
        Some(_) => Verdict::Met,
    };
    Judgement { verdict, void }
}

/// Whether a load of WebSockets or streams was refused as a whole. What it was to hold and to hear is missing, so that no
/// run succeeds by it, not even one without an objective.
fn opened_nothing(run: &Run, summary: &Summary) -> bool {
    let is_held = run.header.plan.load.websockets().is_some();
    let websocket = summary.websocket.as_ref().filter(|_| is_held);
    websocket.is_some_and(WebSocketSummary::opened_nothing)
}

/// Whether requests ended and not one of them got a connection, TLS included, to be answered on.
pub fn is_unreachable(windows: &[Window]) -> bool {
    let mut outcomes = OutcomeCounts::default();
    for window in windows {
        outcomes.merge(&window.outcomes);
    }
    if outcomes.total() == 0 {
        // No user reached the measured loop; the `once` steps show why.
        for step in windows.iter().flat_map(|window| window.steps.values()) {
            outcomes.merge(&step.outcomes);
        }
    }
    let never_connected: u64 = outcomes
        .iter()
        .filter(|(outcome, _)| outcome.is_unreached() || *outcome == Outcome::Tls)
        .map(|(_, count)| count)
        .sum();
    never_connected > 0 && never_connected + outcomes.get(Outcome::Dropped) == outcomes.total()
}

fn void_reasons(run: &Run) -> Vec<VoidReason> {
    let Some((first, last)) = run.windows.first().zip(run.windows.last()) else {
        return Vec::new();
    };
    let plan = &run.header.plan;
    let warmup_s = full_seconds(plan.warmup.as_secs_f64().ceil());
    let lasting_s =
        full_seconds(plan.load.lasting().as_secs_f64().ceil()).min(last.second + 1 - first.second);
    let spec = TrialSpec {
        // This kind only requires a valid generator and machine.
        kind: TrialKind::Noise,
        rate: 0.0,
        unit: LoadUnit::RequestsPerSecond,
        per_unit: 1.0,
        ramp_s: 0,
        warmup_s,
        measure_s: lasting_s.saturating_sub(warmup_s),
        stop_early: false,
        in_flight_cap: u64::MAX,
    };
    let cut_short = verdict::cut_short(&run.windows);
    if !cut_short.is_empty() {
        return cut_short;
    }
    let trial = evaluate_step(run, &spec, first.second, 0, Theft::Counts);
    let mut reasons = match trial.verdict {
        TrialVerdict::Void { reasons } => reasons,
        _ => Vec::new(),
    };
    let nothing_asked = Objective::default();
    let bounds = WorkerBounds {
        objective: plan.objective.as_ref().unwrap_or(&nothing_asked),
        tick_us: tick_us(plan),
        is_paced: is_paced(run),
    };
    reasons.extend(workers::voids(&run.workers, bounds));
    reasons
}

/// Time that requests may be batched, µs.
fn tick_us(plan: &Plan) -> u64 {
    plan.tick.map_or(0, |tick| {
        u64::try_from(tick.as_micros()).unwrap_or(u64::MAX)
    })
}

/// What the hypervisor took counts against a step, or is left out of the judgement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Theft {
    Counts,
    LeftOut,
}

/// The phases at one rate of an open load of several phases, each judged as a trial of its own.
pub fn steps(run: &Run) -> Vec<Trial> {
    evaluate_steps(run, Theft::Counts)
}

/// The same as if the hypervisor had taken no CPU: the numbers are not valid, but they select the seconds in which
/// counters of components are examined.
pub(crate) fn steps_despite_theft(run: &Run) -> Vec<Trial> {
    evaluate_steps(run, Theft::LeftOut)
}

fn evaluate_steps(run: &Run, theft: Theft) -> Vec<Trial> {
    let Load::Open { phases, .. } = &run.header.plan.load else {
        return Vec::new();
    };
    let Some(first) = run.windows.first().filter(|_| phases.len() > 1) else {
        return Vec::new();
    };
    let mut steps = Vec::new();
    let mut start_ns = 0;
    for phase in phases {
        let (from_s, to_s) = (
            start_ns as f64 / 1e9,
            (start_ns + phase.lasting_ns) as f64 / 1e9,
        );
        start_ns += phase.lasting_ns;
        let (from, to) = (full_seconds(from_s.ceil()), full_seconds(to_s.floor()));
        let is_level = (phase.from - phase.to).abs() < f64::EPSILON * phase.to.max(1.0);
        let was_run = run
            .windows
            .last()
            .is_some_and(|last| first.second + to <= last.second + 1);
        if !is_level || phase.to <= 0.0 || to <= from || !was_run {
            continue;
        }
        let spec = TrialSpec {
            kind: TrialKind::Step,
            rate: phase.to,
            unit: LoadUnit::RequestsPerSecond,
            per_unit: 1.0,
            ramp_s: 0,
            warmup_s: 0,
            measure_s: to - from,
            stop_early: false,
            in_flight_cap: u64::MAX,
        };
        let index = u32::try_from(steps.len()).unwrap_or(u32::MAX);
        steps.push(evaluate_step(run, &spec, first.second + from, index, theft));
    }
    steps
}

fn evaluate_step(
    run: &Run,
    spec: &TrialSpec,
    start_second: u32,
    index: u32,
    theft: Theft,
) -> Trial {
    let plan = &run.header.plan;
    let nothing_asked = Objective {
        latency: Vec::new(),
        errors_max: None,
        ..Objective::default()
    };
    let facts = TrialFacts {
        index,
        start_second,
        cores: plan.cores,
        tick_us: tick_us(plan),
        steal: match theft {
            Theft::Counts => run.readings.between(
                &steal_series(),
                start_second,
                start_second + spec.offered_s(),
            ),
            Theft::LeftOut => Vec::new(),
        },
        busy: run.readings.between(
            metric::CPU_BUSY,
            start_second,
            start_second + spec.offered_s(),
        ),
        browsers: run.readings.between(
            metric::BROWSER_CPU,
            start_second,
            start_second + spec.offered_s(),
        ),
        open: is_paced(run),
        // Workers are judged over the whole run, not step by step.
        ..TrialFacts::default()
    };
    let objective = plan.objective.as_ref().unwrap_or(&nothing_asked);
    verdict::evaluate(
        spec,
        objective,
        &step_windows(run, start_second, start_second + spec.offered_s()),
        &facts,
    )
}

/// Requests per timed one from which a load counts as unpaced: every arrival of a user is timed.
const UNPACED_PER_TIMED: u64 = 100;

/// Whether the generator had moments to keep: those of arrivals, or the ends of think times. A load that only ever
/// waits for answers cannot be late.
fn is_paced(run: &Run) -> bool {
    match run.header.plan.load {
        Load::Open { .. } | Load::Sessions { .. } | Load::WebSockets(_) => true,
        Load::Users { .. } => {
            let sum = |count: fn(&Window) -> u64| run.windows.iter().map(count).sum::<u64>();
            let timed = sum(|window| window.lag.count());
            timed > 0 && timed >= sum(|window| window.sent) / UNPACED_PER_TIMED
        }
        Load::Closed { .. } => false,
    }
}

/// The windows of a step: its own, and after the last step the drain. A request unfinished when the next step begins
/// ends there and is judged there; it has not failed.
fn step_windows(run: &Run, start_second: u32, until: u32) -> Vec<Window> {
    let later = run.windows_between(until, u32::MAX);
    let mut windows = run.windows_between(start_second, until).to_vec();
    if later.iter().all(|window| window.offered == 0) {
        windows.extend_from_slice(later);
    } else if let Some(last) = windows.last_mut() {
        last.in_flight = 0;
    }
    windows
}

/// Share of the CPU that the hypervisor took.
pub fn steal_series() -> String {
    metric::series(metric::CPU_UTILIZATION, &[("cpu.mode", "steal")])
}
