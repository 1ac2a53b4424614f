//! Copies of answers: what a route keeps and for how long, and how a file writes it.

use std::path::PathBuf;
use std::time::Duration;

use super::CacheDisk;
use super::answers::size;
use super::keywords::{CACHE, CACHE_QUERY, DISK, STORE};
use crate::plan::reader::{DocumentReader, MapFields};
use crate::plan::tree::{DocumentNode, NodeKind};
use crate::units;

/// Bytes of copies where nothing is said.
pub const CACHE_LEN: u64 = 64 << 20;
/// Fewest and most bytes of copies.
pub const CACHE_LENS: (u64, u64) = (1 << 20, 1 << 40);
/// Bytes of copies on disk where nothing is said of them.
pub const DISK_LEN: u64 = 1 << 30;
/// Fewest and most bytes of copies on disk.
pub const DISK_LENS: (u64, u64) = (1 << 20, 1 << 46);

/// What of a query tells copies apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CacheQuery {
    /// All of it.
    #[default]
    All,
    /// Nothing.
    Ignore,
    /// All but what is known to tell only where a visitor came from.
    Tracking,
    /// The parameters of these names.
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

/// What is done with answers that set a cookie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheSetCookie {
    /// They are not kept: one person's cookie would be handed to everybody.
    #[default]
    Refuse,
    /// They are kept without the cookie.
    Strip,
    /// They are kept with it, as RFC 9111 allows.
    Keep,
}

/// How copies of a route's answers are kept, beyond what the answers say themselves.
#[derive(Clone, Debug, PartialEq)]
pub struct Caching {
    /// Least lifetime of a plain page.
    pub ttl: Option<Duration>,
    /// Greatest lifetime.
    pub max_ttl: Option<Duration>,
    /// What of the query counts.
    pub query: CacheQuery,
    /// Whether parameters in another order ask for the same.
    pub sorted: bool,
    /// Cookies that change no answer.
    pub ignore_cookies: Vec<String>,
    /// Cookies with which a request passes the cache by.
    pub bypass_cookies: Vec<String>,
    /// Answers that set cookies.
    pub set_cookie: CacheSetCookie,
    /// Statuses that are kept; empty for all that may be.
    pub statuses: Vec<u16>,
    /// Lifetimes of answers that say none, by status.
    pub by_status: Vec<(u16, Duration)>,
    /// By which share a lifetime may be shortened by chance.
    pub jitter: f64,
    /// How long a stale copy is served while it is renewed.
    pub stale_while_revalidate: Duration,
    /// How long a stale copy is served when the origin fails.
    pub stale_if_error: Duration,
    /// From which age on a client's wish for something newer is granted; `None` never.
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

/// Reads `cache:` of the whole file: how many bytes of copies are kept in memory, and what on disk, if any.
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

/// Reads `disk:`; `off` is none.
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

/// Reads `cache:` of a route; `off` is none.
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
