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

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use plimsoll_config::edge::{self, Ceiling, Chooser, Class};
use rustls::ClientConfig;

use crate::clock::{Clock, Nanoseconds, nanoseconds};
use crate::fault::TlsFault;
use crate::hash::mix;
use crate::lock::lock;
use crate::upstream::{Secure, trust};
use chooser::{Candidate, ramp};
use queue::{Queue, Refused, Rules, SHARES};
use server::Server;
use ticket::Ticket;

/// Retries that are free in each window, so that a quiet service has some.
const RETRIES_FREE: u64 = 10;
/// Window over which retries are held against requests, ns.
const RETRY_WINDOW_NS: u64 = 10_000_000_000;
/// Servers that failed are tried by those who can do without them at most this often: 32 times a second.
const TRY_NS: Nanoseconds = 31_250_000;

/// A pool as requests meet it.
#[derive(Debug)]
pub(crate) struct Pool {
    pub(crate) config: edge::Pool,
    pub(crate) servers: Vec<Arc<Server>>,
    room: Arc<Room>,
    /// How its servers are spoken to by TLS, if one is.
    encryption: Option<Arc<ClientConfig>>,
    clock: Clock,
}

/// What outlives a change of servers or of configuration.
#[derive(Debug)]
struct Room {
    queue: Mutex<Queue<Arc<Ticket>>>,
    /// Length of the queue, readable without its lock.
    waiting: AtomicUsize,
    /// The servers of late: whoever waits goes to one of these, whichever change freed a place.
    servers: Mutex<Vec<Arc<Server>>>,
    arrivals: AtomicU64,
    retries: Mutex<Retries>,
    illness: Illness,
}

/// Whether it failed last, and when that was last looked into.
#[derive(Debug, Default)]
struct Illness {
    has_failed: AtomicBool,
    tried: AtomicU64,
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
    /// When it was granted.
    pub(crate) granted: Nanoseconds,
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.server.release();
        self.pool.hand_over();
    }
}

impl Pool {
    /// Builds it; servers and waiting requests of an earlier pool of the same name stay.
    ///
    /// # Errors
    /// When its servers cannot be spoken to by TLS.
    pub(crate) fn new(
        config: &edge::Pool,
        before: Option<&Self>,
        clock: Clock,
    ) -> Result<Self, TlsFault> {
        let alike = before.filter(|pool| pool.config.tls == config.tls);
        let encryption = match alike.and_then(|pool| pool.encryption.clone()) {
            Some(encryption) => Some(encryption),
            None if config.servers.iter().any(|server| server.tls) => {
                Some(trust::config(&config.tls)?)
            }
            None => None,
        };
        let servers = config
            .servers
            .iter()
            .map(|server| {
                let kept = before.and_then(|pool| {
                    let mut servers = pool.servers.iter();
                    servers.find(|one| {
                        one.name == server.name
                            && one.addresses == server.addresses
                            && one.secure.is_some() == server.tls
                            && (alike.is_some() || !server.tls)
                    })
                });
                if let Some(kept) = kept {
                    return Ok(Arc::clone(kept));
                }
                let secure = match &encryption {
                    Some(config_of_all) if server.tls => Some(Secure {
                        config: Arc::clone(config_of_all),
                        name: trust::name(&config.tls, &server.host)?,
                    }),
                    _ => None,
                };
                Ok(Arc::new(Server::new(server, config, secure)))
            })
            .collect::<Result<Vec<_>, TlsFault>>()?;
        let room = match before {
            Some(pool) => Arc::clone(&pool.room),
            None => Arc::new(Room {
                queue: Mutex::new(Queue::new(rules(config))),
                waiting: AtomicUsize::new(0),
                servers: Mutex::new(servers.clone()),
                arrivals: AtomicU64::new(0),
                retries: Mutex::default(),
                illness: Illness::default(),
            }),
        };
        Ok(Self {
            config: config.clone(),
            servers,
            room,
            encryption,
            clock,
        })
    }

    /// Puts the pool in the place of those of its name before it: servers that were kept follow its configuration, and
    /// whoever waits goes to its servers.
    pub(crate) fn take_over(self: &Arc<Self>) {
        for (server, config) in self.servers.iter().zip(&self.config.servers) {
            server.follow(config, &self.config);
        }
        lock(&self.room.servers).clone_from(&self.servers);
        lock(&self.room.queue).follow(rules(&self.config));
        self.hand_over();
    }

    /// A place for a request, a place in line, or neither.
    pub(crate) fn enter(self: &Arc<Self>, asker: &Asker) -> Entry {
        let now = self.clock.now();
        // Nobody overtakes those who wait.
        if self.room.waiting.load(Ordering::SeqCst) == 0
            && let Some(permit) = self.take(asker, now)
        {
            return Entry::Granted(permit);
        }
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
        self.take(asker, self.clock.now())
    }

    /// A permit for a server that a ticket was granted.
    pub(crate) fn permit(self: &Arc<Self>, server: Arc<Server>) -> Permit {
        let in_flight = server.in_flight();
        Permit {
            pool: Arc::clone(self),
            server,
            in_flight,
            granted: self.clock.now(),
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
        let arrivals = self.room.arrivals.load(Ordering::Relaxed);
        let mut retries = lock(&self.room.retries);
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

    /// Whether it is worth asking for something that can be done without: always while it answers well, and now and
    /// then when it failed last, so that a thousand stale pages do not each find out that it is still down.
    pub(crate) fn is_worth_a_try(&self, now: Nanoseconds) -> bool {
        let illness = &self.room.illness;
        if !illness.has_failed.load(Ordering::Relaxed) {
            return true;
        }
        let before = illness.tried.load(Ordering::Relaxed);
        let is_time = now.saturating_sub(before) >= TRY_NS;
        let tried = &illness.tried;
        is_time
            && tried
                .compare_exchange(before, now, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }

    /// Takes note of how a server answered just now.
    pub(crate) fn answered(
        &self,
        permit: &Permit,
        now: Nanoseconds,
        sample: limit::Sample,
        good: bool,
    ) {
        let server = &permit.server;
        let has_failed = &self.room.illness.has_failed;
        if has_failed.load(Ordering::Relaxed) == good {
            has_failed.store(!good, Ordering::Relaxed);
        }
        server.observe(now, sample, self.servers.len() > 1);
        if server.answered(good, &self.config.eject) {
            let out = self.servers.iter().filter(|one| !one.is_in(now)).count();
            if health::may_eject(out, self.servers.len(), &self.config.eject) {
                server.eject(now, &self.config.eject);
            }
        }
    }

    fn take(self: &Arc<Self>, asker: &Asker, now: Nanoseconds) -> Option<Permit> {
        let turn = self.room.arrivals.fetch_add(1, Ordering::Relaxed);
        let share = SHARES[asker.class as usize];
        let (server, in_flight) = match self.servers.as_slice() {
            [only] => {
                let in_flight = only.is_in(now).then(|| only.try_take(share)).flatten()?;
                (only, in_flight)
            }
            servers => self.choose(servers, asker, turn, now, share)?,
        };
        Some(Permit {
            pool: Arc::clone(self),
            server: Arc::clone(server),
            in_flight,
            granted: now,
        })
    }

    fn choose<'s>(
        &self,
        servers: &'s [Arc<Server>],
        asker: &Asker,
        turn: u64,
        now: Nanoseconds,
        share: f64,
    ) -> Option<(&'s Arc<Server>, u32)> {
        let slow_start = nanoseconds(self.config.slow_start);
        let mut candidates: Vec<Candidate> = Vec::with_capacity(servers.len());
        for (index, server) in servers.iter().enumerate() {
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
            candidates.retain(|one| servers[one.index].id != avoid);
        }
        if self.config.zone.is_some() {
            prefer_near(&mut candidates, servers, asker);
        }
        while !candidates.is_empty() {
            let index = self.pick(&candidates, asker, turn)?;
            if let Some(in_flight) = servers[index].try_take(share) {
                return Some((&servers[index], in_flight));
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
        let servers = lock(&self.room.servers);
        let mut queue = lock(&self.room.queue);
        while queue.len() > 0 {
            let Some((server, now)) = self.free_server(&servers) else {
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

    fn free_server(&self, servers: &[Arc<Server>]) -> Option<(Arc<Server>, Nanoseconds)> {
        let now = self.clock.now();
        let turn = self.room.arrivals.load(Ordering::Relaxed);
        let anybody = Asker {
            class: Class::CriticalPlus,
            key: mix(turn),
            sticky: None,
            avoid: None,
            random: mix(turn ^ now),
        };
        let (server, _) = self.choose(servers, &anybody, turn, now, 1.0)?;
        Some((Arc::clone(server), now))
    }
}

/// Leaves those of the edge's zone, as long as one of them is well and has room; all of them when none has. A
/// client that belongs to a server stays with it wherever it stands.
fn prefer_near(candidates: &mut Vec<Candidate>, servers: &[Arc<Server>], asker: &Asker) {
    let is_near = |one: &Candidate| servers[one.index].is_near();
    let is_meant = |one: &Candidate| asker.sticky == Some(one.hash);
    if candidates.iter().any(is_near) && !candidates.iter().any(is_meant) {
        candidates.retain(is_near);
    }
}

/// What the queue keeps to.
fn rules(config: &edge::Pool) -> Rules {
    Rules {
        len_max: config.queue,
        timeout: nanoseconds(config.queue_timeout),
        objective: nanoseconds(config.objective),
    }
}

/// The limit a server starts with, and whether it learns.
fn ceiling(server: &edge::Server, pool: &edge::Pool) -> Ceiling {
    server.max_in_flight.map_or(pool.ceiling, Ceiling::Fixed)
}

#[cfg(test)]
mod tests;
