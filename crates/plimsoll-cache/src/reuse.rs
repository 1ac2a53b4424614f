//! How a request that selects a stored response is answered (RFC 9111, 4).

use crate::fields::only;
use crate::moment::Moment;
use crate::policy::CachePolicy;
use crate::range::ByteRange;
use crate::request::{CacheRequest, Class, Passing};
use crate::response::{Shape, Stored};

/// Decision for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The stored response answers at once.
    Serve(Serve),
    /// The stored response is revalidated, and the request waits. When the origin fails, [`crate::stale::may_serve`]
    /// decides whether the stored response answers.
    Revalidate(Reason),
    /// The stored response must not be used: the origin answers.
    Fetch(Reason),
    /// 504: the client requires a stored response (`only-if-cached`), and none is usable.
    Refuse,
}

/// How a stored response answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Serve {
    /// The part that is sent.
    pub shape: Shape,
    /// Remaining freshness in milliseconds; negative when it is stale.
    pub ttl_ms: i64,
    /// Whether one request should renew it in the background.
    pub renew: Option<Renewal>,
}

/// Why a response is renewed while it is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renewal {
    /// It is in the last tenth of its lifetime.
    Early,
    /// It is stale, within `stale-while-revalidate`.
    Stale,
    /// It was soft-purged.
    Purged,
}

impl Renewal {
    /// Its word in `Cache-Status`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Early => "renewed-early",
            Self::Stale => "stale-while-revalidate",
            Self::Purged => "purged",
        }
    }
}

/// Why a stored response does not answer at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It is stale.
    Stale,
    /// It was soft-purged, too long ago.
    Purged,
    /// It has `no-cache`.
    NoCache,
    /// The client requires a newer response.
    RequestDirective,
    /// The request bypasses the cache.
    Passing(Passing),
    /// The request has `Authorization`, and the response is not marked as shareable.
    Authorized,
    /// The request has a cookie, and the lifetime is the route's or heuristic, which applies to anonymous requests
    /// only.
    Named,
}

impl Reason {
    /// Its word in `Cache-Status`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Stale => "stale",
            Self::Purged => "purged",
            Self::NoCache => "no-cache",
            Self::RequestDirective => "request",
            Self::Passing(passing) => passing.word(),
            Self::Authorized => "authorization",
            Self::Named => "cookie",
        }
    }

    /// Explanation.
    pub fn text(self) -> &'static str {
        match self {
            Self::Stale => "the cached response is stale",
            Self::Purged => "the cached response was purged",
            Self::NoCache => "the cached response has Cache-Control: no-cache",
            Self::RequestDirective => {
                "the request requires a newer response (Cache-Control or Pragma)"
            }
            Self::Passing(passing) => passing.text(),
            Self::Authorized => {
                "the request has Authorization, and the cached response has neither public, must-revalidate nor s-maxage"
            }
            Self::Named => {
                "the request has a significant cookie, and the lifetime of the cached response is the route's or heuristic"
            }
        }
    }
}

/// Freshness of a stored response for a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FreshnessTimes {
    /// Fresh until then.
    pub(crate) fresh_until: Moment,
    /// Remaining freshness.
    pub(crate) lifetime_ms: u64,
}

/// Freshness for this request: the route's lifetimes and heuristic ones apply to anonymous requests only.
pub(crate) fn times(request: &CacheRequest<'_, '_>, stored: &Stored) -> FreshnessTimes {
    let terms = stored.terms();
    let fresh_until = if request.class == Class::Plain {
        terms.plain_until
    } else {
        terms.fresh_until
    };
    FreshnessTimes {
        fresh_until,
        lifetime_ms: fresh_until.since(terms.received_at),
    }
}

/// Decides for a request and the stored response that it selects. `purged_at` is when it was soft-purged, if it was;
/// `body_len` the length of its body, if known yet.
pub fn decide(
    request: &CacheRequest<'_, '_>,
    stored: &Stored,
    purged_at: Option<Moment>,
    body_len: Option<u64>,
    now: Moment,
    policy: &CachePolicy,
) -> Decision {
    if let Some(reason) = barred(request, stored) {
        return Decision::Fetch(reason);
    }
    let times = times(request, stored);
    let serve = |renew| {
        Decision::Serve(Serve {
            shape: shape(request, stored, body_len),
            ttl_ms: signed_gap(times.fresh_until, now),
            renew,
        })
    };
    let is_fresh = now < times.fresh_until && !stored.terms().no_cache;
    let reason = if !is_fresh {
        if may_serve_stale(request, stored, &times, now) && purged_at.is_none() {
            return serve(Some(Renewal::Stale));
        }
        if stored.terms().no_cache {
            Reason::NoCache
        } else {
            Reason::Stale
        }
    } else if requests_newer(request, stored, &times, now, policy) {
        Reason::RequestDirective
    } else if let Some(purged_at) = purged_at {
        if now < purged_at.after(u64::from(policy.purge_grace) * 1000) {
            return serve(Some(Renewal::Purged));
        }
        Reason::Purged
    } else {
        let left_ms = times.fresh_until.since(now);
        let is_late = policy.renews_early && left_ms <= times.lifetime_ms / 10;
        return serve(is_late.then_some(Renewal::Early));
    };
    if request
        .cache_control
        .is_some_and(|cache_control| cache_control.only_if_cached)
    {
        return Decision::Refuse;
    }
    Decision::Revalidate(reason)
}

/// Whether a request without a usable stored response is answered with 504 (`only-if-cached`).
pub fn is_refused_without(request: &CacheRequest<'_, '_>) -> bool {
    !matches!(request.class, Class::Alone(_))
        && request
            .cache_control
            .is_some_and(|cache_control| cache_control.only_if_cached)
}

/// Why a stored response must not answer this request at all.
fn barred(request: &CacheRequest<'_, '_>, stored: &Stored) -> Option<Reason> {
    if request.is_plain() {
        return None;
    }
    let terms = stored.terms();
    match request.class {
        Class::Alone(passing) => Some(Reason::Passing(passing)),
        _ if request.authorized && !terms.for_authorized => Some(Reason::Authorized),
        Class::Named if terms.plain_until > terms.fresh_until && terms.explicit.seconds == 0 => {
            Some(Reason::Named)
        }
        _ => None,
    }
}

/// Whether a stale response may be served: as it, the route or the client allows.
fn may_serve_stale(
    request: &CacheRequest<'_, '_>,
    stored: &Stored,
    times: &FreshnessTimes,
    now: Moment,
) -> bool {
    let terms = stored.terms();
    if terms.no_cache {
        return false;
    }
    let while_renewed = u64::from(terms.stale_while_revalidate) * 1000;
    if now < times.fresh_until.after(while_renewed) {
        return true;
    }
    let allowed = request
        .cache_control
        .and_then(|cache_control| cache_control.max_stale);
    allowed.is_some_and(|seconds| {
        !terms.must_revalidate && now.since(times.fresh_until) <= u64::from(seconds) * 1000
    })
}

/// Whether the client requires a newer response, and the route honors that.
fn requests_newer(
    request: &CacheRequest<'_, '_>,
    stored: &Stored,
    times: &FreshnessTimes,
    now: Moment,
    policy: &CachePolicy,
) -> bool {
    let (Some(cache_control), Some(age_min)) = (request.cache_control, policy.reload_after) else {
        return false;
    };
    let age = stored.age(now);
    let is_too_old = cache_control.no_cache
        || cache_control
            .max_age
            .is_some_and(|most| age > most || most == 0);
    let is_too_late = cache_control
        .min_fresh
        .is_some_and(|least| times.fresh_until.since(now) < u64::from(least) * 1000);
    (is_too_old || is_too_late) && age >= age_min
}

/// The part of a stored response for a request that may have waited for it; its freshness is not checked here.
pub fn shape(request: &CacheRequest<'_, '_>, stored: &Stored, body_len: Option<u64>) -> Shape {
    if request.conditional && stored.is_known_to(request.headers) {
        return Shape::NotModified;
    }
    let (Some(range), Some(len), 200) = (request.range, body_len, stored.status()) else {
        return Shape::Whole;
    };
    if request.if_range
        && !only(request.headers, "if-range").is_some_and(|line| stored.is_same_as(line))
    {
        return Shape::Whole;
    }
    match ByteRange::of(range, len) {
        ByteRange::Whole => Shape::Whole,
        ByteRange::Bytes { first, last } => Shape::Partial { first, last },
        ByteRange::Unsatisfiable => Shape::Unsatisfiable,
    }
}

/// Milliseconds from `now` to a moment, negative when it has passed.
fn signed_gap(at: Moment, now: Moment) -> i64 {
    let ahead = i64::try_from(at.since(now)).unwrap_or(i64::MAX);
    let behind = i64::try_from(now.since(at)).unwrap_or(i64::MAX);
    ahead - behind
}

#[cfg(test)]
mod tests;
