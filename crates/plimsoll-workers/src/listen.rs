//! The coordinator's sockets and threads: one listens, and one serves each connection. They hold no state of their own.

mod connection;
mod wait;

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use plimsoll_load::Used;
use plimsoll_model::journey::Inputs;
use plimsoll_model::load_hosts::RegionShare;
use plimsoll_model::lock::lock;
use plimsoll_model::plan::Plan;
use plimsoll_model::window::Window;
use plimsoll_model::worker::WorkerRecord;
use plimsoll_peer::Identity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustls::ServerConfig;

use crate::clock::{PeerClock, SECOND_NS, wall_ns};
use crate::coordinator::{CoordinatorState, IfLost, Settings, WorkersLost};
use crate::error::WorkersError;
use crate::hosts::HostWorkers;
use crate::load_order::LoadOrder;
use crate::task::{self, Task};

pub use wait::{WaitControl, WaitHooks, WaitLimits, WaitOutcome};

/// How long it is waited for workers.
const WAIT_MAX: Duration = Duration::from_mins(10);
/// Longest time between two looks at the state.
const POLL: Duration = Duration::from_millis(100);
/// How much longer than the load of the plan and the wait a token holds: a worker may connect again until the end, and the
/// trials of a search may take hours. Without the coordinator it is worth nothing.
const TOKEN_MARGIN: Duration = Duration::from_hours(24);
/// How long a stranger may take to prove that it has the token, and to greet, ns.
const GREET_WITHIN_NS: u64 = 10 * SECOND_NS;
/// Connections beyond two for each worker.
const CONNECTIONS_SPARE: usize = 16;

/// What a coordinator listens for.
#[derive(Clone, Copy, Debug)]
pub struct CoordinatorOptions {
    /// The listening address.
    pub listen: SocketAddr,
    /// How many workers carry the load.
    pub workers: u32,
    /// What becomes of the run or the search when one of them is lost.
    pub if_lost: IfLost,
}

/// A coordinator that listens. It stops when the last copy is dropped, and so do workers that have not delivered all then.
#[derive(Clone, Debug)]
pub struct Coordinator(Arc<Listener>);

struct Listener {
    shared: Arc<Shared>,
    address: SocketAddr,
    token: String,
    thread: Option<JoinHandle<()>>,
    /// Workers that it has started. They end after it.
    hosts: Mutex<Option<HostWorkers>>,
}

/// Without the token and the plan, which are secret.
impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Listener");
        shown
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

/// What the threads share.
struct Shared {
    state: Mutex<CoordinatorState>,
    /// Something has arrived.
    changed: Condvar,
    clock: PeerClock,
    config: Arc<ServerConfig>,
    connections_max: usize,
    is_closing: AtomicBool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, CoordinatorState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until something has arrived, for a moment at most.
    fn wait<'a>(
        &self,
        state: MutexGuard<'a, CoordinatorState>,
    ) -> MutexGuard<'a, CoordinatorState> {
        let waited = self.changed.wait_timeout(state, POLL);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// A connection that is served, until its thread has ended.
struct ServedConnection {
    socket: TcpStream,
    since_ns: u64,
    has_greeted: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Coordinator {
    /// Listens for the workers of a plan, whose `cores` are the event loops of all of them together.
    ///
    /// # Errors
    /// When several hosts cannot carry the plan, its files cannot be read or are too long, or the system refuses a socket, a
    /// thread or random bytes.
    pub fn listen(
        options: &CoordinatorOptions,
        plan: &Plan,
        inputs: &Inputs,
    ) -> Result<Self, WorkersError> {
        task::check(plan)?;
        let pieces = Task::new(plan, inputs)?.pieces()?;
        let listen_error = |source| WorkersError::Listen {
            address: options.listen,
            source,
        };
        let listener = TcpListener::bind(options.listen).map_err(listen_error)?;
        listener.set_nonblocking(true).map_err(listen_error)?;
        let address = listener.local_addr().map_err(listen_error)?;
        let clock = PeerClock::start();
        let (identity, token) = invitation(plan)?;
        let settings = Settings {
            workers: options.workers,
            loops: plan.cores / options.workers.max(1),
            pieces,
            if_lost: options.if_lost,
            wall_at_zero_ns: clock.wall_at_start_ns(),
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(CoordinatorState::new(settings)),
            changed: Condvar::new(),
            clock,
            config: identity.server_config()?,
            connections_max: 2 * options.workers as usize + CONNECTIONS_SPARE,
            is_closing: AtomicBool::new(false),
        });
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("workers".to_owned())
            .spawn(move || accept(&of_thread, &listener))
            .map_err(WorkersError::Thread)?;
        Ok(Self(Arc::new(Listener {
            shared,
            address,
            token,
            thread: Some(thread),
            hosts: Mutex::new(None),
        })))
    }

    /// Keeps the workers of hosts until it stops: when the last copy is dropped, they have all it sends, and end.
    pub fn keep(&self, hosts: HostWorkers) {
        *lock(&self.0.hosts) = Some(hosts);
    }

    /// The workers of each region carry this part of the load.
    pub fn share_by_region(&self, shares: Vec<RegionShare>) {
        self.0.shared.lock().share_by_region(shares);
    }

    /// Event loops of all workers that are ready.
    ///
    /// # Errors
    /// When their regions cannot carry their parts.
    pub fn loops(&self) -> Result<u32, WorkersError> {
        Ok(self.0.shared.lock().loops()?)
    }

    /// The listening address.
    pub fn address(&self) -> SocketAddr {
        self.0.address
    }

    /// The same as workers can dial it: instead of the unspecified address, the one of this machine on the way to `target`.
    pub fn dial_address(&self, target: Option<SocketAddr>) -> SocketAddr {
        let mut address = self.0.address;
        if address.ip().is_unspecified()
            && let Some(own) = target.and_then(own_address_toward)
        {
            address.set_ip(own.ip());
        }
        address
    }

    /// The token with which workers join: a secret.
    pub fn token(&self) -> &str {
        &self.0.token
    }

    /// Waits until all workers are ready; false where it was stopped. `report` takes what the user must know meanwhile.
    ///
    /// # Errors
    /// When one of them cannot carry its part, or not all are ready within ten minutes.
    pub fn wait(
        &self,
        report: impl Fn(&str),
        is_stopped: impl Fn() -> bool,
    ) -> Result<bool, WorkersError> {
        let hooks = WaitHooks {
            report: &report,
            control: &|_| {
                if is_stopped() {
                    WaitControl::Stop
                } else {
                    WaitControl::Continue { lost: 0 }
                }
            },
            missing: &|_| Vec::new(),
        };
        let arrival = self.wait_for(WaitLimits::default(), &hooks)?;
        Ok(arrival != WaitOutcome::Stopped)
    }

    /// A load begins at `second` of run time, whose second 0 is `epoch`: some tenths of a second ahead at least. Trials follow
    /// one another; a worker that was lost meanwhile is a load error of the next one.
    ///
    /// # Errors
    /// When a worker has left or failed since [`Self::wait`], or the load before is not over or was no trial.
    pub fn start(
        &self,
        epoch: Instant,
        second: u32,
        order: &LoadOrder,
    ) -> Result<RemoteLoad, WorkersError> {
        let shared = &self.0.shared;
        let at = (shared.clock.ns_of(epoch), second);
        shared.lock().start(at, order)?;
        Ok(RemoteLoad {
            coordinator: self.clone(),
        })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.shared.lock().dismiss("the run is over");
        self.shared.is_closing.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Its panic has been printed.
            let _ = thread.join();
        }
    }
}

/// A load that workers carry. Its windows are those of all of them together.
#[derive(Debug)]
pub struct RemoteLoad {
    coordinator: Coordinator,
}

impl RemoteLoad {
    fn shared(&self) -> &Shared {
        &self.coordinator.0.shared
    }

    /// The next second of all workers together. Blocks until each of them has sent it or is lost; `None` when the load is over.
    pub fn next_window(&mut self) -> Option<Window> {
        let shared = self.shared();
        let mut state = shared.lock();
        loop {
            if let Some(window) = state.next_window() {
                return Some(window);
            }
            if state.is_over() {
                return None;
            }
            state = shared.wait(state);
        }
    }

    /// Stops arrivals. Requests in flight drain.
    pub fn stop(&mut self) {
        self.shared().lock().stop();
    }

    /// Stops arrivals without a drain.
    pub fn abort(&mut self) {
        self.shared().lock().abort();
    }

    /// What has happened to workers since the last call, for readers of the run.
    pub fn take_notes(&mut self) -> Vec<String> {
        self.shared().lock().take_notes()
    }

    /// What the loss of workers since the last call means for further loads; `None` where none was lost.
    pub fn take_loss(&mut self) -> Option<WorkersLost> {
        self.shared().lock().take_loss()
    }

    /// Places of the users who stay with their workers for the next load, ascending, each with whether its user was waiting for
    /// an answer at the end; empty before the end.
    pub fn places(&self) -> Vec<(u64, bool)> {
        self.shared().lock().places()
    }

    /// What each worker did, so far.
    pub fn records(&self) -> Vec<WorkerRecord> {
        self.shared().lock().records()
    }

    /// Resources that the workers used, once the load has ended.
    pub fn used(&self) -> Used {
        self.shared().lock().used()
    }
}

/// A new identity, and the token of this run.
fn invitation(plan: &Plan) -> Result<(Identity, String), WorkersError> {
    let now_s = u64::try_from(wall_ns()).unwrap_or(0) / SECOND_NS;
    let load = plan.load.lasting().saturating_add(plan.transport.timeout);
    let holds = load.saturating_add(WAIT_MAX + TOKEN_MARGIN);
    let mut identity = Identity::generate()?;
    let token = identity.invite(now_s, now_s.saturating_add(holds.as_secs()))?;
    Ok((identity, token.to_text()))
}

/// The own address on the way to another one; nothing is sent.
fn own_address_toward(target: SocketAddr) -> Option<SocketAddr> {
    let any: SocketAddr = if target.is_ipv4() {
        (Ipv4Addr::UNSPECIFIED, 0).into()
    } else {
        (Ipv6Addr::UNSPECIFIED, 0).into()
    };
    let socket = UdpSocket::bind(any).ok()?;
    socket.connect(target).ok()?;
    socket.local_addr().ok()
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Accepts connections until the coordinator closes; then waits for their threads.
fn accept(shared: &Arc<Shared>, listener: &TcpListener) {
    let mut served: Vec<ServedConnection> = Vec::new();
    let timeout = Timespec {
        tv_sec: 0,
        tv_nsec: POLL.subsec_nanos().into(),
    };
    while !shared.is_closing.load(Ordering::Relaxed) {
        let mut polled = [PollFd::new(listener, PollFlags::IN)];
        // Interrupted or not: the listener is asked below.
        let _ = poll(&mut polled, Some(&timeout));
        let now_ns = shared.clock.now_ns();
        shared.lock().tick(now_ns);
        shared.changed.notify_all();
        end_silent(&mut served, now_ns);
        served.retain(|connection| !connection.thread.is_finished());
        match listener.accept() {
            Ok((socket, _)) if served.len() < shared.connections_max => {
                served.extend(serve(shared, socket, now_ns));
            }
            Ok(_) => {}
            // Nobody; or no descriptor is left, and the next look is soon enough.
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => drop(shared.wait(shared.lock())),
        }
    }
    for connection in served {
        let _ = connection.thread.join();
    }
}

/// Ends connections that have not proved in time that they are workers'.
fn end_silent(served: &mut [ServedConnection], now_ns: u64) {
    for connection in served {
        let is_late = now_ns.saturating_sub(connection.since_ns) > GREET_WITHIN_NS;
        if is_late && !connection.has_greeted.load(Ordering::Relaxed) {
            let _ = connection.socket.shutdown(std::net::Shutdown::Both);
        }
    }
}

/// Serves a connection on a thread of its own; `None` where the system refuses that.
fn serve(shared: &Arc<Shared>, socket: TcpStream, now_ns: u64) -> Option<ServedConnection> {
    let handle = socket.try_clone().ok()?;
    let has_greeted = Arc::new(AtomicBool::new(false));
    let (of_thread, greeted) = (Arc::clone(shared), Arc::clone(&has_greeted));
    let thread = std::thread::Builder::new()
        .name("worker".to_owned())
        .spawn(move || connection::serve(&of_thread, socket, &greeted))
        .ok()?;
    Some(ServedConnection {
        socket: handle,
        since_ns: now_ns,
        has_greeted,
        thread,
    })
}
