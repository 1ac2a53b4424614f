//! `plimsoll run`: one load, recorded and, if the plan has an objective, judged.

use std::time::Duration;

use plimsoll_analysis::aborts::Watch;
use plimsoll_analysis::findings;
use plimsoll_analysis::whole_run::{self, Judgement};
use plimsoll_model::event::Event;
use plimsoll_model::plan::{Load, LoadUnit};
use plimsoll_model::run::Run;
use plimsoll_model::verdict::Verdict;

use crate::conductor::{Assignment, Conductor, Finished, Flow, Round};
use crate::error::LabError;
use crate::progress::{self, Progress, StopFlag, Watcher};

/// Carries out the plan's load and judges it.
///
/// # Errors
/// When the instrument fails: no run log, no engine. What the target does is data.
pub fn run(
    assignment: Assignment,
    stop: StopFlag,
    watcher: &mut dyn Watcher,
) -> Result<Finished, LabError> {
    let conductor = Conductor::open(assignment, stop)?;
    let plan = conductor.plan().clone();
    let stage = stage(&plan.load);
    let whole = plan.load.lasting();
    let start = conductor.next_second_of(&plan);
    let aborts = plan.scenario.as_ref().map(|scenario| &scenario.aborts[..]);
    let mut aborts = Watch::new(aborts.unwrap_or_default());
    let mut has_hit = false;
    let round = Round {
        plan: &plan,
        load: plan.load.clone(),
        seed: plan.seed,
        start_second: start,
        stay: None,
    };
    conductor.carry_out(round, |window| {
        let done = Duration::from_secs(u64::from(window.second - start + 1));
        watcher.window_closed(&Progress {
            window,
            stage: &stage,
            interval: None,
            unit: LoadUnit::default(),
            remaining: whole.saturating_sub(done),
            cpu: conductor.latest_machine_use().map(|seen| seen.busy),
        });
        progress::tell_of_processes(window, watcher);
        progress::tell_of_parts(conductor.take_told(), watcher);
        // Stopped once, and not aborted: requests cut off by us would be told as failures of the target.
        if !has_hit && let Some(hit) = aborts.record(window) {
            has_hit = true;
            // The report comes to the same from the windows; the note is for who reads the log.
            let text = format!("the run {hit}");
            watcher.noted(&text);
            conductor.note(text);
            return Flow::Stop;
        }
        Flow::Continue
    })?;
    let recorded = conductor.recorded()?;
    let judgement = judge(&conductor, &recorded);
    conductor.close(judgement.verdict, judgement.void)
}

/// Judges what was recorded; steps of a sweep become trials of the log.
fn judge(conductor: &Conductor, recorded: &Run) -> Judgement {
    let mut judgement = whole_run::judge(recorded);
    for step in whole_run::steps(recorded) {
        conductor.append(Event::TrialStarted {
            index: step.index,
            second: step.start_second,
            spec: step.spec,
        });
        conductor.append(Event::TrialEnded(Box::new(step)));
    }
    conductor.append(Event::FindingsMade(findings::find(recorded)));
    if conductor.is_stopping() {
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
            format!("up to {:.0} users", most.fold(0.0, f64::max))
        }
        Load::Sessions { phases, .. } => match phases.as_slice() {
            [phase] if (phase.from - phase.to).abs() < f64::EPSILON => {
                format!("{} users/s", phase.from)
            }
            phases => format!("users in {} phases", phases.len()),
        },
    }
}
