//! A service that runs by itself, and was made to read other settings, must serve again with those from before.

use plimsoll_model::experiment::{Experiment, Setup};

use super::fault::{ApplyFault, ApplyFaultKind};
use super::ready::CellCheck;
use super::stage::Stage;

/// Waits until such a service is ready, after everything was put back.
///
/// # Errors
/// When it is not ready within its time limit.
pub(super) fn check(stage: &mut Stage, check: Option<&CellCheck>) -> Result<(), ApplyFault> {
    let Some(check) = check.filter(|_| runs_by_itself(&stage.experiment)) else {
        return Ok(());
    };
    match check.wait(stage, &[]) {
        Err(fault) if fault.kind() != ApplyFaultKind::Interrupted => Err(ApplyFault::new(
            ApplyFaultKind::NotRestored,
            fault.place().to_owned(),
            format!("everything is put back, and the service does not come back: {fault}"),
            "start it by hand; the same command then goes on",
        )),
        _ => Ok(()),
    }
}

/// The same after a killed program, of which no cell is known.
///
/// # Errors
/// When the service is not ready within its time limit.
pub(super) fn check_after_kill(stage: &mut Stage) -> Result<(), ApplyFault> {
    let experiment = std::sync::Arc::clone(&stage.experiment);
    let Some(ready) = &experiment.ready else {
        return Ok(());
    };
    let default = experiment.tuning.as_ref();
    let cell = default.map_or(0, |it| experiment.design.index_of(&it.default_levels()));
    let cell_check = CellCheck::new(stage, cell, ready)?;
    check(stage, cell_check.as_ref())
}

/// Whether nothing is started here, and something else is made to read settings.
fn runs_by_itself(experiment: &Experiment) -> bool {
    let setups = &experiment.setups;
    let is_changed = |setup: &Setup| {
        !setup.tunables.is_empty()
            || !setup.workers.is_empty()
            || setup.files.iter().any(|file| file.reload.is_some())
    };
    setups.iter().all(|it| it.command.is_empty()) && setups.iter().any(is_changed)
}
