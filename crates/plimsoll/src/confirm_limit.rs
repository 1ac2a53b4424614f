//! What `--confirm` may change, and changes that a killed run left behind.

use std::path::PathBuf;

use plimsoll_config::plan::WatchPlan;
use plimsoll_lab::intervention::ComponentAccess;
use plimsoll_lab::intervention::journal::{self, Leftover};
use plimsoll_lab::limit::confirm_limit::ConfirmOptions;

use crate::arguments::{LimitArguments, OutputArguments};
use crate::explain::CliError;
use crate::plan_file;
use crate::screen::eprint;

/// The permitted changes, if `--confirm` is given; the caller sets the path of the journal.
pub(crate) fn from_arguments(arguments: &LimitArguments) -> Option<ConfirmOptions> {
    let commands = arguments.confirm_with.as_ref();
    let commands = commands.zip(arguments.undo_with.as_ref());
    arguments.confirm.then(|| ConfirmOptions {
        commands: commands.map(|(apply, undo)| (apply.0.clone(), undo.0.clone())),
        environment: plan_file::environment_of_processes(),
        journal: PathBuf::new(),
    })
}

/// Restores what an earlier `limit --confirm` left changed because it was killed: a changed service must not be measured.
/// `undo` is the undo command of this invocation.
pub(crate) fn put_back_leftovers(
    watch: &WatchPlan,
    output: &OutputArguments,
    undo: Option<&[String]>,
) -> Result<(), CliError> {
    let access = ComponentAccess {
        components: watch.components.clone(),
        environment: plan_file::environment_of_processes(),
    };
    for left in journal::put_back_leftovers(&output.out, &access, undo) {
        match left {
            Leftover::PutBack(what) => eprint(&format!(
                "note: an earlier `limit --confirm` was killed while it had {what}; this is now restored"
            )),
            Leftover::NeverMade(path) => eprint(&format!(
                "note: {} records a change that was never made; the file is deleted",
                path.display()
            )),
            Leftover::Stays {
                path,
                what,
                why,
                manual_undo: by_hand,
            } => {
                return Err(CliError::usage(format!(
                    "an earlier `limit --confirm` was killed while it had {what}; restoring it failed: {why}"
                ))
                .remedy(format!(
                    "restore it with {by_hand}, then delete {}",
                    path.display()
                )));
            }
            Leftover::Unknown { path, why } => {
                return Err(CliError::usage(format!(
                    "{} records a change by an earlier `limit --confirm` and cannot be read: {why}",
                    path.display()
                ))
                .remedy(
                    "inspect the file, restore the setting that it names, and delete the file",
                ));
            }
        }
    }
    Ok(())
}
