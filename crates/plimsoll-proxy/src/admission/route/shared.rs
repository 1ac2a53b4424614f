//! State of a route that all loops share and a reload keeps: rate limits, learned pages, the waiting line, counters.

use std::sync::Arc;

use plimsoll_config::edge::{self, Action, PathMatch, RouteMatch};
use plimsoll_net::loop_metrics::Counter;

use crate::admission::ip_filter::IpFilter;
use crate::admission::rate_limit::RateLimiter;
use crate::admission::waiting::WaitingRoom;
use crate::error::SettingsError;
use crate::hash::hash;
use crate::respond::learned_fallback::LearnedFallbacks;
use crate::respond::synthetic_response::FallbackPage;

/// A counter on a cache line of its own, so that loops do not contend.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Apart(pub(crate) Counter);

/// Shared state of one route.
#[derive(Debug)]
pub struct RouteShared {
    config: edge::RouteConfig,
    /// The fallback's file.
    pub(crate) page: Option<Arc<FallbackPage>>,
    pub(crate) rate_limiter: Option<Arc<RateLimiter>>,
    /// Pages of the origin that stand in, where the route learns them.
    pub learned_fallbacks: Option<Arc<LearnedFallbacks>>,
    pub(crate) waiting_room: Option<Arc<WaitingRoom>>,
    pub(crate) gate: Option<IpFilter>,
    /// Requests so far, per loop.
    pub(crate) counts: Arc<[Apart]>,
    /// Cache hits, and requests that went on after a lookup, per loop.
    pub(crate) hits: Arc<[Apart]>,
    pub(crate) misses: Arc<[Apart]>,
}

impl RouteShared {
    /// Continues an earlier route for the same requests, as far as it is configured alike.
    ///
    /// # Errors
    /// When a database is invalid, or there are no random bytes.
    pub(crate) fn new(
        config: &edge::RouteConfig,
        earlier: &[Arc<Self>],
        loops: usize,
    ) -> Result<Self, SettingsError> {
        let before = earlier
            .iter()
            .find(|route| route.config.matches == config.matches);
        let kept = before.map(|before| &**before);
        let rate_limiter = match kept {
            Some(before) if before.config.rate == config.rate => before.rate_limiter.clone(),
            _ => config.rate.map(|rate| Arc::new(RateLimiter::new(rate))),
        };
        let learned_fallbacks = match kept {
            Some(before) if before.config.learned_fallback == config.learned_fallback => {
                before.learned_fallbacks.clone()
            }
            _ => config
                .learned_fallback
                .clone()
                .map(|fallback| Arc::new(LearnedFallbacks::new(fallback))),
        };
        let waiting_room = match kept {
            Some(before) if before.config.waiting == config.waiting => before.waiting_room.clone(),
            _ => waiting_room(config)?,
        };
        let counts = |counts: fn(&Self) -> &Arc<[Apart]>| match kept.map(counts) {
            Some(before) if before.len() == loops => Arc::clone(before),
            _ => (0..loops).map(|_| Apart::default()).collect(),
        };
        Ok(Self {
            hits: counts(|before| &before.hits),
            misses: counts(|before| &before.misses),
            page: page(config),
            rate_limiter,
            learned_fallbacks,
            waiting_room,
            gate: config.access.as_ref().map(IpFilter::new).transpose()?,
            counts: counts(|before| &before.counts),
            config: config.clone(),
        })
    }

    /// Compresses the pages learned since the last call.
    pub fn pack_learnt(&self) {
        if let (Some(learned_fallbacks), Some(compress)) =
            (&self.learned_fallbacks, &self.config.compress)
        {
            learned_fallbacks.pack(compress);
        }
    }

    /// The pool it goes to.
    pub fn pool(&self) -> Option<usize> {
        match self.config.action {
            Action::Pool(pool) => Some(pool),
            Action::Redirect { .. } => None,
        }
    }

    /// Requests so far.
    pub fn count(&self) -> u64 {
        self.counts.iter().map(|counter| counter.0.get()).sum()
    }

    /// Cache hits, and requests that went on.
    pub fn cached(&self) -> (u64, u64) {
        let sum = |counts: &[Apart]| counts.iter().map(|counter| counter.0.get()).sum();
        (sum(&self.hits), sum(&self.misses))
    }

    /// Browsers in its waiting line, if it has one.
    pub fn in_line(&self) -> Option<u64> {
        self.waiting_room.as_ref().map(|room| room.len().into())
    }

    /// Display name: what it matches.
    pub fn name(&self) -> String {
        name(&self.config.matches)
    }
}

/// The fallback from its file, in all codings.
fn page(config: &edge::RouteConfig) -> Option<Arc<FallbackPage>> {
    let fallback = config.fallback.as_ref()?;
    let page = FallbackPage::new(&fallback.media_type, fallback.content.clone());
    let page = match &config.compress {
        Some(compress) => page.packed(compress),
        None => page,
    };
    Some(Arc::new(page))
}

fn waiting_room(config: &edge::RouteConfig) -> Result<Option<Arc<WaitingRoom>>, SettingsError> {
    let Some(waiting) = &config.waiting else {
        return Ok(None);
    };
    let id = hash(name(&config.matches).as_bytes());
    let waiting_room = WaitingRoom::new(waiting, id).map_err(|_| SettingsError::NoRandom)?;
    Ok(Some(Arc::new(waiting_room)))
}

fn name(matches: &RouteMatch) -> String {
    let mut name = matches.hosts.join(",");
    match path(matches) {
        Some(path) => name.push_str(&path),
        None => name.push_str("/*"),
    }
    if !matches.methods.is_empty() {
        name = format!("{} {name}", matches.methods.join(","));
    }
    name
}

/// The matched path as written; `None` matches any.
pub fn path(matches: &RouteMatch) -> Option<String> {
    match &matches.path {
        PathMatch::Any => None,
        PathMatch::Exact(path) => Some(path.clone()),
        PathMatch::Prefix(path) => Some(format!("{path}*")),
        PathMatch::Regex(expression) => Some(format!("~{expression}")),
    }
}
