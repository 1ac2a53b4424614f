//! Users who gave up waiting and left: at which steps, and after how long.

use plimsoll_model::histogram::Histogram;
use plimsoll_model::journey::Scenario;
use plimsoll_model::run::Run;
use plimsoll_model::trial::Percentiles;

use super::breakdown::{journey_name, rows};

/// Users who gave up at the steps of one label in one journey, over the whole run.
#[derive(Clone, Debug, PartialEq)]
pub struct GivenUpSummary {
    /// As written.
    pub label: String,
    /// Name of the journey.
    pub journey: String,
    /// Whether the steps are in `once`.
    pub once: bool,
    /// Number of users.
    pub users: u64,
    /// How long they had waited for the step, µs.
    pub waited_us: Percentiles,
}

impl GivenUpSummary {
    /// One row for each label at which users gave up, most users first.
    pub(super) fn all(run: &Run, scenario: &Scenario) -> Vec<Self> {
        let rows = rows(scenario, |_| true).into_iter();
        let mut all: Vec<Self> = rows
            .filter_map(|(info, ids)| {
                let mut waited = Histogram::new();
                for window in &run.windows {
                    for step in ids.iter().filter_map(|id| window.steps.get(id)) {
                        waited.merge(&step.given_up);
                    }
                }
                (!waited.is_empty()).then(|| Self {
                    label: info.label.clone(),
                    journey: journey_name(scenario, info.journey),
                    once: info.once,
                    users: waited.count(),
                    waited_us: Percentiles::of(&waited),
                })
            })
            .collect();
        all.sort_by_key(|row| std::cmp::Reverse(row.users));
        all
    }
}
