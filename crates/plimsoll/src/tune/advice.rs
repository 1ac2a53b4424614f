//! What a search would try, and why, without measuring anything.

use plimsoll_model::experiment::{Experiment, Knob};
use plimsoll_report::tune::AdvisedSetting;

/// What a search over the knobs of an experiment tries, in the order of its file; nothing where it has none.
pub(crate) fn advice(experiment: &Experiment) -> Vec<AdvisedSetting> {
    let knobs = experiment.tuning.iter().flat_map(|tuning| &tuning.knobs);
    knobs.map(of_knob).collect()
}

fn of_knob(knob: &Knob) -> AdvisedSetting {
    let others = knob.levels.iter().enumerate();
    let others = others.filter(|(index, _)| *index != knob.default);
    AdvisedSetting {
        name: knob.name.clone(),
        from: knob.levels.get(knob.default).cloned().unwrap_or_default(),
        to: others.map(|(_, level)| level.clone()).collect(),
        why: knob.meaning.clone(),
        restart: knob.needs_restart,
        left_out: None,
    }
}
