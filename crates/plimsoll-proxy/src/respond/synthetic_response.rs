//! Synthetic responses: what a client receives when no server answers. Designed to cost next to nothing.

use plimsoll_config::edge::{Compress, CompressCoding};
use plimsoll_hub_io::browser_client::File;
use plimsoll_net::reason::Reason;

use super::head::{ConnectionHeader, HeadWriter, PreparedHead, phrase};
use crate::decimal;
use crate::message::compress;

/// The header that marks a response as one of the edge, and says why.
const MARK: &str = "X-Plimsoll";

/// A response for a waiting browser.
#[derive(Clone, Debug)]
pub(crate) struct WaitingPage {
    pub(crate) content: String,
    pub(crate) retry_s: u32,
    /// Whether the page itself determines when it polls again.
    pub(crate) retries_itself: bool,
    pub(crate) cookie: Option<String>,
}

/// A fallback with its head prepared at start, in all codings of its route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FallbackPage {
    media_type: String,
    plain: Form,
    packed: Vec<(CompressCoding, Form)>,
}

/// A page ready to send.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Form {
    /// Everything before the date.
    head: PreparedHead,
    content: Vec<u8>,
}

impl Form {
    fn new(media_type: &str, content: Vec<u8>, extra: &str) -> Self {
        let head = PreparedHead::new(200, |head| {
            head.field("Content-Type", media_type)
                .length(content.len() as u64)
                .field("Cache-Control", "no-store")
                .field(MARK, "fallback")
                .lines(extra);
        });
        Self { head, content }
    }
}

impl FallbackPage {
    /// Uncompressed.
    pub(crate) fn new(media_type: &str, content: Vec<u8>) -> Self {
        Self {
            media_type: media_type.to_owned(),
            plain: Form::new(media_type, content, ""),
            packed: Vec::new(),
        }
    }

    /// Compressed too where worthwhile: once, however often it is requested.
    pub(crate) fn packed(&self, compress: &Compress) -> Self {
        let plain = &self.plain.content;
        let is_short = (plain.len() as u64) < compress.len_min;
        if is_short || !compress::matches_media_type(self.media_type.as_bytes(), &compress.types) {
            return self.clone();
        }
        let pack = |coding: &CompressCoding| {
            let packed = compress::pack(*coding, plain).ok()?;
            let coding_name = compress::name(*coding);
            let extra = format!("Content-Encoding: {coding_name}\r\nVary: Accept-Encoding\r\n");
            let is_shorter = packed.len() < plain.len();
            is_shorter.then(|| (*coding, Form::new(&self.media_type, packed, &extra)))
        };
        let packed: Vec<_> = compress.codings.iter().filter_map(pack).collect();
        let vary = if packed.is_empty() {
            ""
        } else {
            "Vary: Accept-Encoding\r\n"
        };
        Self {
            plain: Form::new(&self.media_type, plain.clone(), vary),
            packed,
            media_type: self.media_type.clone(),
        }
    }

    fn form(&self, coding: Option<CompressCoding>) -> &Form {
        let mut packed = self.packed.iter();
        let found = packed.find(|(candidate, _)| Some(*candidate) == coding);
        found.map_or(&self.plain, |(_, form)| form)
    }

    /// The uncompressed page.
    #[cfg(test)]
    pub(crate) fn content(&self) -> &[u8] {
        &self.plain.content
    }
}

/// How a response is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResponseOptions<'a> {
    /// Only its head (HEAD).
    pub(crate) head_only: bool,
    pub(crate) connection: ConnectionHeader,
    pub(crate) date: &'a str,
}

impl ResponseOptions<'_> {
    /// Ends a head; returns where its body goes, unless only the head was requested.
    fn end(self, mut head: HeadWriter<'_>) -> Option<&mut Vec<u8>> {
        head.date(self.date).connection(self.connection);
        let out = head.end();
        (!self.head_only).then_some(out)
    }
}

/// Writes the fallback in a coding, if it exists in that coding.
pub(crate) fn fallback(
    out: &mut Vec<u8>,
    page: &FallbackPage,
    coding: Option<CompressCoding>,
    manner: ResponseOptions<'_>,
) {
    let Form { head, content } = page.form(coding);
    if let Some(out) = manner.end(HeadWriter::prepared(out, head)) {
        out.extend_from_slice(content);
    }
}

/// Writes a rejection or another short response. `extra` are whole header lines.
pub(crate) fn words(
    out: &mut Vec<u8>,
    status: u16,
    reason: Reason,
    extra: &str,
    manner: ResponseOptions<'_>,
) {
    let phrase = phrase(status);
    let name = reason.name();
    // "503 Service Unavailable: queue-full\n"
    let len = 3 + 1 + phrase.len() + 2 + name.len() + 1;
    let mut head = HeadWriter::new(out, status);
    head.field("Content-Type", "text/plain")
        .length(len as u64)
        .field("Cache-Control", "no-store")
        .field(MARK, name)
        .lines(extra);
    if let Some(out) = manner.end(head) {
        decimal::append(out, status.into());
        for piece in [" ", phrase, ": ", name, "\n"] {
            out.extend_from_slice(piece.as_bytes());
        }
    }
}

/// Writes a rejection with an explanation, and further header lines.
pub(crate) fn explained(
    out: &mut Vec<u8>,
    status: u16,
    reason: Reason,
    (why, extra): (&str, &str),
    manner: ResponseOptions<'_>,
) {
    let head = plain(out, status, reason, why.len() + 1, extra);
    if let Some(out) = manner.end(head) {
        out.extend_from_slice(why.as_bytes());
        out.push(b'\n');
    }
}

/// Writes a text response of the hub.
pub(crate) fn text(out: &mut Vec<u8>, text: &str, extra: &str, manner: ResponseOptions<'_>) {
    let head = plain(out, 200, Reason::Hub, text.len(), extra);
    if let Some(out) = manner.end(head) {
        out.extend_from_slice(text.as_bytes());
    }
}

/// Writes a document of the hub, by its media type. It changes with every subscription.
pub(crate) fn document(
    out: &mut Vec<u8>,
    (media_type, content): (&str, &str),
    extra: &str,
    manner: ResponseOptions<'_>,
) {
    let mut head = HeadWriter::new(out, 200);
    head.field("Content-Type", media_type)
        .length(content.len() as u64)
        .field("Cache-Control", "no-store")
        .field("X-Content-Type-Options", "nosniff")
        .field(MARK, Reason::Hub.name())
        .lines(extra);
    if let Some(out) = manner.end(head) {
        out.extend_from_slice(content.as_bytes());
    }
}

/// The head of plain text of this length.
fn plain<'a>(
    out: &'a mut Vec<u8>,
    status: u16,
    reason: Reason,
    len: usize,
    extra: &str,
) -> HeadWriter<'a> {
    let mut head = HeadWriter::new(out, status);
    head.field("Content-Type", "text/plain; charset=utf-8")
        .length(len as u64)
        .field("Cache-Control", "no-store")
        .field(MARK, reason.name())
        .lines(extra);
    head
}

/// Writes a public file, cacheable for an hour; only its head if the client already has it.
pub(crate) fn file(out: &mut Vec<u8>, file: &File, is_known: bool, manner: ResponseOptions<'_>) {
    let File {
        media_type,
        content,
        tag,
    } = file;
    let mut head = HeadWriter::new(out, if is_known { 304 } else { 200 });
    if !is_known {
        head.field("Content-Type", media_type)
            .length(content.len() as u64);
    }
    head.field("ETag", tag)
        .field("Cache-Control", "public, max-age=3600")
        .field("Access-Control-Allow-Origin", "*")
        .field("X-Content-Type-Options", "nosniff");
    if let Some(out) = manner.end(head).filter(|_| !is_known) {
        out.extend_from_slice(content.as_bytes());
    }
}

/// Writes the waiting page. It is not the requested resource, so its status is that of a rejection.
pub(crate) fn waiting(out: &mut Vec<u8>, page: &WaitingPage, manner: ResponseOptions<'_>) {
    let mut head = HeadWriter::new(out, 503);
    head.field("Content-Type", "text/html; charset=utf-8")
        .length(page.content.len() as u64)
        .field("Cache-Control", "no-store")
        .field(MARK, "waiting")
        .number("Retry-After", page.retry_s.into());
    if !page.retries_itself {
        head.number("Refresh", page.retry_s.into());
    }
    if let Some(cookie) = &page.cookie {
        head.cookie(cookie);
    }
    if let Some(out) = manner.end(head) {
        out.extend_from_slice(page.content.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_wire::head::{BodyLength, find_end, parse};

    #[test]
    fn answers_are_as_long_as_they_say() {
        let page = FallbackPage::new("text/html", vec![b'x'; 2000]).packed(&Compress::default());
        for head_only in [false, true] {
            let manner = ResponseOptions {
                head_only,
                connection: ConnectionHeader::Close,
                date: "Sun, 06 Nov 1994 08:49:37 GMT",
            };
            let mut answers = Vec::new();
            for coding in [
                None,
                Some(CompressCoding::Gzip),
                Some(CompressCoding::Brotli),
            ] {
                let mut out = Vec::new();
                fallback(&mut out, &page, coding, manner);
                answers.push(out);
            }
            for status in [301, 400, 404, 429, 503, 599] {
                let mut out = Vec::new();
                words(
                    &mut out,
                    status,
                    Reason::QueueFull,
                    "Retry-After: 1\r\n",
                    manner,
                );
                answers.push(out);
            }
            let mut out = Vec::new();
            let why = ("the Origin is another", "Allow: GET\r\n");
            explained(&mut out, 403, Reason::Hub, why, manner);
            answers.push(out);
            for out in answers {
                let end = find_end(&out, 0).unwrap().unwrap();
                let head = parse(&out[..end]).unwrap();
                let BodyLength::Sized(len) = head.length else {
                    panic!("no length");
                };
                let expected = if head_only { 0 } else { len };
                assert_eq!((out.len() - end) as u64, expected);
                assert!(!head.keep_alive && len > 0);
            }
        }
    }

    #[test]
    fn every_reason_has_its_own_place_and_name() {
        for (place, reason) in Reason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, place);
        }
    }
}
