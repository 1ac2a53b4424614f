//! Files and settings of a cell that stay: nothing puts them back.

use std::fs;
use std::sync::Arc;

use super::applied::Applied;
use super::fault::ApplyFault;
use super::ready::CellCheck;
use super::stage::Stage;
use super::{files, tunables, workers};

/// Applies the files and settings of a cell, and takes them out of the journal once all are applied and the service is
/// ready. Returns what has changed, for the user.
///
/// # Errors
/// When something cannot be applied, or the service is not ready with it; then all of it is put back.
pub(super) fn adopt(stage: &mut Stage, cell: usize) -> Result<Vec<String>, ApplyFault> {
    let adopted = apply(stage, cell).and_then(|()| {
        let outstanding = stage.journal.outstanding().iter();
        let adopted = outstanding.filter_map(|(_, applied)| description(applied));
        let adopted: Vec<String> = adopted.collect();
        stage.journal.keep_applied()?;
        Ok(adopted)
    });
    if adopted.is_err() {
        // A request to stop does not end this.
        let stop = std::mem::take(&mut stage.context.stop);
        let reversal = stage.revert(Vec::new());
        stage.context.stop = stop;
        reversal.check()?;
    } else {
        files::remove_copies(&stage.context.folder);
    }
    adopted
}

fn apply(stage: &mut Stage, cell: usize) -> Result<(), ApplyFault> {
    let experiment = Arc::clone(&stage.experiment);
    for (index, setup) in experiment.setups.iter().enumerate() {
        stage.check_stop()?;
        for file in 0..setup.files.len() {
            if !is_written(stage, cell, (index, file)) {
                files::apply(stage, cell, (index, file))?;
            }
        }
        for value in &setup.tunables {
            tunables::apply(stage, cell, value)?;
        }
        for signals in &setup.workers {
            workers::apply(stage, cell, signals)?;
        }
    }
    // A service that is started here does not run now.
    let starts_any = experiment.setups.iter().any(|it| !it.command.is_empty());
    let check = match &experiment.ready {
        Some(check) if !starts_any => CellCheck::new(stage, cell, check)?,
        _ => None,
    };
    if let Some(check) = check {
        check.wait(stage, &[])?;
    }
    Ok(())
}

/// Whether a file has the content of the cell already.
fn is_written(stage: &Stage, cell: usize, (setup, index): (usize, usize)) -> bool {
    let template = &stage.experiment.setups[setup].files[index];
    let lines = template.lines.iter();
    let content: String = lines.filter_map(|line| stage.text(cell, line)).collect();
    fs::read(stage.path(&template.to)).is_ok_and(|found| found == content.as_bytes())
}

fn description(applied: &Applied) -> Option<String> {
    match applied {
        Applied::File(file) => Some(format!("{} is written", file.path.display())),
        Applied::Setting { change } => Some(change.to_string()),
        Applied::Workers(changed) => Some(changed.description()),
        Applied::Process(_) | Applied::ControlGroup { .. } | Applied::Controllers { .. } => None,
    }
}
