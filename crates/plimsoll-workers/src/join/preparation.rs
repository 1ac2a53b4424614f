//! A part before its load begins: the task is read and checked, and the target is reached.

use std::fs::File;
use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use plimsoll_load::{Job, LoopShare, NullServer};
use plimsoll_model::journey::{Inputs, UserPhase};
use plimsoll_model::plan::{Load, Plan, Target};
use plimsoll_model::worker::LOOPS_MAX;
use rustix::fs::{MemfdFlags, memfd_create};

use crate::load_order::LoadDestination;
use crate::message::{LoopSpan, Start};
use crate::task::{self, ReceivedTask, Task};

/// Longest time in which one address of a target must accept a connection.
const REACH_WITHIN: Duration = Duration::from_secs(1);
/// Addresses of each target that are tried.
const ADDRESSES_MAX: usize = 2;

/// A part that can begin.
#[derive(Debug)]
pub(super) struct PreparedPart {
    plan: Arc<Plan>,
    inputs: Arc<Inputs>,
    /// Parts of the plan's loads.
    workers: u32,
    /// The file with certificate authorities, which the plan names by this descriptor.
    _ca: Option<OwnedFd>,
}

/// The part of one load that is about to begin.
#[derive(Debug)]
pub(super) struct PartLoad {
    pub(super) job: Job,
    pub(super) share: LoopShare,
    /// Where a self-test goes.
    pub(super) null_server: Option<NullServer>,
}

impl PreparedPart {
    /// Its part of a load, whose second 0 of run time is at `epoch`.
    ///
    /// # Errors
    /// When there is no such part, or the server of a self-test cannot be started.
    pub(super) fn load(&self, start: &Start, epoch: Instant) -> Result<PartLoad, String> {
        let (index, workers) = (start.index, start.workers);
        if index >= workers || workers > self.workers {
            return Err(format!(
                "part {index} of {workers} of a load for {} workers does not exist",
                self.workers
            ));
        }
        let null_server = match start.order.destination {
            LoadDestination::Target => None,
            LoadDestination::NullServer => Some(plimsoll_load::null_server()),
        };
        let null_server = null_server.transpose().map_err(|error| error.to_string())?;
        let mut plan = Arc::clone(&self.plan);
        if let Some(server) = &null_server {
            plan = Arc::new(server.in_place_of_target(&plan));
        }
        let (cores, share) = self.share(start)?;
        if cores != plan.cores {
            Arc::make_mut(&mut plan).cores = cores;
        }
        let job = Job {
            plan,
            load: start.order.load.clone(),
            epoch,
            start_second: start.second,
            seed: start.order.seed,
            inputs: Arc::clone(&self.inputs),
        };
        Ok(PartLoad {
            job,
            share,
            null_server,
        })
    }

    /// The event loops of all workers, and those that run here.
    fn share(&self, start: &Start) -> Result<(u32, LoopShare), String> {
        let Some(LoopSpan { first, count, all }) = start.loops else {
            // Each of those that are left has as many loops as before.
            let each = self.plan.cores / self.workers;
            let share = LoopShare::of_process(start.index, start.workers);
            return Ok((each * start.workers, share));
        };
        let end = first.checked_add(count).filter(|&end| end <= all);
        if count == 0 || end.is_none() || all > LOOPS_MAX {
            return Err(format!(
                "loops {first} and {count} more of {all} do not exist; valid: at most {LOOPS_MAX}"
            ));
        }
        Ok((all, LoopShare::span(first, count)))
    }

    /// Where the load goes, without secrets.
    pub(super) fn target(&self) -> &str {
        &self.plan.target.url
    }
}

/// Reads and checks part `index` of `workers` of a task. `is_near` is whether the coordinator is on this machine.
///
/// # Errors
/// When the task is damaged, its targets may not be loaded from here or do not accept a connection, or its load cannot be
/// started: why, and what helps.
pub(super) fn prepare(
    (index, workers): (u32, u32),
    text: &str,
    is_near: bool,
    permit: &dyn Fn(&Plan) -> Result<(), String>,
) -> Result<PreparedPart, String> {
    let ReceivedTask {
        mut plan,
        inputs,
        ca,
    } = Task::parse(text).map_err(|error| error.to_string())?;
    task::check(&plan).map_err(|error| error.to_string())?;
    if index >= workers || !plan.cores.is_multiple_of(workers) {
        return Err(format!(
            "part {index} of {workers} of {} loops does not exist",
            plan.cores
        ));
    }
    permit(&plan)?;
    for target in targets(&plan) {
        check_place(target, is_near)?;
        reach(target)?;
    }
    let ca = ca
        .map(|content| in_memory(&content))
        .transpose()
        .map_err(|error| format!("cannot keep the CA file in memory: {error}"))?;
    plan.transport.ca_file = ca.as_ref().map(path_of);
    let part = PreparedPart {
        plan: Arc::new(plan),
        inputs: Arc::new(inputs),
        workers,
        _ca: ca,
    };
    let job = Job {
        load: checked_load(&part.plan),
        plan: Arc::clone(&part.plan),
        // It does not matter to the check.
        epoch: crate::clock::PeerClock::start().instant_of(0),
        start_second: 0,
        seed: part.plan.seed,
        inputs: Arc::clone(&part.inputs),
    };
    plimsoll_load::check_share(job, LoopShare::of_process(index, workers))
        .map_err(|error| error.to_string())?;
    Ok(part)
}

/// The load that a plan is checked with: its own, or, where the plan has only journeys and a search chooses the loads, a user
/// of each.
fn checked_load(plan: &Plan) -> Load {
    match (&plan.scenario, &plan.load) {
        (Some(_), Load::Open { .. } | Load::Closed { .. }) => Load::Users {
            phases: vec![UserPhase {
                from: 1.0,
                to: 1.0,
                lasting: Duration::from_secs(1),
                mix: Vec::new(),
            }],
            iterations: None,
        },
        (_, load) => load.clone(),
    }
}

fn targets(plan: &Plan) -> impl Iterator<Item = &Target> {
    let others = plan.scenario.iter().flat_map(|scenario| &scenario.targets);
    std::iter::once(&plan.target).chain(others)
}

/// A loopback address is another machine for each of the two, and the address of no interface leads to it.
fn check_place(target: &Target, is_near: bool) -> Result<(), String> {
    let is_own = |address: &&SocketAddr| {
        let ip = address.ip().to_canonical();
        ip.is_loopback() || ip.is_unspecified()
    };
    match target.addresses.iter().find(is_own) {
        Some(address) if !is_near => Err(format!(
            "the target {address} would be this machine, and not that of the coordinator; name the target by an address that \
             workers reach"
        )),
        _ => Ok(()),
    }
}

/// Whether one of the first addresses accepts a connection; nothing is sent on it.
fn reach(target: &Target) -> Result<(), String> {
    let mut last = None;
    for address in target.addresses.iter().take(ADDRESSES_MAX) {
        match TcpStream::connect_timeout(address, REACH_WITHIN) {
            Ok(_) => return Ok(()),
            Err(error) => last = Some((address, error)),
        }
    }
    match last {
        Some((address, error)) => Err(format!(
            "cannot reach the target at {address} from here: {error}; check routes and firewalls between them"
        )),
        None => Err("the target has no address".to_owned()),
    }
}

/// A file that is in memory only.
fn in_memory(content: &[u8]) -> io::Result<OwnedFd> {
    let mut file = File::from(memfd_create("ca", MemfdFlags::CLOEXEC)?);
    file.write_all(content)?;
    Ok(file.into())
}

/// Another handle of it, as a path of this process.
fn path_of(file: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use plimsoll_testkit::plan::get_root;

    use super::*;
    use crate::load_order::LoadOrder;

    fn text(plan: &Plan) -> String {
        let task = Task::new(plan, &Inputs::default()).unwrap();
        task.pieces().unwrap().concat()
    }

    #[expect(
        clippy::unnecessary_wraps,
        reason = "it stands for a function that may refuse"
    )]
    fn allowed(_: &Plan) -> Result<(), String> {
        Ok(())
    }

    #[test]
    fn a_part_is_prepared_where_its_target_accepts() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut plan = get_root(listener.local_addr().unwrap());
        plan.cores = 4;
        let part = prepare((1, 2), &text(&plan), true, &allowed).unwrap();
        assert_eq!(part.target(), plan.target.url);
        let far = prepare((1, 2), &text(&plan), false, &allowed).unwrap_err();
        assert!(far.contains("an address that workers reach"), "{far}");
        let refused = |_: &Plan| -> Result<(), String> { Err("a public address".to_owned()) };
        let refused = prepare((1, 2), &text(&plan), true, &refused).unwrap_err();
        assert_eq!(refused, "a public address");
        for part in [(2, 2), (0, 3)] {
            let error = prepare(part, &text(&plan), true, &allowed).unwrap_err();
            assert!(error.contains("does not exist"), "{error}");
        }
        drop(listener);
        let gone = prepare((0, 2), &text(&plan), true, &allowed).unwrap_err();
        assert!(gone.contains("cannot reach the target"), "{gone}");
    }

    #[test]
    fn a_load_of_those_that_are_left_has_their_loops() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut plan = get_root(listener.local_addr().unwrap());
        plan.cores = 6;
        let part = prepare((2, 3), &text(&plan), true, &allowed).unwrap();
        let mut start = Start {
            round: 4,
            epoch_ns: 0,
            second: 9,
            index: 2,
            workers: 3,
            loops: None,
            order: LoadOrder::of_plan(&plan),
        };
        let epoch = crate::clock::PeerClock::start().instant_of(0);
        let load = part.load(&start, epoch).unwrap();
        assert_eq!((load.job.plan.cores, load.job.start_second), (6, 9));
        assert_eq!(load.share, LoopShare::of_process(2, 3));
        (start.index, start.workers) = (1, 2);
        let load = part.load(&start, epoch).unwrap();
        assert_eq!(load.job.plan.cores, 4);
        assert_eq!(load.share, LoopShare::of_process(1, 2));
        assert!(load.null_server.is_none());
        start.order.destination = LoadDestination::NullServer;
        let load = part.load(&start, epoch).unwrap();
        let server = load.null_server.unwrap().address();
        assert_eq!(load.job.plan.target.addresses, [server]);
        assert_eq!(load.job.plan.cores, 4);
        let span = |first, count, all| Some(LoopSpan { first, count, all });
        start.loops = span(2, 3, 5);
        let load = part.load(&start, epoch).unwrap();
        assert_eq!(load.job.plan.cores, 5);
        assert_eq!(load.share, LoopShare::span(2, 3));
        for loops in [
            span(2, 4, 5),
            span(0, 0, 5),
            span(u32::MAX, 2, 5),
            span(0, 1, 2000),
        ] {
            start.loops = loops;
            assert!(
                part.load(&start, epoch)
                    .unwrap_err()
                    .contains("do not exist")
            );
        }
        start.loops = None;
        for (index, workers) in [(2, 2), (0, 4)] {
            (start.index, start.workers) = (index, workers);
            let error = part.load(&start, epoch).unwrap_err();
            assert!(error.contains("does not exist"), "{error}");
        }
    }

    #[test]
    fn certificate_authorities_are_read_from_memory() {
        let file = in_memory(b"some text").unwrap();
        assert_eq!(std::fs::read(path_of(&file)).unwrap(), b"some text");
        assert_eq!(std::fs::read(path_of(&file)).unwrap(), b"some text");
    }

    #[test]
    fn a_plan_out_of_range_is_refused_before_the_start() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut plan = get_root(listener.local_addr().unwrap());
        plan.transport.timeout = Duration::ZERO;
        let error = prepare((0, 1), &text(&plan), true, &allowed).unwrap_err();
        assert!(error.contains("timeout"), "{error}");
    }
}
