//! `plimsoll launch-service`: becomes a service of an experiment, once it is in the journal. Internal.

use plimsoll_lab::service::Launcher;

use crate::exit::Exit;
use crate::explain::CliError;

/// Name of the hidden command.
pub(crate) const NAME: &str = "launch-service";
/// This program, even if its file was replaced meanwhile.
const OWN_PROGRAM: &str = "/proc/self/exe";

/// Becomes the service that standard input describes.
pub(crate) fn run() -> Result<Exit, CliError> {
    Err(plimsoll_lab::service::launch().into())
}

/// Starts services and edges.
pub(crate) fn launcher() -> Launcher {
    Launcher {
        program: OWN_PROGRAM.into(),
        arguments: vec![NAME.into()],
        edge: vec![OWN_PROGRAM.into(), "edge".into()],
    }
}
