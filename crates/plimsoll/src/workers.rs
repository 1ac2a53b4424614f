//! `--on listen:PORT`, `--on hosts.yaml` and `--on kubernetes`: the workers that carry a load.

mod kubernetes;
mod source;

use plimsoll_lab::progress::StopFlag;
use plimsoll_workers::{
    Coordinator, CoordinatorOptions, HostWorkers, WaitControl, WaitHooks, WaitLimits, WaitOutcome,
    WorkersError,
};

use crate::arguments::{CarriedByArguments, WorkersPlace};
use crate::exit::Exit;
use crate::explain::{CliError, chain};
use crate::planning::Planned;
use crate::screen::{eprint, eprint_with_secret};
use source::WorkerSource;

/// Who carries a load.
#[derive(Debug)]
pub(crate) enum Carriers {
    /// This machine.
    Own,
    /// Workers, all of them ready.
    Workers(Coordinator),
    /// Nobody: the user stopped the wait.
    Stopped,
    /// Nobody: their Jobs were to be printed, and were.
    Printed,
}

/// Waits for the workers that the arguments ask for, and starts those of a file of hosts. The plan's event loops are those of
/// all of them then. Of pods, it prints the Jobs alone.
pub(crate) fn gather(
    planned: &mut Planned,
    arguments: &CarriedByArguments,
    stop: &StopFlag,
) -> Result<Carriers, CliError> {
    kubernetes::refuse_elsewhere(arguments)?;
    if arguments.on == Some(WorkersPlace::Kubernetes) {
        kubernetes::print_jobs(planned, arguments)?;
        return Ok(Carriers::Printed);
    }
    let Some(source) = WorkerSource::of(arguments)? else {
        return Ok(Carriers::Own);
    };
    let workers = source.workers();
    source.check(planned.plan.cores)?;
    planned.plan.cores = planned.plan.cores.saturating_mul(workers);
    let options = CoordinatorOptions {
        listen: source.listens_at(),
        workers,
        if_lost: arguments.if_lost.map(Into::into).unwrap_or_default(),
    };
    let coordinator = Coordinator::listen(&options, &planned.plan, &planned.inputs)?;
    let hosts = source.start(&coordinator, &planned.plan)?;
    if hosts.is_none() {
        invite(&coordinator, planned, workers);
    }
    let limits = limits(arguments);
    let arrival = wait(&coordinator, limits, hosts.as_ref(), stop);
    if let Some(hosts) = hosts {
        // They end behind the coordinator, whatever has come of the wait.
        hosts.end_missing(&coordinator.ready_names());
        coordinator.keep(hosts);
    }
    match arrival? {
        WaitOutcome::All => {}
        WaitOutcome::Fewer(left) => eprint(&format!(
            "{left} of {workers} workers carry the load; the others are left out"
        )),
        WaitOutcome::Stopped => return Ok(Carriers::Stopped),
    }
    planned.plan.cores = coordinator.loops()?;
    Ok(Carriers::Workers(coordinator))
}

fn limits(arguments: &CarriedByArguments) -> WaitLimits {
    let default = WaitLimits::default();
    WaitLimits {
        within: arguments.join_within.unwrap_or(default.within),
        at_least: arguments.allow_fewer,
    }
}

fn wait(
    coordinator: &Coordinator,
    limits: WaitLimits,
    hosts: Option<&HostWorkers>,
    stop: &StopFlag,
) -> Result<WaitOutcome, WorkersError> {
    let hooks = WaitHooks {
        report: &eprint,
        control: &|ready| {
            if stop.is_raised() {
                WaitControl::Stop
            } else {
                WaitControl::Continue {
                    lost: hosts.map_or(0, |hosts| hosts.lost(ready)),
                }
            }
        },
        missing: &|ready| hosts.map_or_else(Vec::new, |hosts| hosts.missing(ready)),
    };
    coordinator.wait_for(limits, &hooks)
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
            WorkersError::Peer(_)
            | WorkersError::Thread(_)
            | WorkersError::Program(_)
            | WorkersError::Busy => Exit::Internal,
            WorkersError::Connect { .. } | WorkersError::Channel(_) | WorkersError::Silent(_) => {
                Exit::Unreachable
            }
            _ => Exit::Usage,
        };
        Self::new(exit, chain(&error))
    }
}
