//! A server that obeys a queueing law: FIFO, c equal servers, deterministic or exponential service.
//!
//! No CPU is burnt for service: a request departs at max(arrival, earliest free server) + service time, and the reply
//! leaves at that moment (timer slack 1 ns, so a few µs late on an idle core). One thread and one epoll loop serve
//! thousands of connections. The law's queue is unbounded; only the number of connections bounds it, as each
//! connection has one request in the law at a time.

mod engine;
mod law;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use plimsoll_model::lock::lock;
use plimsoll_model::seed::Seed;
use rustix::event::EventfdFlags;
use rustix::fd::OwnedFd;
use socket2::{Domain, SockAddr, Socket, Type};

use self::engine::Engine;
use super::clock::{Nanos, OriginClock, nanos};

/// Connections the kernel may hold for us before we accept them; it caps this at `somaxconn`.
const BACKLOG: i32 = 4096;

/// How long one request keeps one server busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Always this long.
    Deterministic(Duration),
    /// Exponentially distributed with this mean.
    Exponential(Duration),
    /// This much longer for each request than for the one before; the first takes this long.
    Growing(Duration),
}

/// Settings of a [`KnownLaw`].
#[derive(Clone, Copy, Debug)]
pub struct KnownLawPlan {
    /// Number of equal servers behind the one queue.
    pub servers: NonZeroU32,
    /// How long a request keeps a server busy.
    pub service: Service,
    /// Seed of the service times.
    pub seed: Seed,
    /// Status code of every response.
    pub status: u16,
    /// Length of every response body, in bytes.
    pub body_len: usize,
    /// Whether its thread runs before all others of this machine as soon as it wakes, where this process may ask for that: its
    /// replies leave on time beside other work. Only for loads that leave it idle most of the time.
    pub runs_first: bool,
}

impl Default for KnownLawPlan {
    /// One server, 1 ms each time, `200` with 100 bytes.
    fn default() -> Self {
        Self {
            servers: NonZeroU32::MIN,
            service: Service::Deterministic(Duration::from_millis(1)),
            seed: Seed(1),
            status: 200,
            body_len: 100,
            runs_first: false,
        }
    }
}

/// Counters of an origin since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KnownLawCounts {
    /// Connections accepted.
    pub accepted: u64,
    /// Connections open now.
    pub open: u64,
    /// Requests read in full.
    pub arrived: u64,
    /// Requests that departed by the law, whether or not the client was still connected.
    pub served: u64,
    /// Most requests that were in the law at one moment, waiting or in service.
    pub in_flight_max: u64,
    /// Longest time by which a reply left later than the law says.
    pub late_max: Duration,
    /// The same, summed over all replies.
    pub late_total: Duration,
    /// By how much requests may have been read late, summed over all: the loop woke so much later than it was to.
    pub read_late_total: Duration,
    /// Longest time for which its thread stood still: what arrived meanwhile is answered later, and by the law in time.
    pub stood_still_max: Duration,
}

impl KnownLawCounts {
    /// Mean time by which a reply left later than the law says; zero before the first.
    #[must_use]
    pub fn late_mean(&self) -> Duration {
        self.late_total.div_f64(self.served.max(1) as f64)
    }

    /// Mean time by which answers may have come later than the law says, also because their requests were read late; zero
    /// before the first.
    #[must_use]
    pub fn delay_mean(&self) -> Duration {
        (self.late_total + self.read_late_total).div_f64(self.served.max(1) as f64)
    }
}

/// State the loop and its handle share.
#[derive(Default)]
struct KnownLawState {
    stop: AtomicBool,
    accepted: AtomicU64,
    open: AtomicU64,
    arrived: AtomicU64,
    served: AtomicU64,
    in_flight_max: AtomicU64,
    late_max: AtomicU64,
    late_total: AtomicU64,
    read_late_total: AtomicU64,
    stood_still_max: AtomicU64,
    /// Requested stalls that the loop has not seen yet.
    stalls: Mutex<Vec<Stall>>,
    /// Arrival times, if they are recorded.
    arrivals: Option<Mutex<Vec<Nanos>>>,
}

#[derive(Clone, Copy)]
struct Stall {
    at: Nanos,
    pause: Nanos,
}

/// A running origin with a known law; stops when dropped.
pub struct KnownLaw {
    address: Option<SocketAddr>,
    clock: OriginClock,
    shared: Arc<KnownLawState>,
    wake: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl KnownLaw {
    /// Listens on a free port of 127.0.0.1 and serves.
    ///
    /// # Errors
    /// When a socket, descriptor or thread is not available.
    pub fn start(plan: KnownLawPlan) -> io::Result<Self> {
        Self::start_at(plan, SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
    }

    /// Listens on `address` and serves; port 0 takes a free one.
    ///
    /// # Errors
    /// When the address is in use, or a socket, descriptor or thread is not available.
    pub fn start_at(plan: KnownLawPlan, address: SocketAddr) -> io::Result<Self> {
        Self::listen(plan, Domain::for_address(address), &address.into(), None)
    }

    /// As [`Self::start_at`], and records the times of the first `count` arrivals for [`Self::arrivals`].
    ///
    /// # Errors
    /// As [`Self::start_at`].
    pub fn start_recording(
        plan: KnownLawPlan,
        address: SocketAddr,
        count: usize,
    ) -> io::Result<Self> {
        Self::listen(
            plan,
            Domain::for_address(address),
            &address.into(),
            Some(count),
        )
    }

    /// Listens on a unix socket at `path`, which must not exist yet, and serves.
    ///
    /// # Errors
    /// When the path is in use or too long, or a socket, descriptor or thread is not available.
    pub fn start_unix(plan: KnownLawPlan, path: &Path) -> io::Result<Self> {
        Self::listen(plan, Domain::UNIX, &SockAddr::unix(path)?, None)
    }

    fn listen(
        plan: KnownLawPlan,
        domain: Domain,
        address: &SockAddr,
        record: Option<usize>,
    ) -> io::Result<Self> {
        let listener = Socket::new(domain, Type::STREAM, None)?;
        if domain != Domain::UNIX {
            listener.set_reuse_address(true)?;
        }
        listener.bind(address)?;
        listener.listen(BACKLOG)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?.as_socket();
        let clock = OriginClock::start();
        let shared = Arc::new(KnownLawState {
            arrivals: record.map(|count| Mutex::new(Vec::with_capacity(count))),
            ..KnownLawState::default()
        });
        let wake = Arc::new(rustix::event::eventfd(
            0,
            EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC,
        )?);
        let engine = Engine::new(
            plan,
            listener,
            clock,
            Arc::clone(&shared),
            Arc::clone(&wake),
        )?;
        let thread = std::thread::Builder::new()
            .name("known-law".to_owned())
            .spawn(move || engine.run())?;
        Ok(Self {
            address,
            clock,
            shared,
            wake,
            thread: Some(thread),
        })
    }

    /// Its address.
    ///
    /// # Panics
    /// When it listens on a unix socket.
    pub fn address(&self) -> SocketAddr {
        self.address
            .expect("the origin listens on an internet address")
    }

    /// The URL of its root, `http://127.0.0.1:PORT/`.
    ///
    /// # Panics
    /// When it listens on a unix socket.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address())
    }

    /// Stops serving for `pause` from now on; requests in service are delayed by it.
    pub fn stall(&self, pause: Duration) {
        self.stall_at(Duration::ZERO, pause);
    }

    /// Stops serving for `pause`, starting `after` from now.
    pub fn stall_at(&self, after: Duration, pause: Duration) {
        let at = self.clock.now().saturating_add(nanos(after));
        let stall = Stall {
            at,
            pause: nanos(pause),
        };
        lock(&self.shared.stalls).push(stall);
        self.wake();
    }

    /// The counters.
    pub fn counts(&self) -> KnownLawCounts {
        let shared = &self.shared;
        KnownLawCounts {
            accepted: shared.accepted.load(Ordering::Acquire),
            open: shared.open.load(Ordering::Acquire),
            arrived: shared.arrived.load(Ordering::Acquire),
            served: shared.served.load(Ordering::Acquire),
            in_flight_max: shared.in_flight_max.load(Ordering::Acquire),
            late_max: Duration::from_nanos(shared.late_max.load(Ordering::Acquire)),
            late_total: Duration::from_nanos(shared.late_total.load(Ordering::Acquire)),
            read_late_total: Duration::from_nanos(shared.read_late_total.load(Ordering::Acquire)),
            stood_still_max: Duration::from_nanos(shared.stood_still_max.load(Ordering::Acquire)),
        }
    }

    /// The recorded arrival times, as nanoseconds since the origin's start, in order.
    pub fn arrivals(&self) -> Vec<u64> {
        self.shared
            .arrivals
            .as_ref()
            .map_or_else(Vec::new, |arrivals| lock(arrivals).clone())
    }

    /// Makes the loop look at the shared state.
    fn wake(&self) {
        // A full counter means that the loop is about to wake anyway.
        let _ = rustix::io::write(&*self.wake, &1_u64.to_ne_bytes());
    }
}

impl Drop for KnownLaw {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        self.wake();
        if let Some(thread) = self.thread.take() {
            let outcome = thread.join();
            // A second panic while unwinding would abort the test before it reports the first.
            if !std::thread::panicking() {
                outcome.expect("the origin's loop does not panic");
            }
        }
    }
}

#[cfg(test)]
mod tests;
