//! The hub of an edge: its channels, which all event loops share, and the programs that publish to them.
//!
//! ```text
//!  POST /publish ─┐                                     ┌─► LocalHub of loop 0 ─► its clients' sockets
//!  a client ──────┼─► Broker: shards of the channels ───┤
//!  Redis, timer ──┘   (offsets, histories, intervals)   └─► LocalHub of loop 1 ─► …
//! ```
//!
//! The broker is shared by all event loops. Only an inbox lies between it and the
//! [`LocalHub`](crate::subscribers::local_hub::LocalHub) of a loop, which is woken once per batch. A client is a
//! [`SubscriberConnection`](crate::subscribers::subscriber::SubscriberConnection), which holds no buffer.

pub mod active;
mod aggregate;
pub(crate) mod broker;
mod dial;
pub(crate) mod inbox;
pub mod mercure;
mod offset_sequence;
pub mod publish;
pub mod redis;
pub mod shared;
pub mod sources;
mod templates;
mod view;

use std::sync::{Arc, Mutex};

use plimsoll_config::edge::{self, HubHooks, HubRule, HubSlow};
use plimsoll_hub::audience::{AudienceLimits, Slow};
use plimsoll_hub::channels::LOOPS_MAX;
use plimsoll_hub::conflation::{Conflation, Mode};
use plimsoll_hub::pattern::Pattern;
use plimsoll_hub::rate::Rate;
use plimsoll_hub::rules::HistoryLimits;
use plimsoll_hub::subscriptions::is_reserved;
use plimsoll_hub::topics::{Selector, bounded};
use plimsoll_hub::{ChannelRule, Rules};
use plimsoll_net::clock::EdgeClock;
use plimsoll_net::deadline::ticks;
use plimsoll_net::lock::lock;
use plimsoll_net::notice::NoticeSink;
use plimsoll_wire::request_head::RequestHead;
use plimsoll_wire::websocket::WebSocketLimits as WireLimits;
use plimsoll_wire::websocket::handshake::check_origin;
use tokio::sync::Notify;

use self::broker::Broker;
use crate::access::connection_quota::ConnectionLimits;
use crate::access::hooks::{self, Hooks, Links};
use crate::access::token::TokenGate;
use crate::browser_client;
pub use plimsoll_hub::channels::ChannelStats;
pub use view::{HubView, SharedView, SourceView};

/// How much longer than the time-out an aggregate of messages is waited for, ms.
const AGGREGATE_MORE_MS: u64 = 5000;
/// Well-known path at which Mercure clients look for a hub (RFC 8615).
const MERCURE_PATH: &str = "/.well-known/mercure";
/// Maximum number of fragments of a client's message.
const FRAGMENTS_MAX: u32 = 64;

/// The hub cannot be used with so many event loops.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the hub supports at most 64 event loops, but {0} are configured")]
pub struct TooManyLoops(pub usize);

/// The configured hub, and the state that a reload keeps.
#[derive(Debug)]
pub struct ActiveHub {
    /// The configuration in effect.
    pub config: edge::HubConfig,
    pub(crate) broker: Arc<Broker>,
    /// `None`: every client may read every channel.
    pub gate: Option<Arc<TokenGate>>,
    /// Hooks of the application.
    pub hooks: Option<Arc<Hooks>>,
}

impl ActiveHub {
    /// Continues an earlier hub, whose channels stay. They follow the new rules once [`Self::rule`] is called; until
    /// then nothing has changed.
    ///
    /// # Errors
    /// When there are more loops than a channel supports.
    pub fn new(
        config: &edge::HubConfig,
        before: Option<&Arc<Self>>,
        loops: usize,
        clock: EdgeClock,
    ) -> Result<Self, TooManyLoops> {
        if loops > usize::from(LOOPS_MAX) {
            return Err(TooManyLoops(loops));
        }
        let broker = match before {
            // Channels of one shared stream are meaningless in another.
            Some(before)
                if before.config.shared == config.shared
                    && before.config.mercure == config.mercure =>
            {
                Arc::clone(&before.broker)
            }
            _ => Arc::new(Broker::new(config, loops, clock)),
        };
        let before = before.filter(|before| Arc::ptr_eq(&before.broker, &broker));
        let hooks = hooks_of(config).map(|hooks| {
            let before = before.and_then(|before| before.hooks.as_ref());
            // Remembered verdicts stay valid as long as the hooks are unchanged.
            match before.filter(|before| before.config == hooks) {
                Some(before) => Arc::clone(before),
                None => Arc::new(Hooks::new(&hooks, Arc::clone(&broker.hook_counts), clock)),
            }
        });
        Ok(Self {
            config: config.clone(),
            broker,
            hooks,
            gate: config
                .tokens
                .as_ref()
                .map(|tokens| Arc::new(TokenGate::new(tokens))),
        })
    }

    /// Applies the rules to all channels.
    pub fn rule(&self) {
        self.broker.follow(&self.config);
    }

    /// Whether clients can be admitted: shared channels must have been read first.
    pub fn is_open(&self) -> bool {
        let shared = self.broker.shared.as_ref();
        shared.is_none_or(|shared| shared.is_known())
    }

    /// Whether a target belongs to the hub.
    #[inline]
    pub fn takes(&self, target: &str) -> bool {
        let rest = target.strip_prefix(self.config.path.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('?'))
    }

    /// Whether a target belongs to Mercure.
    #[inline]
    pub fn takes_mercure(&self, target: &str) -> bool {
        let rest = target.strip_prefix(MERCURE_PATH);
        let is_hub = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('?'));
        self.config.mercure && (is_hub || self.subscriptions_path(target).is_some())
    }

    /// Whether a topic may match several, or events about subscriptions: then the hub keeps a template for it.
    pub fn is_template(topic: &str) -> bool {
        is_reserved(topic) || Selector::new(topic).is_wide()
    }

    /// Whether there is room for a template that a Mercure reader is about to subscribe to.
    pub fn wants_template(&self, name: &str) -> bool {
        let gate = self.gate.as_ref();
        let is_public = gate.is_none_or(|gate| gate.is_public(&bounded(name)));
        self.broker
            .want_template(name, is_public && !is_reserved(name))
    }

    /// The static file that a target names, beside the hub: `/live/client.js`.
    #[inline]
    pub fn file(&self, target: &str) -> Option<&'static browser_client::File> {
        let rest = target.strip_prefix(self.config.path.as_str())?;
        browser_client::file(rest.strip_prefix('/')?)
    }

    /// Whether pages of the request's origin may open the hub: those of its own host, and listed ones. Clients that are
    /// no browsers send no origin.
    pub fn lets_in(&self, head: &RequestHead<'_, '_>) -> bool {
        check_origin(head).is_ok() || self.foreign_origin(head).is_some()
    }

    /// The request's origin, if it is listed.
    pub fn foreign_origin<'b>(&self, head: &RequestHead<'_, 'b>) -> Option<&'b str> {
        let mut origins = head
            .headers
            .iter()
            .filter(|header| header.name.eq_ignore_ascii_case("origin"));
        let (Some(origin), None) = (origins.next(), origins.next()) else {
            return None;
        };
        let origin = std::str::from_utf8(origin.value).ok()?.trim();
        let is_listed = self
            .config
            .origins
            .iter()
            .any(|listed| listed == "*" || listed.eq_ignore_ascii_case(origin));
        is_listed.then_some(origin)
    }

    /// Connection limits per user and token.
    pub fn bounds(&self) -> ConnectionLimits {
        ConnectionLimits::new(&self.config, &self.broker.quota)
    }

    /// Whether the origin is listed by name, so that its pages may send cookies.
    pub fn trusts(&self, origin: &str) -> bool {
        let mut origins = self.config.origins.iter();
        origins.any(|listed| listed.eq_ignore_ascii_case(origin))
    }

    /// Limits of one client.
    pub(crate) fn audience_limits(&self) -> AudienceLimits {
        let config = &self.config;
        AudienceLimits {
            waiting_max: config.waiting_max as usize,
            waiting_bytes_max: size(config.waiting_bytes_max),
            missed_bytes_max: size(config.history_bytes_max),
            slow: match config.slow {
                HubSlow::Newest => Slow::NewestWins,
                HubSlow::Drop => Slow::Drop,
                HubSlow::Disconnect => Slow::Disconnect,
            },
            subscriptions_max: config.subscriptions_max as usize,
            commands: rate(config.commands.per_second, f64::from(config.commands.burst)),
        }
    }

    pub(crate) fn wire_limits(&self) -> WireLimits {
        WireLimits {
            message_len_max: size(self.config.message_len_max),
            fragments_max: FRAGMENTS_MAX,
        }
    }

    pub(crate) fn ping_ticks(&self) -> u64 {
        ticks(self.config.ping)
    }
}

/// The hooks, if any are configured.
fn hooks_of(config: &edge::HubConfig) -> Option<HubHooks> {
    let mut rules = config.channels.iter();
    let aggregates = rules.any(|rule| rule.aggregate.is_some());
    let hooks = config.hooks.clone();
    hooks.or_else(|| aggregates.then(HubHooks::none))
}

/// Whether a hook decides who may read.
pub fn reads_need_hook(config: &edge::HubConfig) -> bool {
    config.hooks.as_ref().is_some_and(hooks::decide_reading)
}

/// The rules of all channels.
fn rules(config: &edge::HubConfig) -> Rules {
    // Longer than a response can take, so that the caller decides the outcome.
    let timeout = config
        .hooks
        .as_ref()
        .map_or(HubHooks::none().timeout, |hooks| hooks.timeout);
    let patience_ms = milliseconds(timeout).saturating_add(AGGREGATE_MORE_MS);
    let rules = config
        .channels
        .iter()
        .map(|config| rule(config, patience_ms));
    Rules::new(rules.collect(), rule(&HubRule::of("*"), patience_ms))
}

fn rule(config: &HubRule, patience_ms: u64) -> ChannelRule {
    let conflation = config.interval.map(|interval| Conflation {
        interval_ms: milliseconds(interval).max(1),
        mode: match (&config.aggregate, config.merges) {
            (Some(_), _) => Mode::Aggregate { patience_ms },
            (None, true) => Mode::Merge,
            (None, false) => Mode::Newest,
        },
    });
    ChannelRule {
        pattern: Pattern::new(&config.pattern),
        history: HistoryLimits {
            messages_max: config.history_max as usize,
            bytes_max: size(config.history_bytes_max),
            age_ms_max: milliseconds(config.history_age),
        },
        conflation,
        data_len_max: size(config.data_len_max),
        publish_rate: config
            .rate
            .map(|per_second| rate(per_second, per_second.ceil().max(1.0))),
        subscribers_max: config.subscribers_max,
        clients_publish: config.clients_publish,
        replayed: config.replay as usize,
        has_presence: config.presence,
        has_patches: config.patches,
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a rate is good to a few digits"
)]
fn rate(per_second: f64, burst: f64) -> Rate {
    Rate {
        per_second: per_second as f32,
        burst: burst as f32,
    }
}

fn milliseconds(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX / 4)
}

fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// The hub in use, for background tasks.
#[derive(Clone, Copy)]
pub struct InUse<'a> {
    /// A reload replaces it.
    pub hub: &'a Mutex<Option<Arc<ActiveHub>>>,
    /// A reload may have replaced or reconfigured it.
    pub changed: &'a Notify,
    /// Receives notices.
    pub report: &'a NoticeSink,
    /// Time since the edge was started.
    pub clock: EdgeClock,
}

impl InUse<'_> {
    fn hub(&self) -> Option<Arc<ActiveHub>> {
        lock(self.hub).clone()
    }
}

/// Runs forever: sends held messages that are due, requests aggregates from the application, and ends unused channels.
pub async fn keep_time(in_use: InUse<'_>) {
    let links = Arc::new(Links::new(in_use.clock));
    loop {
        let Some(hub) = in_use.hub() else {
            in_use.changed.notified().await;
            continue;
        };
        let wait = hub.broker.do_what_is_due();
        aggregate::send_pending(&hub, &links);
        hub.broker.wait(wait).await;
        for notice in hub.hooks.iter().flat_map(|hooks| hooks.take_news()) {
            (in_use.report)(&notice);
        }
    }
}
