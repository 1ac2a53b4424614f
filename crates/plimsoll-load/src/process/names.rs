//! Labels of external scripts, and their ids: the same in all loops.

use std::sync::{Mutex, PoisonError};

use plimsoll_model::journey::{STEPS_MAX, Scenario, StepId, StepInfo};

/// Most labels per journey.
const LABELS_MAX: usize = 200;

/// Longest label, characters.
const LABEL_LEN_MAX: usize = 200;

/// The label for all labels beyond the limit.
const OTHER: &str = "other requests";

/// Ids reserved for each journey, so that mandatory counts always have one.
const RESERVED: usize = 4;

/// All steps counted so far.
#[derive(Debug, Default)]
pub(crate) struct StepNames {
    steps: Mutex<Vec<StepInfo>>,
    steps_max: usize,
}

impl StepNames {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let processes = scenario.journeys.iter();
        let processes = processes.filter(|journey| journey.process.is_some());
        Self {
            steps: Mutex::new(scenario.steps.clone()),
            steps_max: STEPS_MAX.saturating_sub(RESERVED * processes.count()),
        }
    }

    /// The id of a label, and its description when it is new.
    pub(crate) fn id(&self, journey: u32, once: bool, label: &str) -> (StepId, Option<StepInfo>) {
        let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        let label: String = label.chars().take(LABEL_LEN_MAX).collect();
        let find = |steps: &[StepInfo], label: &str| {
            let same = |step: &StepInfo| {
                step.journey == journey && step.once == once && step.label == label
            };
            steps.iter().position(same)
        };
        if let Some(known) = find(&steps, &label) {
            return (id(known), None);
        }
        let own = steps.iter().filter(|step| step.journey == journey).count();
        let label = if own < LABELS_MAX && steps.len() < self.steps_max {
            label
        } else if let Some(other) = find(&steps, OTHER) {
            return (id(other), None);
        } else {
            OTHER.to_owned()
        };
        let info = StepInfo {
            label,
            journey,
            groups: Vec::new(),
            once,
        };
        steps.push(info.clone());
        (id(steps.len() - 1), Some(info))
    }
}

fn id(index: usize) -> StepId {
    StepId::try_from(index).expect("steps are far below 2^32")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_beyond_the_bound_share_an_id() {
        let scenario = Scenario {
            steps: vec![StepInfo::default()],
            ..Scenario::default()
        };
        let names = StepNames::new(&scenario);
        let (first, info) = names.id(1, false, "GET /a");
        assert_eq!((first, info.unwrap().label.as_str()), (1, "GET /a"));
        assert_eq!(names.id(1, false, "GET /a"), (1, None));
        assert_eq!(names.id(1, true, "GET /a").0, 2);
        for number in 0..300 {
            names.id(1, false, &format!("GET /{number}"));
        }
        let (other, info) = names.id(1, false, "GET /more");
        assert_eq!(other, 201);
        assert_eq!(info, None);
        assert_eq!(names.id(2, false, "GET /a").0, 202);
    }
}
