//! Whether an answer is stored (RFC 9111, 3), and on which terms.

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

/// Why an answer is not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum UncacheableReason {
    /// The request passed the cache by.
    #[error("the request bypasses the cache: {}", .0.text())]
    Passing(Passing),
    /// The request says `no-store`.
    #[error("the request has Cache-Control: no-store")]
    RequestNoStore,
    /// The request has `Authorization`, and the answer does not say that it may serve others.
    #[error(
        "the request has Authorization, and the response has neither public, must-revalidate nor s-maxage"
    )]
    Authorized,
    /// The request is of somebody, and the answer says nothing of its lifetime.
    #[error(
        "the request has a significant cookie or Authorization, and the response has no explicit lifetime"
    )]
    Named,
    /// It is not a final answer that stands for itself: 1xx, 206, 304.
    #[error("its status is not final or not self-contained")]
    Status,
    /// The route does not store this status.
    #[error("the route does not store its status")]
    StatusOfRoute,
    /// The answer says `must-understand`, and its status is not known.
    #[error("it has Cache-Control: must-understand, and its status is unknown")]
    NotUnderstood,
    /// The answer says `no-store`.
    #[error("it has Cache-Control: no-store")]
    NoStore,
    /// The answer says `private`.
    #[error("it has Cache-Control: private")]
    Private,
    /// Its `Cache-Control` cannot be read to the end.
    #[error("its Cache-Control has an unclosed quoted string")]
    Malformed,
    /// It sets a cookie.
    #[error("it has Set-Cookie")]
    SetCookie,
    /// It varies by what no request shows, or by too much.
    #[error("it has Vary: *, or a Vary of too many fields")]
    Varies,
    /// It is a part of something (`Content-Range`).
    #[error("it is a partial response")]
    Partial,
    /// Nothing says that it may be kept, and nothing is there to ask by whether it has changed.
    #[error("it has neither a lifetime nor a validator (ETag, Last-Modified)")]
    NoLifetime,
}

impl UncacheableReason {
    /// A word for `Cache-Status`.
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

    /// The fields of the answer that say so, the first of them that is there; none where it is something else.
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

    /// Whether the same is to be expected of the next request of this class, so that nobody should wait for it. What
    /// one request brought upon itself says nothing of the next.
    pub fn is_remembered(self) -> bool {
        !matches!(
            self,
            Self::Passing(_) | Self::RequestNoStore | Self::Authorized | Self::Partial
        )
    }
}

/// An answer that is stored, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Storable {
    /// The terms that its copy goes by.
    pub terms: Terms,
    /// What it varies by; never [`Vary::Everything`].
    pub vary: Vary,
    /// Whether `Set-Cookie` stays out of the copy.
    pub strips_cookies: bool,
    /// Fields that stay out of the copy, in small letters.
    pub withheld: Vec<String>,
}

/// The terms that a copy goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The lifetime that the answer gives itself.
    pub explicit: FreshnessLifetime,
    /// The lifetime for those who are nobody in particular; never shorter.
    pub plain: FreshnessLifetime,
    /// How old the answer was when it came, seconds.
    pub age: u32,
    /// When it came.
    pub received_at: Moment,
    /// Until when it is fresh for all.
    pub fresh_until: Moment,
    /// Until when it is fresh for those who are nobody in particular.
    pub plain_until: Moment,
    /// How long it is served while it is renewed, seconds after it went stale.
    pub stale_while_revalidate: u32,
    /// How long it is served when the origin fails, seconds after it went stale.
    pub stale_if_error: u32,
    /// Whether it is asked for at the origin every time (`no-cache`).
    pub no_cache: bool,
    /// Whether nothing allows to serve it stale.
    pub must_revalidate: bool,
    /// Whether it may serve requests with `Authorization`.
    pub for_authorized: bool,
}

impl Terms {
    /// Whether the copy is fresh at a moment for somebody of a class. Who waits for a fetch may take what came only when
    /// it is.
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
/// The reason for which it is not.
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

/// As [`evaluate`], for a request of which no more needs to be known.
///
/// # Errors
/// The reason for which it is not.
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

/// A GET that does not stand against being kept itself, and proves nobody's identity: the answer alone says whether it
/// is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Simple(RequestKind);

impl Simple {
    /// `None` when more must be known of a request than that it is one.
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

/// What of a request the terms of its answer depend on.
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

/// For a request that allows it.
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
        // A HEAD has no body to keep.
        Class::Plain | Class::Named => return Err(UncacheableReason::Passing(Passing::Method)),
        // What a POST made, named as what it was sent to, stands for it (RFC 9110, 9.3.3).
        Class::Alone(Passing::Method)
            if request.method == Method::Post
                && answer.status == 200
                && explicit.is_some_and(|lifetime| lifetime.seconds > 0)
                && !has(request.headers, "cookie")
                // It was made from all of its query, of which its key would have only a part.
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
    // Whoever understands the status overlooks it beside must-understand (RFC 9111, 5.2.2.3).
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

/// Final statuses whose meaning to a cache is known here (RFC 9110, 15).
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
        // The route's own lifetimes count from when the answer came.
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
    // s-maxage forbids stale answers too, unless the same answer says in so many words that it does not.
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

/// The lifetime of an answer that says none: what the route gives its status, else a guess.
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

/// The route's least lifetime, where it counts. What else it does not count for is refused or told apart before.
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

/// A lifetime in milliseconds, shortened by chance.
fn jittered(seconds: u32, percent: u8, chance: u32) -> u64 {
    let lifetime_ms = u64::from(seconds) * 1000;
    let most = u128::from(lifetime_ms) * u128::from(percent.min(100)) / 100;
    let off = (most * u128::from(chance)) >> 32;
    lifetime_ms - u64::try_from(off).unwrap_or(lifetime_ms)
}

#[cfg(test)]
mod tests;
