//! Heads as they are forwarded: hop-by-hop headers are removed, the edge's own are added. Pure.
//!
//! Forwarded lines are copied unchanged, adjacent ones together; a head is walked once.

use plimsoll_wire::head::{BodyLength, Head, Header};
use plimsoll_wire::request_head::RequestHead;

use plimsoll_cache::steering::{identifies_client, merge, steers};
use plimsoll_cache::{CacheRequest, CacheStatus};
use plimsoll_config::edge::HeaderEdit;

use crate::message::compress::{Coded, holds_token, name};
use crate::telemetry::trace::RequestTrace;

/// What a server is told about the request's origin, and how the request is changed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UpstreamRequest<'a> {
    /// The address of the connection.
    pub(crate) peer: &'a str,
    /// Whether the connection is encrypted.
    pub(crate) secure: bool,
    /// Whether the peer's `X-Forwarded-*` headers are trusted.
    pub(crate) trusted: bool,
    /// The target to request, when it is not the client's.
    pub(crate) target: Option<&'a str>,
    /// The host for a client that sent none.
    pub(crate) default_host: &'a str,
    /// Headers set or removed by the route.
    pub(crate) edits: &'a [HeaderEdit],
    /// Steering headers that the route accepts from untrusted clients.
    pub(crate) steering: &'a [String],
    /// The edge's span of a trace, if there is one.
    pub(crate) trace: Option<&'a RequestTrace>,
    /// What the cache requests instead of the client, if it may store the response.
    pub(crate) cached: Option<Cached<'a>>,
}

/// Changes to a request whose response may be stored: the full body, in a coding that others share, and perhaps only if
/// it has changed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cached<'a> {
    /// `Accept-Encoding`, where it can be replaced.
    pub(crate) codings: Option<&'a str>,
    /// Conditions, as complete header lines.
    pub(crate) conditions: &'a [u8],
}

impl Cached<'_> {
    fn replaces(&self, name: &str) -> bool {
        CacheRequest::stays_behind(name)
            || self.codings.is_some() && name.eq_ignore_ascii_case("accept-encoding")
    }

    fn write(&self, out: &mut Vec<u8>) {
        if let Some(codings) = self.codings
            && !codings.is_empty()
        {
            put(out, &["Accept-Encoding: ", codings, "\r\n"]);
        }
        out.extend_from_slice(self.conditions);
    }
}

/// Which request headers are removed because of the sender, or named by `Connection`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dropping<'a> {
    /// Whether the peer's `X-Forwarded-*` headers are trusted.
    pub(crate) trusted: bool,
    /// Steering headers that are accepted anyway.
    pub(crate) steering: &'a [String],
}

impl Dropping<'_> {
    /// Whether a header is removed: `Connection` names it, or only a trusted proxy may send it.
    #[inline]
    pub(crate) fn drops(&self, header: &Header<'_>, head: &RequestHead<'_, '_>) -> bool {
        let name = header.name;
        (head.names_hop_headers && is_named_by_connection(name, head.headers))
            || (!self.trusted
                && (steers(name) || identifies_client(name))
                && !self.lets_through(name))
    }

    fn lets_through(&self, name: &str) -> bool {
        // The edge writes its own.
        let is_own = same(name, "x-forwarded-host") || same(name, "x-forwarded-proto");
        !is_own && self.steering.iter().any(|steering| merge(steering, name))
    }
}

/// Writes the head of a request as forwarded. `head` was parsed from `bytes`.
pub(crate) fn request(
    out: &mut Vec<u8>,
    bytes: &[u8],
    head: &RequestHead<'_, '_>,
    upstream_request: &UpstreamRequest<'_>,
) {
    let target = upstream_request.target.unwrap_or(head.target);
    put(out, &[head.method, " "]);
    if target.is_empty() {
        out.push(b'/');
    }
    put(out, &[target, " HTTP/1.1\r\n"]);
    if !head.headers.iter().any(|header| same(header.name, "host")) {
        let host = head.host.unwrap_or(upstream_request.default_host);
        put(out, &["Host: ", host, "\r\n"]);
    }
    let dropping = Dropping {
        trusted: upstream_request.trusted,
        steering: upstream_request.steering,
    };
    let keeps = |header: &Header<'_>| {
        (!ends_here(header.name) || (header.name.eq_ignore_ascii_case("upgrade") && head.upgrade))
            && !dropping.drops(header, head)
            && !is_edited(header.name, upstream_request.edits)
            && upstream_request
                .trace
                .is_none_or(|trace| !is_replaced(header.name, trace))
            && upstream_request
                .cached
                .is_none_or(|cached| !cached.replaces(header.name))
    };
    copy_lines(out, bytes, head.headers, keeps);
    if let Some(cached) = upstream_request.cached {
        cached.write(out);
    }
    if let Some(trace) = upstream_request.trace {
        put(out, &["traceparent: ", &trace.header(), "\r\n"]);
    }
    forwarded(out, head, upstream_request);
    if head.length == BodyLength::Chunked {
        put(out, &["Transfer-Encoding: chunked\r\n"]);
    }
    if head.upgrade {
        put(out, &["Connection: upgrade\r\n"]);
    }
    apply(out, upstream_request.edits);
    put(out, &["\r\n"]);
}

/// Whether the edge replaces the header. `tracestate` is meaningless without its `traceparent`.
fn is_replaced(name: &str, trace: &RequestTrace) -> bool {
    match name.len() {
        10 => !trace.goes_on && name.eq_ignore_ascii_case("tracestate"),
        11 => name.eq_ignore_ascii_case("traceparent"),
        _ => false,
    }
}

/// `X-Forwarded-*` and `Forwarded`, continuing those of a trusted peer.
fn forwarded(
    out: &mut Vec<u8>,
    head: &RequestHead<'_, '_>,
    upstream_request: &UpstreamRequest<'_>,
) {
    let trusted_values = |name: &str| {
        let headers = head.headers.iter().filter(|_| upstream_request.trusted);
        headers
            .filter(move |header| merge(header.name, name))
            .map(|header| header.value.trim_ascii())
            .collect::<Vec<_>>()
    };
    // A trusted peer knows the scheme of its client; both headers state it.
    let protocols = trusted_values("X-Forwarded-Proto");
    let proto = match protocols[..] {
        [b"https"] => "https",
        [b"http"] => "http",
        _ if upstream_request.secure => "https",
        _ => "http",
    };
    let list = |out: &mut Vec<u8>, name: &str| {
        put(out, &[name, ": "]);
        if upstream_request.trusted {
            for before in trusted_values(name) {
                out.extend_from_slice(before);
                put(out, &[", "]);
            }
        }
    };
    list(out, "X-Forwarded-For");
    put(out, &[upstream_request.peer, "\r\n"]);
    if protocols.is_empty() {
        put(out, &["X-Forwarded-Proto: ", proto, "\r\n"]);
    }
    let host = head.host.unwrap_or(upstream_request.default_host);
    if !upstream_request.trusted || trusted_values("X-Forwarded-Host").is_empty() {
        put(out, &["X-Forwarded-Host: ", host, "\r\n"]);
    }
    list(out, "Forwarded");
    // An IPv6 address contains colons, which are only allowed in a quoted string (RFC 7239, 6).
    if upstream_request.peer.contains(':') {
        put(out, &["for=\"[", upstream_request.peer, "]\""]);
    } else {
        put(out, &["for=", upstream_request.peer]);
    }
    put(out, &[";host=\"", host, "\";proto=", proto, "\r\n"]);
}

/// How a response is changed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answering<'a> {
    /// Framing of the body.
    pub(crate) framing: Framing,
    /// The `Connection` header.
    pub(crate) connection: ConnectionHeader,
    /// `Date`, for a response without one.
    pub(crate) date: &'a str,
    /// Headers set or removed by the route.
    pub(crate) edits: &'a [HeaderEdit],
    /// Cookies of the edge: stickiness, and admission past the waiting room.
    pub(crate) cookies: [Option<&'a str>; 2],
    /// Compression of the body.
    pub(crate) coded: Coded,
    /// A header that is not forwarded.
    pub(crate) dropped: Option<&'a str>,
    /// The `Cache-Status` of the edge.
    pub(crate) cache_status: Option<CacheStatus>,
}

/// Framing of a response body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// With the length in the head, or without a body, or up to the end of the connection.
    AsIs,
    /// No body, and no length is permitted (1xx, 204).
    Nothing,
    /// Chunked by the edge.
    Chunked,
}

/// The `Connection` header for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionHeader {
    /// Keep-alive, the default of HTTP/1.1.
    Omitted,
    /// Keep-alive, explicit for HTTP/1.0.
    KeepAlive,
    Close,
    /// Becomes a tunnel.
    Upgrade,
}

/// Writes the head of a response as sent to the client.
pub(crate) fn answer(
    out: &mut Vec<u8>,
    bytes: &[u8],
    head: &Head,
    headers: &[Header<'_>],
    answering: &Answering<'_>,
) {
    let line_end = memchr::memchr(b'\n', bytes).map_or(bytes.len(), |at| at + 1);
    put(out, &["HTTP/1.1"]);
    out.extend_from_slice(&bytes[8..line_end]);
    let names_hop_headers = headers
        .iter()
        .any(|header| header.name.eq_ignore_ascii_case("connection") && names_others(header.value));
    let mut lengths = 0;
    let mut has_date = false;
    let sized = matches!(head.length, BodyLength::Sized(_)) && answering.framing == Framing::AsIs;
    let keeps = |header: &Header<'_>| {
        let name = header.name;
        match name.len() {
            4 if name.eq_ignore_ascii_case("date") => has_date = true,
            14 if name.eq_ignore_ascii_case("content-length") => {
                lengths += 1;
                return sized && lengths == 1 && !header.value.contains(&b',');
            }
            2 | 7 | 10 | 16 | 17 if stays_at_the_edge(name) => {
                return answering.connection == ConnectionHeader::Upgrade
                    && name.eq_ignore_ascii_case("upgrade");
            }
            _ => {}
        }
        let ends = names_hop_headers && is_named_by_connection(name, headers)
            || answering.coded != Coded::Plain && is_recoded(name, answering.coded)
            || answering
                .dropped
                .is_some_and(|dropped| dropped.eq_ignore_ascii_case(name));
        !(ends || is_edited(name, answering.edits))
    };
    copy_lines(out, bytes, headers, keeps);
    if answering.coded != Coded::Plain {
        recoded(out, headers, answering.coded);
    }
    if let (true, BodyLength::Sized(length)) = (sized, head.length)
        && has_listed_length(headers)
    {
        put(out, &["Content-Length: ", &length.to_string(), "\r\n"]);
    }
    if !has_date && head.status >= 200 {
        put(out, &["Date: ", answering.date, "\r\n"]);
    }
    if answering.framing == Framing::Chunked {
        put(out, &["Transfer-Encoding: chunked\r\n"]);
    }
    match answering.connection {
        ConnectionHeader::Omitted => {}
        ConnectionHeader::KeepAlive => put(out, &["Connection: keep-alive\r\n"]),
        ConnectionHeader::Close => put(out, &["Connection: close\r\n"]),
        ConnectionHeader::Upgrade => put(out, &["Connection: upgrade\r\n"]),
    }
    if let Some(status) = &answering.cache_status {
        status.write(out);
    }
    for cookie in answering.cookies.into_iter().flatten() {
        put(out, &["Set-Cookie: ", cookie, "\r\n"]);
    }
    apply(out, answering.edits);
    put(out, &["\r\n"]);
}

/// Whether compression invalidates or replaces a header.
fn is_recoded(name: &str, coded: Coded) -> bool {
    match coded {
        Coded::Plain | Coded::Varies => false,
        Coded::Weakened => name.eq_ignore_ascii_case("etag"),
        Coded::As(_) => [
            "etag",
            "accept-ranges",
            "content-encoding",
            "content-md5",
            "digest",
            "content-digest",
            "repr-digest",
        ]
        .iter()
        .any(|listed| name.eq_ignore_ascii_case(listed)),
    }
}

/// Headers of a response that is compressed for some clients.
fn recoded(out: &mut Vec<u8>, headers: &[Header<'_>], coded: Coded) {
    if let Coded::As(coding) = coded {
        put(out, &["Content-Encoding: ", name(coding), "\r\n"]);
    }
    let named = |wanted: &'static str| {
        headers
            .iter()
            .filter(move |header| header.name.eq_ignore_ascii_case(wanted))
    };
    if coded != Coded::Varies {
        // Same content in other bytes: a strong `ETag` would be wrong.
        for header in named("etag") {
            let value = header.value.trim_ascii();
            let weak = if value.starts_with(b"W/") { "" } else { "W/" };
            put(out, &["ETag: ", weak]);
            out.extend_from_slice(value);
            put(out, &["\r\n"]);
        }
    }
    let is_declared = named("vary").any(|header| {
        holds_token(header.value, b"accept-encoding") || holds_token(header.value, b"*")
    });
    if !is_declared {
        put(out, &["Vary: Accept-Encoding\r\n"]);
    }
}

fn has_listed_length(headers: &[Header<'_>]) -> bool {
    headers.iter().any(|header| {
        header.name.len() == 14
            && header.value.contains(&b',')
            && header.name.eq_ignore_ascii_case("content-length")
    })
}

/// Copies the lines that `keeps` accepts; adjacent lines in one piece.
fn copy_lines(
    out: &mut Vec<u8>,
    bytes: &[u8],
    headers: &[Header<'_>],
    mut keeps: impl FnMut(&Header<'_>) -> bool,
) {
    let place = |header: &Header<'_>| header.name.as_ptr() as usize - bytes.as_ptr() as usize;
    // The head ends with an empty line.
    let end = bytes.len() - 2;
    let mut run: Option<usize> = None;
    for header in headers {
        if keeps(header) {
            run.get_or_insert_with(|| place(header));
        } else if let Some(start) = run.take() {
            out.extend_from_slice(&bytes[start..place(header)]);
        }
    }
    if let Some(start) = run {
        out.extend_from_slice(&bytes[start..end]);
    }
}

/// Whether a request header is never forwarded: it is hop-by-hop, or the edge writes its own.
///
/// `_` equals `-` in names: servers that pass headers on as environment variables cannot distinguish them.
fn ends_here(name: &str) -> bool {
    match name.len() {
        2 => same(name, "te"),
        // `Proxy` becomes `HTTP_PROXY` in CGI environments, which programs use as their own proxy (httpoxy).
        5 => same(name, "proxy"),
        7 => same(name, "upgrade") || same(name, "trailer"),
        9 => same(name, "forwarded"),
        // The last is reserved for the edge, whoever sends it.
        10 => same(name, "connection") || same(name, "keep-alive") || same(name, "x-plimsoll"),
        14 => !name.contains('-') && same(name, "content-length") || same(name, "http2-settings"),
        15 => same(name, "x-forwarded-for"),
        16 => same(name, "proxy-connection"),
        17 => same(name, "transfer-encoding"),
        // It is meant for this proxy, and it is not part of the cache key.
        19 => same(name, "proxy-authorization"),
        _ => false,
    }
}

/// Whether a response header is not forwarded.
fn stays_at_the_edge(name: &str) -> bool {
    match name.len() {
        2 => same(name, "te"),
        7 => same(name, "upgrade") || same(name, "trailer"),
        // The last is reserved for the edge.
        10 => same(name, "connection") || same(name, "keep-alive") || same(name, "x-plimsoll"),
        16 => same(name, "proxy-connection"),
        17 => same(name, "transfer-encoding"),
        _ => false,
    }
}

fn same(name: &str, ours: &str) -> bool {
    merge(name, ours)
}

/// Whether a `Connection` value names other headers.
fn names_others(value: &[u8]) -> bool {
    tokens(value).any(|token| {
        !token.is_empty()
            && !token.eq_ignore_ascii_case(b"close")
            && !token.eq_ignore_ascii_case(b"keep-alive")
            && !token.eq_ignore_ascii_case(b"upgrade")
    })
}

/// Whether `Connection` names this header. Headers for framing and routing cannot be named, nor those of a trusted
/// proxy: otherwise its client could remove them.
fn is_named_by_connection(name: &str, headers: &[Header<'_>]) -> bool {
    let kept = [
        "host",
        "content-length",
        "transfer-encoding",
        "upgrade",
        "forwarded",
    ];
    if kept.iter().any(|kept| same(name, kept)) || steers(name) || identifies_client(name) {
        return false;
    }
    headers
        .iter()
        .filter(|header| header.name.eq_ignore_ascii_case("connection"))
        .any(|header| tokens(header.value).any(|token| token.eq_ignore_ascii_case(name.as_bytes())))
}

fn tokens(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii)
}

fn is_edited(name: &str, edits: &[HeaderEdit]) -> bool {
    edits.iter().any(|edit| merge(&edit.name, name))
}

fn apply(out: &mut Vec<u8>, edits: &[HeaderEdit]) {
    for edit in edits {
        if let Some(value) = &edit.value {
            put(out, &[&edit.name, ": ", value, "\r\n"]);
        }
    }
}

fn put(out: &mut Vec<u8>, pieces: &[&str]) {
    for piece in pieces {
        out.extend_from_slice(piece.as_bytes());
    }
}

#[cfg(test)]
mod tests;
