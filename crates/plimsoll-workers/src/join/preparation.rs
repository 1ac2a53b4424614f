//! A part before its load begins: the task is read and checked, and the target is reached.

use std::fs::File;
use std::io::{self, Write as _};
use std::net::TcpStream;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use plimsoll_load::{Job, LoopShare};
use plimsoll_model::journey::Inputs;
use plimsoll_model::plan::{Plan, Target};
use rustix::fs::{MemfdFlags, memfd_create};

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
    share: LoopShare,
    /// The file with certificate authorities, which the plan names by this descriptor.
    _ca: Option<OwnedFd>,
}

impl PreparedPart {
    /// The job of the load, which begins at `second` after `epoch`.
    pub(super) fn job(&self, epoch: Instant, second: u32) -> Job {
        Job {
            plan: Arc::clone(&self.plan),
            load: self.plan.load.clone(),
            epoch,
            start_second: second,
            seed: self.plan.seed,
            inputs: Arc::clone(&self.inputs),
        }
    }

    pub(super) fn share(&self) -> LoopShare {
        self.share
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
        share: LoopShare::of_process(index, workers),
        _ca: ca,
    };
    // Its epoch does not matter to the check.
    let job = part.job(crate::clock::PeerClock::start().instant_of(0), 0);
    plimsoll_load::check_share(job, part.share).map_err(|error| error.to_string())?;
    Ok(part)
}

fn targets(plan: &Plan) -> impl Iterator<Item = &Target> {
    let others = plan.scenario.iter().flat_map(|scenario| &scenario.targets);
    std::iter::once(&plan.target).chain(others)
}

/// A loopback address is another machine for each of the two.
fn check_place(target: &Target, is_near: bool) -> Result<(), String> {
    let mut addresses = target.addresses.iter();
    match addresses.find(|address| address.ip().to_canonical().is_loopback()) {
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
        assert_eq!(part.share(), LoopShare::of_process(1, 2));
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
