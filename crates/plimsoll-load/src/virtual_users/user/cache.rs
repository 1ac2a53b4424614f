//! A user's private cache (RFC 9111): it stores no bodies, only whether a response is still fresh and the validators
//! for a conditional request.
//!
//! Deviations: `Vary` is honoured only as `*`, because a user's headers hardly change; the number of entries is
//! limited.

use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

use plimsoll_wire::head;

use crate::clock::SECOND_NS;

/// Most cached responses per user.
const ENTRIES_MAX: usize = 256;

/// Longest heuristic freshness, s.
const HEURISTIC_MAX_S: u64 = 24 * 3600;

/// The result of a lookup.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum UserCacheLookup {
    Nothing,
    /// Fresh: no request is sent.
    Fresh,
    /// Stale: these header lines make the request conditional.
    Stale(Vec<u8>),
}

#[derive(Clone, Debug)]
struct UserCacheEntry {
    etag: Option<Box<[u8]>>,
    modified: Option<Box<[u8]>>,
    /// Run time, ns.
    fresh_until: u64,
}

/// Cached responses by origin, path and query.
#[derive(Clone, Debug, Default)]
pub(crate) struct UserCache {
    entries: HashMap<(u16, Box<[u8]>), UserCacheEntry>,
}

impl UserCache {
    pub(crate) fn find(&self, origin: u16, target: &[u8], now: u64) -> UserCacheLookup {
        let Some(entry) = self.entries.get(&(origin, target.into())) else {
            return UserCacheLookup::Nothing;
        };
        if entry.fresh_until > now {
            return UserCacheLookup::Fresh;
        }
        let mut lines = Vec::new();
        for (name, value) in [
            ("If-None-Match: ", &entry.etag),
            ("If-Modified-Since: ", &entry.modified),
        ] {
            if let Some(value) = value {
                lines.extend_from_slice(name.as_bytes());
                lines.extend_from_slice(value);
                lines.extend_from_slice(b"\r\n");
            }
        }
        UserCacheLookup::Stale(lines)
    }

    /// Stores a response.
    pub(crate) fn store(&mut self, origin: u16, target: &[u8], status: u16, head: &[u8], now: u64) {
        let headers = CachingHeaders::new(head);
        let key = (origin, target.into());
        if status == 304 {
            if let Some(entry) = self.entries.get_mut(&key) {
                entry.fresh_until = headers.fresh_until(now);
            }
            return;
        }
        let fresh_until = headers.fresh_until(now);
        let is_of_use = fresh_until > now || headers.etag.is_some() || headers.modified.is_some();
        if status != 200 || headers.no_store || !is_of_use {
            self.entries.remove(&key);
            return;
        }
        if self.entries.len() >= ENTRIES_MAX && !self.entries.contains_key(&key) {
            self.entries.retain(|_, entry| entry.fresh_until > now);
            if self.entries.len() >= ENTRIES_MAX {
                return;
            }
        }
        let entry = UserCacheEntry {
            etag: headers.etag.map(Into::into),
            modified: headers.modified.map(Into::into),
            fresh_until,
        };
        self.entries.insert(key, entry);
    }
}

/// The caching headers of a head.
#[derive(Default)]
struct CachingHeaders<'a> {
    no_store: bool,
    no_cache: bool,
    max_age: Option<u64>,
    age: u64,
    date: Option<&'a [u8]>,
    expires: Option<&'a [u8]>,
    etag: Option<&'a [u8]>,
    modified: Option<&'a [u8]>,
}

impl<'a> CachingHeaders<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        let mut headers = Self::default();
        for (name, value) in head::headers(bytes) {
            if name.eq_ignore_ascii_case(b"cache-control") {
                value
                    .split(|&byte| byte == b',')
                    .for_each(|directive| headers.directive(directive));
            } else if name.eq_ignore_ascii_case(b"vary") {
                headers.no_store |= value == b"*";
            } else if name.eq_ignore_ascii_case(b"age") {
                headers.age = number(value).unwrap_or(0);
            } else if name.eq_ignore_ascii_case(b"date") {
                headers.date = Some(value);
            } else if name.eq_ignore_ascii_case(b"expires") {
                headers.expires = Some(value);
            } else if name.eq_ignore_ascii_case(b"etag") {
                headers.etag = Some(value);
            } else if name.eq_ignore_ascii_case(b"last-modified") {
                headers.modified = Some(value);
            }
        }
        headers
    }

    fn directive(&mut self, directive: &[u8]) {
        let directive = directive.trim_ascii().to_ascii_lowercase();
        match &directive[..] {
            b"no-store" => self.no_store = true,
            b"no-cache" => self.no_cache = true,
            _ => {
                if let Some(age) = directive.strip_prefix(b"max-age=") {
                    // An unreadable value is stale (RFC 9111, 4.2.1).
                    self.max_age = Some(number(age).unwrap_or(0));
                }
            }
        }
    }

    fn fresh_until(&self, now: u64) -> u64 {
        if self.no_cache {
            return now;
        }
        let lifetime = match (self.max_age, self.expires) {
            (Some(age), _) => age,
            // An unreadable date, such as 0, is in the past.
            (None, Some(expires)) => match (seconds(expires), self.date.and_then(seconds)) {
                (Some(expires), Some(date)) => expires.saturating_sub(date),
                _ => 0,
            },
            (None, None) => self.heuristic(),
        };
        now.saturating_add(lifetime.saturating_sub(self.age).saturating_mul(SECOND_NS))
    }

    /// A tenth of the time since the last change, as in browsers (4.2.2).
    fn heuristic(&self) -> u64 {
        let date = self.date.and_then(seconds);
        let modified = self.modified.and_then(seconds);
        match (date, modified) {
            (Some(date), Some(modified)) => {
                (date.saturating_sub(modified) / 10).min(HEURISTIC_MAX_S)
            }
            _ => 0,
        }
    }
}

fn number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text)
        .ok()?
        .trim_matches('"')
        .parse()
        .ok()
}

/// Unix time of an HTTP date.
fn seconds(date: &[u8]) -> Option<u64> {
    let moment: SystemTime = httpdate::parse_http_date(std::str::from_utf8(date).ok()?).ok()?;
    Some(moment.duration_since(UNIX_EPOCH).ok()?.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 5 * SECOND_NS;

    /// Freshness lifetime of a response with these headers, s; `None` when it is not stored.
    fn fresh(headers: &str) -> Option<u64> {
        let head = format!("HTTP/1.1 200 OK\r\n{headers}\r\n");
        let mut cache = UserCache::default();
        cache.store(0, b"/a", 200, head.as_bytes(), NOW);
        let (_, entry) = cache.entries.iter().next()?;
        Some((entry.fresh_until - NOW) / SECOND_NS)
    }

    #[test]
    fn answers_are_fresh_for_as_long_as_they_say() {
        assert_eq!(fresh("Cache-Control: public, max-age=60\r\n"), Some(60));
        assert_eq!(fresh("Cache-Control: max-age=60\r\nAge: 50\r\n"), Some(10));
        let dates =
            "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nExpires: Sun, 06 Nov 1994 08:50:37 GMT\r\n";
        assert_eq!(fresh(dates), Some(60));
        assert_eq!(
            fresh(&format!("{dates}Cache-Control: max-age=5\r\n")),
            Some(5)
        );
        let modified = "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nLast-Modified: Sun, 06 Nov 1994 08:47:57 GMT\r\n";
        assert_eq!(fresh(modified), Some(10));
        assert_eq!(fresh("ETag: \"x\"\r\nCache-Control: no-cache\r\n"), Some(0));
        assert_eq!(fresh("ETag: \"x\"\r\nExpires: 0\r\n"), Some(0));
    }

    #[test]
    fn what_is_of_no_use_is_not_kept() {
        assert_eq!(fresh(""), None);
        assert_eq!(fresh("ETag: \"x\"\r\nCache-Control: No-Store\r\n"), None);
        assert_eq!(fresh("ETag: \"x\"\r\nVary: *\r\n"), None);
    }

    #[test]
    fn what_is_stale_is_asked_for_by_what_it_was() {
        let mut cache = UserCache::default();
        let head = b"HTTP/1.1 200 OK\r\nETag: \"x\"\r\nLast-Modified: Sun, 06 Nov 1994 08:47:57 GMT\r\nCache-Control: max-age=2\r\n\r\n";
        cache.store(0, b"/a", 200, head, NOW);
        assert_eq!(
            cache.find(0, b"/a", NOW + SECOND_NS),
            UserCacheLookup::Fresh
        );
        assert_eq!(cache.find(1, b"/a", NOW), UserCacheLookup::Nothing);
        let lines = b"If-None-Match: \"x\"\r\nIf-Modified-Since: Sun, 06 Nov 1994 08:47:57 GMT\r\n";
        let later = NOW + 3 * SECOND_NS;
        assert_eq!(
            cache.find(0, b"/a", later),
            UserCacheLookup::Stale(lines.to_vec())
        );
        cache.store(
            0,
            b"/a",
            304,
            b"HTTP/1.1 304 X\r\nCache-Control: max-age=9\r\n\r\n",
            later,
        );
        assert_eq!(
            cache.find(0, b"/a", later + SECOND_NS),
            UserCacheLookup::Fresh
        );
        cache.store(0, b"/a", 404, b"HTTP/1.1 404 X\r\n\r\n", later);
        assert_eq!(cache.find(0, b"/a", later), UserCacheLookup::Nothing);
    }

    #[test]
    fn a_cache_has_a_limit() {
        let mut cache = UserCache::default();
        for number in 0..1000 {
            let target = format!("/{number}");
            let head = b"HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n\r\n";
            cache.store(0, target.as_bytes(), 200, head, NOW);
        }
        assert_eq!(cache.entries.len(), ENTRIES_MAX);
    }
}
