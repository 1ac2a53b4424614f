//! What the service sends: answers and messages whose size grows with users or with time, and messages that are sent
//! several times.

mod growth;
mod repeated;

#[cfg(test)]
mod tests;

use plimsoll_model::journey::{Step, StepInfo};
use plimsoll_model::plan::Plan;
use plimsoll_model::run::Run;
use plimsoll_model::window::Window;

pub use growth::{GrowsWith, Growth, Payload, growths};
pub use repeated::{REMEDY, Repetition, repetition};

/// Something about what the service sends.
#[derive(Clone, Debug, PartialEq)]
pub struct PayloadAdvice {
    /// The observation.
    pub reason: String,
    /// What to do.
    pub remedy: &'static str,
}

/// What grows and what is sent several times in a run; empty where nothing does.
pub fn of(run: &Run) -> Vec<PayloadAdvice> {
    let windows: Vec<&Window> = run.windows.iter().collect();
    let plan = &run.header.plan;
    let steps = plan
        .scenario
        .as_ref()
        .map_or(&[][..], |scenario| scenario.steps.as_slice());
    let grown = growths(&windows, steps).into_iter();
    let grown = grown.map(|growth| PayloadAdvice {
        reason: growth.sentence(),
        remedy: growth.remedy(),
    });
    let repeated = identifies_messages(plan)
        .then(|| repetition(&windows))
        .flatten();
    let repeated = repeated.map(|repetition| PayloadAdvice {
        reason: repetition.sentence(),
        remedy: REMEDY,
    });
    grown.chain(repeated).collect()
}

/// Whether each broadcast that is counted carries a number or a time, so that two of one content are one message.
pub fn identifies_messages(plan: &Plan) -> bool {
    if let Some(load) = plan.load.websockets() {
        return load.marks_broadcasts();
    }
    let (mut subscriptions, mut identified) = (0_u32, 0);
    let journeys = plan.scenario.iter().flat_map(|scenario| &scenario.journeys);
    for journey in journeys {
        journey.each_step(&mut |step| {
            if let Step::Subscribe(subscribe) = step {
                subscriptions += 1;
                let has_mark = subscribe.sequence.is_some() || subscribe.timestamp.is_some();
                identified += u32::from(has_mark);
            }
        });
    }
    subscriptions > 0 && identified == subscriptions
}

/// The name of a step; its number where that is not known.
fn step_name(steps: &[StepInfo], id: u32) -> String {
    let info = usize::try_from(id).ok().and_then(|index| steps.get(index));
    info.map_or_else(|| format!("step {}", id + 1), |info| info.label.clone())
}
