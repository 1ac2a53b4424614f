//! Settings of running components.

use plimsoll_model::component::Tunable;
use plimsoll_model::experiment::TunableValue;
use plimsoll_probe::tunables;

use super::applied::Applied;
use super::fault::{ApplyFault, ApplyFaultKind};
use super::stage::{Reversal, Stage};
use crate::intervention::{Change, InterventionError};

/// Changes a setting; nothing when its value has no level in the cell.
pub(super) fn apply(
    stage: &mut Stage,
    cell: usize,
    value: &TunableValue,
) -> Result<(), ApplyFault> {
    let Some(to) = stage.text(cell, &value.to) else {
        return Ok(());
    };
    let place = format!("set {} of {}", value.setting, value.kind.name());
    let fault = |problem: String, remedy: &str| {
        ApplyFault::new(ApplyFaultKind::Setting, place.clone(), problem, remedy)
    };
    let access = &stage.context.access;
    let mut components = access
        .components
        .iter()
        .filter(|component| component.kind == value.kind);
    let component = match (components.next(), components.next()) {
        (Some(component), None) => component,
        (None, _) => {
            return Err(fault(
                "no such component is watched".to_owned(),
                "name it in `watch` of the plan, or with --watch",
            ));
        }
        (Some(_), Some(_)) => {
            return Err(fault(
                "several such components are watched".to_owned(),
                "valid: exactly one in `watch` of the plan",
            ));
        }
    };
    let tunable = Tunable {
        kind: value.kind,
        place: component.place.clone(),
        setting: value.setting.clone(),
        of: String::new(),
    };
    let refused = |error: &dyn std::fmt::Display| {
        fault(
            error.to_string(),
            "give a value that the component accepts, and a login that may set it",
        )
    };
    let from =
        tunables::value_of(&tunable, component.login.as_ref()).map_err(|error| refused(&error))?;
    if from == to {
        return Ok(());
    }
    let change = Change::Setting { tunable, from, to };
    let applied = Applied::Setting {
        change: change.clone(),
    };
    let entry = stage.journal.add(applied, true)?;
    match change.carry_out(&stage.context.access) {
        Ok(()) => Ok(()),
        Err(error) => {
            let is_unchanged =
                matches!(&error, InterventionError::Refused(refused) if !refused.is_open());
            if is_unchanged {
                stage.journal.reverted(entry);
            }
            Err(refused(&error))
        }
    }
}

/// Puts a setting back, if the experiment names it.
pub(super) fn put_back(
    stage: &Stage,
    change: &Change,
    reversal: &mut Reversal,
) -> Result<(), ApplyFault> {
    let stays = |problem: String| {
        ApplyFault::new(
            ApplyFaultKind::NotRestored,
            change.to_string(),
            problem,
            format!(
                "put it back with {}, then delete {}",
                change.manual_undo(),
                stage.journal.path().display()
            ),
        )
    };
    let is_named = match change {
        Change::Setting { tunable, .. } => {
            let setups = stage.experiment.setups.iter();
            setups
                .flat_map(|setup| &setup.tunables)
                .any(|value| value.kind == tunable.kind && value.setting == tunable.setting)
        }
        Change::OpenFiles { .. } | Change::Kernel { .. } | Change::Commands { .. } => false,
    };
    if !is_named {
        return Err(stays(
            "the experiment does not name this setting".to_owned(),
        ));
    }
    change
        .undo(&stage.context.access)
        .map_err(|error| stays(format!("it is not put back: {error}")))?;
    reversal.restored.push(change.to_string());
    Ok(())
}
