//! HTTP hooks of the application: who may connect, subscribe and publish; messages of clients; disconnects.
//!
//! ```text
//!  admission ────┐                                      ┌─► Links of the loop ─► POST to the application
//!  a client ─────┼─► Hooks::query: remembered, queued ──┤
//!  an interval ──┘                                      └─◄ yes, no, or down
//! ```
//!
//! [`Hooks`] is shared by all loops; each loop has connections of its own to the application.

mod application;
pub mod authorization;
mod links;
mod remembered;

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use hyper::body::Bytes;
use hyper::header::{HeaderName, HeaderValue};
use plimsoll_config::edge::{Endpoint, HubHooks};
use plimsoll_net::clock::EdgeClock;
use plimsoll_net::lock::lock;
use plimsoll_wire::request_head::RequestHead;
use tokio::sync::Semaphore;

pub(crate) use application::{HookRequest, replaced};
pub use links::Links;
use remembered::{HookCacheKey, Remembered, key};

/// Maximum number of queued requests, of all clients.
const WAITING_MAX: usize = 16_384;
/// Maximum size of the queued requests, bytes.
const WAITING_BYTES_MAX: usize = 64 << 20;
/// Successes in a row after which a failed application counts as recovered.
const GOOD_MIN: u32 = 3;

/// Number of hooks.
const KINDS: usize = 6;
/// Outcomes by name.
const OUTCOMES: [&str; 4] = ["yes", "no", "down", "remembered"];

/// Kinds of hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HookKind {
    Connect,
    Subscribe,
    Publish,
    Messages,
    Aggregate,
    Disconnect,
}

/// Verdict of the application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HookVerdict {
    /// With the response body.
    Yes(Bytes),
    /// With the reason.
    No(Option<String>),
    /// No response, or an invalid one.
    Down,
}

/// Outcome of a request.
#[derive(Clone, Copy, Debug)]
enum HookOutcome {
    Yes,
    No,
    Down,
    Remembered,
}

/// Requests by hook and outcome, since the start.
#[derive(Debug, Default)]
pub(crate) struct HookCounts([[AtomicU64; OUTCOMES.len()]; KINDS]);

/// The same, for display.
pub(crate) type HookCountRows = Vec<(&'static str, &'static str, u64)>;

/// Headers of a client's request that are sent with every hook request about it.
pub(crate) type Passed = Arc<[(HeaderName, HeaderValue)]>;

/// The client that a request is about.
#[derive(Clone, Debug)]
pub struct ClientIdentity {
    pub(crate) address: Arc<str>,
    pub(crate) passed: Passed,
}

/// Hooks of the application, shared by all loops.
#[derive(Debug)]
pub struct Hooks {
    /// The configuration in effect.
    pub config: HubHooks,
    clock: EdgeClock,
    /// Permits for concurrent requests.
    in_flight: Semaphore,
    waiting: AtomicUsize,
    waiting_bytes: AtomicUsize,
    known: Mutex<Remembered>,
    health: [Health; KINDS],
    counts: Arc<HookCounts>,
}

/// Health of a hook.
#[derive(Debug, Default)]
struct Health {
    is_down: AtomicBool,
    /// Consecutive successes.
    good: AtomicU32,
    /// A pending notice.
    news: Mutex<Option<String>>,
}

/// A slot in the queue, with the size of what waits there.
struct PendingSlot<'a> {
    hooks: &'a Hooks,
    len: usize,
}

impl HookKind {
    const ALL: [Self; KINDS] = [
        Self::Connect,
        Self::Subscribe,
        Self::Publish,
        Self::Messages,
        Self::Aggregate,
        Self::Disconnect,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Subscribe => "subscribe",
            Self::Publish => "publish",
            Self::Messages => "messages",
            Self::Aggregate => "aggregate",
            Self::Disconnect => "disconnect",
        }
    }

    fn endpoint(self, config: &HubHooks) -> Option<&Endpoint> {
        match self {
            Self::Connect => config.connect.as_ref(),
            Self::Subscribe => config.subscribe.as_ref(),
            Self::Publish => config.publish.as_ref(),
            Self::Messages => config.messages.as_ref(),
            Self::Disconnect => config.disconnect.as_ref(),
            // Configured per rule.
            Self::Aggregate => None,
        }
    }

    /// Whether responses are cached.
    fn is_remembered(self) -> bool {
        matches!(self, Self::Connect | Self::Subscribe)
    }
}

impl HookCounts {
    fn add(&self, kind: HookKind, outcome: HookOutcome) {
        self.0[kind as usize][outcome as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Requests by hook and outcome.
    pub(crate) fn snapshot(&self) -> HookCountRows {
        let of_kind = |kind: HookKind| {
            let counts = self.0[kind as usize].iter().zip(OUTCOMES);
            counts
                .map(move |(count, outcome)| (kind.name(), outcome, count.load(Ordering::Relaxed)))
        };
        HookKind::ALL.into_iter().flat_map(of_kind).collect()
    }
}

impl Hooks {
    pub(crate) fn new(config: &HubHooks, counts: Arc<HookCounts>, clock: EdgeClock) -> Self {
        Self {
            config: config.clone(),
            clock,
            in_flight: Semaphore::new(config.in_flight as usize),
            waiting: AtomicUsize::new(0),
            waiting_bytes: AtomicUsize::new(0),
            known: Mutex::default(),
            health: Default::default(),
            counts,
        }
    }

    /// What the application receives about the sender of a request.
    pub fn person(&self, head: &RequestHead<'_, '_>, address: &str) -> ClientIdentity {
        let passed = head.headers.iter().filter_map(|header| {
            let passed = &self.config.passed;
            passed
                .iter()
                .find(|name| header.name.eq_ignore_ascii_case(name))?;
            let name = HeaderName::from_bytes(header.name.as_bytes()).ok()?;
            let mut value = HeaderValue::from_bytes(header.value.trim_ascii()).ok()?;
            // It may be a secret: never log it.
            value.set_sensitive(true);
            Some((name, value))
        });
        ClientIdentity {
            address: address.into(),
            passed: passed.collect(),
        }
    }

    /// Whether the application decides about reads that no other rule allows.
    pub fn decides_reading(&self) -> bool {
        decide_reading(&self.config)
    }

    /// Whether clients themselves cause hook requests.
    pub fn has_dialogs(&self) -> bool {
        let config = &self.config;
        config.subscribe.is_some() || config.publish.is_some() || config.messages.is_some()
    }

    /// Requests a verdict about a client; it is there when the time-out has passed.
    pub(crate) async fn query(
        &self,
        links: &Links,
        kind: HookKind,
        passed: &Passed,
        asked: &HookRequest<'_>,
    ) -> HookVerdict {
        let Some(to) = kind.endpoint(&self.config) else {
            return HookVerdict::Down;
        };
        let body = asked.to_json();
        let Some(age) = self.config.cache.filter(|_| kind.is_remembered()) else {
            return self.query_uncached(links, (kind, to), passed, body).await;
        };
        let key = key(kind, passed, &body);
        if let Some(verdict) = self.remembered(&key) {
            self.counts.add(kind, HookOutcome::Remembered);
            return verdict;
        }
        let verdict = self.query_uncached(links, (kind, to), passed, body).await;
        let now = self.clock.now();
        lock(&self.known).keep(key, now, age, &verdict);
        verdict
    }

    /// Requests one message for those of an interval.
    pub(crate) async fn aggregate(
        &self,
        links: &Links,
        to: &Endpoint,
        asked: &HookRequest<'_>,
    ) -> HookVerdict {
        let nobody: Passed = [].into();
        let kind = HookKind::Aggregate;
        self.query_uncached(links, (kind, to), &nobody, asked.to_json())
            .await
    }

    async fn query_uncached(
        &self,
        links: &Links,
        (kind, to): (HookKind, &Endpoint),
        passed: &Passed,
        body: String,
    ) -> HookVerdict {
        match self.post(links, (kind, to), passed, body).await {
            Ok(verdict) => {
                self.went_well(kind);
                let outcome = match &verdict {
                    HookVerdict::Yes(_) => HookOutcome::Yes,
                    HookVerdict::No(_) => HookOutcome::No,
                    HookVerdict::Down => HookOutcome::Down,
                };
                self.counts.add(kind, outcome);
                verdict
            }
            Err(why) => {
                self.went_wrong(kind, &why);
                self.counts.add(kind, HookOutcome::Down);
                HookVerdict::Down
            }
        }
    }

    fn remembered(&self, key: &HookCacheKey) -> Option<HookVerdict> {
        lock(&self.known).get(key, self.clock.now())
    }

    async fn post(
        &self,
        links: &Links,
        (kind, to): (HookKind, &Endpoint),
        passed: &Passed,
        body: String,
    ) -> Result<HookVerdict, String> {
        let _place = self.line_up(body.len()).ok_or_else(|| {
            let mib = WAITING_BYTES_MAX >> 20;
            format!("more than {WAITING_MAX} requests, or {mib} MiB of them, are queued for it")
        })?;
        let exchange = async {
            let permit = self.in_flight.acquire().await;
            let _permit = permit.map_err(|error| error.to_string())?;
            links
                .post(to, application::request(to, passed, body)?)
                .await
        };
        let timeout = self.config.timeout;
        let (status, body) = tokio::time::timeout(timeout, exchange)
            .await
            .map_err(|_| format!("no answer within {timeout:?}"))??;
        application::evaluate(kind, status, body)
    }

    /// A request was not sent at all.
    pub(crate) fn miss(&self, kind: HookKind, why: &str) {
        self.went_wrong(kind, why);
        self.counts.add(kind, HookOutcome::Down);
    }

    /// Reserves a queue slot for a request of `len` bytes, if there is room.
    fn line_up(&self, len: usize) -> Option<PendingSlot<'_>> {
        let place = PendingSlot { hooks: self, len };
        let count = self.waiting.fetch_add(1, Ordering::Relaxed);
        let bytes = self.waiting_bytes.fetch_add(len, Ordering::Relaxed);
        (count < WAITING_MAX && bytes + len <= WAITING_BYTES_MAX).then_some(place)
    }

    /// Requests queued or in flight.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    fn went_well(&self, kind: HookKind) {
        let health = &self.health[kind as usize];
        if health.is_down.load(Ordering::Relaxed)
            && health.good.fetch_add(1, Ordering::Relaxed) + 1 >= GOOD_MIN
            && health.is_down.swap(false, Ordering::Relaxed)
        {
            let message = format!("the hub's hook `{}` works again", kind.name());
            *lock(&health.news) = Some(message);
        }
    }

    fn went_wrong(&self, kind: HookKind, why: &str) {
        let health = &self.health[kind as usize];
        health.good.store(0, Ordering::Relaxed);
        if !health.is_down.swap(true, Ordering::Relaxed) {
            let meanwhile = match (kind, self.config.allows_when_down) {
                (HookKind::Messages, _) => "clients receive an error",
                (HookKind::Aggregate, _) => "meanwhile the newest message is sent",
                (HookKind::Disconnect, _) => "disconnects are not reported meanwhile",
                (_, true) => "meanwhile everything is allowed",
                (_, false) => "meanwhile everything it decides on is denied",
            };
            let message = format!("the hub's hook `{}` fails: {why}; {meanwhile}", kind.name());
            *lock(&health.news) = Some(message);
        }
    }

    /// Pending notices.
    pub fn take_news(&self) -> Vec<String> {
        let news = self.health.iter().map(|health| lock(&health.news).take());
        news.flatten().collect()
    }
}

/// Whether the application decides who may read.
pub(crate) fn decide_reading(config: &HubHooks) -> bool {
    config.connect.is_some() || config.subscribe.is_some()
}

impl Drop for PendingSlot<'_> {
    fn drop(&mut self) {
        self.hooks.waiting.fetch_sub(1, Ordering::Relaxed);
        let bytes = &self.hooks.waiting_bytes;
        bytes.fetch_sub(self.len, Ordering::Relaxed);
    }
}
