//! The process that puts everything back when a search was killed, or hangs.

use std::time::Duration;

use plimsoll_lab::progress::StopFlag;
use plimsoll_lab::service::deadman::{DeadMan, DeadManSpec, DeadManWatch, ProgramEnd};

use super::PreparedTune;
use crate::arguments::{DEAD_MAN, DeadManArguments};
use crate::exit::Exit;
use crate::explain::CliError;
use crate::launch_service;

/// Starts the process for a search.
pub(super) fn start(prepared: &PreparedTune, longest_trial: Duration) -> Result<DeadMan, CliError> {
    let folder = prepared.file.folder.clone();
    let spec = DeadManSpec {
        program: launch_service::launcher().program,
        arguments: vec![
            DEAD_MAN.into(),
            prepared.source.clone().into(),
            folder.clone().into(),
        ],
        folder,
        longest_trial,
    };
    Ok(DeadMan::start(spec)?)
}

/// Waits for the end of the search on standard input, and puts back what it left applied.
pub(crate) fn put_back_when_gone(arguments: &DeadManArguments) -> Result<Exit, CliError> {
    let mut watch = DeadManWatch::begin()?;
    // The search has checked whose the target is; this sends no load.
    let prepared = PreparedTune::read(&arguments.file, Some(&arguments.folder), true)?;
    watch.ready()?;
    if watch.wait() == ProgramEnd::Done {
        return Ok(Exit::Met);
    }
    prepared
        .file
        .put_back(&prepared.components, &StopFlag::default())?;
    Ok(Exit::Met)
}
