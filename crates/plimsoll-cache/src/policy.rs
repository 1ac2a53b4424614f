//! What the owner of a route has decided beyond what the answers say.

use crate::key::KeyRule;

/// What is done with an answer that sets a cookie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SetCookie {
    /// It is not stored: one person's cookie would be handed to everybody.
    #[default]
    Refuse,
    /// It is stored without the cookie; who asked first still gets it.
    Strip,
    /// It is stored with the cookie, as RFC 9111, 7.3 allows. For origins that know what they do.
    Keep,
}

/// The policy of a route. Lifetimes are seconds.
///
/// The default is what RFC 9111 allows without being told anything, except that a stale copy is kept for an hour in case
/// the origin fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachePolicy {
    /// What of a request makes its key.
    pub key: KeyRule,
    /// Least lifetime of a plain page: a 200 to a GET by nobody in particular, which says neither `private`, `no-store`
    /// nor `no-cache`, sets no cookie and does not vary by it.
    pub lifetime_min: u32,
    /// Greatest lifetime of any copy.
    pub lifetime_max: u32,
    /// Greatest lifetime that is guessed from `Last-Modified`; 0 guesses none.
    pub heuristic_max: u32,
    /// Lifetimes by status, for answers to nobody in particular that say nothing of theirs.
    pub lifetimes_by_status: Vec<(u16, u32)>,
    /// By how many percent a lifetime may be shortened by chance, so that pages stored together do not end together.
    pub jitter_percent: u8,
    /// How long a stale copy is served while it is renewed, where the answer says nothing of it.
    pub stale_while_revalidate: u32,
    /// How long a stale copy is served when the origin fails, where the answer says nothing of it.
    pub stale_if_error: u32,
    /// How long a copy that was purged softly is served while it is renewed.
    pub purge_grace: u32,
    /// Whether a copy in the last tenth of its lifetime is renewed by the first who asks for it.
    pub renews_early: bool,
    /// From which age on, in seconds, a client's wish for something newer (`no-cache`, `max-age`, `min-fresh`) is
    /// granted. `None` grants none: everybody who reloads a page would ask the origin.
    pub reload_after: Option<u32>,
    /// Statuses that are stored at all; empty for all.
    pub statuses: Vec<u16>,
    /// Cookies that change nothing in any answer.
    pub cookies_ignored: Vec<String>,
    /// Cookies with which a request passes the cache by.
    pub cookies_bypass: Vec<String>,
    /// Names of request fields that every answer varies by, in small letters.
    pub fields_keyed: Vec<String>,
    /// Answers that set cookies.
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
