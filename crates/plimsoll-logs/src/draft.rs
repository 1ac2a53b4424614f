//! A request as a format found it: fields as written, before they are checked and combined into an entry.

use std::borrow::Cow;

use crate::client;
use crate::entry::{CacheOutcome, HaproxyDetails, LineError, LogEntry, UpstreamTimes};
use crate::request::{self, RequestTarget};
use crate::value::{self, Value};

/// Fields of a line; escapes of the log are undone, and what the log marks as absent is absent.
#[derive(Debug, Default)]
pub(crate) struct Draft<'a> {
    /// Milliseconds since 1970.
    pub(crate) began_ms: Option<i64>,
    pub(crate) ended_ms: Option<i64>,
    pub(crate) lasted_ms: Option<f64>,
    /// Whoever connected: the client, or a proxy.
    pub(crate) address: Option<Value<'a>>,
    /// A forwarded list, or the client that a proxy found.
    pub(crate) forwarded: Option<Value<'a>>,
    /// `GET / HTTP/1.1`
    pub(crate) request: Option<Value<'a>>,
    pub(crate) method: Option<Value<'a>>,
    /// Path with or without a query, or a whole URL.
    pub(crate) path: Option<Value<'a>>,
    pub(crate) query: Option<Value<'a>>,
    pub(crate) host: Option<Value<'a>>,
    pub(crate) status: Option<Value<'a>>,
    pub(crate) bytes: Option<u64>,
    pub(crate) referer: Option<Value<'a>>,
    pub(crate) agent: Option<Value<'a>>,
    pub(crate) cache: Option<CacheOutcome>,
    pub(crate) compression_ratio: Option<f32>,
    pub(crate) upstream: Option<UpstreamTimes<'a>>,
    pub(crate) haproxy: Option<HaproxyDetails<'a>>,
}

impl<'a> Draft<'a> {
    /// Checks the fields and combines them.
    ///
    /// # Errors
    /// When the moment, the request or the status is missing or invalid.
    pub(crate) fn finish(self) -> Result<LogEntry<'a>, LineError> {
        let target = self.target()?;
        let status = self.status.as_deref().ok_or(LineError::Missing("status"))?;
        let status = request::status(status)?;
        let (at_ms, is_end) = match (self.began_ms, self.ended_ms) {
            (Some(began), _) => (began, false),
            (None, Some(ended)) => (ended, true),
            (None, None) => return Err(LineError::Missing("timestamp")),
        };
        let lasted_ms = self.lasted_ms.or_else(|| {
            let (began, ended) = self.began_ms.zip(self.ended_ms)?;
            value::plausible((ended - began) as f64)
        });
        let named_host = self.host.map(client::without_default_port);
        Ok(LogEntry {
            at_ms,
            is_end,
            lasted_ms,
            address: client::address(self.forwarded, self.address),
            agent: self.agent.and_then(present_text),
            method: target.method,
            path: target.path,
            status,
            host: target.host.or(named_host).and_then(present_text),
            referer: self.referer.and_then(present_text),
            bytes: self.bytes,
            compression_ratio: self.compression_ratio,
            cache: self.cache,
            upstream: self.upstream,
            haproxy: self.haproxy,
        })
    }

    fn target(&self) -> Result<RequestTarget<'a>, LineError> {
        if let Some(line) = &self.request {
            return request::of_line(line);
        }
        let method = self.method.clone().ok_or(LineError::Missing("method"))?;
        let path = self.path.clone().ok_or(LineError::Missing("path"))?;
        let path = match &self.query {
            Some(query) if !path.contains(&b'?') && !value::is_absent(query) => {
                let query = query.strip_prefix(b"?").unwrap_or(query);
                let mut whole = path.into_owned();
                whole.push(b'?');
                whole.extend_from_slice(query);
                Cow::Owned(whole)
            }
            _ => path,
        };
        request::of_parts(method, path)
    }
}

fn present_text(value: Value<'_>) -> Option<Cow<'_, str>> {
    (!value::is_absent(&value)).then(|| value::text(value))
}

/// The value unless the log marks it as absent.
pub(crate) fn present(value: Value<'_>) -> Option<Value<'_>> {
    (!value::is_absent(&value)).then_some(value)
}

/// What a cache made of a request, by the word of nginx (`$upstream_cache_status`), `CloudFront`
/// (`x-edge-result-type`), Traefik's and Google's neighbours in logs.
pub(crate) fn cache_outcome(word: &[u8]) -> Option<CacheOutcome> {
    const WORDS: [(&str, CacheOutcome); 15] = [
        ("hit", CacheOutcome::Hit),
        ("originshieldhit", CacheOutcome::Hit),
        ("tcp_hit", CacheOutcome::Hit),
        ("tcp_mem_hit", CacheOutcome::Hit),
        ("stale", CacheOutcome::Stale),
        ("updating", CacheOutcome::Stale),
        ("revalidated", CacheOutcome::Revalidated),
        ("refreshhit", CacheOutcome::Revalidated),
        ("tcp_refresh_hit", CacheOutcome::Revalidated),
        ("miss", CacheOutcome::Miss),
        ("expired", CacheOutcome::Miss),
        ("tcp_miss", CacheOutcome::Miss),
        ("bypass", CacheOutcome::Bypass),
        ("dynamic", CacheOutcome::Bypass),
        ("pass", CacheOutcome::Bypass),
    ];
    let found = WORDS
        .iter()
        .find(|(known, _)| word.eq_ignore_ascii_case(known.as_bytes()));
    found.map(|(_, outcome)| *outcome)
}

/// Adds the times of an upstream list such as `0.002, 0.003 : 0.1`, in which `-` is a server that gave none.
pub(crate) fn upstream_times(text: &[u8], unit: value::Unit) -> Option<f64> {
    let mut sum = None;
    for item in text.split(|byte| matches!(byte, b',' | b' ' | b':' | b'"')) {
        if let Some(ms) = unit.read(item) {
            sum = Some(sum.unwrap_or(0.0) + ms);
        }
    }
    sum
}

/// The last server of an upstream list, and how many there are.
pub(crate) fn upstream_servers(text: &[u8]) -> Option<(&[u8], u32)> {
    let mut tries = 0;
    let mut last = None;
    for item in text.split(|byte| matches!(byte, b',' | b' ')) {
        if !value::is_absent(item) && item != b":" {
            tries += 1;
            last = Some(item);
        }
    }
    last.map(|server| (server, tries))
}
