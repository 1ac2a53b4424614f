//! What tests start with.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use plimsoll_model::plan::{Load, Plan};
use plimsoll_model::schedule::{LoadPhase, Spacing};
use plimsoll_testkit::plan::get_root;
use plimsoll_workers::{
    CoordinatorOptions, IfLost, WorkerHooks, WorkerOptions, WorkersError, work,
};

/// So many evenly spaced requests per second for so long, by two workers with a loop each.
pub(crate) fn plan(origin: SocketAddr, rate: f64, lasting: Duration) -> Plan {
    Plan {
        cores: 2,
        load: even(rate, lasting),
        ..get_root(origin)
    }
}

/// So many evenly spaced requests per second for so long.
pub(crate) fn even(rate: f64, lasting: Duration) -> Load {
    Load::Open {
        phases: vec![LoadPhase::constant(rate, lasting)],
        spacing: Spacing::Even,
    }
}

/// Two workers, on a free port.
pub(crate) fn options(if_lost: IfLost) -> CoordinatorOptions {
    CoordinatorOptions {
        listen: (Ipv4Addr::LOCALHOST, 0).into(),
        workers: 2,
        if_lost,
    }
}

/// Second 0 of run time, soon.
#[expect(clippy::disallowed_methods, reason = "a load starts at some moment")]
pub(crate) fn epoch() -> Instant {
    Instant::now() + Duration::from_millis(300)
}

/// A worker on a thread.
pub(crate) struct StartedWorker {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<(), WorkersError>>,
}

impl StartedWorker {
    /// Joins at `address` with `token`.
    pub(crate) fn start(address: SocketAddr, token: &str, name: &str) -> Self {
        let options = WorkerOptions {
            coordinator: address.to_string(),
            addresses: vec![address],
            token: token.to_owned(),
            name: name.to_owned(),
            region: Some(format!("region-{name}")),
            is_near: None,
        };
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let hooks = WorkerHooks {
                permit: &|_| Ok(()),
                report: &|_| {},
                is_stopped: &|| flag.load(Ordering::Relaxed),
            };
            work(&options, &hooks)
        });
        Self { stop, thread }
    }

    /// Its user wants an end.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// How it ended.
    pub(crate) fn join(self) -> Result<(), WorkersError> {
        self.thread.join().unwrap()
    }
}
