//! `plimsoll load-part`: one of the further processes of a load that needs more descriptors than one may have. Nobody
//! types it.

use std::io::BufReader;

use plimsoll_load::WorkerProcesses;

use crate::exit::Exit;
use crate::explain::CliError;

/// Its name among the commands.
pub(crate) const NAME: &str = "load-part";

/// This program, also where its file was replaced meanwhile.
const OWN_PROGRAM: &str = "/proc/self/exe";

/// Carries out what standard input says.
pub(crate) fn run() -> Result<Exit, CliError> {
    let orders = BufReader::new(std::io::stdin());
    plimsoll_load::run_worker(orders, std::io::stdout().lock())?;
    Ok(Exit::Met)
}

/// How such a process is started.
pub(crate) fn worker_processes() -> WorkerProcesses {
    WorkerProcesses {
        program: OWN_PROGRAM.into(),
        arguments: vec![NAME.into()],
    }
}
