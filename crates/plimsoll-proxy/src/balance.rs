//! Interchangeable servers, shared by all loops.
//!
//! A slot at a server is taken by incrementing a bounded counter; no lock is taken while there is room. Otherwise
//! requests wait in one queue per pool, and a released slot goes to the next in the queue.

pub mod health;
pub mod latency;
pub mod limit;
pub mod load_balancer;
pub mod queue;
mod retry_budget;
pub mod server;
pub mod ticket;

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use plimsoll_config::edge::{self, Ceiling, Class};
use plimsoll_net::clock::{EdgeClock, Nanoseconds, nanoseconds};
use plimsoll_net::lock::lock;
use plimsoll_net::tls_error::TlsError;
use plimsoll_net::upstream::{Secure, trust};
use rustls::ClientConfig;

use crate::hash::mix;
use load_balancer::{Candidate, ramp};
use queue::{QueueRejection, RequestQueue, Rules, SHARES};
use retry_budget::RetryBudget;
use server::UpstreamServer;
use ticket::Ticket;

/// Maximum rate at which optional requests probe failed servers: 32 times a second.
const TRY_NS: Nanoseconds = 31_250_000;

/// A pool as requests use it.
#[derive(Debug)]
pub struct UpstreamPool {
    /// The configuration in effect.
    pub config: edge::PoolConfig,
    /// Its servers, in the order of the configuration.
    pub servers: Vec<Arc<UpstreamServer>>,
    state: Arc<PoolState>,
    /// TLS towards its servers, if one uses it.
    encryption: Option<Arc<ClientConfig>>,
    clock: EdgeClock,
}

/// State that survives a change of servers or configuration.
#[derive(Debug)]
struct PoolState {
    queue: Mutex<RequestQueue<Arc<Ticket>>>,
    /// Length of the queue, readable without its lock.
    waiting: AtomicUsize,
    /// The current servers: queued requests go to one of these, whichever change freed a slot.
    servers: Mutex<Vec<Arc<UpstreamServer>>>,
    arrivals: AtomicU64,
    retries: RetryBudget,
    failure: FailureState,
}

/// Whether it failed last, and when that was last probed.
#[derive(Debug, Default)]
struct FailureState {
    has_failed: AtomicBool,
    tried: AtomicU64,
}

/// Properties of a request that its pool needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PoolRequest {
    pub(crate) class: Class,
    /// Hash key for the balancing policy.
    pub key: u64,
    /// The server named by a cookie.
    pub(crate) sticky: Option<u64>,
    /// The server that has just failed this request.
    pub(crate) avoid: Option<usize>,
    pub(crate) random: u64,
}

/// Outcome of a request at its pool.
#[derive(Debug)]
pub(crate) enum PoolAdmission {
    Granted(Permit),
    Wait(Arc<Ticket>),
    Refused(QueueRejection),
    /// No healthy server.
    NoServer,
}

/// A slot at a server; released on drop.
#[derive(Debug)]
pub(crate) struct Permit {
    pub pool: Arc<UpstreamPool>,
    pub server: Arc<UpstreamServer>,
    /// Requests in flight there when it was granted, this one included.
    pub in_flight: u32,
    /// When it was granted.
    pub(crate) granted: Nanoseconds,
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.server.release();
        self.pool.grant_waiting();
    }
}

impl UpstreamPool {
    /// Builds it; servers and queued requests of an earlier pool of the same name are kept.
    ///
    /// # Errors
    /// When TLS towards its servers cannot be set up.
    pub(crate) fn new(
        config: &edge::PoolConfig,
        before: Option<&Self>,
        clock: EdgeClock,
    ) -> Result<Self, TlsError> {
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
                    servers.find(|known| {
                        known.name == server.name
                            && known.addresses == server.addresses
                            && known.secure.is_some() == server.tls
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
                Ok(Arc::new(UpstreamServer::new(server, config, secure)))
            })
            .collect::<Result<Vec<_>, TlsError>>()?;
        let room = match before {
            Some(pool) => Arc::clone(&pool.state),
            None => Arc::new(PoolState {
                queue: Mutex::new(RequestQueue::new(rules(config))),
                waiting: AtomicUsize::new(0),
                servers: Mutex::new(servers.clone()),
                arrivals: AtomicU64::new(0),
                retries: RetryBudget::default(),
                failure: FailureState::default(),
            }),
        };
        Ok(Self {
            config: config.clone(),
            servers,
            state: room,
            encryption,
            clock,
        })
    }

    /// Replaces the earlier pool of its name: kept servers follow the new configuration, and queued requests go to the
    /// new servers.
    pub fn take_over(self: &Arc<Self>) {
        for (server, config) in self.servers.iter().zip(&self.config.servers) {
            server.follow(config, &self.config);
        }
        lock(&self.state.servers).clone_from(&self.servers);
        lock(&self.state.queue).follow(rules(&self.config));
        self.grant_waiting();
    }

    /// A slot, a place in the queue, or neither.
    pub(crate) fn enter(self: &Arc<Self>, request: &PoolRequest) -> PoolAdmission {
        let now = self.clock.now();
        // Requests in the queue go first.
        if self.state.waiting.load(Ordering::SeqCst) == 0
            && let Some(permit) = self.take(request, now)
        {
            return PoolAdmission::Granted(permit);
        }
        if !self.servers.iter().any(|server| server.is_in(now)) {
            return PoolAdmission::NoServer;
        }
        let ticket = {
            let mut queue = lock(&self.state.queue);
            if let Err(refused) = queue.offer(request.class) {
                return PoolAdmission::Refused(refused);
            }
            let ticket = Arc::new(Ticket::default());
            queue.push(Arc::clone(&ticket), request.class, now);
            self.state.waiting.store(queue.len(), Ordering::SeqCst);
            ticket
        };
        // A slot may have been released before the queue was known to be non-empty.
        self.grant_waiting();
        match ticket.taken() {
            Some(server) => PoolAdmission::Granted(self.permit(server)),
            None => PoolAdmission::Wait(ticket),
        }
    }

    /// A slot without queueing, for a retry.
    pub(crate) fn enter_again(self: &Arc<Self>, request: &PoolRequest) -> Option<Permit> {
        self.take(request, self.clock.now())
    }

    /// A permit for the server granted to a ticket.
    pub(crate) fn permit(self: &Arc<Self>, server: Arc<UpstreamServer>) -> Permit {
        let in_flight = server.in_flight();
        Permit {
            pool: Arc::clone(self),
            server,
            in_flight,
            granted: self.clock.now(),
        }
    }

    /// A queued request gave up.
    pub(crate) fn leave(self: &Arc<Self>, ticket: &Arc<Ticket>) {
        if let Some(server) = ticket.leave() {
            // Granted at the last moment: the slot goes to the next.
            drop(self.permit(server));
            return;
        }
        let mut queue = lock(&self.state.queue);
        queue.retain(|other| !Arc::ptr_eq(other, ticket));
        self.state.waiting.store(queue.len(), Ordering::SeqCst);
    }

    /// Queue length.
    pub fn waiting(&self) -> usize {
        self.state.waiting.load(Ordering::Relaxed)
    }

    /// Whether a request may be retried; the retry then counts.
    pub(crate) fn may_retry(&self) -> bool {
        let arrivals = self.state.arrivals.load(Ordering::Relaxed);
        let share = self.config.retry_share;
        self.state.retries.take(share, arrivals, self.clock.now())
    }

    /// Whether an optional request makes sense: always while the pool responds well, and now and then after a failure,
    /// so that a thousand stale pages do not each find out that it is still down.
    pub(crate) fn is_worth_a_try(&self, now: Nanoseconds) -> bool {
        let failure = &self.state.failure;
        if !failure.has_failed.load(Ordering::Relaxed) {
            return true;
        }
        let before = failure.tried.load(Ordering::Relaxed);
        let is_time = now.saturating_sub(before) >= TRY_NS;
        let tried = &failure.tried;
        is_time
            && tried
                .compare_exchange(before, now, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }

    /// Records how a server has just responded.
    pub(crate) fn answered(
        &self,
        permit: &Permit,
        now: Nanoseconds,
        sample: limit::LimitSample,
        good: bool,
    ) {
        let server = &permit.server;
        let has_failed = &self.state.failure.has_failed;
        if has_failed.load(Ordering::Relaxed) == good {
            has_failed.store(!good, Ordering::Relaxed);
        }
        server.observe(now, sample, self.servers.len() > 1);
        if server.answered(good, &self.config.eject) {
            let out = self
                .servers
                .iter()
                .filter(|candidate| !candidate.is_in(now))
                .count();
            if health::may_eject(out, self.servers.len(), &self.config.eject) {
                server.eject(now, &self.config.eject);
            }
        }
    }

    fn take(self: &Arc<Self>, request: &PoolRequest, now: Nanoseconds) -> Option<Permit> {
        let arrival = self.state.arrivals.fetch_add(1, Ordering::Relaxed);
        let share = SHARES[request.class as usize];
        let (server, in_flight) = match self.servers.as_slice() {
            [only] => {
                let in_flight = only.is_in(now).then(|| only.try_take(share)).flatten()?;
                (only, in_flight)
            }
            servers => self.choose(servers, request, arrival, now, share)?,
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
        servers: &'s [Arc<UpstreamServer>],
        request: &PoolRequest,
        arrival: u64,
        now: Nanoseconds,
        share: f64,
    ) -> Option<(&'s Arc<UpstreamServer>, u32)> {
        let slow_start = nanoseconds(self.config.slow_start);
        let mut candidates: Vec<Candidate> = Vec::with_capacity(servers.len());
        for (index, server) in servers.iter().enumerate() {
            if server.is_in(now) && server.has_capacity(share) {
                candidates.push(Candidate {
                    index,
                    in_flight: server.in_flight(),
                    weight: server.weight() * ramp(server.back_for(now), slow_start),
                    latency: server.latency.now(now),
                    hash: server.hash,
                });
            }
        }
        // A server that has just failed this request is used again only when it is the only one.
        if let Some(avoid) = request.avoid
            && candidates.len() > 1
        {
            candidates.retain(|candidate| servers[candidate.index].id != avoid);
        }
        if self.config.zone.is_some() {
            prefer_near(&mut candidates, servers, request);
        }
        while !candidates.is_empty() {
            let balancer = &self.config.load_balancer;
            let index = load_balancer::pick(balancer, &candidates, request, arrival)?;
            if let Some(in_flight) = servers[index].try_take(share) {
                return Some((&servers[index], in_flight));
            }
            candidates.retain(|candidate| candidate.index != index);
        }
        None
    }

    /// Grants free slots to queued requests.
    fn grant_waiting(self: &Arc<Self>) {
        if self.state.waiting.load(Ordering::SeqCst) == 0 {
            return;
        }
        let servers = lock(&self.state.servers);
        let mut queue = lock(&self.state.queue);
        while queue.len() > 0 {
            let Some((server, now)) = self.free_server(&servers) else {
                break;
            };
            match queue.pop(now) {
                Some(ticket) if ticket.grant(&server) => {}
                // It gave up meanwhile: the slot is for the next.
                _ => server.release(),
            }
        }
        self.state.waiting.store(queue.len(), Ordering::SeqCst);
    }

    fn free_server(
        &self,
        servers: &[Arc<UpstreamServer>],
    ) -> Option<(Arc<UpstreamServer>, Nanoseconds)> {
        let now = self.clock.now();
        let arrival = self.state.arrivals.load(Ordering::Relaxed);
        let anybody = PoolRequest {
            class: Class::CriticalPlus,
            key: mix(arrival),
            sticky: None,
            avoid: None,
            random: mix(arrival ^ now),
        };
        let (server, _) = self.choose(servers, &anybody, arrival, now, 1.0)?;
        Some((Arc::clone(server), now))
    }
}

/// Keeps the servers of the edge's zone as long as one of them is healthy and has room; otherwise all. A client that
/// sticks to a server stays with it whatever its zone.
fn prefer_near(
    candidates: &mut Vec<Candidate>,
    servers: &[Arc<UpstreamServer>],
    request: &PoolRequest,
) {
    let is_near = |candidate: &Candidate| servers[candidate.index].is_near();
    let is_meant = |candidate: &Candidate| request.sticky == Some(candidate.hash);
    if candidates.iter().any(is_near) && !candidates.iter().any(is_meant) {
        candidates.retain(is_near);
    }
}

/// Rules of the queue.
fn rules(config: &edge::PoolConfig) -> Rules {
    Rules {
        len_max: config.queue,
        timeout: nanoseconds(config.queue_timeout),
        objective: nanoseconds(config.objective),
    }
}

/// The initial limit of a server, and whether it adapts.
fn ceiling(server: &edge::ServerConfig, pool: &edge::PoolConfig) -> Ceiling {
    server.max_in_flight.map_or(pool.ceiling, Ceiling::Fixed)
}

#[cfg(test)]
mod tests;
