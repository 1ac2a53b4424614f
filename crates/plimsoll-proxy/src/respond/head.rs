//! The one writer of the heads that clients receive.
//!
//! A head is always written as HTTP/1.1; on HTTP/2 the stream translates it into a frame (`plimsoll_net::stream`).

use plimsoll_cache::{CacheStatus, Moment, Shape, Stored};
use plimsoll_config::edge::HeaderEdit;
use plimsoll_wire::head::Header;

use crate::decimal;
use crate::message::header_lines;

/// The version that every head states, as a proxy states its own (RFC 9110, 2.5).
const VERSION: &[u8] = b"HTTP/1.1";

/// The interim response for a client that waits before it sends the body, complete.
pub(crate) const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

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

impl ConnectionHeader {
    /// For a connection that `stays` open after the response, or is closed.
    #[inline]
    pub(crate) fn new(stays: bool, is_1_1: bool) -> Self {
        match (stays, is_1_1) {
            (false, _) => Self::Close,
            (true, true) => Self::Omitted,
            (true, false) => Self::KeepAlive,
        }
    }

    fn line(self) -> &'static [u8] {
        match self {
            Self::Omitted => b"",
            Self::KeepAlive => b"Connection: keep-alive\r\n",
            Self::Close => b"Connection: close\r\n",
            Self::Upgrade => b"Connection: upgrade\r\n",
        }
    }
}

/// A head being written. It holds the output until its end, so that nothing else gets between its lines.
#[must_use = "a head must be ended"]
pub(crate) struct HeadWriter<'a> {
    out: &'a mut Vec<u8>,
}

/// The beginning of a head that many responses share: status line and some headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PreparedHead(Vec<u8>);

impl PreparedHead {
    pub(crate) fn new(status: u16, write: impl FnOnce(&mut HeadWriter<'_>)) -> Self {
        let mut bytes = Vec::new();
        write(&mut HeadWriter::new(&mut bytes, status));
        Self(bytes)
    }
}

impl<'a> HeadWriter<'a> {
    /// The head of a response of the edge itself.
    pub(crate) fn new(out: &'a mut Vec<u8>, status: u16) -> Self {
        out.extend_from_slice(VERSION);
        out.push(b' ');
        decimal::append(out, status.into());
        out.push(b' ');
        out.extend_from_slice(phrase(status).as_bytes());
        out.extend_from_slice(b"\r\n");
        Self { out }
    }

    /// A head that was begun before.
    pub(crate) fn prepared(out: &'a mut Vec<u8>, begun: &PreparedHead) -> Self {
        out.extend_from_slice(&begun.0);
        Self { out }
    }

    /// The head of a received response, with its status line; `bytes` is the head as received.
    #[inline]
    pub(crate) fn forwarded(out: &'a mut Vec<u8>, bytes: &[u8]) -> Self {
        let line_end = memchr::memchr(b'\n', bytes).map_or(bytes.len(), |at| at + 1);
        out.extend_from_slice(VERSION);
        out.extend_from_slice(&bytes[VERSION.len()..line_end]);
        Self { out }
    }

    /// The head of a response made from a stored one, with its headers and its age. With `body_len`, the length of the
    /// whole stored body, it states the length of the response too.
    #[inline]
    pub(crate) fn stored(
        out: &'a mut Vec<u8>,
        stored: &Stored,
        shape: Shape,
        body_len: Option<u64>,
        now: Moment,
    ) -> Self {
        stored.write_head(out, shape, body_len, now);
        Self { out }
    }

    #[inline]
    pub(crate) fn field(&mut self, name: &str, value: &str) -> &mut Self {
        self.pieces(name, &[value.as_bytes()])
    }

    /// A header whose value consists of several pieces, or need not be UTF-8.
    #[inline]
    pub(crate) fn pieces(&mut self, name: &str, value: &[&[u8]]) -> &mut Self {
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b": ");
        for piece in value {
            self.out.extend_from_slice(piece);
        }
        self.out.extend_from_slice(b"\r\n");
        self
    }

    pub(crate) fn number(&mut self, name: &str, value: u64) -> &mut Self {
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b": ");
        decimal::append(self.out, value);
        self.out.extend_from_slice(b"\r\n");
        self
    }

    /// Complete header lines.
    pub(crate) fn lines(&mut self, lines: &str) -> &mut Self {
        self.out.extend_from_slice(lines.as_bytes());
        self
    }

    /// The lines of a received head that `keeps` accepts, unchanged.
    #[inline]
    pub(crate) fn copied(
        &mut self,
        bytes: &[u8],
        headers: &[Header<'_>],
        keeps: impl FnMut(&Header<'_>) -> bool,
    ) -> &mut Self {
        header_lines::copy(self.out, bytes, headers, keeps);
        self
    }

    /// The response is of now.
    #[inline]
    pub(crate) fn date(&mut self, date: &str) -> &mut Self {
        self.field("Date", date)
    }

    /// The body has this length.
    pub(crate) fn length(&mut self, len: u64) -> &mut Self {
        self.number("Content-Length", len)
    }

    /// The body is chunked.
    #[inline]
    pub(crate) fn chunked(&mut self) -> &mut Self {
        self.out
            .extend_from_slice(b"Transfer-Encoding: chunked\r\n");
        self
    }

    #[inline]
    pub(crate) fn connection(&mut self, header: ConnectionHeader) -> &mut Self {
        self.out.extend_from_slice(header.line());
        self
    }

    #[inline]
    pub(crate) fn cache_status(&mut self, status: &CacheStatus) -> &mut Self {
        status.write(self.out);
        self
    }

    #[inline]
    pub(crate) fn cookie(&mut self, cookie: &str) -> &mut Self {
        self.field("Set-Cookie", cookie)
    }

    /// Headers that the route sets.
    #[inline]
    pub(crate) fn edits(&mut self, edits: &[HeaderEdit]) -> &mut Self {
        header_lines::apply(self.out, edits);
        self
    }

    /// Ends the head. What the output holds next is the body.
    #[inline]
    pub(crate) fn end(self) -> &'a mut Vec<u8> {
        self.out.extend_from_slice(b"\r\n");
        self.out
    }
}

/// The reason phrase of a status that the edge itself answers with.
pub(super) fn phrase(status: u16) -> &'static str {
    match status {
        101 => "Switching Protocols",
        200 => "OK",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        414 => "URI Too Long",
        417 => "Expectation Failed",
        421 => "Misdirected Request",
        426 => "Upgrade Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        _ => "Error",
    }
}
