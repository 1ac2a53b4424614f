//! The process between this program and a browser, which ends the browser and removes its profile.

use std::ffi::OsString;
use std::path::Path;

use plimsoll_browser::guard;

use crate::exit::Exit;
use crate::explain::CliError;

/// Name of the hidden command.
pub(crate) const NAME: &str = "browser-guard";

/// Runs a browser until standard input ends, which the program that measures holds.
pub(crate) fn run(program: &Path, arguments: &[OsString]) -> Result<Exit, CliError> {
    guard::run(program, arguments)?;
    Ok(Exit::Met)
}
