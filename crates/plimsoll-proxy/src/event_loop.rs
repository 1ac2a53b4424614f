//! State shared by all connections of one event loop: a read buffer, deadlines, idle upstream connections, metrics.
//!
//! Other threads see only the metrics, which they only read.

mod idle_connections;

use std::cell::{Cell, RefCell};
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_cache::Moment;
use plimsoll_net::clock::{self, AgeAhead, EdgeClock};
use plimsoll_net::deadline::TICK_MS;
use plimsoll_net::loop_metrics::LoopMetrics;
use plimsoll_net::loop_state::{LoopState, SECOND_TICKS};
use plimsoll_net::upstream::Upstream;

use crate::balance::UpstreamPool;
use crate::balance::server::UpstreamServer;
use crate::hash::mix;
use crate::message::compress::CompressionBudget;
use crate::settings::Settings;
use crate::telemetry::trace::Spans;
use idle_connections::IdleConnections;

/// Most buffers of finished responses that are kept for reuse.
const SPARE_MAX: usize = 64;

/// One event loop.
#[derive(Debug)]
pub struct EventLoop {
    state: LoopState,
    pub(crate) settings: RefCell<Rc<Settings>>,
    pub(crate) date: RefCell<String>,
    /// Access-log entries to be written.
    pub log: RefCell<crate::telemetry::log::LogLines>,
    /// Time budget of compression.
    pub(crate) budget: Rc<CompressionBudget>,
    /// Spans to be exported.
    pub spans: RefCell<Spans>,
    idle: IdleConnections,
    /// Buffers for synthetic responses.
    spare_bytes: RefCell<Vec<Vec<u8>>>,
    random: Cell<u64>,
    /// Milliseconds since 1970 at the start of the clock.
    epoch_ms: Cell<u64>,
    age_ahead: AgeAhead,
    /// Scratch buffer for the request's values of the `Vary` fields.
    pub(crate) scratch: RefCell<Vec<u8>>,
}

impl Deref for EventLoop {
    type Target = LoopState;

    #[inline]
    fn deref(&self) -> &LoopState {
        &self.state
    }
}

impl EventLoop {
    /// A loop without connections; `seed` is for its random numbers.
    pub fn new(
        (clock, age_ahead): (EdgeClock, AgeAhead),
        seed: u64,
        settings: Settings,
        figures: Arc<LoopMetrics>,
        log: crate::telemetry::log::LogLines,
        spans: Spans,
    ) -> Self {
        Self {
            state: LoopState::new(clock, settings.memory_max, figures),
            settings: RefCell::new(Rc::new(settings)),
            date: RefCell::new(httpdate::fmt_http_date(clock::wall())),
            log: RefCell::new(log),
            budget: Rc::default(),
            spans: RefCell::new(spans),
            idle: IdleConnections::default(),
            spare_bytes: RefCell::default(),
            random: Cell::new(seed),
            epoch_ms: Cell::new(epoch_ms(clock)),
            age_ahead,
            scratch: RefCell::default(),
        }
    }

    /// The settings in effect.
    #[inline]
    pub fn settings(&self) -> Rc<Settings> {
        Rc::clone(&self.settings.borrow())
    }

    /// A random number; good enough to spread load.
    pub(crate) fn random(&self) -> u64 {
        let next = self.random.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.random.set(next);
        mix(next)
    }

    /// Wall-clock time in the unit of the cache; the system clock is read once a second.
    #[inline]
    pub(crate) fn moment(&self) -> Moment {
        let since_ms = self.clock.now() / 1_000_000 + self.age_ahead.ms();
        Moment::from_ms(self.epoch_ms.get() + since_ms)
    }

    /// An empty buffer for a synthetic response.
    pub(crate) fn spare_bytes(&self) -> Vec<u8> {
        self.spare_bytes.borrow_mut().pop().unwrap_or_default()
    }

    /// Returns a buffer.
    pub(crate) fn return_bytes(&self, mut bytes: Vec<u8>) {
        let mut spare = self.spare_bytes.borrow_mut();
        if spare.len() < SPARE_MAX {
            bytes.clear();
            spare.push(bytes);
        }
    }

    /// An idle connection to a server. One that the server has closed or sent data on is dropped.
    pub(crate) fn take_idle(&self, server: &UpstreamServer, may_repeat: bool) -> Option<Upstream> {
        self.idle.take(server, may_repeat, self.clock)
    }

    /// Keeps a connection for the next request.
    pub(crate) fn put_idle(
        &self,
        server: &UpstreamServer,
        stream: Upstream,
        keep: Duration,
        most: u32,
    ) {
        let since = self.wheel.borrow().now() * TICK_MS * 1_000_000;
        self.idle.put(server, stream, (since, keep), most);
    }

    /// Applies a new configuration; requests in progress keep theirs.
    pub(crate) fn follow(&self, settings: Settings) {
        self.memory.follow(settings.memory_max);
        *self.settings.borrow_mut() = Rc::new(settings);
    }

    /// Applies new servers; routes and limits stay as they are.
    pub fn follow_pools(&self, pools: Vec<Arc<UpstreamPool>>) {
        let settings = self.settings().with_pools(pools);
        self.follow(settings);
    }

    /// Timer task: wakes expired connections, closes idle ones, updates the date, hands on the access log.
    pub async fn keep_time(&self) {
        let (mut second, mut roused) = (0, self.ticks());
        loop {
            if self.pass_time(roused).await {
                roused = self.ticks();
            }
            if self.wake_expired() / SECOND_TICKS > second {
                self.each_second();
                let is_quiet = self.wheel.borrow().is_empty();
                if is_quiet && self.idle.is_empty() {
                    self.doze().await;
                    self.each_second();
                    roused = self.ticks();
                }
                second = self.ticks() / SECOND_TICKS;
            }
        }
    }

    fn each_second(&self) {
        *self.date.borrow_mut() = httpdate::fmt_http_date(clock::wall());
        self.epoch_ms.set(epoch_ms(self.clock));
        self.log.borrow_mut().flush(&self.figures);
        self.spans.borrow_mut().flush(&self.figures);
        let now = self.clock.now();
        if let Some(cache) = &self.settings().cache {
            cache.pacing.tick(now);
        }
        self.idle.close_expired(now);
    }
}

/// The wall-clock time at the start of the monotonic clock, milliseconds since 1970.
fn epoch_ms(clock: EdgeClock) -> u64 {
    clock::unix_ms().saturating_sub(clock.now() / 1_000_000)
}
