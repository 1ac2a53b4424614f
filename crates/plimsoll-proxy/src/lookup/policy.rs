//! The cache policy of a route, compiled.

use std::time::Duration;

use plimsoll_cache::policy::SetCookie;
use plimsoll_cache::{CachePolicy, KeyRule, Query};
use plimsoll_config::edge::{
    Action, CacheQuery, CacheSetCookie, Caching, PoolConfig, Rewrite, RouteConfig,
};

use super::Space;
use crate::hash::mix;

/// The cache policy of a route.
#[derive(Clone, Debug)]
pub(crate) struct RouteCache {
    pub(crate) policy: CachePolicy,
    pub(crate) space: Space,
    /// Whether a 304 can be merged into a stored response: not if the route changes headers that caches use.
    pub(crate) may_merge: bool,
}

/// Response headers that control caches.
const RULES: [&str; 9] = [
    "age",
    "cache-control",
    "cdn-cache-control",
    "date",
    "etag",
    "expires",
    "last-modified",
    "set-cookie",
    "vary",
];

impl RouteCache {
    /// The policy of a route; `None` when it caches nothing.
    pub(crate) fn new(route: &RouteConfig, pools: &[PoolConfig]) -> Option<Self> {
        let caching = route.cache.as_ref()?;
        let Action::Pool(pool) = route.action else {
            return None;
        };
        Some(Self {
            policy: policy(caching, &route.steering_headers),
            may_merge: !route.answer_headers.iter().any(|edit| {
                RULES
                    .iter()
                    .any(|rule| rule.eq_ignore_ascii_case(&edit.name))
            }),
            space: space(route, pools.get(pool).map_or("", |pool| &pool.name)),
        })
    }
}

/// The cache key rule of a route.
pub(super) fn key_rule(caching: &Caching) -> KeyRule {
    KeyRule {
        query: match &caching.query {
            CacheQuery::All => Query::All,
            CacheQuery::Ignore => Query::Ignore,
            CacheQuery::Tracking => Query::Tracking,
            CacheQuery::Only(names) => Query::Only(names.clone()),
        },
        sorted: caching.sorted,
    }
}

fn policy(caching: &Caching, steering: &[String]) -> CachePolicy {
    let defaults = CachePolicy::default();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share is between 0 and 1"
    )]
    let jitter_percent = (caching.jitter.clamp(0.0, 1.0) * 100.0).round() as u8;
    CachePolicy {
        key: key_rule(caching),
        lifetime_min: caching.ttl.map_or(0, seconds),
        lifetime_max: caching.max_ttl.map_or(defaults.lifetime_max, seconds),
        lifetimes_by_status: caching
            .by_status
            .iter()
            .map(|(status, lifetime)| (*status, seconds(*lifetime)))
            .collect(),
        jitter_percent,
        stale_while_revalidate: seconds(caching.stale_while_revalidate),
        stale_if_error: seconds(caching.stale_if_error),
        reload_after: caching.reload_after.map(seconds),
        statuses: caching.statuses.clone(),
        cookies_ignored: caching.ignore_cookies.clone(),
        cookies_bypass: caching.bypass_cookies.clone(),
        fields_keyed: steering
            .iter()
            .map(|name| name.to_ascii_lowercase())
            .collect(),
        set_cookie: match caching.set_cookie {
            CacheSetCookie::Refuse => SetCookie::Refuse,
            CacheSetCookie::Strip => SetCookie::Strip,
            CacheSetCookie::Keep => SetCookie::Keep,
        },
        ..defaults
    }
}

/// Whole seconds, rounded up, so that a lifetime never becomes zero.
fn seconds(lifetime: Duration) -> u32 {
    u32::try_from(lifetime.as_millis().div_ceil(1000)).unwrap_or(u32::MAX)
}

/// The same for routes that send requests to the same pool in the same way, also across processes.
fn space(route: &RouteConfig, pool: &str) -> Space {
    let rewrite = match &route.rewrite {
        None => String::new(),
        Some(Rewrite::Prefix(new)) => format!("{:?} {new}", route.matches.path),
        Some(Rewrite::Regex(expression, new)) => format!("~{expression} {new}"),
    };
    let text = format!(
        "{pool}\n{rewrite}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}",
        route.steering_headers,
        route.request_headers,
        route.answer_headers,
        route.compress,
        route.fragments
    );
    Space(text.bytes().fold(0, |sum, byte| mix(sum ^ u64::from(byte))))
}
