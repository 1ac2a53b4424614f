//! What stands behind the agent of a combined line, by the forms that are known.

use std::borrow::Cow;

use memchr::{memchr, memchr2};

use crate::client;
use crate::draft::{self, Draft};
use crate::entry::UpstreamTimes;
use crate::value::{self, Unit};

/// A known form of the fields behind the agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tail {
    /// Nothing, or fields that are not known.
    #[default]
    Ignored,
    /// `"$http_x_forwarded_for"`, as in the configuration that comes with nginx, or nothing, and then this many times of
    /// nginx: `$request_time`, `$upstream_response_time`.
    Nginx { is_forwarded: bool, times: u8 },
    /// ingress-nginx: `$request_length $request_time [$proxy_upstream_name] [$proxy_alternative_upstream_name]
    /// $upstream_addr $upstream_response_length $upstream_response_time $upstream_status $req_id`.
    Ingress,
    /// Traefik: `REQUESTS "ROUTER" "SERVER" DURATIONms`.
    Traefik,
    /// Fields with names, such as `rt=0.034 urt="0.031"`.
    Named,
    /// The edge of Plimsoll: `reason=… total_ms=…`.
    Plimsoll,
}

impl Tail {
    /// Adds what the fields tell.
    pub(crate) fn read<'a>(self, rest: &'a [u8], draft: &mut Draft<'a>) {
        match self {
            Self::Ignored => {}
            Self::Nginx {
                is_forwarded,
                times,
            } => nginx(rest, is_forwarded, times, draft),
            Self::Ingress => ingress(rest, draft),
            Self::Traefik => traefik(rest, draft),
            Self::Named | Self::Plimsoll => named(rest, draft),
        }
    }

    /// The form of these fields, if it is known.
    pub(crate) fn of(rest: &[u8]) -> Option<Self> {
        if rest.is_empty() {
            return Some(Self::Ignored);
        }
        if rest.starts_with(b"reason=") && memchr::memmem::find(rest, b" total_ms=").is_some() {
            return Some(Self::Plimsoll);
        }
        let mut first = Draft::default();
        for form in [Self::Ingress, Self::Traefik, Self::Named] {
            form.read(rest, &mut first);
            if first.lasted_ms.is_some() {
                return Some(form);
            }
        }
        of_nginx(rest)
    }

    /// The form of lines of both forms, if that is known: an empty field of a list, or a line without fields, is of
    /// any form.
    pub(crate) fn joined(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Ignored, form) | (form, Self::Ignored) => Some(form),
            _ => (self == other).then_some(self),
        }
    }

    /// What it is, for people.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::Ignored => "",
            Self::Nginx {
                is_forwarded: true,
                times: 0,
            } => "then \"$http_x_forwarded_for\"",
            Self::Nginx {
                is_forwarded: true, ..
            } => "then \"$http_x_forwarded_for\" and $request_time",
            Self::Nginx { times: 2, .. } => "then $request_time and $upstream_response_time",
            Self::Nginx { .. } => "then $request_time: seconds with three decimals",
            Self::Ingress => "then the fields of ingress-nginx",
            Self::Traefik => "then the fields of Traefik, the last in ms",
            Self::Named => "then fields with their names",
            Self::Plimsoll => "then the fields of Plimsoll's edge",
        }
    }
}

fn of_nginx(rest: &[u8]) -> Option<Tail> {
    let mut rest = rest;
    let mut is_forwarded = false;
    if let Some((list, after)) = quoted(rest) {
        let is_list = value::is_absent(list)
            || list
                .split(|byte| matches!(byte, b',' | b' '))
                .filter(|item| !item.is_empty())
                .all(|item| client::is_address(client::bare(item)) || item == b"unknown");
        if !is_list {
            return None;
        }
        is_forwarded = true;
        rest = after.trim_ascii();
    }
    let times = if rest.is_empty() {
        0
    } else {
        let (request_time, rest) = word(rest);
        let whole = nginx_seconds(request_time)?;
        let (upstream_times, rest) = list(rest);
        if !rest.trim_ascii().is_empty() || !are_parts(upstream_times, whole) {
            return None;
        }
        1 + u8::from(!upstream_times.is_empty())
    };
    Some(Tail::Nginx {
        is_forwarded,
        times,
    })
}

/// Whether these are the times of one or several servers of a request that took this many seconds in all.
fn are_parts(times: &[u8], whole: f64) -> bool {
    let mut items = times
        .split(|byte| matches!(byte, b',' | b' ' | b':'))
        .filter(|item| !item.is_empty());
    let sum = items.try_fold(0.0_f64, |sum, item| match nginx_seconds(item) {
        // Parts cannot be more than the whole; nginx rounds each by itself.
        Some(seconds) => Some(sum + (seconds - 0.002).max(0.0)),
        None => (item == b"-").then_some(sum),
    });
    sum.is_some_and(|sum| sum <= whole)
}

/// Seconds as nginx writes durations: always three decimals. `$msec` looks alike, and is no plausible duration.
fn nginx_seconds(text: &[u8]) -> Option<f64> {
    let point = memchr(b'.', text)?;
    let is_form = point > 0
        && text.len() == point + 4
        && value::whole(&text[..point]).is_some()
        && value::whole(&text[point + 1..]).is_some();
    is_form
        .then(|| Unit::Seconds.read(text))
        .flatten()
        .map(|ms| ms / 1e3)
}

fn nginx<'a>(rest: &'a [u8], is_forwarded: bool, times: u8, draft: &mut Draft<'a>) {
    let mut rest = rest;
    if is_forwarded && let Some((list, after)) = quoted(rest) {
        draft.forwarded = draft::present(Cow::Borrowed(list));
        rest = after;
    }
    if times == 0 {
        return;
    }
    let (request_time, rest) = word(rest);
    draft.lasted_ms = nginx_seconds(request_time).map(|seconds| seconds * 1e3);
    if times > 1 {
        let response_ms = draft::upstream_times(list(rest).0, Unit::Seconds);
        if response_ms.is_some() {
            draft.upstream = Some(UpstreamTimes {
                tries: 1,
                response_ms,
                ..UpstreamTimes::default()
            });
        }
    }
}

fn ingress<'a>(rest: &'a [u8], draft: &mut Draft<'a>) {
    let (length, rest) = word(rest);
    let (request_time, rest) = word(rest);
    let after = rest.trim_ascii_start();
    // The name of the upstream in brackets is what no other format has here.
    if value::whole(length).is_none() || !after.starts_with(b"[") {
        return;
    }
    draft.lasted_ms = nginx_seconds(request_time).map(|seconds| seconds * 1e3);
    let Some(after_names) = after_brackets(after) else {
        return;
    };
    let after_names = after_brackets(after_names).unwrap_or(after_names);
    // Of several servers each field is a list: `10.0.0.1:80, 10.0.0.2:80 0, 512 0.000, 0.031 502, 200`.
    let (servers, rest) = list(after_names);
    let (_lengths, rest) = list(rest);
    let (times, _) = list(rest);
    if let Some((server, tries)) = draft::upstream_servers(servers) {
        draft.upstream = Some(UpstreamTimes {
            address: Some(value::text(Cow::Borrowed(server))),
            tries,
            response_ms: draft::upstream_times(times, Unit::Seconds),
            ..UpstreamTimes::default()
        });
    }
}

fn after_brackets(text: &[u8]) -> Option<&[u8]> {
    let inner = text.trim_ascii_start().strip_prefix(b"[")?;
    Some(&inner[memchr(b']', inner)? + 1..])
}

/// A list whose items are separated by a comma and a blank, and the rest.
fn list(text: &[u8]) -> (&[u8], &[u8]) {
    let text = text.trim_ascii_start();
    let mut end = 0;
    while let Some(blank) = memchr(b' ', &text[end..]) {
        let at = end + blank;
        let joins = text[..at].ends_with(b",")
            || text[..at].ends_with(b" :")
            || text[at..].starts_with(b" : ");
        if !joins {
            return text.split_at(at);
        }
        end = at + 1;
    }
    (text, b"")
}

fn traefik<'a>(rest: &'a [u8], draft: &mut Draft<'a>) {
    let (count, rest) = word(rest);
    let Some((_router, rest)) = quoted(rest.trim_ascii_start()) else {
        return;
    };
    let Some((server, rest)) = quoted(rest.trim_ascii_start()) else {
        return;
    };
    if value::whole(count).is_none() && count != b"-" {
        return;
    }
    let duration = rest.trim_ascii();
    if let Some(ms) = duration.strip_suffix(b"ms") {
        draft.lasted_ms = Unit::Milliseconds.read(ms);
    }
    if !value::is_absent(server) {
        draft.upstream = Some(UpstreamTimes {
            address: Some(value::text(Cow::Borrowed(server))),
            tries: 1,
            ..UpstreamTimes::default()
        });
    }
}

/// Names of fields that nginx' users and documents give to its variables, and those of the edge.
fn named<'a>(rest: &'a [u8], draft: &mut Draft<'a>) {
    let mut upstream = UpstreamTimes::default();
    let mut rest = rest;
    while let Some(equals) = memchr(b'=', rest) {
        let name_start = memchr::memrchr2(b' ', b'\t', &rest[..equals]).map_or(0, |at| at + 1);
        let name = &rest[name_start..equals];
        let after = &rest[equals + 1..];
        let (text, after) = match quoted(after) {
            Some((text, after)) => (text, after),
            None => list(after),
        };
        match name {
            b"rt" | b"request_time" => draft.lasted_ms = Unit::Seconds.read(text),
            b"total_ms" | b"request_time_ms" | b"duration_ms" => {
                draft.lasted_ms = Unit::Milliseconds.read(text);
            }
            b"uct" | b"upstream_connect_time" => {
                upstream.connect_ms = draft::upstream_times(text, Unit::Seconds);
            }
            b"uht" | b"upstream_header_time" => {
                upstream.header_ms = draft::upstream_times(text, Unit::Seconds);
            }
            b"urt" | b"upstream_response_time" => {
                upstream.response_ms = draft::upstream_times(text, Unit::Seconds);
            }
            b"upstream_addr" | b"upstream" => {
                if let Some((server, tries)) = draft::upstream_servers(text) {
                    upstream.address = Some(value::text(Cow::Borrowed(server)));
                    upstream.tries = tries;
                }
            }
            b"cs" | b"cache" | b"upstream_cache_status" => {
                draft.cache = draft::cache_outcome(text);
            }
            b"gz" | b"gzip_ratio" => draft.compression_ratio = ratio(text),
            b"host" | b"sn" | b"http_host" => {
                draft.host = draft::present(Cow::Borrowed(text)).or(draft.host.take());
            }
            b"xff" | b"fwd" | b"http_x_forwarded_for" => {
                draft.forwarded = draft::present(Cow::Borrowed(text));
            }
            _ => {}
        }
        rest = after;
    }
    if upstream != UpstreamTimes::default() {
        upstream.tries = upstream.tries.max(1);
        draft.upstream = Some(upstream);
    }
}

pub(crate) fn ratio(text: &[u8]) -> Option<f32> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a ratio of two or three digits"
    )]
    let ratio = value::number(text)? as f32;
    (ratio > 0.0 && ratio.is_finite()).then_some(ratio)
}

/// The next word, and the rest.
pub(crate) fn word(text: &[u8]) -> (&[u8], &[u8]) {
    let text = text.trim_ascii_start();
    let end = memchr2(b' ', b'\t', text).unwrap_or(text.len());
    text.split_at(end)
}

/// A quoted text and the rest after it; a backslash escapes a quote.
pub(crate) fn quoted(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let inner = text.strip_prefix(b"\"")?;
    let mut from = 0;
    loop {
        let at = from + memchr2(b'"', b'\\', inner.get(from..)?)?;
        if inner[at] == b'"' {
            return Some((&inner[..at], &inner[at + 1..]));
        }
        from = at + 2;
    }
}
