//! The loop of a known-law origin: accepts, reads, asks the law for the departure, replies at that moment.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::num::NonZeroU64;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use plimsoll_model::lock::lock;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::time::Timespec;
use slab::Slab;
use socket2::Socket;

use super::law::ServiceLaw;
use super::{KnownLawPlan, KnownLawState, Stall};
use crate::origin::clock::{Nanos, OriginClock};
use crate::origin::request::{Front, REQUEST_SIZE_MAX, front};
use crate::origin::response::reason;

/// Event data of the listener and of the waker; connections come after them.
const LISTENER: u64 = 0;
const WAKE: u64 = 1;
const FIRST_CONNECTION: u64 = 2;

/// Longest wait: how much later than this the loop woke shows that it got no CPU, also where no reply was due.
const GLANCE: Nanos = 10_000_000;

/// Events taken from the kernel at once.
const EVENT_COUNT_MAX: usize = 512;

/// The state of a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LawConnectionState {
    /// No request is complete.
    Reading,
    /// Its request is in the law.
    InLaw,
    /// The reply did not fit into the socket's buffer; so much of it has left.
    Replying { sent: usize },
}

struct LawConnection {
    socket: Socket,
    /// Distinguishes this connection from an earlier one in the same slot.
    id: u64,
    /// Bytes read that do not form a request yet, or a pipelined one.
    unread: Vec<u8>,
    state: LawConnectionState,
    head_only: bool,
    keep_alive: bool,
}

/// A request in the law: its departure, and its connection. Ordered by departure, then by arrival.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Departure {
    at: Nanos,
    seq: u64,
    slot: usize,
    connection: u64,
}

pub(super) struct Engine {
    law: ServiceLaw,
    clock: OriginClock,
    shared: Arc<KnownLawState>,
    wake: Arc<OwnedFd>,
    epoll: OwnedFd,
    listener: Socket,
    /// False without free descriptors: the listener is paused until a connection closes.
    listening: bool,
    connections: Slab<LawConnection>,
    departures: BinaryHeap<Reverse<Departure>>,
    stalls: Vec<Stall>,
    /// Head and body of every response.
    reply: Vec<u8>,
    head_size: usize,
    scratch: Vec<u8>,
    next_id: u64,
    next_seq: u64,
    /// When the loop woke last.
    woken_at: Nanos,
    /// How much later that was than it was to.
    woken_late: Nanos,
    runs_first: bool,
}

impl Engine {
    pub(super) fn new(
        plan: KnownLawPlan,
        listener: Socket,
        clock: OriginClock,
        shared: Arc<KnownLawState>,
        wake: Arc<OwnedFd>,
    ) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(
            &epoll,
            &listener,
            EventData::new_u64(LISTENER),
            EventFlags::IN,
        )?;
        epoll::add(&epoll, &*wake, EventData::new_u64(WAKE), EventFlags::IN)?;
        let mut reply = format!(
            "HTTP/1.1 {} {}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n",
            plan.status,
            reason(plan.status),
            plan.body_len
        )
        .into_bytes();
        let head_size = reply.len();
        reply.resize(head_size + plan.body_len, b'x');
        Ok(Self {
            law: ServiceLaw::new(plan.servers, plan.service, plan.seed),
            clock,
            shared,
            wake,
            epoll,
            listener,
            listening: true,
            connections: Slab::new(),
            departures: BinaryHeap::new(),
            stalls: Vec::new(),
            reply,
            head_size,
            scratch: vec![0; REQUEST_SIZE_MAX],
            next_id: 0,
            next_seq: 0,
            woken_at: clock.now(),
            woken_late: 0,
            runs_first: plan.runs_first,
        })
    }

    /// Serves until the handle says stop.
    pub(super) fn run(mut self) {
        // The default slack of 50 µs would be added to every service time.
        rustix::thread::set_current_timer_slack(NonZeroU64::new(1))
            .expect("a thread may set its own timer slack");
        if self.runs_first {
            run_first();
        }
        let mut events = Vec::with_capacity(EVENT_COUNT_MAX);
        while !self.shared.stop.load(Ordering::Acquire) {
            self.depart();
            let timeout = self.time_to_next().map_or(GLANCE, |next| next.min(GLANCE));
            events.clear();
            match epoll::wait(
                &self.epoll,
                rustix::buffer::spare_capacity(&mut events),
                Some(&timespec(timeout)),
            ) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => panic!("epoll_wait on our own descriptors: {error}"),
            }
            let now = self.clock.now();
            self.woken_late = (now - self.woken_at).saturating_sub(timeout);
            self.woken_at = now;
            self.shared
                .stood_still_max
                .fetch_max(self.woken_late, Ordering::Relaxed);
            for event in &events {
                match event.data.u64() {
                    LISTENER => self.accept(),
                    WAKE => self.take_stalls(),
                    word => self.attend(word, event.flags),
                }
            }
        }
    }

    fn time_to_next(&self) -> Option<Nanos> {
        let departure = self
            .departures
            .peek()
            .map(|Reverse(departure)| departure.at);
        let stall = self.stalls.iter().map(|stall| stall.at).min();
        let next = [departure, stall].into_iter().flatten().min()?;
        Some(next.saturating_sub(self.clock.now()))
    }

    fn take_stalls(&mut self) {
        let mut count = [0; 8];
        // An empty read means that another wake-up was handled already.
        let _ = rustix::io::read(&*self.wake, &mut count);
        let mut asked = lock(&self.shared.stalls);
        self.stalls.append(&mut asked);
    }

    /// Applies the stalls that have begun, then sends the replies that are due.
    fn depart(&mut self) {
        let mut now = self.clock.now();
        while let Some(index) = self.stalls.iter().position(|stall| stall.at <= now) {
            let stall = self.stalls.swap_remove(index);
            self.law.pause(stall.at, stall.pause);
            self.departures = self
                .departures
                .drain()
                .map(|Reverse(mut departure)| {
                    if departure.at > stall.at {
                        departure.at = departure.at.saturating_add(stall.pause);
                    }
                    Reverse(departure)
                })
                .collect();
        }
        while self
            .departures
            .peek()
            .is_some_and(|Reverse(departure)| departure.at <= now)
        {
            let Reverse(departure) = self
                .departures
                .pop()
                .expect("the heap was just seen to hold one");
            let late = now - departure.at;
            self.shared.late_max.fetch_max(late, Ordering::Relaxed);
            self.shared.late_total.fetch_add(late, Ordering::Relaxed);
            // Counted before the reply leaves: a client that has read a reply must find it counted.
            self.shared.served.fetch_add(1, Ordering::Release);
            let waits = |connection: &LawConnection| {
                connection.id == departure.connection
                    && connection.state == LawConnectionState::InLaw
            };
            if self.connections.get(departure.slot).is_some_and(waits) {
                self.reply(departure.slot, 0);
            }
            now = self.clock.now();
        }
    }

    fn accept(&mut self) {
        loop {
            let socket = match self.listener.accept() {
                Ok((socket, _)) => socket,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // The peer disconnected while it waited in the backlog.
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::ConnectionAborted | ErrorKind::Interrupted
                    ) =>
                {
                    continue;
                }
                Err(_) => {
                    // Out of descriptors: the backlog holds the rest until one is free.
                    self.listen(false);
                    return;
                }
            };
            if self.admit(socket).is_ok() {
                self.shared.accepted.fetch_add(1, Ordering::Relaxed);
                self.shared
                    .open
                    .store(self.connections.len() as u64, Ordering::Relaxed);
            }
        }
    }

    fn admit(&mut self, socket: Socket) -> io::Result<()> {
        socket.set_nonblocking(true)?;
        // A unix socket has no such delay.
        let _ = socket.set_tcp_nodelay(true);
        let entry = self.connections.vacant_entry();
        let word = EventData::new_u64(FIRST_CONNECTION + entry.key() as u64);
        epoll::add(&self.epoll, &socket, word, EventFlags::IN)?;
        entry.insert(LawConnection {
            socket,
            id: self.next_id,
            unread: Vec::new(),
            state: LawConnectionState::Reading,
            head_only: false,
            keep_alive: true,
        });
        self.next_id += 1;
        Ok(())
    }

    fn listen(&mut self, wanted: bool) {
        let flags = if wanted {
            EventFlags::IN
        } else {
            EventFlags::empty()
        };
        epoll::modify(
            &self.epoll,
            &self.listener,
            EventData::new_u64(LISTENER),
            flags,
        )
        .expect("the listener is in the set");
        self.listening = wanted;
    }

    fn attend(&mut self, word: u64, flags: EventFlags) {
        let slot = usize::try_from(word - FIRST_CONNECTION)
            .expect("words of connections are made from slots");
        // An earlier event of the same batch may have closed it.
        let Some(connection) = self.connections.get(slot) else {
            return;
        };
        if let LawConnectionState::Replying { sent } = connection.state {
            if flags.intersects(EventFlags::OUT) {
                self.reply(slot, sent);
            } else {
                self.close(slot);
            }
        } else {
            self.read(slot);
        }
    }

    fn read(&mut self, slot: usize) {
        let connection = &mut self.connections[slot];
        match (&connection.socket).read(&mut self.scratch) {
            Ok(0) => self.close(slot),
            Ok(size) => {
                connection.unread.extend_from_slice(&self.scratch[..size]);
                if connection.unread.len() > REQUEST_SIZE_MAX {
                    self.close(slot);
                } else if connection.state == LawConnectionState::Reading {
                    self.arrive(slot);
                }
            }
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => self.close(slot),
        }
    }

    /// Passes the next complete request of a connection to the law.
    fn arrive(&mut self, slot: usize) {
        let connection = &mut self.connections[slot];
        match front(&connection.unread) {
            Front::Incomplete => {}
            Front::Unreadable => self.close(slot),
            Front::Request {
                size,
                head_only,
                keep_alive,
                ..
            } => {
                connection.unread.drain(..size);
                connection.head_only = head_only;
                connection.keep_alive = keep_alive;
                connection.state = LawConnectionState::InLaw;
                let now = self.clock.now();
                self.departures.push(Reverse(Departure {
                    at: self.law.departure(now),
                    seq: self.next_seq,
                    slot,
                    connection: connection.id,
                }));
                self.next_seq += 1;
                self.count_arrival(now);
            }
        }
    }

    fn count_arrival(&self, now: Nanos) {
        self.shared.arrived.fetch_add(1, Ordering::Relaxed);
        // It may have waited for the loop that long; its departure is reckoned from when it is read.
        self.shared
            .read_late_total
            .fetch_add(self.woken_late, Ordering::Relaxed);
        self.shared
            .in_flight_max
            .fetch_max(self.departures.len() as u64, Ordering::Relaxed);
        if let Some(arrivals) = &self.shared.arrivals {
            let mut arrivals = lock(arrivals);
            if arrivals.len() < arrivals.capacity() {
                arrivals.push(now);
            }
        }
    }

    /// Sends the reply from its byte `sent` on.
    fn reply(&mut self, slot: usize, mut sent: usize) {
        let connection = &mut self.connections[slot];
        let end = if connection.head_only {
            self.head_size
        } else {
            self.reply.len()
        };
        let word = EventData::new_u64(FIRST_CONNECTION + slot as u64);
        let waited = connection.state != LawConnectionState::InLaw;
        while sent < end {
            match (&connection.socket).write(&self.reply[sent..end]) {
                Ok(size) => sent += size,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    connection.state = LawConnectionState::Replying { sent };
                    // Reading is paused: the client's next request waits.
                    if epoll::modify(&self.epoll, &connection.socket, word, EventFlags::OUT)
                        .is_err()
                    {
                        self.close(slot);
                    }
                    return;
                }
                Err(_) => return self.close(slot),
            }
        }
        connection.state = LawConnectionState::Reading;
        if !connection.keep_alive {
            return self.close(slot);
        }
        if waited && epoll::modify(&self.epoll, &connection.socket, word, EventFlags::IN).is_err() {
            return self.close(slot);
        }
        if !connection.unread.is_empty() {
            self.arrive(slot);
        }
    }

    fn close(&mut self, slot: usize) {
        // Closing the only descriptor of a socket takes it out of the epoll set.
        self.connections.remove(slot);
        self.shared
            .open
            .store(self.connections.len() as u64, Ordering::Relaxed);
        if !self.listening {
            self.listen(true);
        }
    }
}

fn timespec(nanos: Nanos) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(nanos / 1_000_000_000).expect("2^64 ns are 584 years"),
        tv_nsec: i64::try_from(nanos % 1_000_000_000).expect("less than a second"),
    }
}

/// Gives this thread the lowest real-time priority.
fn run_first() {
    let thread = rustix::thread::gettid().as_raw_nonzero().to_string();
    // Without the right to it, replies leave as late as they must, and are counted.
    let _outcome = Command::new("chrt")
        .args(["--rr", "--pid", "1", &thread])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
}
