//! `plimsoll load-part`: a worker process of a load that needs more descriptors than one process may have. Internal.

use std::io::BufReader;

use plimsoll_load::WorkerProcesses;

use crate::exit::Exit;
use crate::explain::CliError;

/// Name of the hidden command.
pub(crate) const NAME: &str = "load-part";

/// This program, even if its file was replaced meanwhile.
const OWN_PROGRAM: &str = "/proc/self/exe";

/// Runs the share of the load described on standard input.
pub(crate) fn run() -> Result<Exit, CliError> {
    let orders = BufReader::new(std::io::stdin());
    plimsoll_load::run_worker(orders, std::io::stdout().lock())?;
    Ok(Exit::Met)
}

/// Starts worker processes.
pub(crate) fn worker_processes() -> WorkerProcesses {
    WorkerProcesses {
        program: OWN_PROGRAM.into(),
        arguments: vec![NAME.into()],
    }
}
