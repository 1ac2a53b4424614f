//! Heads of requests as upstream servers receive them: hop-by-hop headers are removed, the edge's own (`X-Forwarded-For`,
//! `Forwarded`, `traceparent`) are added. Pure.
//!
//! Forwarded lines are copied unchanged, adjacent ones together; a head is walked once.

use plimsoll_wire::head::{BodyLength, Header};
use plimsoll_wire::request_head::RequestHead;

use plimsoll_cache::CacheRequest;
use plimsoll_cache::steering::{identifies_client, merge, steers};
use plimsoll_config::edge::HeaderEdit;

use crate::message::header_lines;
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
        (head.names_hop_headers && header_lines::is_named_by_connection(name, head.headers))
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
pub(crate) fn write_head(
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
            && !header_lines::is_edited(header.name, upstream_request.edits)
            && upstream_request
                .trace
                .is_none_or(|trace| !is_replaced(header.name, trace))
            && upstream_request
                .cached
                .is_none_or(|cached| !cached.replaces(header.name))
    };
    header_lines::copy(out, bytes, head.headers, keeps);
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
    header_lines::apply(out, upstream_request.edits);
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

fn same(name: &str, ours: &str) -> bool {
    merge(name, ours)
}

fn put(out: &mut Vec<u8>, pieces: &[&str]) {
    for piece in pieces {
        out.extend_from_slice(piece.as_bytes());
    }
}

#[cfg(test)]
mod tests;
