//! The head of a response: found, validated, and parsed as far as framing and counting need it.

mod fields;
mod memo;

use std::mem::MaybeUninit;
use std::ops::Range;

use httparse::{ParserConfig, Response};

pub use self::memo::HeadMemo;
pub use httparse::Header;

pub(crate) use self::fields::decimal;

use self::fields::ResponseFields;
use crate::error::Http1Error;
pub use crate::limits::{HEAD_LEN_MAX, HEADERS_MAX, HeadLimits};
use crate::limits::{HEADERS_USUAL, header_room};

/// The start of every response.
const PREFIX: &[u8] = b"HTTP/1.";

/// Content coding of a body, as far as it is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContentCoding {
    /// None, or one that is not counted.
    #[default]
    Other,
    /// `gzip` or `x-gzip`.
    Gzip,
    /// `br`.
    Brotli,
}

/// The length of a body by its headers, before status and method are considered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyLength {
    /// `Content-Length`.
    Sized(u64),
    /// `Transfer-Encoding: chunked`.
    Chunked,
    /// Neither: the body ends with the connection.
    Unspecified,
}

/// The relevant parts of a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Status code, 100 to 999.
    pub status: u16,
    /// Whether the connection may be reused, if the body allows it.
    pub keep_alive: bool,
    /// Length of the body.
    pub length: BodyLength,
    /// Content coding of the body.
    pub coding: ContentCoding,
    /// Whether there is a `Set-Cookie` header.
    pub sets_cookie: bool,
    /// Where in the head the value of `Location` lies, as (start, end).
    location: Option<(u32, u32)>,
}

impl Head {
    /// Where in the head's bytes the value of `Location` lies.
    pub fn location(&self) -> Option<Range<usize>> {
        self.location
            .map(|(start, end)| start as usize..end as usize)
    }
}

/// Length of the head at the start of `bytes`, its empty line included; `None` while it is incomplete.
///
/// The first `scanned` bytes were searched before and have no end. Bytes beyond [`HEAD_LEN_MAX`] are ignored.
///
/// # Errors
/// At the first byte that is invalid in a head.
pub fn find_end(bytes: &[u8], scanned: usize) -> Result<Option<usize>, Http1Error> {
    find_end_within(bytes, scanned, HEAD_LEN_MAX)
}

/// As [`find_end`], of a head of at most `len_max` bytes.
///
/// # Errors
/// As [`find_end`].
pub fn find_end_within(
    bytes: &[u8],
    scanned: usize,
    len_max: usize,
) -> Result<Option<usize>, Http1Error> {
    let start = bytes.len().min(PREFIX.len());
    if bytes[..start] != PREFIX[..start] {
        return Err(Http1Error::NotHttp);
    }
    let within = &bytes[..bytes.len().min(len_max)];
    for line_feed in memchr::memchr_iter(b'\n', &within[scanned.min(within.len())..]) {
        // The prefix has no line feed, so at least its seven bytes are before this one.
        let end = scanned + line_feed;
        if within[end - 1] != b'\r' {
            return Err(Http1Error::BareLineFeed);
        }
        if within[end - 2] == b'\n' {
            return Ok(Some(end + 1));
        }
    }
    if within.len() == len_max {
        return Err(Http1Error::HeadTooLong(len_max));
    }
    Ok(None)
}

/// Parses a complete head, as delimited by [`find_end`].
///
/// # Errors
/// When the head breaks the grammar or a limit, or its framing is ambiguous.
pub fn parse(bytes: &[u8]) -> Result<Head, Http1Error> {
    parse_with(bytes, |head, _| *head)
}

/// As [`parse`], and passes the head and its headers to `use_it`.
///
/// # Errors
/// As [`parse`].
#[inline]
pub fn parse_with<T>(
    bytes: &[u8],
    use_it: impl FnOnce(&Head, &[Header<'_>]) -> T,
) -> Result<T, Http1Error> {
    parse_within(bytes, HEADERS_MAX, use_it)
}

/// As [`parse_with`], of a head of at most `headers_max` headers.
///
/// # Errors
/// As [`parse`].
#[inline]
pub fn parse_within<T>(
    bytes: &[u8],
    headers_max: usize,
    use_it: impl FnOnce(&Head, &[Header<'_>]) -> T,
) -> Result<T, Http1Error> {
    let mut room = [const { MaybeUninit::<Header<'_>>::uninit() }; HEADERS_USUAL];
    let usual = HEADERS_USUAL.min(headers_max);
    match read(bytes, &mut room[..usual]) {
        Ok((head, headers)) => Ok(use_it(&head, headers)),
        Err(Http1Error::TooManyHeaders(_)) if usual < headers_max => {
            let mut room = header_room(bytes, headers_max);
            let (head, headers) = read(bytes, &mut room).map_err(|error| match error {
                Http1Error::TooManyHeaders(_) => Http1Error::TooManyHeaders(headers_max),
                error => error,
            })?;
            Ok(use_it(&head, headers))
        }
        Err(error) => Err(error),
    }
}

/// Parses a complete head into the room for its headers.
#[inline]
fn read<'r, 'b>(
    bytes: &'b [u8],
    room: &'r mut [MaybeUninit<Header<'b>>],
) -> Result<(Head, &'r [Header<'b>]), Http1Error> {
    let headers_max = room.len();
    let mut response = Response::new(&mut []);
    match ParserConfig::default().parse_response_with_uninit_headers(&mut response, bytes, room) {
        Ok(httparse::Status::Complete(len)) if len == bytes.len() => {}
        // There is no empty line inside, because `find_end` would have ended there; nor can it be missing.
        Ok(_) => return Err(Http1Error::Head(httparse::Error::NewLine)),
        Err(httparse::Error::TooManyHeaders) => {
            return Err(Http1Error::TooManyHeaders(headers_max));
        }
        Err(error) => return Err(Http1Error::Head(error)),
    }
    let status = response.code.unwrap_or(0);
    if status < 100 {
        return Err(Http1Error::Status);
    }
    let is_1_1 = response.version == Some(1);
    let headers: &'r [Header<'b>] = response.headers;
    let mut found = ResponseFields::default();
    for header in headers {
        found.take(header, bytes)?;
    }
    Ok((found.head(status, is_1_1)?, headers))
}

/// Names and values of the headers of a head that [`parse`] accepted, in order; values without blanks around them.
pub fn headers(bytes: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    bytes
        .split(|&byte| byte == b'\n')
        .skip(1)
        .filter_map(|line| {
            let colon = memchr::memchr(b':', line)?;
            Some((&line[..colon], line[colon + 1..].trim_ascii()))
        })
}

impl ContentCoding {
    /// The coding that the value of `Content-Encoding` names.
    pub fn named(value: &[u8]) -> Self {
        if value.eq_ignore_ascii_case(b"gzip") || value.eq_ignore_ascii_case(b"x-gzip") {
            Self::Gzip
        } else if value.eq_ignore_ascii_case(b"br") {
            Self::Brotli
        } else {
            Self::Other
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(head: &str) -> Result<Head, Http1Error> {
        let bytes = head.as_bytes();
        let end = find_end(bytes, 0)?.expect("the head is complete");
        assert_eq!(end, bytes.len());
        parse(bytes)
    }

    fn with(headers: &str) -> Result<Head, Http1Error> {
        check(&format!("HTTP/1.1 200 OK\r\n{headers}\r\n"))
    }

    #[test]
    fn a_usual_head_is_understood() {
        let head = "HTTP/1.1 301 Moved Permanently\r\nServer: nginx\r\nContent-Length: 1024\r\n\
                    Location: /home?x=1\r\nContent-Encoding: gzip\r\n\r\n";
        let parsed = check(head).unwrap();
        assert_eq!(parsed.status, 301);
        assert!(parsed.keep_alive);
        assert_eq!(parsed.length, BodyLength::Sized(1024));
        assert_eq!(parsed.coding, ContentCoding::Gzip);
        assert_eq!(&head[parsed.location().unwrap()], "/home?x=1");
    }

    #[test]
    fn headers_are_listed_in_order() {
        let head = b"HTTP/1.1 200 OK\r\nA: b:c \r\nSet-Cookie:x=y\r\nEmpty:\r\n\r\n";
        let listed: Vec<_> = headers(head).collect();
        let expected: [(&[u8], &[u8]); 3] =
            [(b"A", b"b:c"), (b"Set-Cookie", b"x=y"), (b"Empty", b"")];
        assert_eq!(listed, expected);
        assert!(parse(head).unwrap().sets_cookie);
    }

    #[test]
    fn keep_alive_follows_version_and_connection() {
        assert!(with("").unwrap().keep_alive);
        assert!(!with("Connection: Close\r\n").unwrap().keep_alive);
        assert!(
            !with("Connection: keep-alive, close\r\n")
                .unwrap()
                .keep_alive
        );
        assert!(!check("HTTP/1.0 200 OK\r\n\r\n").unwrap().keep_alive);
        assert!(
            check("HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n\r\n")
                .unwrap()
                .keep_alive
        );
    }

    #[test]
    fn what_could_be_framed_in_two_ways_is_refused() {
        assert_eq!(
            with("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"),
            Err(Http1Error::TwoFramings)
        );
        assert_eq!(
            with("Content-Length: 1\r\nContent-Length: 2\r\n"),
            Err(Http1Error::ContentLengthsDiffer)
        );
        assert_eq!(
            with("Content-Length: 1, 2\r\n"),
            Err(Http1Error::ContentLengthsDiffer)
        );
        assert_eq!(
            with("Content-Length: 7\r\nContent-Length: 7\r\n")
                .unwrap()
                .length,
            BodyLength::Sized(7)
        );
        assert_eq!(
            with("Transfer-Encoding: gzip, chunked\r\n"),
            Err(Http1Error::TransferEncoding)
        );
        for coding in [
            "gzip", "Deflate", "xchunked", "chunked-", "", "a b", "a, b", "a;q=1", "\"a\"",
        ] {
            assert_eq!(
                with(&format!("Transfer-Encoding: {coding}\r\n")),
                Err(Http1Error::TransferEncoding),
                "{coding}"
            );
        }
        assert_eq!(
            with("Content-Length: 1\r\nTransfer-Encoding: identity\r\n"),
            Err(Http1Error::TwoFramings)
        );
        for codings in [
            ["identity", "chunked"],
            ["chunked", "identity"],
            ["identity", "identity"],
        ] {
            let [first, other] = codings.map(|coding| format!("Transfer-Encoding: {coding}\r\n"));
            assert_eq!(
                with(&format!("{first}{other}")),
                Err(Http1Error::TransferEncoding),
                "{codings:?}"
            );
        }
        assert_eq!(
            check("HTTP/1.0 200 OK\r\nTransfer-Encoding: identity\r\n\r\n"),
            Err(Http1Error::TransferEncoding)
        );
        assert_eq!(
            with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
            Err(Http1Error::TransferEncoding)
        );
        assert_eq!(
            check("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
            Err(Http1Error::TransferEncoding)
        );
        for length in ["+1", "-1", "0x10", "", "1 2", "18446744073709551616"] {
            assert_eq!(
                with(&format!("Content-Length: {length}\r\n")),
                Err(Http1Error::ContentLength),
                "{length}"
            );
        }
    }

    #[test]
    fn a_coding_that_is_none_ends_with_its_connection() {
        for coding in ["identity", "Identity", "no-such-thing"] {
            let head = with(&format!("Transfer-Encoding: {coding}\r\n")).unwrap();
            assert_eq!(
                (head.length, head.keep_alive),
                (BodyLength::Unspecified, false)
            );
        }
    }

    #[test]
    fn a_lax_grammar_is_refused() {
        assert!(matches!(
            with("A: b\r\n folded\r\n"),
            Err(Http1Error::Head(_))
        ));
        assert!(matches!(
            with("Content-Length : 5\r\n"),
            Err(Http1Error::Head(_))
        ));
        assert!(matches!(with("A b: c\r\n"), Err(Http1Error::Head(_))));
        assert!(matches!(with("A: b\rc\r\n"), Err(Http1Error::Head(_))));
        assert!(matches!(with("A: b\0c\r\n"), Err(Http1Error::Head(_))));
        assert_eq!(check("HTTP/1.1 099 No\r\n\r\n"), Err(Http1Error::Status));
        assert_eq!(
            find_end(b"HTTP/1.1 200 OK\n\n", 0),
            Err(Http1Error::BareLineFeed)
        );
        assert_eq!(find_end(b"HTTP/2", 0), Err(Http1Error::NotHttp));
        assert_eq!(find_end(b"SSH-2.0", 0), Err(Http1Error::NotHttp));
    }

    #[test]
    fn heads_have_limits() {
        let headers = "A: b\r\n".repeat(HEADERS_MAX);
        assert!(with(&headers).is_ok());
        assert_eq!(
            with(&format!("{headers}C: d\r\n")),
            Err(Http1Error::TooManyHeaders(HEADERS_MAX))
        );
        let few = b"HTTP/1.1 200 OK\r\nA: b\r\nC: d\r\n\r\n";
        let count = |headers_max| parse_within(few, headers_max, |_, headers| headers.len());
        assert_eq!(count(2), Ok(2));
        assert_eq!(count(1), Err(Http1Error::TooManyHeaders(1)));
        let long = |length: usize| {
            let frame = "HTTP/1.1 200 OK\r\nA: \r\n\r\n".len();
            format!(
                "HTTP/1.1 200 OK\r\nA: {}\r\n\r\n",
                "x".repeat(length - frame)
            )
        };
        assert_eq!(
            find_end(long(HEAD_LEN_MAX).as_bytes(), 0),
            Ok(Some(HEAD_LEN_MAX))
        );
        let longer = long(HEAD_LEN_MAX + 1);
        assert_eq!(
            find_end(longer.as_bytes(), 0),
            Err(Http1Error::HeadTooLong(HEAD_LEN_MAX))
        );
        assert_eq!(
            find_end_within(longer.as_bytes(), 0, HEAD_LEN_MAX + 1),
            Ok(Some(HEAD_LEN_MAX + 1))
        );
    }

    #[test]
    fn more_headers_than_usual_are_read_alike() {
        for count in [HEADERS_USUAL - 1, HEADERS_USUAL, HEADERS_USUAL + 1, 300] {
            let lines = (0..count).map(|n| format!("X-{n}: {n}\r\n"));
            let lines = lines.collect::<Vec<_>>().concat();
            let text = format!("HTTP/1.1 200 OK\r\n{lines}Content-Length: 5\r\n\r\n");
            let found = parse_with(text.as_bytes(), |head, headers| {
                (
                    head.length,
                    headers.len(),
                    headers[count - 1].value.to_vec(),
                )
            });
            let last = (count - 1).to_string().into_bytes();
            assert_eq!(found, Ok((BodyLength::Sized(5), count + 1, last)));
        }
    }
}
