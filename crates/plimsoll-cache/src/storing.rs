//! Whether a response is stored (RFC 9111, 3), and on which terms.

use httparse::Header;
use thiserror::Error;

use crate::answer::{OriginExchange, OriginResponse};
use crate::directives::Directives;
use crate::fields::{first, has};
use crate::freshness::{self, FreshnessLifetime, LifetimeSource};
use crate::key::KeyRef;
use crate::moment::Moment;
use crate::policy::{CachePolicy, SetCookie};
use crate::request::{CacheRequest, Class, Method, Passing};
use crate::vary::Vary;

/// Why a response is not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum UncacheableReason {
    /// The request bypassed the cache.
    #[error("the request bypasses the cache: {}", .0.text())]
    Passing(Passing),
    /// The request has `no-store`.
    #[error("the request has Cache-Control: no-store")]
    RequestNoStore,
    /// The request has `Authorization`, and the response is not marked as shareable.
    #[error(
        "the request has Authorization, and the response has neither public, must-revalidate nor s-maxage"
    )]
    Authorized,
    /// The request is identified, and the response has no explicit lifetime.
    #[error(
        "the request has a significant cookie or Authorization, and the response has no explicit lifetime"
    )]
    Named,
    /// The status is not final or not self-contained: 1xx, 206, 304.
    #[error("its status is not final or not self-contained")]
    Status,
    /// The route does not store this status.
    #[error("the route does not store its status")]
    StatusOfRoute,
    /// The response has `must-understand`, and its status is unknown.
    #[error("it has Cache-Control: must-understand, and its status is unknown")]
    NotUnderstood,
    /// The response has `no-store`.
    #[error("it has Cache-Control: no-store")]
    NoStore,
    /// The response has `private`.
    #[error("it has Cache-Control: private")]
    Private,
    /// Its `Cache-Control` has an unclosed quoted string.
    #[error("its Cache-Control has an unclosed quoted string")]
    Malformed,
    /// It sets a cookie.
    #[error("it has Set-Cookie")]
    SetCookie,
    /// `Vary: *`, or too many fields in it.
    #[error("it has Vary: *, or a Vary of too many fields")]
    Varies,
    /// It is a partial response (`Content-Range`).
    #[error("it is a partial response")]
    Partial,
    /// It has neither a lifetime nor a validator.
    #[error("it has neither a lifetime nor a validator (ETag, Last-Modified)")]
    NoLifetime,
}

impl UncacheableReason {
    /// Its word in `Cache-Status`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Passing(passing) => passing.word(),
            Self::RequestNoStore => "request-no-store",
            Self::Authorized => "authorization",
            Self::Named => "cookie",
            Self::Status => "status",
            Self::StatusOfRoute => "status-of-route",
            Self::NotUnderstood => "must-understand",
            Self::NoStore => "no-store",
            Self::Private => "private",
            Self::Malformed => "malformed-cache-control",
            Self::SetCookie => "set-cookie",
            Self::Varies => "vary",
            Self::Partial => "partial",
            Self::NoLifetime => "no-lifetime",
        }
    }

    /// The response fields that caused it, the first that is present counts; empty where something else did.
    pub fn fields(self) -> &'static [&'static str] {
        match self {
            Self::NotUnderstood | Self::NoStore | Self::Private | Self::Malformed => {
                &["cdn-cache-control", "cache-control"]
            }
            Self::SetCookie => &["set-cookie"],
            Self::Varies => &["vary"],
            Self::Partial => &["content-range"],
            _ => &[],
        }
    }

    /// Whether the next request of this class will probably meet the same, so that none should wait for it. A reason
    /// caused by the request itself does not predict the next one.
    pub fn is_remembered(self) -> bool {
        !matches!(
            self,
            Self::Passing(_) | Self::RequestNoStore | Self::Authorized | Self::Partial
        )
    }
}

/// A response to be stored, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Storable {
    /// Its terms.
    pub terms: Terms,
    /// Its `Vary`; never [`Vary::Everything`].
    pub vary: Vary,
    /// Whether `Set-Cookie` is not stored.
    pub strips_cookies: bool,
    /// Fields that are not stored, in lower case.
    pub withheld: Vec<String>,
}

/// Terms of a stored response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The explicit lifetime.
    pub explicit: FreshnessLifetime,
    /// The lifetime for anonymous requests; never shorter.
    pub plain: FreshnessLifetime,
    /// Age on arrival, seconds.
    pub age: u32,
    /// When it arrived.
    pub received_at: Moment,
    /// Fresh until then, for all requests.
    pub fresh_until: Moment,
    /// Fresh until then, for anonymous requests.
    pub plain_until: Moment,
    /// `stale-while-revalidate`, seconds.
    pub stale_while_revalidate: u32,
    /// `stale-if-error`, seconds.
    pub stale_if_error: u32,
    /// Whether it must be revalidated before every use (`no-cache`).
    pub no_cache: bool,
    /// Whether it must never be served stale.
    pub must_revalidate: bool,
    /// Whether it may serve requests with `Authorization`.
    pub for_authorized: bool,
}

impl Terms {
    /// Whether the response is fresh at a moment for a class of requests. A request that waited for a fetch may use the
    /// result only then.
    pub fn is_fresh(&self, class: Class, at: Moment) -> bool {
        let until = match class {
            Class::Plain => self.plain_until,
            Class::Named | Class::Alone(_) => self.fresh_until,
        };
        at < until && !self.no_cache
    }
}

/// Whether an answer is stored, and on which terms.
///
/// # Errors
/// Why it is not stored.
pub fn evaluate(
    request: &CacheRequest<'_, '_>,
    key: &KeyRef<'_>,
    answer: &OriginResponse<'_, '_>,
    policy: &CachePolicy,
    exchange: &OriginExchange,
) -> Result<Storable, UncacheableReason> {
    let directives = Directives::of(answer.headers);
    let explicit = freshness::explicit(answer, &directives, exchange);
    request_allows(request, key, answer, &directives, explicit)?;
    evaluate_allowed(
        request.into(),
        answer,
        directives,
        explicit,
        policy,
        exchange,
    )
}

/// Like [`evaluate`], for a request of which nothing more needs to be known.
///
/// # Errors
/// Why it is not stored.
pub fn evaluate_simple(
    simple: Simple,
    answer: &OriginResponse<'_, '_>,
    policy: &CachePolicy,
    exchange: &OriginExchange,
) -> Result<Storable, UncacheableReason> {
    let directives = Directives::of(answer.headers);
    let explicit = freshness::explicit(answer, &directives, exchange);
    evaluate_allowed(simple.0, answer, directives, explicit, policy, exchange)
}

/// A GET that does not forbid storing and is not authenticated: the response alone decides whether it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Simple(RequestKind);

impl Simple {
    /// `None` when other properties of the request matter.
    pub fn of(request: &CacheRequest<'_, '_>) -> Option<Self> {
        let is_simple = request.method == Method::Get
            && matches!(request.class, Class::Plain | Class::Named)
            && !request.authorized
            && !request
                .cache_control
                .is_some_and(|cache_control| cache_control.no_store);
        is_simple.then(|| Self(request.into()))
    }
}

/// Properties of a request on which the terms of its response depend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RequestKind {
    method: Method,
    class: Class,
}

impl From<&CacheRequest<'_, '_>> for RequestKind {
    fn from(request: &CacheRequest<'_, '_>) -> Self {
        Self {
            method: request.method,
            class: request.class,
        }
    }
}

/// Evaluates the response after the request was accepted.
fn evaluate_allowed(
    kind: RequestKind,
    answer: &OriginResponse<'_, '_>,
    directives: Directives,
    explicit: Option<FreshnessLifetime>,
    policy: &CachePolicy,
    exchange: &OriginExchange,
) -> Result<Storable, UncacheableReason> {
    answer_allows(answer, &directives, policy)?;
    let vary = Vary::of(answer.headers).and(&policy.fields_keyed);
    if vary == Vary::Everything {
        return Err(UncacheableReason::Varies);
    }
    if kind.class == Class::Named && explicit.is_none_or(|lifetime| lifetime.seconds == 0) {
        return Err(UncacheableReason::Named);
    }
    let terms = terms(kind, answer, &directives, explicit, &vary, policy, exchange);
    let is_usable = terms.plain.seconds > 0
        || terms.explicit.seconds > 0
        || (freshness::is_heuristic(answer.status) && has_validator(answer.headers));
    if !is_usable {
        return Err(UncacheableReason::NoLifetime);
    }
    Ok(Storable {
        terms,
        vary,
        strips_cookies: policy.set_cookie != SetCookie::Keep,
        withheld: directives.withheld,
    })
}

fn request_allows(
    request: &CacheRequest<'_, '_>,
    key: &KeyRef<'_>,
    answer: &OriginResponse<'_, '_>,
    directives: &Directives,
    explicit: Option<FreshnessLifetime>,
) -> Result<(), UncacheableReason> {
    match request.class {
        Class::Plain | Class::Named if request.method == Method::Get => {}
        // A response to HEAD has no body to store.
        Class::Plain | Class::Named => return Err(UncacheableReason::Passing(Passing::Method)),
        // The response to a POST whose Content-Location is its own target represents that target (RFC 9110, 9.3.3).
        Class::Alone(Passing::Method)
            if request.method == Method::Post
                && answer.status == 200
                && explicit.is_some_and(|lifetime| lifetime.seconds > 0)
                && !has(request.headers, "cookie")
                // It was made from the whole query, of which the key has only a part.
                && key.target().is_none()
                && first(answer.headers, "content-location")
                    .is_some_and(|location| key.is_named_by(location)) => {}
        Class::Alone(passing) => return Err(UncacheableReason::Passing(passing)),
    }
    if request
        .cache_control
        .is_some_and(|cache_control| cache_control.no_store)
    {
        return Err(UncacheableReason::RequestNoStore);
    }
    if request.authorized && !directives.allows_authorized() {
        return Err(UncacheableReason::Authorized);
    }
    Ok(())
}

fn answer_allows(
    answer: &OriginResponse<'_, '_>,
    directives: &Directives,
    policy: &CachePolicy,
) -> Result<(), UncacheableReason> {
    if !(200..600).contains(&answer.status) || answer.status == 304 {
        return Err(UncacheableReason::Status);
    }
    if answer.status == 206 || has(answer.headers, "content-range") && answer.status == 416 {
        return Err(UncacheableReason::Partial);
    }
    if !policy.statuses.is_empty() && !policy.statuses.contains(&answer.status) {
        return Err(UncacheableReason::StatusOfRoute);
    }
    if directives.malformed {
        return Err(UncacheableReason::Malformed);
    }
    if directives.must_understand && !is_understood(answer.status) {
        return Err(UncacheableReason::NotUnderstood);
    }
    // A cache that understands the status ignores no-store beside must-understand (RFC 9111, 5.2.2.3).
    if directives.no_store && !directives.must_understand {
        return Err(UncacheableReason::NoStore);
    }
    if directives.private {
        return Err(UncacheableReason::Private);
    }
    let is_withheld = directives.withheld.iter().any(|name| name == "set-cookie");
    if policy.set_cookie == SetCookie::Refuse && !is_withheld && has(answer.headers, "set-cookie") {
        return Err(UncacheableReason::SetCookie);
    }
    Ok(())
}

/// Final statuses whose meaning is known here (RFC 9110, 15).
fn is_understood(status: u16) -> bool {
    matches!(
        status,
        200..=205 | 300..=303 | 305 | 307 | 308 | 400..=417 | 421 | 422 | 426 | 451 | 500..=505
    )
}

fn has_validator(answer: &[Header<'_>]) -> bool {
    has(answer, "etag") || has(answer, "last-modified")
}

fn terms(
    kind: RequestKind,
    answer: &OriginResponse<'_, '_>,
    directives: &Directives,
    explicit: Option<FreshnessLifetime>,
    vary: &Vary,
    policy: &CachePolicy,
    exchange: &OriginExchange,
) -> Terms {
    let age = freshness::initial_age(answer.headers, exchange);
    let received_at = exchange.received_at;
    let until = |lifetime: FreshnessLifetime, age: u32| {
        let lifetime = lifetime.seconds.min(policy.lifetime_max);
        let left = jittered(lifetime, policy.jitter_percent, exchange.chance);
        Moment::from_ms(
            (received_at.ms().saturating_add(left)).saturating_sub(u64::from(age) * 1000),
        )
    };
    let fresh_until = until(explicit.unwrap_or(FreshnessLifetime::NOTHING), age);
    let mut plain = (explicit.unwrap_or(FreshnessLifetime::NOTHING), fresh_until);
    if kind.class == Class::Plain && !directives.no_cache {
        let guess = guessed(answer, directives, explicit, policy, exchange);
        let minimum = minimum(kind, answer, vary, policy);
        // The route's own lifetimes start when the response arrives.
        for (lifetime, age) in [(guess, age), (minimum, 0)] {
            if let Some(lifetime) = lifetime
                && until(lifetime, age) > plain.1
            {
                plain = (lifetime, until(lifetime, age));
            }
        }
    }
    let must_revalidate =
        directives.must_revalidate || directives.proxy_revalidate || directives.no_cache;
    // s-maxage forbids stale responses too, unless the same response explicitly allows them.
    let stale = |directive: Option<u32>, of_route: u32| match directive {
        _ if must_revalidate => 0,
        Some(seconds) => seconds,
        None if directives.s_maxage.is_some() => 0,
        None => of_route,
    };
    Terms {
        explicit: explicit.unwrap_or(FreshnessLifetime::NOTHING),
        plain: plain.0,
        age,
        received_at,
        fresh_until,
        plain_until: plain.1,
        stale_while_revalidate: stale(
            directives.stale_while_revalidate,
            policy.stale_while_revalidate,
        ),
        stale_if_error: stale(directives.stale_if_error, policy.stale_if_error),
        no_cache: directives.no_cache,
        must_revalidate: must_revalidate || directives.s_maxage.is_some(),
        for_authorized: directives.allows_authorized(),
    }
}

/// The lifetime without an explicit one: the route's for its status, else heuristic.
fn guessed(
    answer: &OriginResponse<'_, '_>,
    directives: &Directives,
    explicit: Option<FreshnessLifetime>,
    policy: &CachePolicy,
    exchange: &OriginExchange,
) -> Option<FreshnessLifetime> {
    if explicit.is_some() {
        return None;
    }
    let of_status = policy
        .lifetimes_by_status
        .iter()
        .find(|(status, _)| *status == answer.status)
        .map(|(_, seconds)| FreshnessLifetime {
            seconds: *seconds,
            source: LifetimeSource::ByStatus,
        });
    of_status.or_else(|| freshness::heuristic(answer, directives, exchange, policy.heuristic_max))
}

/// The route's minimum lifetime, where it applies. Other exclusions are handled before.
fn minimum(
    kind: RequestKind,
    answer: &OriginResponse<'_, '_>,
    vary: &Vary,
    policy: &CachePolicy,
) -> Option<FreshnessLifetime> {
    let counts = policy.lifetime_min > 0
        && answer.status == 200
        && kind.method == Method::Get
        && !vary.names("cookie")
        && !has(answer.headers, "set-cookie");
    counts.then_some(FreshnessLifetime {
        seconds: policy.lifetime_min,
        source: LifetimeSource::Minimum,
    })
}

/// A lifetime in milliseconds, shortened by random jitter.
fn jittered(seconds: u32, percent: u8, chance: u32) -> u64 {
    let lifetime_ms = u64::from(seconds) * 1000;
    let most = u128::from(lifetime_ms) * u128::from(percent.min(100)) / 100;
    let off = (most * u128::from(chance)) >> 32;
    lifetime_ms - u64::try_from(off).unwrap_or(lifetime_ms)
}

#[cfg(test)]
mod tests;
