//! The head of a request as a server reads it: found, validated, and parsed as far as framing and routing need it.
//!
//! A proxy must not read a request differently from the server behind it. So what the
//! grammar leaves open is refused here: repeated lengths, two framings, folded lines, bare line feeds, two hosts.

use std::mem::MaybeUninit;

use httparse::{Header, ParserConfig, Request};
use thiserror::Error;

use crate::head::{BodyLength, HEADERS_MAX, decimal};
use crate::limits::{HEADERS_USUAL, header_room};

/// Longest request line accepted, bytes.
pub const LINE_LEN_MAX: usize = 16 * 1024;

/// Most empty lines skipped before a request line.
pub const EMPTY_LINES_MAX: usize = 4;

/// Room for the headers of one head; it grows for a head with more than usual.
pub struct HeaderBuffer<'b> {
    usual: [MaybeUninit<Header<'b>>; HEADERS_USUAL],
    more: Vec<MaybeUninit<Header<'b>>>,
}

/// An empty slot.
#[inline]
pub fn header_buffer<'b>() -> HeaderBuffer<'b> {
    HeaderBuffer {
        usual: [const { MaybeUninit::uninit() }; HEADERS_USUAL],
        more: Vec::new(),
    }
}

/// Why a request is refused. Its connection cannot be used any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum RequestError {
    /// The first bytes cannot start a request.
    #[error("the bytes do not start an HTTP request")]
    NotHttp,
    /// A line ends without a carriage return.
    #[error("a line ends with a bare line feed")]
    BareLineFeed,
    /// The request line is longer than [`LINE_LEN_MAX`].
    #[error("the request line is longer than {LINE_LEN_MAX} bytes")]
    LineTooLong,
    /// The head is longer than the given limit.
    #[error("the head is too long")]
    HeadTooLong,
    /// More headers than [`HEADERS_MAX`].
    #[error("the head has more than {HEADERS_MAX} headers")]
    TooManyHeaders,
    /// The request line or a header breaks the grammar; a folded header does too.
    #[error("the head is not valid: {0}")]
    Head(httparse::Error),
    /// The line does not end with an HTTP version: another protocol is used, and a response would not be understood.
    #[error("the first line is not an HTTP request line")]
    Foreign,
    /// Neither HTTP/1.0 nor HTTP/1.1.
    #[error("unsupported HTTP version")]
    Version,
    /// The target has none of the forms that a server accepts, or contains invalid bytes.
    #[error("the target is not valid")]
    Target,
    /// `CONNECT`, which requests a tunnel, or `TRACE`.
    #[error("unsupported method")]
    Method,
    /// No `Host`, more than one, or one that is not valid.
    #[error("exactly one valid Host header is required")]
    Host,
    /// The host in the target is not the one in `Host`.
    #[error("the host in the request target differs from the Host header")]
    HostsDiffer,
    /// A `Content-Length` is not a number, or is repeated.
    #[error("at most one Content-Length is allowed, and it must be a number")]
    ContentLength,
    /// Both `Content-Length` and `Transfer-Encoding` are present.
    #[error("both Content-Length and Transfer-Encoding are present")]
    TwoFramings,
    /// `Transfer-Encoding` twice, in HTTP/1.0, or not ending in `chunked`.
    #[error("the Transfer-Encoding is not valid")]
    TransferEncoding,
    /// A transfer coding other than `chunked`.
    #[error("unsupported transfer coding")]
    UnknownCoding,
    /// An expectation other than `100-continue`.
    #[error("unsupported Expect value")]
    Expectation,
}

impl RequestError {
    /// The status of the response to it.
    pub fn status(self) -> u16 {
        match self {
            Self::LineTooLong => 414,
            Self::HeadTooLong | Self::TooManyHeaders => 431,
            Self::Version => 505,
            Self::Method => 405,
            Self::UnknownCoding => 501,
            Self::Expectation => 417,
            _ => 400,
        }
    }
}

/// The relevant parts of a head; borrowed from its bytes.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts of one head, never passed on together"
)]
pub struct RequestHead<'h, 'b> {
    /// As written; methods are case-sensitive.
    pub method: &'b str,
    /// Path and query, starting with a slash; or `*`. Empty stands for `/`.
    pub target: &'b str,
    /// The requested host, with its port; `None` only in HTTP/1.0.
    pub host: Option<&'b str>,
    /// Whether the version is 1.1.
    pub is_1_1: bool,
    /// Whether the client will reuse the connection.
    pub keep_alive: bool,
    /// Length of the body; [`BodyLength::Unspecified`] means none.
    pub length: BodyLength,
    /// Whether the client waits for `100 Continue`.
    pub expects_continue: bool,
    /// Whether an upgrade to another protocol is requested, `Connection` confirms it, and the request may become a
    /// tunnel: it has no body, and does not request HTTP/2, in which requests would pass unread.
    pub upgrade: bool,
    /// Whether `Connection` names hop-by-hop headers.
    pub names_hop_headers: bool,
    /// All headers in order.
    pub headers: &'h [Header<'b>],
}

/// Length of the empty lines before the head, bytes.
///
/// # Errors
/// When there are more than [`EMPTY_LINES_MAX`].
#[inline]
pub fn skip_empty_lines(bytes: &[u8]) -> Result<usize, RequestError> {
    let mut at = 0;
    while bytes[at..].starts_with(b"\r\n") {
        at += 2;
        if at > 2 * EMPTY_LINES_MAX {
            return Err(RequestError::NotHttp);
        }
    }
    Ok(at)
}

/// Length of the head at the start of `bytes`, its empty line included; `None` while it is incomplete.
///
/// The first `scanned` bytes were searched before and have no end. A head is at most `len_max` bytes long.
///
/// # Errors
/// At the first byte that is invalid in a head.
#[inline]
pub fn find_end(
    bytes: &[u8],
    scanned: usize,
    len_max: usize,
) -> Result<Option<usize>, RequestError> {
    match bytes.first() {
        None => return Ok(None),
        Some(first) if !first.is_ascii_alphanumeric() && !b"!#$%&'*+-.^_`|~\r".contains(first) => {
            return Err(RequestError::NotHttp);
        }
        Some(_) => {}
    }
    let within = &bytes[..bytes.len().min(len_max)];
    for line_feed in memchr::memchr_iter(b'\n', &within[scanned.min(within.len())..]) {
        let end = scanned + line_feed;
        if end == 0 || within[end - 1] != b'\r' {
            return Err(RequestError::BareLineFeed);
        }
        if end >= 2 && within[end - 2] == b'\n' {
            return line_fits(within).map(|()| Some(end + 1));
        }
    }
    line_fits(within)?;
    if within.len() == len_max {
        return Err(RequestError::HeadTooLong);
    }
    Ok(None)
}

/// Whether the available part of the request line can end correctly; independent of how the bytes are split.
#[inline]
fn line_fits(bytes: &[u8]) -> Result<(), RequestError> {
    if bytes.len() >= LINE_LEN_MAX && memchr::memchr(b'\n', &bytes[..LINE_LEN_MAX]).is_none() {
        return Err(RequestError::LineTooLong);
    }
    Ok(())
}

/// Parses a complete head, as delimited by [`find_end`].
///
/// # Errors
/// When the head breaks the grammar or a limit, or is ambiguous.
#[inline]
pub fn parse<'h, 'b>(
    bytes: &'b [u8],
    room: &'h mut HeaderBuffer<'b>,
) -> Result<RequestHead<'h, 'b>, RequestError> {
    let HeaderBuffer { usual, more } = room;
    let config = ParserConfig::default();
    let mut request = Request::new(&mut []);
    let mut parsed = config.parse_request_with_uninit_headers(&mut request, bytes, usual);
    if parsed == Err(httparse::Error::TooManyHeaders) {
        *more = header_room(bytes, HEADERS_MAX);
        request = Request::new(&mut []);
        parsed = config.parse_request_with_uninit_headers(&mut request, bytes, more);
    }
    match parsed {
        Ok(httparse::Status::Complete(len)) if len == bytes.len() => {}
        Ok(_) => return Err(RequestError::Head(httparse::Error::NewLine)),
        Err(httparse::Error::TooManyHeaders) => return Err(RequestError::TooManyHeaders),
        Err(httparse::Error::Version) if is_foreign(bytes) => return Err(RequestError::Foreign),
        Err(httparse::Error::Version) => return Err(RequestError::Version),
        Err(error) => return Err(RequestError::Head(error)),
    }
    let (Some(method), Some(target)) = (request.method, request.path) else {
        return Err(RequestError::Head(httparse::Error::Token));
    };
    let headers: &'h [Header<'b>] = request.headers;
    let is_1_1 = request.version == Some(1);
    let mut found = RequestFields::default();
    for header in headers {
        found.take(header)?;
    }
    let (target, authority) = split_target(method, target)?;
    let host = found.host(authority, is_1_1)?;
    let length = found.length(is_1_1)?;
    if found.unknown_expectation {
        return Err(RequestError::Expectation);
    }
    Ok(RequestHead {
        method,
        target,
        host,
        is_1_1,
        keep_alive: !found.close && (is_1_1 || found.keep_alive),
        length,
        expects_continue: found.expects_continue && is_1_1,
        upgrade: is_1_1
            && found.upgrade
            && found.upgrade_named
            && !found.upgrade_barred
            && matches!(length, BodyLength::Unspecified | BodyLength::Sized(0)),
        names_hop_headers: found.names_hop_headers,
        headers,
    })
}

/// Whether a value of `Upgrade` names HTTP itself: requests in the tunnel would pass unread.
fn names_http2(value: &[u8]) -> bool {
    value
        .split(|&byte| byte == b',')
        .map(<[u8]>::trim_ascii)
        .any(|token| {
            let name = token.split(|&byte| byte == b'/').next().unwrap_or(token);
            [&b"h2c"[..], b"h2", b"http"]
                .iter()
                .any(|barred| name.eq_ignore_ascii_case(barred))
        })
}

/// Whether the first line has no HTTP version.
fn is_foreign(bytes: &[u8]) -> bool {
    let end = memchr::memchr(b'\r', bytes).unwrap_or(bytes.len());
    let last = bytes[..end].rsplit(|&byte| byte == b' ').next();
    !last.is_some_and(|word| word.starts_with(b"HTTP/"))
}

/// The headers parsed so far.
#[derive(Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts of one head, never passed on together"
)]
struct RequestFields<'b> {
    sized: Option<u64>,
    chunked: bool,
    host: Option<&'b [u8]>,
    close: bool,
    keep_alive: bool,
    upgrade: bool,
    upgrade_named: bool,
    upgrade_barred: bool,
    names_hop_headers: bool,
    expects_continue: bool,
    unknown_expectation: bool,
}

impl<'b> RequestFields<'b> {
    #[inline]
    fn take(&mut self, header: &Header<'b>) -> Result<(), RequestError> {
        let (name, value) = (header.name, header.value);
        // The length rejects nearly every header without comparing letters.
        match name.len() {
            4 if name.eq_ignore_ascii_case("host") && self.host.replace(value).is_some() => {
                return Err(RequestError::Host);
            }
            6 if name.eq_ignore_ascii_case("expect") => {
                if value.trim_ascii().eq_ignore_ascii_case(b"100-continue") {
                    self.expects_continue = true;
                } else {
                    self.unknown_expectation = true;
                }
            }
            7 if name.eq_ignore_ascii_case("upgrade") => {
                self.upgrade = true;
                self.upgrade_barred |= names_http2(value);
            }
            10 if name.eq_ignore_ascii_case("connection") => self.take_connection(value),
            14 if name.eq_ignore_ascii_case("content-length") => {
                let length = decimal(value.trim_ascii()).ok_or(RequestError::ContentLength)?;
                if self.sized.replace(length).is_some() {
                    return Err(RequestError::ContentLength);
                }
            }
            17 if name.eq_ignore_ascii_case("transfer-encoding") => {
                let value = value.trim_ascii();
                if self.chunked || value.is_empty() {
                    return Err(RequestError::TransferEncoding);
                }
                if !value.eq_ignore_ascii_case(b"chunked") {
                    return Err(RequestError::UnknownCoding);
                }
                self.chunked = true;
            }
            _ => {}
        }
        Ok(())
    }

    fn take_connection(&mut self, value: &[u8]) {
        for token in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
            if token.eq_ignore_ascii_case(b"close") {
                self.close = true;
            } else if token.eq_ignore_ascii_case(b"keep-alive") {
                self.keep_alive = true;
            } else if token.eq_ignore_ascii_case(b"upgrade") {
                self.upgrade_named = true;
            } else if !token.is_empty() {
                self.names_hop_headers = true;
            }
        }
    }

    fn length(&self, is_1_1: bool) -> Result<BodyLength, RequestError> {
        match (self.sized, self.chunked) {
            (Some(_), true) => Err(RequestError::TwoFramings),
            (None, true) if !is_1_1 => Err(RequestError::TransferEncoding),
            (None, true) => Ok(BodyLength::Chunked),
            (Some(length), false) => Ok(BodyLength::Sized(length)),
            (None, false) => Ok(BodyLength::Unspecified),
        }
    }

    /// The requested host. A target's own host takes precedence over the header (RFC 9112, 3.2.2); both must name the
    /// same host as well, because two different ones are an attempt at ambiguity.
    fn host(
        &self,
        authority: Option<&'b str>,
        is_1_1: bool,
    ) -> Result<Option<&'b str>, RequestError> {
        let named = match self.host {
            None if is_1_1 => return Err(RequestError::Host),
            None => None,
            Some(value) => Some(valid_host(value.trim_ascii()).ok_or(RequestError::Host)?),
        };
        match (authority, named) {
            (None, named) => Ok(named),
            (Some(authority), None) => Ok(Some(authority)),
            (Some(authority), Some(named)) if authority.eq_ignore_ascii_case(named) => {
                Ok(Some(authority))
            }
            _ => Err(RequestError::HostsDiffer),
        }
    }
}

/// Path with query, and the authority of an absolute target.
fn split_target<'b>(
    method: &str,
    target: &'b str,
) -> Result<(&'b str, Option<&'b str>), RequestError> {
    if matches!(method, "CONNECT" | "TRACE") {
        return Err(RequestError::Method);
    }
    // A fragment is never sent, and bytes beyond ASCII are invalid in a target; servers read them
    // differently. The same holds for a backslash in a path, which some read as a slash; in a query it means itself,
    // and browsers send it (WHATWG URL, query state).
    let query = memchr::memchr(b'?', target.as_bytes()).unwrap_or(target.len());
    let is_invalid = |byte: u8| !(0x21..0x7f).contains(&byte) || byte == b'#';
    if target.bytes().any(is_invalid) || target[..query].contains('\\') {
        return Err(RequestError::Target);
    }
    if target.starts_with('/') {
        return Ok((target, None));
    }
    if target == "*" && method == "OPTIONS" {
        return Ok((target, None));
    }
    let (scheme, rest) = target.split_once("://").ok_or(RequestError::Target)?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return Err(RequestError::Target);
    }
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let authority = valid_host(&rest.as_bytes()[..end]).ok_or(RequestError::Target)?;
    match &rest[end..] {
        // A query without a path cannot be forwarded as it is.
        path if path.starts_with('?') => Err(RequestError::Target),
        path => Ok((path, Some(authority))),
    }
}

/// A host with or without port: a name, an IPv4 address or an IPv6 address in brackets.
fn valid_host(host: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(host).ok()?;
    let (name, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (address, after) = rest.split_once(']')?;
            address.parse::<std::net::Ipv6Addr>().ok()?;
            (
                address,
                if after.is_empty() {
                    None
                } else {
                    Some(after.strip_prefix(':')?)
                },
            )
        }
        None => match text.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (text, None),
        },
    };
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:%!$&'()*+,;=".contains(&byte);
    let is_port = |port: &str| port.len() <= 5 && port.bytes().all(|byte| byte.is_ascii_digit());
    (!name.is_empty() && name.len() <= 255 && name.bytes().all(is_name) && port.is_none_or(is_port))
        .then_some(text)
}

#[cfg(test)]
mod tests;
