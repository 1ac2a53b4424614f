//! `plimsoll run --on listen:PORT`: waits for the workers that carry a load.

use plimsoll_lab::progress::StopFlag;
use plimsoll_workers::{Coordinator, CoordinatorOptions, WorkersError};

use crate::arguments::CarriedByArguments;
use crate::exit::Exit;
use crate::explain::{CliError, chain};
use crate::planning::Planned;
use crate::screen::{eprint, eprint_with_secret};

/// Event loops of all workers together, at most.
const LOOPS_MAX: u32 = 1024;

/// Who carries a load.
#[derive(Debug)]
pub(crate) enum Carriers {
    /// This machine.
    Own,
    /// Workers, all of them ready.
    Workers(Coordinator),
    /// Nobody: the user stopped the wait.
    Stopped,
}

/// Waits for the workers that the arguments ask for. The plan's event loops are those of all of them then.
pub(crate) fn gather(
    planned: &mut Planned,
    arguments: &CarriedByArguments,
    stop: &StopFlag,
) -> Result<Carriers, CliError> {
    let Some((listen, workers)) = arguments.on.zip(arguments.workers) else {
        return Ok(Carriers::Own);
    };
    let each = planned.plan.cores;
    planned.plan.cores = each.saturating_mul(workers);
    if planned.plan.cores > LOOPS_MAX {
        return Err(CliError::usage(format!(
            "{workers} workers with {each} event loops each are too many: at most {LOOPS_MAX} loops carry a load"
        ))
        .remedy("give fewer --cores or --workers"));
    }
    let options = CoordinatorOptions {
        listen,
        workers,
        if_lost: arguments.if_lost.map(Into::into).unwrap_or_default(),
    };
    let coordinator = Coordinator::listen(&options, &planned.plan, &planned.inputs)?;
    invite(&coordinator, planned, workers);
    let is_ready = coordinator.wait(eprint, || stop.is_raised())?;
    Ok(if is_ready {
        Carriers::Workers(coordinator)
    } else {
        Carriers::Stopped
    })
}

/// Prints the command that starts a worker.
fn invite(coordinator: &Coordinator, planned: &Planned, workers: u32) {
    let target = planned.plan.target.addresses.first().copied();
    let address = coordinator.dial_address(target);
    let wanted = if workers == 1 {
        "1 worker".to_owned()
    } else {
        format!("{workers} workers")
    };
    eprint(&format!(
        "waiting for {wanted} on {}; each is started by this command, if this machine is reached by that address:",
        coordinator.address(),
    ));
    eprint_with_secret(&format!(
        "plimsoll worker --join {address} --token {}",
        coordinator.token()
    ));
}

impl From<WorkersError> for CliError {
    fn from(error: WorkersError) -> Self {
        let exit = match error {
            WorkersError::Peer(_) | WorkersError::Thread(_) => Exit::Internal,
            WorkersError::Connect { .. } | WorkersError::Channel(_) | WorkersError::Silent(_) => {
                Exit::Unreachable
            }
            _ => Exit::Usage,
        };
        Self::new(exit, chain(&error))
    }
}
