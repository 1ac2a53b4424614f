//! Caching: what a route stores and for how long, and the sizes of the caches.

use std::path::PathBuf;
use std::time::Duration;

use super::file::required;
use crate::document::Shape::{
    Count, Duration as DurationShape, Either, MapOf, Of, OneOf, OneOrMore, Text,
};
use crate::document::{
    DocumentNode, DocumentReader, KeywordTable, NodeKind, SettingsMap as _, each, file, one_of,
    settings, share, size, switch, text, time_or_zero, word,
};

/// Default size of the memory cache.
pub const CACHE_LEN: u64 = 64 << 20;
/// Minimum and maximum size of the memory cache.
pub const CACHE_LENS: (u64, u64) = (1 << 20, 1 << 40);
/// Default size of the disk cache.
pub const DISK_LEN: u64 = 1 << 30;
/// Minimum and maximum size of the disk cache.
pub const DISK_LENS: (u64, u64) = (1 << 20, 1 << 46);

settings! {
    /// The response cache. `off` disables it.
    struct CacheStore, STORE "store" {
        /// Memory for cached responses and their index.
        size: u64 = CACHE_LEN, "size": size(CACHE_LENS.0..=CACHE_LENS.1);
        /// Disk cache, which survives a restart. Default: none.
        disk: Option<CacheDisk> = None, "disk": Either(&[OneOf(&["off"]), Of(&DISK)]) => disk;
    }
}

settings! {
    /// Disk cache. One response takes at most an eighth of the size. When the disk fails, the edge reports it and
    /// continues without it.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct CacheDisk, DISK "disk" {
        /// Folder, used by one edge only; created if missing.
        path: PathBuf = PathBuf::new(),
            "path": file("a folder used by this edge only, such as /var/cache/plimsoll"), unsaid;
        /// Size of the disk cache.
        size: u64 = DISK_LEN, "size": size(DISK_LENS.0..=DISK_LENS.1);
        /// How long a request waits for a lookup on disk before it goes upstream.
        lookup_timeout: Duration = Duration::from_secs(1);
    }
}

impl Default for CacheDisk {
    fn default() -> Self {
        Self::defaults()
    }
}

settings! {
    /// Caching beyond what the response headers specify. `off` stores nothing.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Caching, CACHE "cache" {
        /// Minimum lifetime of a plain page: a 200 response to a GET request without cookies or `Authorization`, which
        /// sets no cookie and is not `private`, `no-store` or `no-cache`.
        ttl: Option<Duration> = None, "ttl": time_or_zero();
        /// Maximum lifetime of any response.
        max_ttl: Option<Duration> = None, "max_ttl": time_or_zero();
        /// Query parameters in the cache key: `all`, `ignore`, `tracking` (all except known tracking parameters), or
        /// `only`. Default: all.
        query: CacheQuery = CacheQuery::All, "query": Either(&[Text, Of(&CACHE_QUERY)]) => query;
        /// Whether the order of parameters is ignored.
        sorted: bool = false, "sorted": switch();
        /// Cookies that do not affect the response.
        ignore_cookies: Vec<String> = Vec::new(), "ignore_cookies":
            each(text("a cookie name").that(is_cookie, "a cookie name"));
        /// Cookies with which a request bypasses the cache.
        bypass_cookies: Vec<String> = Vec::new(), "bypass_cookies":
            each(text("a cookie name").that(is_cookie, "a cookie name"));
        /// Responses that set a cookie are not stored, stored without it, or stored with it for every client.
        set_cookie: CacheSetCookie = CacheSetCookie::Refuse, "set_cookie": one_of![
            "refuse" => CacheSetCookie::Refuse,
            "strip" => CacheSetCookie::Strip,
            "keep" => CacheSetCookie::Keep,
        ];
        /// Status codes that are stored. Default: all that are cacheable.
        statuses: Vec<u16> = Vec::new(), "statuses": OneOrMore(&Count(200, 599)) => each status;
        /// Lifetimes by status for responses without one: `{ 404: 10s }`.
        by_status: Vec<(u16, Duration)> = Vec::new(), "by_status": MapOf(&DurationShape) => by_status;
        /// Maximum random reduction of a lifetime, so that pages do not expire together.
        jitter: f64 = 0.0, "jitter": share("a share such as 10%");
        /// How long a stale response is served while it is revalidated, unless the response specifies it.
        stale_while_revalidate: Duration = Duration::ZERO, "stale_while_revalidate": time_or_zero();
        /// How long a stale response is served when the servers fail, unless the response specifies it.
        stale_if_error: Duration = Duration::from_hours(1), "stale_if_error": time_or_zero();
        /// Age from which a client that reloads gets a fresh response. Default: never.
        reload_after: Option<Duration> = None, "reload_after": time_or_zero();
    }
}

/// Query parameters in the cache key.
pub(crate) static CACHE_QUERY: KeywordTable = KeywordTable {
    name: "cache_query",
    meaning: "Query parameters in the cache key.",
    words: &[word!(
        "only",
        OneOrMore(&Text),
        "Only the parameters with these names."
    )],
};

impl Default for Caching {
    fn default() -> Self {
        Self::defaults()
    }
}

/// Query parameters in the cache key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CacheQuery {
    /// All parameters.
    #[default]
    All,
    /// None.
    Ignore,
    /// All except known tracking parameters.
    Tracking,
    /// Only the parameters with these names.
    Only(Vec<String>),
}

impl CacheQuery {
    /// `all`, `ignore`, `tracking`, or `only:a,b`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "all" => Some(Self::All),
            "ignore" => Some(Self::Ignore),
            "tracking" => Some(Self::Tracking),
            text => {
                let names = text.strip_prefix("only:")?.split(',');
                let names: Vec<String> = names.map(|name| name.trim().to_owned()).collect();
                let are_names = names.iter().all(|name| is_parameter(name));
                are_names.then_some(Self::Only(names))
            }
        }
    }
}

fn is_parameter(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && !b"&=;#?".contains(&byte))
}

/// What happens to responses that set a cookie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheSetCookie {
    /// Not stored: the cookie of one person would be served to everyone.
    #[default]
    Refuse,
    /// Stored without the cookie.
    Strip,
    /// Stored with it, as RFC 9111 allows.
    Keep,
}

/// Reads `cache:` of the file: the size of the memory cache, and the disk cache, if any.
pub(super) fn store(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
) -> (Option<u64>, Option<CacheDisk>) {
    let store = if is_off(node) {
        None
    } else {
        CacheStore::from_map(reader, node)
    };
    store.map_or((None, None), |store| (Some(store.size), store.disk))
}

/// Reads `disk:`; `off` disables it.
fn disk(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<CacheDisk> {
    if is_off(node) {
        return None;
    }
    let fields = reader.fields(node, &DISK)?;
    let disk = CacheDisk::read(reader, &fields);
    required(reader, &fields, "path").map(|_| disk)
}

/// Reads `cache:` of a route; `off` disables it.
pub(super) fn caching(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Caching> {
    if is_off(node) {
        return None;
    }
    let fields = reader.fields(node, &CACHE)?;
    let caching = Caching::read(reader, &fields);
    if let (Some(least), Some(most)) = (caching.ttl, caching.max_ttl)
        && least > most
        && let Some(node) = fields.get("ttl")
    {
        let message = "`ttl` is longer than `max_ttl`";
        reader.report(node, message, "`ttl` no longer than `max_ttl`");
    }
    Some(caching)
}

fn is_off(node: &DocumentNode) -> bool {
    matches!(&node.kind, NodeKind::Scalar { text, .. } if matches!(text.as_str(), "off" | "false"))
}

fn query(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<CacheQuery> {
    let valid = "all, ignore, tracking, or { only: [page, id] }";
    if matches!(node.kind, NodeKind::Scalar { .. }) {
        let text = reader.word(node, valid)?;
        let query = CacheQuery::parse(&text);
        if query.is_none() {
            reader.report(node, format!("`{text}` is not a query rule"), valid);
        }
        return query;
    }
    let fields = reader.fields(node, &CACHE_QUERY)?;
    let only = required(reader, &fields, "only")?;
    let items = reader.one_or_more(only).iter();
    let names: Vec<String> = items
        .filter_map(|item| {
            let name = reader.word(item, valid)?;
            if !is_parameter(&name) {
                reader.report(item, format!("`{name}` is not a parameter name"), valid);
            }
            is_parameter(&name).then_some(name)
        })
        .collect();
    Some(CacheQuery::Only(names))
}

/// Whether it can be the name of a cookie.
pub fn is_cookie(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && !b"=;,\"".contains(&byte))
}

fn status(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<u16> {
    u16::try_from(reader.count(node, 200..=599)?).ok()
}

fn by_status(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Vec<(u16, Duration)>> {
    let mut lifetimes = Vec::new();
    for (key, node) in reader.entries(node, "lifetimes by status")? {
        let status = key.text.parse().ok();
        let status = status.filter(|status| (200..600).contains(status));
        let Some(status) = status else {
            let message = format!("`{}` is not a status code", key.text);
            reader.report_at(key.span.start, message, "200 to 599", None);
            continue;
        };
        if let Some(lifetime) = reader.duration(node) {
            lifetimes.push((status, lifetime));
        }
    }
    Some(lifetimes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&CacheQuery>) {
        assert_eq!(CacheQuery::parse(text).as_ref(), expected, "{text}");
    }

    #[test]
    fn rules_for_queries_are_read() {
        check("all", Some(&CacheQuery::All));
        check("ignore", Some(&CacheQuery::Ignore));
        check("tracking", Some(&CacheQuery::Tracking));
        let only = CacheQuery::Only(vec!["page".to_owned(), "id".to_owned()]);
        check("only:page,id", Some(&only));
        for wrong in ["", "none", "only:", "only:a,,b", "only:a=b", "only:a&b"] {
            check(wrong, None);
        }
    }
}
