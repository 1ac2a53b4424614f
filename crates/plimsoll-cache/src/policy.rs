//! Cache policy of a route, beyond what responses specify.

use crate::key::KeyRule;

/// Handling of a response that sets a cookie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SetCookie {
    /// Not stored: one user's cookie would be sent to everybody.
    #[default]
    Refuse,
    /// Stored without the cookie; the original requester still receives it.
    Strip,
    /// Stored with the cookie, as RFC 9111, 7.3 allows. For origins that expect it.
    Keep,
}

/// The policy of a route. Lifetimes are seconds.
///
/// The default is RFC 9111 without extensions, except that a stale response is kept for an hour in case the origin
/// fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachePolicy {
    /// How a request forms its key.
    pub key: KeyRule,
    /// Minimum lifetime of a plain page: a 200 to an anonymous GET, with neither `private`, `no-store` nor `no-cache`,
    /// that sets no cookie and does not vary by it.
    pub lifetime_min: u32,
    /// Maximum lifetime of any response.
    pub lifetime_max: u32,
    /// Maximum heuristic lifetime from `Last-Modified`; 0 disables it.
    pub heuristic_max: u32,
    /// Lifetimes by status, for responses to anonymous requests without an explicit one.
    pub lifetimes_by_status: Vec<(u16, u32)>,
    /// Jitter: by how many percent a lifetime may be shortened at random, so that pages stored together do not expire
    /// together.
    pub jitter_percent: u8,
    /// Default `stale-while-revalidate`.
    pub stale_while_revalidate: u32,
    /// Default `stale-if-error`.
    pub stale_if_error: u32,
    /// How long a soft-purged response is served while it is renewed.
    pub purge_grace: u32,
    /// Whether a response in the last tenth of its lifetime is renewed by the next request.
    pub renews_early: bool,
    /// Minimum age, in seconds, from which a client's request for a newer response (`no-cache`, `max-age`, `min-fresh`)
    /// is honored. `None`: never, since everybody who reloads a page would reach the origin.
    pub reload_after: Option<u32>,
    /// Statuses that are stored; empty for all.
    pub statuses: Vec<u16>,
    /// Cookies that change nothing in any response.
    pub cookies_ignored: Vec<String>,
    /// Cookies that make a request bypass the cache.
    pub cookies_bypass: Vec<String>,
    /// Names of request fields that every response varies by, in lower case.
    pub fields_keyed: Vec<String>,
    /// Responses that set cookies.
    pub set_cookie: SetCookie,
}

impl Default for CachePolicy {
    fn default() -> Self {
        Self {
            key: KeyRule::default(),
            lifetime_min: 0,
            lifetime_max: u32::MAX,
            heuristic_max: 86_400,
            lifetimes_by_status: Vec::new(),
            jitter_percent: 0,
            stale_while_revalidate: 0,
            stale_if_error: 3_600,
            purge_grace: 60,
            renews_early: true,
            reload_after: None,
            statuses: Vec::new(),
            cookies_ignored: Vec::new(),
            cookies_bypass: Vec::new(),
            fields_keyed: Vec::new(),
            set_cookie: SetCookie::Refuse,
        }
    }
}
