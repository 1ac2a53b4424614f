//! The connections of one loop: the limit of their number, who may use which, and their deadlines.
//!
//! A connection is connecting, idle, busy or closing ([`ConnectionPhase`]). Only this pool changes the phase, so that a
//! connection is always in the list of its phase.

mod connection;

use std::ops::{Index, IndexMut};

use slab::Slab;

use crate::due::{NEVER, NOBODY};
use crate::list::{List, NONE};
use crate::poller::{GENERATIONS, Poller};
use crate::rx_timestamp;
use crate::transport::{AddressCursor, DialFailure, TargetTransport};

pub(crate) use self::connection::{ConnectionPhase, TargetConnection, TransportStage};

/// The connections of a loop.
pub(crate) struct Connections {
    entries: Slab<TargetConnection>,
    open_max: usize,
    connecting: List<0>,
    idle: List<0>,
    closing: List<0>,
    /// The connection of each user of a closed load; empty where they share connections of HTTP/2.
    of_users: Vec<u32>,
    /// Whether all connections belong to users of journeys.
    of_journeys: bool,
    addresses: AddressCursor,
    generation: u32,
    /// The unix socket refuses connections until this moment, when it is tried again; else [`NEVER`].
    backlog_retry_ns: u64,
}

/// Who uses the connections of a loop, and how many there may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionLimits {
    /// Most connections at once.
    pub(crate) open_max: usize,
    /// Connections for which memory is reserved.
    pub(crate) reserved: usize,
    /// Users of a closed load, each with a connection of its own.
    pub(crate) users: usize,
    /// Whether all connections belong to users of journeys.
    pub(crate) of_journeys: bool,
}

/// A connection to be opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewConnection {
    /// Index of the origin.
    pub(crate) origin: u16,
    /// The request that it is opened for, and its user.
    pub(crate) request: u32,
    pub(crate) user: u32,
    /// When it is dialed, ns of run time.
    pub(crate) now: u64,
    /// When it must be established, ns of run time.
    pub(crate) deadline: u64,
    /// Whether the kernel is asked for timestamps of received bytes.
    pub(crate) with_timestamps: bool,
}

impl Connections {
    /// For loop `index`. Loops start at different addresses, so that few connections still reach all of them.
    pub(crate) fn new(limits: ConnectionLimits, index: u32) -> Self {
        Self {
            entries: Slab::with_capacity(limits.reserved),
            open_max: limits.open_max,
            connecting: List::default(),
            idle: List::default(),
            closing: List::default(),
            of_users: vec![NONE; limits.users],
            of_journeys: limits.of_journeys,
            addresses: AddressCursor::at(index as usize),
            generation: 0,
            backlog_retry_ns: NEVER,
        }
    }

    #[inline]
    pub(crate) fn get(&self, id: u32) -> Option<&TargetConnection> {
        self.entries.get(id as usize)
    }

    /// Whether this slot still holds the same connection.
    #[inline]
    pub(crate) fn contains(&self, id: u32, generation: u32) -> bool {
        self.get(id)
            .is_some_and(|connection| connection.generation() == generation)
    }

    /// Whether another connection may be opened. One that only waits for its close does not count.
    #[inline]
    pub(crate) fn have_capacity(&self) -> bool {
        !self.backlog_is_full() && self.entries.len() - self.closing.len() < self.open_max
    }

    /// Whether no connection is connecting, busy or closing.
    pub(crate) fn are_idle(&self) -> bool {
        self.entries.len() == self.idle.len()
    }

    /// The ids of all connections.
    pub(crate) fn ids(&self) -> Vec<u32> {
        let ids = self.entries.iter().map(|(id, _)| u32::try_from(id));
        ids.map(|id| id.expect("connections are far below 2^32"))
            .collect()
    }

    /// Begins to open a connection; returns its id.
    pub(crate) fn open(
        &mut self,
        transport: &TargetTransport,
        poller: &Poller,
        new: NewConnection,
    ) -> Result<u32, DialFailure> {
        let socket = transport.dial(&mut self.addresses)?;
        if new.with_timestamps {
            // Without kernel timestamps a response counts from the time it is read: a little late.
            let _ = rx_timestamp::enable(&socket);
        }
        self.generation = (self.generation + 1) % GENERATIONS;
        let entry = self.entries.vacant_entry();
        let id = u32::try_from(entry.key()).expect("connections are far below 2^32");
        poller
            .add_connection(&socket, id, self.generation)
            .map_err(|_| DialFailure::Descriptors)?;
        let slot = self.of_users.get_mut(new.user as usize);
        // Where users share connections, no user owns one.
        let owner = if self.of_journeys || slot.is_some() {
            new.user
        } else {
            NOBODY
        };
        entry.insert(TargetConnection::new(socket, self.generation, owner, &new));
        self.connecting.push_back(&mut self.entries, id);
        if let Some(slot) = slot {
            *slot = id;
        }
        Ok(id)
    }

    /// A connection is established.
    pub(crate) fn established(&mut self, id: u32) {
        self.connecting.remove(&mut self.entries, id);
        self.entries[id as usize].phase = ConnectionPhase::Busy;
    }

    /// The connection of a user of a closed load, [`NONE`] before it is opened; `None` where users have none of their
    /// own.
    #[inline]
    pub(crate) fn of_user(&self, user: u32) -> Option<u32> {
        self.of_users.get(user as usize).copied()
    }

    /// Whether an idle connection may be used by anyone, or by its user only.
    #[inline]
    pub(crate) fn is_shared(&self, id: u32) -> bool {
        self.entries[id as usize].user == NOBODY
    }

    /// The connection that became idle last.
    #[inline]
    pub(crate) fn last_idle(&self) -> Option<u32> {
        self.idle.last()
    }

    /// The connection that has been idle longest.
    pub(crate) fn oldest_idle(&self) -> Option<u32> {
        self.idle.first()
    }

    /// A connection is going to carry a request.
    #[inline]
    pub(crate) fn occupy(&mut self, id: u32) -> &mut TargetConnection {
        if self.is_listed_idle(id) {
            self.idle.remove(&mut self.entries, id);
        }
        let connection = &mut self.entries[id as usize];
        connection.phase = ConnectionPhase::Busy;
        connection
    }

    /// A connection that was busy carries no request any more.
    #[inline]
    pub(crate) fn release(&mut self, id: u32) {
        self.entries[id as usize].phase = ConnectionPhase::Idle;
        if self.is_listed_idle(id) {
            self.idle.push_back(&mut self.entries, id);
        }
    }

    /// A connection of HTTP/2 can take another request, or not.
    pub(crate) fn set_available(&mut self, id: u32, is_available: bool) {
        match self.entries[id as usize].phase {
            ConnectionPhase::Idle if !is_available => {
                self.occupy(id);
            }
            ConnectionPhase::Busy if is_available => self.release(id),
            _ => {}
        }
    }

    /// A connection of a user of a closed load waits for that user, in no list.
    #[inline]
    fn is_listed_idle(&self, id: u32) -> bool {
        let connection = &self.entries[id as usize];
        connection.phase == ConnectionPhase::Idle && (self.of_journeys || connection.user == NOBODY)
    }

    /// The target is to close a connection until `deadline`, the same time after `now` for all connections of a loop.
    pub(crate) fn retire(&mut self, id: u32, deadline: u64) {
        let connection = &mut self.entries[id as usize];
        connection.phase = ConnectionPhase::Closing;
        connection.deadline = deadline;
        connection.take_request();
        self.forget_owner(id);
        self.closing.push_back(&mut self.entries, id);
    }

    /// Takes out a connection.
    pub(crate) fn remove(&mut self, id: u32) -> TargetConnection {
        match self.entries[id as usize].phase {
            ConnectionPhase::Connecting => self.connecting.remove(&mut self.entries, id),
            ConnectionPhase::Idle if self.is_listed_idle(id) => {
                self.idle.remove(&mut self.entries, id);
            }
            ConnectionPhase::Closing => self.closing.remove(&mut self.entries, id),
            ConnectionPhase::Busy | ConnectionPhase::Idle => {}
        }
        if self.entries[id as usize].phase != ConnectionPhase::Closing {
            self.forget_owner(id);
        }
        self.entries.remove(id as usize)
    }

    fn forget_owner(&mut self, id: u32) {
        let user = self.entries[id as usize].user;
        if let Some(slot) = self.of_users.get_mut(user as usize) {
            *slot = NONE;
        }
    }

    /// The backlog of the unix socket is full: it is tried again at a moment.
    pub(crate) fn pause_until(&mut self, moment: u64) {
        self.backlog_retry_ns = moment;
    }

    /// Ends the pause when it is over at `now`.
    pub(crate) fn end_pause(&mut self, now: u64) {
        if self.backlog_retry_ns <= now {
            self.backlog_retry_ns = NEVER;
        }
    }

    /// Whether the unix socket has recently refused a connection.
    #[inline]
    pub(crate) fn backlog_is_full(&self) -> bool {
        self.backlog_retry_ns != NEVER
    }

    /// When a connection has to be established or closed at the latest, or a pause ends.
    #[inline]
    pub(crate) fn next_deadline(&self) -> u64 {
        let deadline = |list: &List<0>| {
            list.first()
                .map_or(NEVER, |id| self.entries[id as usize].deadline)
        };
        deadline(&self.connecting)
            .min(deadline(&self.closing))
            .min(self.backlog_retry_ns)
    }

    /// A connection that was not established in time.
    pub(crate) fn late_connecting(&self, now: u64) -> Option<u32> {
        self.first_late(&self.connecting, now)
    }

    /// A connection that the target has not closed in time.
    pub(crate) fn late_closing(&self, now: u64) -> Option<u32> {
        self.first_late(&self.closing, now)
    }

    fn first_late(&self, list: &List<0>, now: u64) -> Option<u32> {
        list.first()
            .filter(|&id| self.entries[id as usize].deadline <= now)
    }
}

impl Index<u32> for Connections {
    type Output = TargetConnection;

    #[inline]
    fn index(&self, id: u32) -> &TargetConnection {
        &self.entries[id as usize]
    }
}

impl IndexMut<u32> for Connections {
    #[inline]
    fn index_mut(&mut self, id: u32) -> &mut TargetConnection {
        &mut self.entries[id as usize]
    }
}
