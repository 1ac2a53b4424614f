//! The kernel's event queue of one loop (epoll), and the tokens of what is registered in it: the waker, the pipes of
//! external scripts, and connections.

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;

use crate::clock;

pub(crate) use rustix::event::epoll::Event;

/// Number of the generations of connections; the tokens above them belong to the pipes and the waker.
pub(crate) const GENERATIONS: u32 = u32::MAX - 1;

/// The token of the waker.
const WAKER: u64 = u64::MAX;

/// In place of a generation in the token of a pipe.
const PIPES: u64 = GENERATIONS as u64;

/// The events for which a connection is registered, once.
const INTEREST: EventFlags = EventFlags::IN
    .union(EventFlags::OUT)
    .union(EventFlags::RDHUP)
    .union(EventFlags::ET);

/// The connection has ended, or was never established.
pub(crate) const ENDED: EventFlags = EventFlags::RDHUP
    .union(EventFlags::HUP)
    .union(EventFlags::ERR);

/// Source of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventSource {
    Waker,
    /// A pipe, by the number with which it was registered.
    Pipe(u32),
    /// A connection, by its id and generation.
    Connection(u32, u32),
}

/// The event queue of one loop.
#[derive(Debug)]
pub(crate) struct Poller {
    epoll: OwnedFd,
}

impl Poller {
    pub(crate) fn new() -> Result<Self, Errno> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Self { epoll })
    }

    pub(crate) fn add_waker(&self, waker: &OwnedFd) -> Result<(), Errno> {
        let data = EventData::new_u64(WAKER);
        epoll::add(&self.epoll, waker, data, EventFlags::IN)
    }

    /// Registers a pipe under a number: for input, or for output.
    pub(crate) fn add_pipe(
        &self,
        pipe: &OwnedFd,
        number: u32,
        flags: EventFlags,
    ) -> Result<(), Errno> {
        let data = EventData::new_u64(PIPES << 32 | u64::from(number));
        epoll::add(&self.epoll, pipe, data, flags)
    }

    /// Registers a connection, edge-triggered.
    pub(crate) fn add_connection(
        &self,
        socket: &OwnedFd,
        id: u32,
        generation: u32,
    ) -> Result<(), Errno> {
        epoll::add(&self.epoll, socket, token(id, generation), INTEREST)
    }

    /// Reports a pending event of a connection again, after those of other connections.
    pub(crate) fn repeat(&self, socket: &OwnedFd, id: u32, generation: u32) -> Result<(), Errno> {
        epoll::modify(&self.epoll, socket, token(id, generation), INTEREST)
    }

    pub(crate) fn remove(&self, source: impl AsFd) -> Result<(), Errno> {
        epoll::delete(&self.epoll, source)
    }

    /// Waits for events, or for `wait_ns` to pass.
    pub(crate) fn wait(&self, events: &mut Vec<Event>, wait_ns: u64) {
        let timeout = clock::timespec(wait_ns);
        // An interruption by a signal counts as a short wait.
        let _ = epoll::wait(&self.epoll, spare_capacity(events), Some(&timeout));
    }
}

fn token(id: u32, generation: u32) -> EventData {
    EventData::new_u64(u64::from(generation) << 32 | u64::from(id))
}

/// What an event is about.
#[inline]
pub(crate) fn source(event: &Event) -> EventSource {
    let data = event.data.u64();
    let low = u32::try_from(data & u64::from(u32::MAX)).expect("masked to 32 bits");
    let high = u32::try_from(data >> 32).expect("shifted to 32 bits");
    if data == WAKER {
        EventSource::Waker
    } else if u64::from(high) == PIPES {
        EventSource::Pipe(low)
    } else {
        EventSource::Connection(low, high)
    }
}
