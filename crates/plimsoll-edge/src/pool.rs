//! Servers that can stand in for each other, shared by all loops.
//!
//! A place with a server is taken by raising a number that has a limit; no lock is touched while there is room. When
//! there is none, requests wait in one queue per pool, and whoever gives a place back hands it to the next in line.

pub(crate) mod chooser;
pub(crate) mod health;
pub(crate) mod latency;
pub(crate) mod limit;
pub(crate) mod queue;
pub(crate) mod server;
pub(crate) mod ticket;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plimsoll_config::edge::{self, Ceiling, Chooser, Class};

use crate::clock::{Clock, Nanoseconds, nanoseconds};
use chooser::{Candidate, ramp};
use queue::{Queue, Refused, Rules, SHARES};
use server::Server;
use ticket::Ticket;

/// Retries that are free in each window, so that a quiet service has some.
const RETRIES_FREE: u64 = 10;
/// Window over which retries are held against requests, ns.
const RETRY_WINDOW_NS: u64 = 10_000_000_000;

/// The lock of something that stays whole even when a thread died holding it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A pool as requests meet it.
#[derive(Debug)]
pub(crate) struct Pool {
    pub(crate) config: edge::Pool,
    pub(crate) servers: Vec<Arc<Server>>,
    room: Arc<Room>,
    arrivals: AtomicU64,
    retries: Mutex<Retries>,
    clock: Clock,
}

/// Where requests wait; it outlives a change of configuration.
#[derive(Debug)]
struct Room {
    queue: Mutex<Queue<Arc<Ticket>>>,
    /// Length of the queue, readable without its lock.
    waiting: AtomicUsize,
}

#[derive(Debug, Default)]
struct Retries {
    since: Nanoseconds,
    arrivals_before: u64,
    count: u64,
}

/// What matters of a request to its pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asker {
    pub(crate) class: Class,
    /// Hash of what the chooser wants hashed.
    pub(crate) key: u64,
    /// The server that a cookie speaks of.
    pub(crate) sticky: Option<u64>,
    /// The server that has just failed it.
    pub(crate) avoid: Option<usize>,
    pub(crate) random: u64,
}

/// What becomes of a request at its pool.
#[derive(Debug)]
pub(crate) enum Entry {
    Granted(Permit),
    Wait(Arc<Ticket>),
    Refused(Refused),
    /// No server is well.
    NoServer,
}

/// A place with a server; given back when dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    pub(crate) pool: Arc<Pool>,
    pub(crate) server: Arc<Server>,
    /// Requests in flight there, this one included, when it was granted.
    pub(crate) in_flight: u32,
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.server.release();
        self.pool.hand_over();
    }
}

impl Pool {
    /// Builds it; servers and waiting requests of an earlier pool of the same name stay.
    pub(crate) fn new(config: &edge::Pool, before: Option<&Self>, clock: Clock) -> Self {
        let servers = config
            .servers
            .iter()
            .map(|server| {
                let kept = before.and_then(|pool| {
                    let mut servers = pool.servers.iter();
                    servers.find(|one| one.name == server.name && one.addresses == server.addresses)
                });
                if let Some(kept) = kept {
                    kept.follow(server, config);
                    Arc::clone(kept)
                } else {
                    Arc::new(Server::new(server, config))
                }
            })
            .collect();
        let rules = Rules {
            len_max: config.queue,
            timeout: nanoseconds(config.queue_timeout),
            objective: nanoseconds(config.objective),
        };
        let room = match before {
            Some(pool) => {
                lock(&pool.room.queue).follow(rules);
                Arc::clone(&pool.room)
            }
            None => Arc::new(Room {
                queue: Mutex::new(Queue::new(rules)),
                waiting: AtomicUsize::new(0),
            }),
        };
        Self {
            config: config.clone(),
            servers,
            room,
            arrivals: AtomicU64::new(0),
            retries: Mutex::default(),
            clock,
        }
    }

    /// A place for a request, a place in line, or neither.
    pub(crate) fn enter(self: &Arc<Self>, asker: &Asker) -> Entry {
        // Nobody overtakes those who wait.
        if self.room.waiting.load(Ordering::SeqCst) == 0
            && let Some(permit) = self.take(asker)
        {
            return Entry::Granted(permit);
        }
        let now = self.clock.now();
        if !self.servers.iter().any(|server| server.is_in(now)) {
            return Entry::NoServer;
        }
        let ticket = {
            let mut queue = lock(&self.room.queue);
            if let Err(refused) = queue.offer(asker.class) {
                return Entry::Refused(refused);
            }
            let ticket = Arc::new(Ticket::default());
            queue.push(Arc::clone(&ticket), asker.class, now);
            self.room.waiting.store(queue.len(), Ordering::SeqCst);
            ticket
        };
        // A place may have been given back before the queue was seen to have somebody in it.
        self.hand_over();
        match ticket.taken() {
            Some(server) => Entry::Granted(self.permit(server)),
            None => Entry::Wait(ticket),
        }
    }

    /// A place without waiting, for a retry.
    pub(crate) fn enter_again(self: &Arc<Self>, asker: &Asker) -> Option<Permit> {
        self.take(asker)
    }

    /// A permit for a server that a ticket was granted.
    pub(crate) fn permit(self: &Arc<Self>, server: Arc<Server>) -> Permit {
        let in_flight = server.in_flight();
        Permit {
            pool: Arc::clone(self),
            server,
            in_flight,
        }
    }

    /// Somebody waits no longer.
    pub(crate) fn leave(self: &Arc<Self>, ticket: &Arc<Ticket>) {
        if let Some(server) = ticket.leave() {
            // Granted at the last moment: the place goes on to the next.
            drop(self.permit(server));
            return;
        }
        let mut queue = lock(&self.room.queue);
        queue.retain(|other| !Arc::ptr_eq(other, ticket));
        self.room.waiting.store(queue.len(), Ordering::SeqCst);
    }

    /// How many wait.
    pub(crate) fn waiting(&self) -> usize {
        self.room.waiting.load(Ordering::Relaxed)
    }

    /// Whether a request may be sent again: retries are a share of requests, so that they never double an overload.
    pub(crate) fn may_retry(&self) -> bool {
        let now = self.clock.now();
        let arrivals = self.arrivals.load(Ordering::Relaxed);
        let mut retries = lock(&self.retries);
        if now.saturating_sub(retries.since) > RETRY_WINDOW_NS {
            *retries = Retries {
                since: now,
                arrivals_before: arrivals,
                count: 0,
            };
        }
        let since = (arrivals - retries.arrivals_before) as f64;
        let allowed = since * self.config.retry_share + RETRIES_FREE as f64;
        let may = self.config.retry_share > 0.0 && (retries.count as f64) < allowed;
        retries.count += u64::from(may);
        may
    }

    /// Takes note of how a server answered.
    pub(crate) fn answered(&self, permit: &Permit, sample: limit::Sample, good: bool) {
        let now = self.clock.now();
        let server = &permit.server;
        server.observe(now, sample, self.servers.len() > 1);
        if server.answered(good, &self.config.eject) {
            let out = self.servers.iter().filter(|one| !one.is_in(now)).count();
            if health::may_eject(out, self.servers.len(), &self.config.eject) {
                server.eject(now, &self.config.eject);
            }
        }
    }

    fn take(self: &Arc<Self>, asker: &Asker) -> Option<Permit> {
        let turn = self.arrivals.fetch_add(1, Ordering::Relaxed);
        let share = SHARES[asker.class as usize];
        let now = self.clock.now();
        let (server, in_flight) = match self.servers.as_slice() {
            [only] => {
                let in_flight = only.is_in(now).then(|| only.try_take(share)).flatten()?;
                (only, in_flight)
            }
            _ => self.choose(asker, turn, now, share)?,
        };
        Some(Permit {
            pool: Arc::clone(self),
            server: Arc::clone(server),
            in_flight,
        })
    }

    fn choose(
        &self,
        asker: &Asker,
        turn: u64,
        now: Nanoseconds,
        share: f64,
    ) -> Option<(&Arc<Server>, u32)> {
        let slow_start = nanoseconds(self.config.slow_start);
        let mut candidates: Vec<Candidate> = Vec::with_capacity(self.servers.len());
        for (index, server) in self.servers.iter().enumerate() {
            if server.is_in(now) && server.has_room(share) {
                candidates.push(Candidate {
                    index,
                    in_flight: server.in_flight(),
                    weight: server.weight() * ramp(server.back_for(now), slow_start),
                    latency: server.latency.now(now),
                    hash: server.hash,
                });
            }
        }
        // The one that failed it is asked again only when it is the only one.
        if let Some(avoid) = asker.avoid
            && candidates.len() > 1
        {
            candidates.retain(|one| self.servers[one.index].id != avoid);
        }
        while !candidates.is_empty() {
            let index = self.pick(&candidates, asker, turn)?;
            if let Some(in_flight) = self.servers[index].try_take(share) {
                return Some((&self.servers[index], in_flight));
            }
            candidates.retain(|one| one.index != index);
        }
        None
    }

    fn pick(&self, candidates: &[Candidate], asker: &Asker, turn: u64) -> Option<usize> {
        match &self.config.chooser {
            Chooser::PeakEwma => chooser::cheaper_of_two(candidates, asker.random),
            Chooser::RoundRobin => chooser::in_turn(candidates, turn),
            Chooser::LeastInFlight => chooser::least_in_flight(candidates, asker.random),
            Chooser::Hash(_) => chooser::by_hash(candidates, asker.key),
            Chooser::Cookie(_) => {
                let meant = candidates
                    .iter()
                    .find(|one| asker.sticky == Some(one.hash))
                    .map(|one| one.index);
                meant.or_else(|| chooser::cheaper_of_two(candidates, asker.random))
            }
        }
    }

    /// Gives free places to those who wait.
    fn hand_over(self: &Arc<Self>) {
        if self.room.waiting.load(Ordering::SeqCst) == 0 {
            return;
        }
        let mut queue = lock(&self.room.queue);
        while queue.len() > 0 {
            let Some((server, now)) = self.free_server() else {
                break;
            };
            match queue.pop(now) {
                Some(ticket) if ticket.grant(&server) => {}
                // Gone meanwhile: the place is for the next.
                _ => server.release(),
            }
        }
        self.room.waiting.store(queue.len(), Ordering::SeqCst);
    }

    fn free_server(&self) -> Option<(Arc<Server>, Nanoseconds)> {
        let now = self.clock.now();
        let turn = self.arrivals.load(Ordering::Relaxed);
        let anybody = Asker {
            class: Class::CriticalPlus,
            key: chooser::mix(turn),
            sticky: None,
            avoid: None,
            random: chooser::mix(turn ^ now),
        };
        let (server, _) = self.choose(&anybody, turn, now, 1.0)?;
        Some((Arc::clone(server), now))
    }
}

/// The limit a server starts with, and whether it learns.
fn ceiling(server: &edge::Server, pool: &edge::Pool) -> Ceiling {
    server.max_in_flight.map_or(pool.ceiling, Ceiling::Fixed)
}

#[cfg(test)]
mod tests;
