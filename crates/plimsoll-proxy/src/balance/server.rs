//! One server, shared by all loops.

use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use plimsoll_config::edge::{self, Ceiling, Check, Eject};
use plimsoll_net::clock::{Nanoseconds, nanoseconds};
use plimsoll_net::upstream::Secure;

use super::health::{Health, ServerState};
use super::latency::PeakEwma;
use super::limit::{Learner, LimitBounds, LimitSample};
use super::{ceiling, lock};
use crate::hash::hash;

/// Ids that no two servers of a process share; 0 is unused.
static NEXT_ID: AtomicUsize = AtomicUsize::new(1);
/// Indices into the loops' lists of idle connections, reused when servers are gone.
static SLOTS: Mutex<Slots> = Mutex::new(Slots {
    count: 0,
    free: Vec::new(),
});

#[derive(Debug)]
struct Slots {
    count: usize,
    free: Vec<usize>,
}

impl Slots {
    fn take(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        })
    }
}

/// Why connections to a server fail, to be reported once.
#[derive(Debug, Default)]
struct News {
    error: Option<String>,
    is_reported: bool,
}

/// A server of a pool, shared by all loops.
#[derive(Debug)]
pub struct UpstreamServer {
    /// Its number, never used again.
    pub id: usize,
    /// Index of its idle connections in every loop.
    pub(crate) slot: usize,
    /// Its name in the configuration.
    pub name: String,
    /// Host and port as written, for a server configured by name.
    pub authority: String,
    /// TLS towards it, if used.
    pub secure: Option<Secure>,
    /// Its addresses, of one family.
    pub addresses: Vec<SocketAddr>,
    /// Hash of its name, for cookies and key hashing.
    pub(crate) hash: u64,
    pub(crate) latency: PeakEwma,
    in_flight: AtomicU32,
    limit: AtomicU32,
    weight: AtomicU32,
    /// Out until then: 0 is in, the maximum is out by active checks.
    out_until: AtomicU64,
    back_since: AtomicU64,
    answers: AtomicU64,
    failures: AtomicU64,
    /// Whether the last response was a failure.
    failing: AtomicBool,
    health: Mutex<Health>,
    learner: Mutex<Option<Learner>>,
    /// It is in the edge's zone.
    is_near: AtomicBool,
    news: Mutex<News>,
}

impl Drop for UpstreamServer {
    fn drop(&mut self) {
        lock(&SLOTS).free.push(self.slot);
    }
}

impl UpstreamServer {
    pub(crate) fn new(
        server: &edge::ServerConfig,
        pool: &edge::PoolConfig,
        secure: Option<Secure>,
    ) -> Self {
        let new = Self {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            slot: lock(&SLOTS).take(),
            name: server.name.clone(),
            authority: server.authority.clone(),
            secure,
            addresses: server.addresses.clone(),
            hash: hash(server.name.as_bytes()),
            latency: PeakEwma::default(),
            in_flight: AtomicU32::new(0),
            limit: AtomicU32::new(0),
            weight: AtomicU32::new(1),
            out_until: AtomicU64::new(0),
            back_since: AtomicU64::new(0),
            answers: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            failing: AtomicBool::new(false),
            health: Mutex::default(),
            learner: Mutex::new(None),
            is_near: AtomicBool::new(false),
            news: Mutex::default(),
        };
        new.follow(server, pool);
        new
    }

    /// Applies a new configuration; learned values stay.
    pub fn follow(&self, server: &edge::ServerConfig, pool: &edge::PoolConfig) {
        self.weight.store(server.weight, Ordering::Relaxed);
        let is_near = server.zone.is_some() && server.zone == pool.zone;
        self.is_near.store(is_near, Ordering::Relaxed);
        self.change(|health| health.drain(server.weight == 0));
        let mut learner = lock(&self.learner);
        match ceiling(server, pool) {
            Ceiling::Fixed(limit) => {
                *learner = None;
                self.limit.store(limit, Ordering::Relaxed);
            }
            Ceiling::Adaptive => {
                let learns = learner.get_or_insert_with(|| {
                    Learner::new(LimitBounds::default(), nanoseconds(pool.objective))
                });
                self.limit.store(learns.current(), Ordering::Relaxed);
            }
        }
    }

    /// Requests in flight.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// How many may be in flight.
    pub fn limit(&self) -> u32 {
        self.limit.load(Ordering::Relaxed)
    }

    pub(crate) fn weight(&self) -> f64 {
        f64::from(self.weight.load(Ordering::Relaxed))
    }

    /// Whether it accepts requests.
    #[inline]
    pub fn is_in(&self, now: Nanoseconds) -> bool {
        now >= self.out_until.load(Ordering::Relaxed)
    }

    /// Whether it accepts requests, and why not.
    pub fn state(&self, now: Nanoseconds) -> ServerState {
        if self.is_in(now) {
            ServerState::In
        } else {
            lock(&self.health).state()
        }
    }

    /// Whether it is in the edge's zone.
    pub(crate) fn is_near(&self) -> bool {
        self.is_near.load(Ordering::Relaxed)
    }

    /// Records why no connection can be made.
    pub fn note_error(&self, error: String) {
        let mut news = lock(&self.news);
        if news.error.as_ref() != Some(&error) {
            *news = News {
                error: Some(error),
                is_reported: false,
            };
        }
    }

    /// The recorded reason, if it was not reported yet.
    pub fn take_news(&self) -> Option<String> {
        let mut news = lock(&self.news);
        if std::mem::replace(&mut news.is_reported, true) {
            return None;
        }
        news.error.clone()
    }

    /// Time since it came back; unlimited when it was never out.
    pub(crate) fn back_for(&self, now: Nanoseconds) -> Nanoseconds {
        match self.back_since.load(Ordering::Relaxed) {
            0 => Nanoseconds::MAX,
            since => now.saturating_sub(since),
        }
    }

    /// Whether there seems to be room within a share of the limit.
    pub(crate) fn has_capacity(&self, share: f64) -> bool {
        self.in_flight() < self.places(share)
    }

    /// Takes a slot within a share of the limit; returns how many are then taken.
    #[inline]
    pub(crate) fn try_take(&self, share: f64) -> Option<u32> {
        let places = self.places(share);
        let took = self
            .in_flight
            .fetch_update(Ordering::SeqCst, Ordering::Relaxed, |in_flight| {
                (in_flight < places).then_some(in_flight + 1)
            });
        took.ok().map(|before| before + 1)
    }

    /// Releases a slot.
    #[inline]
    pub(crate) fn release(&self) {
        self.in_flight.fetch_sub(1, Ordering::SeqCst);
    }

    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a u32"
    )]
    fn places(&self, share: f64) -> u32 {
        (f64::from(self.limit()) * share).ceil() as u32
    }

    /// Records a response's times; `compared` when there are servers to compare it with.
    pub(crate) fn observe(&self, now: Nanoseconds, sample: LimitSample, compared: bool) {
        if compared {
            self.latency.observe(now, sample.service);
        }
        let mut learner = lock(&self.learner);
        if let Some(limit) = learner.as_mut().and_then(|inner| inner.take(now, sample)) {
            self.limit.store(limit, Ordering::Relaxed);
        }
    }

    /// Records the outcome of a response; whether the server should be ejected.
    pub(crate) fn answered(&self, good: bool, eject: &Eject) -> bool {
        self.answers.fetch_add(1, Ordering::Relaxed);
        self.failures.fetch_add(u64::from(!good), Ordering::Relaxed);
        // The usual case takes no lock.
        if good && !self.failing.load(Ordering::Relaxed) {
            return false;
        }
        self.failing.store(!good, Ordering::Relaxed);
        lock(&self.health).answered(good, eject)
    }

    /// Responses so far, failed ones included.
    pub fn answers(&self) -> u64 {
        self.answers.load(Ordering::Relaxed)
    }

    /// Failed responses so far.
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// Ejects it for a while.
    pub(crate) fn eject(&self, now: Nanoseconds, eject: &Eject) {
        self.change(|health| health.eject(now, eject));
        self.latency.forget();
    }

    /// Records the result of an active check; whether the state changed.
    pub fn checked(&self, now: Nanoseconds, good: bool, check: &Check) -> bool {
        self.change(|health| health.checked(now, good, check))
    }

    fn change<T>(&self, change: impl FnOnce(&mut Health) -> T) -> T {
        let mut health = lock(&self.health);
        let changed = change(&mut health);
        self.out_until.store(health.out_until(), Ordering::Relaxed);
        if let Some(since) = health.back_since() {
            self.back_since.store(since.max(1), Ordering::Relaxed);
        }
        changed
    }

    /// Recent peak latency, ms, where servers are compared.
    pub fn latency_ms(&self, now: Nanoseconds) -> Option<f64> {
        self.latency.now(now).map(|ns| ns / 1e6)
    }
}
