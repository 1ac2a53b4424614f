//! What `--confirm` may do, and what an earlier one left behind.

use std::path::PathBuf;

use plimsoll_config::plan::WatchPlan;
use plimsoll_lab::intervention::ComponentAccess;
use plimsoll_lab::intervention::journal::{self, Leftover};
use plimsoll_lab::limit::confirm::Confirm;

use crate::arguments::{LimitArguments, OutputArguments};
use crate::explain::CliError;
use crate::plan_file;
use crate::screen::eprint;

/// What may be changed, if that is asked for; where it is written down is said later.
pub(crate) fn from_arguments(arguments: &LimitArguments) -> Option<Confirm> {
    let commands = arguments.confirm_with.as_ref();
    let commands = commands.zip(arguments.undo_with.as_ref());
    arguments.confirm.then(|| Confirm {
        commands: commands.map(|(apply, undo)| (apply.0.clone(), undo.0.clone())),
        environment: plan_file::environment_of_processes(),
        journal: PathBuf::new(),
    })
}

/// Puts back what an earlier `limit --confirm` left changed, because it was killed: a service that is changed is not the
/// one that is to be measured. `undo` is the command that was named now.
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
                "note: an earlier `limit --confirm` was killed while it had {what}; that is put back now"
            )),
            Leftover::NeverMade(path) => eprint(&format!(
                "note: {} told of a change that was never made; it is deleted",
                path.display()
            )),
            Leftover::Stays {
                path,
                what,
                why,
                manual_undo: by_hand,
            } => {
                return Err(CliError::usage(format!(
                    "an earlier `limit --confirm` was killed while it had {what}, and that is not put back: {why}"
                ))
                .remedy(format!(
                    "put it back by {by_hand}, then delete {}",
                    path.display()
                )));
            }
            Leftover::Unknown { path, why } => {
                return Err(CliError::usage(format!(
                    "{} tells what an earlier `limit --confirm` changed, and cannot be read: {why}",
                    path.display()
                ))
                .remedy("see what it says, put that back, and delete it"));
            }
        }
    }
    Ok(())
}
