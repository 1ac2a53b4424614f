//! Thresholds of single journeys, steps and groups, for a trial.

use plimsoll_model::journey::{Scenario, StepId};
use plimsoll_model::objective::{Answers, Objective};
use plimsoll_model::window::{StepWindow, Window};

/// An objective of some steps.
#[derive(Clone, Debug, PartialEq)]
pub struct ThresholdObjective {
    /// The steps, taken together.
    ids: Vec<StepId>,
    /// Whether users take them once, and so mostly on arrival: the whole trial is judged then.
    once: bool,
    objective: Objective,
}

impl ThresholdObjective {
    /// The thresholds of a scenario.
    pub fn all(scenario: &Scenario) -> Vec<Self> {
        let is_once = |&id: &StepId| {
            let index = usize::try_from(id).ok();
            let info = index.and_then(|index| scenario.steps.get(index));
            info.is_some_and(|info| info.once)
        };
        let thresholds = scenario.thresholds.iter().map(|threshold| {
            let ids = scenario.steps_in(&threshold.scope);
            Self {
                once: !ids.is_empty() && ids.iter().all(is_once),
                ids,
                objective: threshold.objective.clone(),
            }
        });
        thresholds.collect()
    }

    /// Whether it holds: for steps of `once` over the whole trial, else over its judged seconds. A step that was not
    /// taken breaks nothing.
    pub(super) fn holds(&self, trial: &[Window], measured: &[Window]) -> bool {
        let mut sum = StepWindow::default();
        let windows = if self.once { trial } else { measured };
        for window in windows {
            for step in self.ids.iter().filter_map(|id| window.steps.get(id)) {
                sum.merge(step);
            }
        }
        self.objective.holds(Answers {
            good: &sum.response,
            failed: sum.outcomes.failed(),
        })
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::journey::{Scope, StepInfo, Threshold};
    use plimsoll_model::objective::LatencyBound;
    use plimsoll_model::outcome::Outcome;

    use super::*;

    #[test]
    fn logins_are_asked_for_over_the_whole_trial() {
        let info = |label: &str, once| StepInfo {
            label: label.to_owned(),
            once,
            ..StepInfo::default()
        };
        let threshold = |label: &str| Threshold {
            scope: Scope::Step(label.to_owned()),
            objective: Objective {
                latency: vec![LatencyBound {
                    quantile: 0.5,
                    within_us: 1000,
                }],
                errors_max: None,
                ..Objective::default()
            },
        };
        let scenario = Scenario {
            steps: vec![info("login", true), info("home", false)],
            thresholds: vec![threshold("login"), threshold("home"), threshold("never")],
            ..Scenario::default()
        };
        let mut slow = StepWindow::default();
        slow.response.record(5000, 9);
        slow.outcomes.add_many(Outcome::Ok, 9);
        let mut ramp = Window::new(0);
        ramp.steps.insert(0, slow.clone());
        ramp.steps.insert(1, slow);
        let trial = [ramp, Window::new(1)];
        let thresholds = ThresholdObjective::all(&scenario);
        let holds: Vec<bool> = thresholds
            .iter()
            .map(|objective| objective.holds(&trial, &trial[1..]))
            .collect();
        assert_eq!(holds, [false, true, true]);
    }
}
