//! `plimsoll run`: one load, recorded and, if the plan has an objective, judged.

use std::time::Duration;

use plimsoll_analysis::aborts::AbortWatch;
use plimsoll_analysis::findings;
use plimsoll_analysis::whole_run::{self, Judgement};
use plimsoll_model::event::Event;
use plimsoll_model::plan::{Load, LoadUnit};
use plimsoll_model::run::Run;
use plimsoll_model::verdict::Verdict;
use plimsoll_model::window::Window;

use crate::active_run::{ActiveRun, Assignment, Finished, Flow, Round};
use crate::error::LabError;
use crate::progress::{self, Progress, StopFlag, Watcher};

/// Why a load ends after a second of results, before its time; `None` to go on.
pub type EarlyEnd<'e> = &'e mut dyn FnMut(&Window) -> Option<String>;

/// Carries out the plan's load and judges it.
///
/// # Errors
/// When the instrument fails: no run log, no engine. What the target does is data.
pub fn run(
    assignment: Assignment,
    stop: StopFlag,
    watcher: &mut dyn Watcher,
) -> Result<Finished, LabError> {
    run_until(assignment, stop, watcher, &mut |_| None)
}

/// Carries out the plan's load until it ends, or until `early_end` gives the reason why it ends now; judges the part that
/// was carried out. Requests in flight at an early end have failed.
///
/// # Errors
/// When the instrument fails: no run log, no engine. What the target does is data.
pub fn run_until(
    assignment: Assignment,
    stop: StopFlag,
    watcher: &mut dyn Watcher,
    early_end: EarlyEnd<'_>,
) -> Result<Finished, LabError> {
    let active_run = ActiveRun::open(assignment, stop)?;
    let plan = active_run.plan().clone();
    let stage = stage(&plan.load);
    let whole = plan.load.lasting();
    let start = active_run.next_second_of(&plan);
    let aborts = plan.scenario.as_ref().map(|scenario| &scenario.aborts[..]);
    let mut aborts = AbortWatch::new(aborts.unwrap_or_default());
    let mut has_hit = false;
    let round = Round {
        load: plan.load.clone(),
        seed: plan.seed,
        start_second: start,
        trial: None,
    };
    active_run.carry_out(round, |window| {
        let changed = active_run
            .changed_level()
            .map(|(to, unit)| format!("load changed to {to} {}", unit.symbol()));
        let done = Duration::from_secs(u64::from(window.second - start + 1));
        watcher.window_closed(&Progress {
            window,
            stage: match &changed {
                Some(changed) => changed,
                None => &stage,
            },
            interval: None,
            unit: LoadUnit::default(),
            remaining: whole.saturating_sub(done),
            cpu: active_run.latest_machine_use().map(|sample| sample.busy),
        });
        progress::report_process_output(window, watcher);
        progress::report_component_notes(active_run.take_notes(), watcher);
        // Stopped once, and not aborted: requests cut off by us would count as failures of the target.
        if !has_hit && let Some(hit) = aborts.record(window) {
            has_hit = true;
            // The report derives the same from the windows; the note is for readers of the log.
            let text = format!("the run {hit}");
            watcher.noted(&text);
            active_run.note(text);
            return Flow::Stop;
        }
        if !has_hit && let Some(reason) = early_end(window) {
            has_hit = true;
            active_run.note(format!("the load ended early: {reason}"));
            return Flow::Abort;
        }
        Flow::Continue
    })?;
    let recorded = active_run.recorded()?;
    let judgement = evaluate(&active_run, &recorded);
    active_run.close(judgement.verdict, judgement.void)
}

/// Judges the recording; steps of a sweep become trials of the log.
fn evaluate(active_run: &ActiveRun, recorded: &Run) -> Judgement {
    let mut judgement = whole_run::evaluate(recorded);
    for step in whole_run::steps(recorded) {
        active_run.append(Event::TrialStarted {
            index: step.index,
            second: step.start_second,
            spec: step.spec,
        });
        active_run.append(Event::TrialEnded(Box::new(step)));
    }
    active_run.append(Event::FindingsMade(findings::find(recorded)));
    if active_run.is_stopping() {
        judgement.verdict = Verdict::Interrupted;
    }
    judgement
}

fn stage(load: &Load) -> String {
    match load {
        Load::Open { phases, .. } => match phases.as_slice() {
            [phase] if (phase.from - phase.to).abs() < f64::EPSILON => {
                format!("open load at {}/s", phase.from)
            }
            phases => format!("open load in {} phases", phases.len()),
        },
        Load::Closed { connections, .. } => format!("closed loop of {connections}"),
        Load::WebSockets(load) => format!("{} WebSockets", load.connections),
        Load::Users { phases, .. } => {
            let most = phases.iter().map(|phase| phase.from.max(phase.to));
            match most.fold(0.0, f64::max) {
                most if most < 1.5 => "1 user".to_owned(),
                most => format!("up to {most:.0} users"),
            }
        }
        Load::Sessions { phases, .. } => match phases.as_slice() {
            [phase] if (phase.from - phase.to).abs() < f64::EPSILON => {
                format!("{} users/s", phase.from)
            }
            phases => format!("users in {} phases", phases.len()),
        },
    }
}
