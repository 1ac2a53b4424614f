//! The head of a stored response: which fields are stored (RFC 9111, 3.1), and how it is sent again.

use std::num::NonZeroU32;
use std::time::{Duration, UNIX_EPOCH};

use httparse::Header;

use crate::answer::OriginResponse;
use crate::date;
use crate::etag::ETag;
use crate::fields::{is, lines, members, only};
use crate::freshness;
use crate::moment::Moment;
use crate::storing::{Storable, Terms};

/// The last second that an HTTP date can express.
const LAST_SECOND: u64 = 253_402_300_799;

/// Position of a value in a head; never 0, where the status line is.
#[derive(Clone, Copy, Debug)]
struct HeadSpan {
    start: NonZeroU32,
    end: u32,
}

impl HeadSpan {
    /// `None` beyond the maximum length of a head.
    fn new(start: usize, end: usize) -> Option<Self> {
        Some(Self {
            start: NonZeroU32::new(u32::try_from(start).ok()?)?,
            end: u32::try_from(end).ok()?,
        })
    }

    fn of(self, head: &[u8]) -> &[u8] {
        &head[self.start.get() as usize..self.end as usize]
    }
}

/// A stored head, ready to send, and everything needed to decide about it.
///
/// There are millions of them: rarely needed values are parsed from the head on demand.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Status line and fields, each with its line end; without connection-specific fields. Behind them the bytes added
    /// by [`Self::with_tail`].
    text: Box<[u8]>,
    /// Length of the head.
    head_len: u32,
    status: u16,
    etag: Option<HeadSpan>,
    last_modified: Option<HeadSpan>,
    terms: Terms,
}

/// The part of a stored response that is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// All of it; for a HEAD, its head.
    Whole,
    /// 304: the client already has it.
    NotModified,
    /// 206: from the first to the last byte.
    Partial {
        /// The first, counted from 0.
        first: u64,
        /// The last, inclusive.
        last: u64,
    },
    /// 416: the range lies behind the end.
    Unsatisfiable,
}

impl Stored {
    /// The stored form of a response, on the terms of [`crate::storing::evaluate`].
    pub fn new(answer: &OriginResponse<'_, '_>, storable: &Storable) -> Self {
        let terms = storable.terms;
        let mut head = Vec::with_capacity(512);
        put(
            &mut head,
            &[
                "HTTP/1.1 ",
                &answer.status.to_string(),
                " ",
                answer.reason,
                "\r\n",
            ],
        );
        let mut stored = Self {
            text: Box::default(),
            head_len: 0,
            status: answer.status,
            etag: None,
            last_modified: None,
            terms,
        };
        // A recipient that stores a response without a valid date adds one (RFC 9110, 6.6.1).
        let received = terms.received_at.seconds();
        let made = only(answer.headers, "date").and_then(|line| date::parse(line, received));
        if made.is_none() {
            put(
                &mut head,
                &["Date: ", &http_date(terms.received_at), "\r\n"],
            );
        }
        for header in answer.headers {
            let name = header.name;
            let is_odd_date = made.is_none() && is(name, "date");
            if is_odd_date || !is_field_stored(answer.headers, name, storable) {
                continue;
            }
            put(&mut head, &[name, ": "]);
            let start = head.len();
            head.extend_from_slice(header.value.trim_ascii());
            let span = HeadSpan::new(start, head.len());
            put(&mut head, &["\r\n"]);
            if is(name, "etag") && stored.etag.is_none() {
                stored.etag = span;
            } else if is(name, "last-modified") && stored.last_modified.is_none() {
                stored.last_modified = span;
            }
        }
        // Heads are bounded far below that.
        stored.head_len = u32::try_from(head.len()).unwrap_or(u32::MAX);
        stored.text = head.into_boxed_slice();
        stored
    }

    /// Restores a stored head with its terms; `None` when it is not a valid one.
    pub fn from_head(head: Box<[u8]>, terms: Terms) -> Option<Self> {
        let (line, fields) = split_line(&head)?;
        let status = line.strip_prefix(b"HTTP/1.1 ")?;
        let (status, reason) = status.split_at_checked(3)?;
        let is_reason = reason.starts_with(b" ") && std::str::from_utf8(reason).is_ok();
        let status = crate::fields::decimal(status)?;
        if !is_reason || !(200..600).contains(&status) {
            return None;
        }
        let received = terms.received_at.seconds();
        let mut spans = [None; 3];
        let mut rest = fields;
        while !rest.is_empty() {
            let at = head.len() - rest.len();
            let (line, after) = split_line(rest)?;
            let colon = line.iter().position(|&byte| byte == b':')?;
            let value = line[colon..].strip_prefix(b": ")?;
            let name = std::str::from_utf8(&line[..colon]).ok()?;
            let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic());
            if !is_name || value.trim_ascii().len() != value.len() {
                return None;
            }
            let places = ["etag", "last-modified", "date"];
            let place = places.iter().position(|candidate| is(name, candidate));
            if let Some(span) = place.map(|place| &mut spans[place])
                && span.is_none()
            {
                *span = HeadSpan::new(at + colon + 2, at + line.len());
            }
            rest = after;
        }
        let [etag, last_modified, date] = spans;
        date::parse(date?.of(&head), received)?;
        Some(Self {
            head_len: u32::try_from(head.len()).ok()?,
            status: u16::try_from(status).ok()?,
            etag,
            last_modified,
            terms,
            text: head,
        })
    }

    /// The same with extra bytes in the same allocation: a separate one would cost as much as a few bytes.
    #[must_use]
    pub fn with_tail(&self, tail: &[u8]) -> Self {
        Self {
            text: [self.head(), tail].concat().into_boxed_slice(),
            ..*self
        }
    }

    /// The bytes added by [`Self::with_tail`].
    pub fn tail(&self) -> &[u8] {
        &self.text[self.head_len as usize..]
    }

    /// Its status.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The terms on which it was stored.
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// Its entity tag, verbatim.
    pub fn etag(&self) -> Option<&[u8]> {
        self.etag.map(|span| span.of(&self.text))
    }

    /// Its `Content-Language`, if any.
    pub fn language(&self) -> Option<&[u8]> {
        let mut lines = self
            .fields()
            .filter(|header| is(header.name, "content-language"));
        let line = lines.next()?.value;
        let is_single = lines.next().is_none() && !line.is_empty() && !line.contains(&b',');
        is_single.then_some(line)
    }

    /// Its `Last-Modified`, verbatim.
    pub fn last_modified(&self) -> Option<&[u8]> {
        self.last_modified.map(|span| span.of(&self.text))
    }

    /// When it was last modified, seconds since 1970, if known.
    fn modified(&self) -> Option<i64> {
        date::parse(self.last_modified()?, self.terms.received_at.seconds())
    }

    /// When it was generated, seconds since 1970.
    fn made(&self) -> i64 {
        let received = self.terms.received_at.seconds();
        let date = self.fields().find(|header| is(header.name, "date"));
        date.and_then(|date| date::parse(date.value, received))
            .unwrap_or(received)
    }

    /// Whether the origin can revalidate it.
    pub fn has_validator(&self) -> bool {
        self.etag.is_some() || self.last_modified.is_some()
    }

    /// Status line and fields as stored.
    pub fn head(&self) -> &[u8] {
        &self.text[..self.head_len as usize]
    }

    /// Its age, whole seconds.
    pub fn age(&self, now: Moment) -> u32 {
        freshness::current_age(self.terms.age, self.terms.received_at, now)
    }

    /// Heap bytes.
    pub fn heap_len(&self) -> usize {
        self.text.len()
    }

    /// Writes the conditions for its revalidation (RFC 9111, 4.3.1).
    pub fn write_conditions(&self, out: &mut Vec<u8>) {
        for (name, value) in [
            ("If-None-Match: ", self.etag()),
            ("If-Modified-Since: ", self.last_modified()),
        ] {
            if let Some(value) = value {
                put(out, &[name]);
                out.extend_from_slice(value);
                put(out, &["\r\n"]);
            }
        }
    }

    /// Writes the head of a response made from it, without the empty line at its end: the caller adds the connection
    /// fields. `body_len` is the length of the whole stored body, if known; if not, the caller adds the framing too.
    pub fn write_head(&self, out: &mut Vec<u8>, shape: Shape, body_len: Option<u64>, now: Moment) {
        match shape {
            Shape::Whole => {
                out.extend_from_slice(self.head());
                if let Some(len) = body_len
                    && self.status != 204
                {
                    number(out, "Content-Length: ", len);
                }
            }
            Shape::NotModified => {
                put(out, &["HTTP/1.1 304 Not Modified\r\n"]);
                self.write_fields(out, |name| !describes_content(name));
            }
            Shape::Partial { first, last } => {
                put(out, &["HTTP/1.1 206 Partial Content\r\n"]);
                self.write_fields(out, |name| !is(name, "content-range"));
                put(out, &["Content-Range: bytes "]);
                digits(out, first);
                put(out, &["-"]);
                digits(out, last);
                write_length(out, body_len);
                number(out, "Content-Length: ", last - first + 1);
            }
            Shape::Unsatisfiable => {
                put(out, &["HTTP/1.1 416 Range Not Satisfiable\r\n"]);
                self.write_fields(out, |name| is(name, "date"));
                put(out, &["Content-Range: bytes *"]);
                write_length(out, body_len);
                put(out, &["Content-Length: 0\r\n"]);
            }
        }
        number(out, "Age: ", self.age(now).into());
    }

    /// Whether a request's conditions show that the client already has this response (RFC 9111, 4.3.2): `If-None-Match`
    /// if present, `If-Modified-Since` otherwise.
    pub fn is_known_to(&self, request: &[Header<'_>]) -> bool {
        // Conditions apply where the response would have been a success (RFC 9110, 13.2.1).
        if !(200..300).contains(&self.status) {
            return false;
        }
        let mut tags = lines(request, "if-none-match").peekable();
        if tags.peek().is_some() {
            let tag = self.etag().map(ETag::of);
            return tags
                .any(|line| line == b"*" || tag.is_some_and(|tag| crate::etag::names(line, &tag)));
        }
        let Some(since) = only(request, "if-modified-since")
            .and_then(|line| date::parse(line, self.terms.received_at.seconds()))
        else {
            return false;
        };
        self.modified().unwrap_or_else(|| self.made()) <= since
    }

    /// Whether a range may be cut for a client that has a part of this response (RFC 9110, 13.1.5).
    pub fn is_same_as(&self, if_range: &[u8]) -> bool {
        if if_range.starts_with(b"\"") || if_range.starts_with(b"W/") {
            return self
                .etag()
                .is_some_and(|tag| ETag::of(tag).matches_strongly(&ETag::of(if_range)));
        }
        let received = self.terms.received_at.seconds();
        match (self.modified(), date::parse(if_range, received)) {
            // A date is a strong validator only when it lies a second before the response (RFC 9110, 8.8.2.2).
            (Some(modified), Some(requested)) => modified == requested && modified < self.made(),
            _ => false,
        }
    }

    /// Reason phrase of the status line.
    pub(crate) fn reason(&self) -> &str {
        let line = split_line(self.head()).map_or(&[][..], |(line, _)| line);
        let reason = line.get("HTTP/1.1 200 ".len()..).unwrap_or_default();
        std::str::from_utf8(reason).unwrap_or_default()
    }

    /// The fields, as stored.
    pub(crate) fn fields(&self) -> impl Iterator<Item = Header<'_>> {
        let fields = split_line(self.head()).map_or(&[][..], |(_, fields)| fields);
        let lines = fields.split_inclusive(|&byte| byte == b'\n');
        lines.filter_map(|line| {
            let colon = line.iter().position(|&byte| byte == b':')?;
            Some(Header {
                name: std::str::from_utf8(&line[..colon]).ok()?,
                value: line[colon + 1..].trim_ascii(),
            })
        })
    }

    fn write_fields(&self, out: &mut Vec<u8>, is_wanted: impl Fn(&str) -> bool) {
        for header in self.fields().filter(|header| is_wanted(header.name)) {
            put(out, &[header.name, ": "]);
            out.extend_from_slice(header.value);
            put(out, &["\r\n"]);
        }
    }
}

/// The status line, without its end, and the rest; `None` when the head is not terminated.
fn split_line(head: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = head.iter().position(|&byte| byte == b'\r')?;
    let rest = head[end..].strip_prefix(b"\r\n")?;
    let line = &head[..end];
    let is_line = !line.iter().any(|byte| matches!(byte, b'\n' | 0));
    is_line.then_some((line, rest))
}

/// Whether a response field is stored (RFC 9111, 3.1). Length and age are computed when it is sent.
fn is_field_stored(answer: &[Header<'_>], name: &str, storable: &Storable) -> bool {
    if ends_with_connection(name) || is(name, "age") || is(name, "content-length") {
        return false;
    }
    if is(name, "set-cookie") && storable.strips_cookies {
        return false;
    }
    let is_withheld = storable.withheld.iter().any(|withheld| is(name, withheld));
    !is_withheld && !is_named_by_connection(answer, name)
}

/// Whether a field is connection-specific, or between a proxy and its client.
pub(crate) fn ends_with_connection(name: &str) -> bool {
    match name.len() {
        2 => is(name, "te"),
        7 => is(name, "upgrade") || is(name, "trailer"),
        10 => is(name, "connection") || is(name, "keep-alive") || is(name, "x-plimsoll"),
        16 => is(name, "proxy-connection"),
        17 => is(name, "transfer-encoding"),
        18 => is(name, "proxy-authenticate"),
        19 => is(name, "proxy-authorization"),
        25 => is(name, "proxy-authentication-info"),
        _ => false,
    }
}

/// Whether `Connection` names this field. Fields that control caching are end-to-end whatever it says (RFC 9110,
/// 7.6.1).
pub(crate) fn is_named_by_connection(answer: &[Header<'_>], name: &str) -> bool {
    let is_decisive = match name.len() {
        4 => is(name, "date") || is(name, "etag") || is(name, "vary"),
        7 => is(name, "expires"),
        13 => is(name, "cache-control") || is(name, "last-modified"),
        17 => is(name, "cdn-cache-control"),
        _ => false,
    };
    if is_decisive {
        return false;
    }
    lines(answer, "connection")
        .flat_map(members)
        .any(|member| member.eq_ignore_ascii_case(name.as_bytes()))
}

/// Fields that describe the content, which a 304 does not have (RFC 9110, 15.4.5).
fn describes_content(name: &str) -> bool {
    [
        "content-encoding",
        "content-language",
        "content-md5",
        "content-range",
        "content-type",
    ]
    .iter()
    .any(|field| is(name, field))
}

/// Parses a date field.
fn http_date(at: Moment) -> String {
    let seconds = (at.ms() / 1000).min(LAST_SECOND);
    httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(seconds))
}

/// Writes the end of a `Content-Range`.
fn write_length(out: &mut Vec<u8>, body_len: Option<u64>) {
    match body_len {
        Some(len) => number(out, "/", len),
        None => put(out, &["/*\r\n"]),
    }
}

fn put(out: &mut Vec<u8>, texts: &[&str]) {
    for text in texts {
        out.extend_from_slice(text.as_bytes());
    }
}

/// Writes a numeric field without allocation.
pub(crate) fn number(out: &mut Vec<u8>, field: &str, number: u64) {
    put(out, &[field]);
    digits(out, number);
    put(out, &["\r\n"]);
}

/// Writes a number.
pub(crate) fn digits(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b"0123456789"[usize::try_from(number % 10).unwrap_or_default()];
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests;
