//! What a request that selects a copy is answered with (RFC 9111, 4).

use crate::fields::only;
use crate::moment::Moment;
use crate::policy::CachePolicy;
use crate::range::ByteRange;
use crate::request::{CacheRequest, Class, Passing};
use crate::response::{Shape, Stored};

/// What is done for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The copy answers, at once.
    Serve(Serve),
    /// The origin is asked whether the copy is still right, and the request waits. When the origin is ill,
    /// [`crate::stale::may_serve`] says whether the copy answers.
    Revalidate(Reason),
    /// The copy is not for this request: the origin answers it.
    Fetch(Reason),
    /// 504: the client wants a copy or nothing (`only-if-cached`), and there is none for it.
    Refuse,
}

/// How a copy answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Serve {
    /// What of it is sent.
    pub shape: Shape,
    /// Milliseconds that it stays fresh; below zero when it is stale.
    pub ttl_ms: i64,
    /// Whether one request should renew it meanwhile.
    pub renew: Option<Renewal>,
}

/// Why a copy is renewed while it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renewal {
    /// It is in the last tenth of its lifetime.
    Early,
    /// It is stale, and may be served meanwhile.
    Stale,
    /// It was purged softly.
    Purged,
}

impl Renewal {
    /// A word for `Cache-Status`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Early => "renewed-early",
            Self::Stale => "stale-while-revalidate",
            Self::Purged => "purged",
        }
    }
}

/// Why a copy does not answer at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It is stale.
    Stale,
    /// It was purged softly, too long ago.
    Purged,
    /// It says `no-cache`.
    NoCache,
    /// The client wishes for something newer.
    RequestDirective,
    /// The request passes the cache by.
    Passing(Passing),
    /// The request has `Authorization`, and the copy is not said to serve such.
    Authorized,
    /// The request has a cookie, and the copy's lifetime is the route's or a guess, which holds for nobody in
    /// particular.
    Named,
}

impl Reason {
    /// A word for `Cache-Status`.
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

    /// What it is, where a decision is explained.
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

/// The times of a copy that hold for a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FreshnessTimes {
    /// Until when it is fresh.
    pub(crate) fresh_until: Moment,
    /// How long it is fresh here.
    pub(crate) lifetime_ms: u64,
}

/// The times that hold for this request: the route's own lifetimes and guesses only for nobody in particular.
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

/// Decides for a request and the copy that it selects. `purged_at` is when the copy was purged softly, if it was;
/// `body_len` the length of its body, if that is known yet.
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

/// Whether a request that selects no copy is refused with a 504: it wants a copy or nothing.
pub fn is_refused_without(request: &CacheRequest<'_, '_>) -> bool {
    !matches!(request.class, Class::Alone(_))
        && request
            .cache_control
            .is_some_and(|cache_control| cache_control.only_if_cached)
}

/// Why a copy is not for this request at all.
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

/// Whether a stale copy may answer: within what it or the route allows, or the client.
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

/// Whether the client wishes for something newer, and the route grants it.
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

/// What of a copy is sent to a request, which may have waited for it: whether it is fresh is not asked here.
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

/// Milliseconds from `now` to a moment, below zero when it has passed.
fn signed_gap(at: Moment, now: Moment) -> i64 {
    let ahead = i64::try_from(at.since(now)).unwrap_or(i64::MAX);
    let behind = i64::try_from(now.since(at)).unwrap_or(i64::MAX);
    ahead - behind
}

#[cfg(test)]
mod tests;
