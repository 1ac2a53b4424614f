//! Worker processes for a load that needs more descriptors than one process may have.
//!
//! Each carries the loops of its share, with the same number of loops over all. Their results are windows, which are
//! merged like those of loops: a result does not depend on the number of processes.

mod numbers;
mod process;
mod task;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use plimsoll_model::journey::Scenario;
use plimsoll_model::plan::{Load, Plan};
use serde::{Deserialize, Serialize};

use crate::error::LoadError;
use crate::job::Job;

pub(crate) use process::WorkerProcess;
pub(crate) use task::{ABORT, STOP, WorkerMessage, WorkerTask};

/// Descriptors of a process beside its connections: files, logs, probes, epolls.
pub(crate) const OTHER_DESCRIPTORS: u64 = 256;

/// Most processes that carry one load.
const PROCESSES_MAX: u32 = 64;

/// Most loops over all processes.
const LOOPS_MAX: u32 = 1024;

/// How to start a worker process: a program that passes its standard input and output to [`crate::run_worker`].
#[derive(Clone, Debug)]
pub struct WorkerProcesses {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

/// Resources used by the worker processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Used {
    /// CPU time, µs.
    pub cpu_us: u64,
    /// Highest resident memory of each, added up, bytes.
    pub rss_bytes_max: u64,
}

/// Connections that a load holds at once, where that is known: those of its WebSockets.
pub(crate) fn held(plan: &Plan, load: &Load) -> Option<u64> {
    match load {
        Load::WebSockets(load) => Some(u64::from(load.connections)),
        Load::Users { phases, .. } if plan.scenario.as_ref().is_some_and(Scenario::has_sockets) => {
            let ends = phases.iter().flat_map(|phase| [phase.from, phase.to]);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a number of users, bounded where it is read"
            )]
            let most = ends.fold(0.0, f64::max).ceil() as u64;
            Some(most)
        }
        _ => None,
    }
}

/// Descriptors of a load that worker processes can share; `None` for any other.
fn required_descriptors(plan: &Plan, load: &Load) -> Option<u64> {
    let held = held(plan, load)?;
    let requests = match &plan.scenario {
        // Ids of scripts' steps are assigned in this process.
        Some(scenario) if scenario.has_process() => return None,
        // A user with a pending request keeps that connection, too.
        Some(scenario) if scenario.has_requests() => {
            held.min(u64::from(plan.transport.connections_max))
        }
        _ => 0,
    };
    Some(held.saturating_add(requests))
}

/// Number of processes for a load when each may have `limit` descriptors open; `None` for one.
///
/// # Errors
/// When even the most processes are not enough.
pub(crate) fn processes(
    plan: &Plan,
    load: &Load,
    limit: Option<u64>,
) -> Result<Option<u32>, LoadError> {
    let Some(connections) = required_descriptors(plan, load) else {
        return Ok(None);
    };
    let wanted = connections.saturating_add(OTHER_DESCRIPTORS);
    let Some(limit) = limit.filter(|limit| *limit < wanted) else {
        return Ok(None);
    };
    let room = limit.saturating_sub(OTHER_DESCRIPTORS);
    let processes = (room > 0).then(|| connections.div_ceil(room));
    let processes = processes.and_then(|processes| u32::try_from(processes).ok());
    match processes.filter(|processes| *processes <= PROCESSES_MAX) {
        Some(processes) => Ok(Some(processes)),
        None => Err(LoadError::Descriptors {
            required: wanted,
            limit,
        }),
    }
}

/// At least as many loops as processes, and equally many in each.
pub(crate) fn widen(job: &mut Job, processes: u32) {
    let cores = job.plan.cores;
    let each = cores.div_ceil(processes).min(LOOPS_MAX / processes).max(1);
    Arc::make_mut(&mut job.plan).cores = each * processes;
}

/// A notice for the user of the command.
pub(crate) fn describe(plan: &Plan, load: &Load, limit: Option<u64>, processes: u32) -> String {
    let connections = required_descriptors(plan, load).unwrap_or_default();
    let wanted = connections.saturating_add(OTHER_DESCRIPTORS);
    format!(
        "{connections} connections need {wanted} file descriptors, but the limit of one process is {}: {processes} processes carry the load; to use one process, raise the limit with `ulimit -n {wanted}` (a service: `LimitNOFILE={wanted}`)",
        limit.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    use plimsoll_model::websocket::WebSocketLoad;

    use crate::scenario::tests;

    fn plan() -> Plan {
        tests::plan(Scenario::default())
    }

    fn load(connections: u32) -> Load {
        Load::WebSockets(WebSocketLoad {
            connections,
            per_second: 1000.0,
            hold: Duration::from_secs(1),
            message: None,
            timestamp: None,
            sequence: None,
            compress: false,
            is_stream: false,
            reconnect: None,
        })
    }

    #[test]
    fn as_many_processes_as_descriptors_ask_for() {
        let plan = plan();
        let of = |connections, limit| processes(&plan, &load(connections), limit).unwrap();
        assert_eq!(of(40_000, None), None);
        assert_eq!(of(19_744, Some(20_000)), None);
        assert_eq!(of(19_745, Some(20_000)), Some(2));
        assert_eq!(of(39_488, Some(20_000)), Some(2));
        assert_eq!(of(40_000, Some(20_000)), Some(3));
        let closed = Load::Closed {
            connections: 40_000,
            think: Duration::ZERO,
            lasting: Duration::ZERO,
        };
        assert_eq!(processes(&plan, &closed, Some(20_000)).unwrap(), None);
    }

    #[test]
    fn more_processes_than_are_started_are_refused_with_the_remedy() {
        for (connections, limit) in [(1000, 256), (1000, 10), (65 * 100, 356)] {
            let error = processes(&plan(), &load(connections), Some(limit)).unwrap_err();
            let remedy = format!("ulimit -n {}", connections + 256);
            assert!(error.to_string().contains(&remedy), "{error}");
        }
    }
}
