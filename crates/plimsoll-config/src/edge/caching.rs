//! Caching: what a route stores and for how long, and the reader of these settings.

use std::path::PathBuf;
use std::time::Duration;

use super::CacheDisk;
use super::answers::size;
use super::keywords::{CACHE, CACHE_QUERY, DISK, STORE};
use crate::document::{DocumentNode, DocumentReader, MapFields, NodeKind};
use crate::units;

/// Default size of the memory cache.
pub const CACHE_LEN: u64 = 64 << 20;
/// Minimum and maximum size of the memory cache.
pub const CACHE_LENS: (u64, u64) = (1 << 20, 1 << 40);
/// Default size of the disk cache.
pub const DISK_LEN: u64 = 1 << 30;
/// Minimum and maximum size of the disk cache.
pub const DISK_LENS: (u64, u64) = (1 << 20, 1 << 46);

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

/// Caching of a route's responses, beyond what their headers specify.
#[derive(Clone, Debug, PartialEq)]
pub struct Caching {
    /// Minimum lifetime of a plain page.
    pub ttl: Option<Duration>,
    /// Maximum lifetime.
    pub max_ttl: Option<Duration>,
    /// Query parameters in the cache key.
    pub query: CacheQuery,
    /// Whether the order of parameters is ignored.
    pub sorted: bool,
    /// Cookies that do not affect the response.
    pub ignore_cookies: Vec<String>,
    /// Cookies with which a request bypasses the cache.
    pub bypass_cookies: Vec<String>,
    /// Responses that set cookies.
    pub set_cookie: CacheSetCookie,
    /// Status codes that are stored; empty for all that are cacheable.
    pub statuses: Vec<u16>,
    /// Lifetimes by status, for responses without one.
    pub by_status: Vec<(u16, Duration)>,
    /// Maximum random reduction of a lifetime, as a share.
    pub jitter: f64,
    /// How long a stale response is served while it is revalidated.
    pub stale_while_revalidate: Duration,
    /// How long a stale response is served when the origin fails.
    pub stale_if_error: Duration,
    /// Age from which a reload by a client is honored; `None` never.
    pub reload_after: Option<Duration>,
}

impl Default for Caching {
    fn default() -> Self {
        Self {
            ttl: None,
            max_ttl: None,
            query: CacheQuery::default(),
            sorted: false,
            ignore_cookies: Vec::new(),
            bypass_cookies: Vec::new(),
            set_cookie: CacheSetCookie::default(),
            statuses: Vec::new(),
            by_status: Vec::new(),
            jitter: 0.0,
            stale_while_revalidate: Duration::ZERO,
            stale_if_error: Duration::from_hours(1),
            reload_after: None,
        }
    }
}

/// Reads `cache:` of the file: the size of the memory cache, and the disk cache, if any.
pub(super) fn store(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
) -> (Option<u64>, Option<CacheDisk>) {
    if is_off(node) {
        return (None, None);
    }
    let Some(fields) = reader.fields(node, &STORE) else {
        return (None, None);
    };
    let (least, most) = CACHE_LENS;
    let memory = size(reader, &fields, "size", least, most).unwrap_or(CACHE_LEN);
    let cold = fields.get("disk").and_then(|node| cold(reader, node));
    (Some(memory), cold)
}

/// Reads `disk:`; `off` disables it.
fn cold(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<CacheDisk> {
    if is_off(node) {
        return None;
    }
    let fields = reader.fields(node, &DISK)?;
    let (least, most) = DISK_LENS;
    let size = size(reader, &fields, "size", least, most).unwrap_or(DISK_LEN);
    let valid = "a folder used by this edge only, such as /var/cache/plimsoll";
    let node = super::file::required(reader, &fields, "path")?;
    let path = reader.word(node, valid)?;
    if path.is_empty() {
        reader.report(node, "the name of the folder is empty", valid);
        return None;
    }
    Some(CacheDisk {
        path: PathBuf::from(path),
        size,
    })
}

/// Reads `cache:` of a route; `off` disables it.
pub(super) fn caching(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Caching> {
    if is_off(node) {
        return None;
    }
    let fields = reader.fields(node, &CACHE)?;
    let defaults = Caching::default();
    let caching = Caching {
        ttl: lifetime(reader, &fields, "ttl"),
        max_ttl: lifetime(reader, &fields, "max_ttl"),
        query: fields
            .get("query")
            .and_then(|node| query(reader, node))
            .unwrap_or_default(),
        sorted: switch(reader, &fields, "sorted"),
        ignore_cookies: names(reader, &fields, "ignore_cookies"),
        bypass_cookies: names(reader, &fields, "bypass_cookies"),
        set_cookie: fields
            .get("set_cookie")
            .and_then(|node| {
                let words = [
                    ("refuse", CacheSetCookie::Refuse),
                    ("strip", CacheSetCookie::Strip),
                    ("keep", CacheSetCookie::Keep),
                ];
                reader.one_of(node, &words)
            })
            .unwrap_or_default(),
        statuses: statuses(reader, &fields),
        by_status: by_status(reader, &fields),
        jitter: fields
            .get("jitter")
            .and_then(|node| reader.value(node, "a share such as 10%", units::share))
            .unwrap_or(defaults.jitter),
        stale_while_revalidate: lifetime(reader, &fields, "stale_while_revalidate")
            .unwrap_or(defaults.stale_while_revalidate),
        stale_if_error: lifetime(reader, &fields, "stale_if_error")
            .unwrap_or(defaults.stale_if_error),
        reload_after: lifetime(reader, &fields, "reload_after"),
    };
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

fn lifetime(reader: &DocumentReader<'_>, fields: &MapFields<'_>, word: &str) -> Option<Duration> {
    fields.get(word).and_then(|node| reader.duration(node))
}

fn switch(reader: &DocumentReader<'_>, fields: &MapFields<'_>, word: &str) -> bool {
    fields.get(word).and_then(|node| reader.switch(node)) == Some(true)
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
    let only = super::file::required(reader, &fields, "only")?;
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

fn names(reader: &DocumentReader<'_>, fields: &MapFields<'_>, word: &str) -> Vec<String> {
    let valid = "a cookie name";
    let items = fields
        .get(word)
        .map_or(&[][..], |node| reader.one_or_more(node));
    items
        .iter()
        .filter_map(|item| {
            let name = reader.word(item, valid)?;
            let is_name = is_cookie(&name);
            if !is_name {
                reader.report(item, format!("`{name}` is not a cookie name"), valid);
            }
            is_name.then_some(name)
        })
        .collect()
}

/// Whether it can be the name of a cookie.
pub fn is_cookie(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && !b"=;,\"".contains(&byte))
}

fn statuses(reader: &DocumentReader<'_>, fields: &MapFields<'_>) -> Vec<u16> {
    let items = fields
        .get("statuses")
        .map_or(&[][..], |node| reader.one_or_more(node));
    items
        .iter()
        .filter_map(|item| reader.count(item, 200..=599))
        .filter_map(|status| u16::try_from(status).ok())
        .collect()
}

fn by_status(reader: &DocumentReader<'_>, fields: &MapFields<'_>) -> Vec<(u16, Duration)> {
    let entries = fields
        .get("by_status")
        .and_then(|node| reader.entries(node, "lifetimes by status"))
        .unwrap_or_default();
    let mut lifetimes = Vec::new();
    for (key, node) in entries {
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
    lifetimes
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
