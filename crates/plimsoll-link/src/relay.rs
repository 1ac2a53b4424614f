//! Carries connections over links: one thread with listeners, connections, and a timer of the kernel.
//!
//! A connection is a task. For each of its directions it reads what has room on the link, asks the schedule when it
//! arrives, and writes it then. What has no room stays in the socket, so its sender waits as on a full link. Memory is
//! bounded: each direction may hold [`PIECE_LEN`] bytes, and all of them together [`RelayOptions::memory_max`] more.
//!
//! [`PIECE_LEN`]: crate::schedule::PIECE_LEN

mod connection;
mod listener;
mod memory;
mod timers;

use std::cell::{Cell, RefCell};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use plimsoll_model::seed::Seed;
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::spawn_local;

use crate::clock::RelayClock;
use crate::conditions::LinkConditions;
use crate::error::LinkError;
use crate::loops;
use crate::schedule::LinkSchedule;
use crate::totals::{LinkTotals, RelayTotals};
use memory::RelayMemory;
use timers::Timers;

/// Most links of a relay.
pub const LINKS_MAX: usize = 256;
/// Bytes of the buffer that all connections read into.
const BUFFER_LEN: usize = 16 << 10;

/// Links to start.
#[derive(Clone, Debug, PartialEq)]
pub struct RelayOptions {
    /// The links, at most [`LINKS_MAX`].
    pub links: Vec<LinkOptions>,
    /// Seed of all randomness.
    pub seed: Seed,
    /// Most connections at once, over all links; each takes two descriptors. More wait.
    pub connections_max: u32,
    /// Bytes on their way over all connections, beyond what each may hold anyway.
    pub memory_max: u64,
}

/// One link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkOptions {
    /// The listening address.
    pub listen: SocketAddr,
    /// The target.
    pub to: SocketAddr,
    /// What happens to bytes.
    pub conditions: LinkConditions,
}

/// Links that carry.
#[derive(Debug)]
pub struct RunningRelay {
    addresses: Vec<SocketAddr>,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<Option<RelayTotals>>,
}

impl RunningRelay {
    /// Binds the listeners, and starts to carry.
    ///
    /// # Errors
    /// When an address cannot be bound, a link leads to itself, or the thread cannot be started.
    pub fn start(options: RelayOptions) -> Result<Self, LinkError> {
        let count = options.links.len();
        if !(1..=LINKS_MAX).contains(&count) {
            return Err(LinkError::Count(count));
        }
        let mut listeners = Vec::with_capacity(count);
        let mut ends = Vec::with_capacity(count);
        for link in &options.links {
            let bound = plimsoll_net::listener::bind(link.listen);
            let bound = bound.and_then(|listener| Ok((listener.local_addr()?, listener)));
            let (address, listener) = bound.map_err(|source| LinkError::Bind {
                address: link.listen,
                source,
            })?;
            listeners.push(listener);
            ends.push((address, link.to));
        }
        if let Some(index) = loops::find(&ends) {
            let (listen, to) = ends[index];
            return Err(LinkError::Loop { listen, to });
        }
        let (ready, started) = sync_channel(1);
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name("link".to_owned())
            .spawn(move || carry(&options, listeners, &ready, stopped))?;
        match started.recv() {
            Ok(Ok(())) => Ok(Self {
                addresses: ends.into_iter().map(|(address, _)| address).collect(),
                stop,
                thread,
            }),
            Ok(Err(error)) => Err(LinkError::Thread(error)),
            Err(_) => Err(LinkError::Gone),
        }
    }

    /// Where each link listens, in the order given.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Ends all connections; what the links have carried.
    ///
    /// # Errors
    /// When the thread has ended by itself.
    pub fn stop(self) -> Result<RelayTotals, LinkError> {
        // It is gone where nobody receives.
        let _ = self.stop.send(());
        let totals = self.thread.join().ok().flatten();
        totals.ok_or(LinkError::Gone)
    }
}

/// What all links and connections of a relay share.
struct Relay {
    clock: RelayClock,
    timers: Timers,
    memory: RelayMemory,
    /// All connections read into it, one after the other: those that wait hold no buffer.
    buffer: RefCell<Box<[u8]>>,
    places: Arc<Semaphore>,
    waited: Cell<u64>,
}

/// A link that carries.
struct OpenLink {
    to: SocketAddr,
    schedule: RefCell<LinkSchedule>,
    totals: RefCell<LinkTotals>,
}

/// The thread of the links.
fn carry(
    options: &RelayOptions,
    listeners: Vec<TcpListener>,
    ready: &SyncSender<io::Result<()>>,
    stopped: oneshot::Receiver<()>,
) -> Option<RelayTotals> {
    let built = Builder::new_current_thread()
        .enable_io()
        .build_local(LocalOptions::default());
    let runtime = match built {
        Ok(runtime) => runtime,
        Err(error) => {
            let _ = ready.send(Err(error));
            return None;
        }
    };
    runtime.block_on(async {
        let (relay, links) = match open(options, listeners) {
            Ok(opened) => opened,
            Err(error) => {
                let _ = ready.send(Err(error));
                return None;
            }
        };
        let _ = ready.send(Ok(()));
        // An owner that is gone without a word stops it too.
        let _ = stopped.await;
        Some(RelayTotals {
            links: links
                .iter()
                .map(|link| link.totals.borrow().clone())
                .collect(),
            lasting: relay.clock.elapsed(),
            held_max: relay.memory.held_max(),
            waited: relay.waited.get(),
        })
    })
}

/// Starts to accept on each listener.
fn open(
    options: &RelayOptions,
    listeners: Vec<TcpListener>,
) -> io::Result<(Rc<Relay>, Vec<Rc<OpenLink>>)> {
    let clock = RelayClock::start();
    let relay = Rc::new(Relay {
        clock,
        timers: Timers::new(clock)?,
        memory: RelayMemory::new(options.memory_max),
        buffer: RefCell::new(vec![0; BUFFER_LEN].into_boxed_slice()),
        places: Arc::new(Semaphore::new(options.connections_max.max(1) as usize)),
        waited: Cell::new(0),
    });
    let driven = Rc::clone(&relay);
    spawn_local(async move { driven.timers.run().await });
    let mut links = Vec::with_capacity(listeners.len());
    for ((number, link), listener) in (0..).zip(&options.links).zip(listeners) {
        let seed = options.seed.derive(number);
        let totals = LinkTotals::new(listener.local_addr()?, link.to);
        let opened = Rc::new(OpenLink {
            to: link.to,
            schedule: RefCell::new(LinkSchedule::new(link.conditions, seed)),
            totals: RefCell::new(totals),
        });
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let accepting = listener::accept(Rc::clone(&relay), Rc::clone(&opened), listener);
        spawn_local(accepting);
        links.push(opened);
    }
    Ok((relay, links))
}
