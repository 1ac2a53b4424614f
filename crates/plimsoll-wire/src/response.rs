//! One response, read in pieces as they arrive.

use crate::body::BodyState;
use crate::content_meter::ContentMeter;
use crate::error::Http1Error;
use crate::head::{self, BodyLength, ContentCoding, Head, HeadMemo};
use crate::limits::{HeadLimits, INTERIM_MAX};
pub use crate::sink::Sink;

/// The parts of the request that the reader needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    /// The request was HEAD, so no body follows whatever the head contains.
    pub no_body: bool,
    /// Store the value of `Location` of a redirect.
    pub keep_location: bool,
    /// Limits of a head.
    pub head: HeadLimits,
    /// Longest body accepted, bytes.
    pub body_len_max: u64,
}

/// Progress of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// All input was taken, and more is needed.
    More,
    /// The response is complete; this many bytes of the input belong to it.
    Complete(usize),
}

/// The effect of the end of the connection on a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerEnd {
    /// It ends a body that lasts as long as the connection: the response is complete.
    Complete,
    /// No byte of the response had arrived.
    BeforeAnswer,
    /// It truncates the head.
    InHead,
    /// It truncates the body.
    InBody,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ResponseReaderState {
    Head,
    Body(BodyState),
    Complete,
}

/// Reads one response after another, each begun by [`ResponseReader::begin`].
///
/// A head that arrives in one piece is read in place; only a split one is copied.
#[derive(Debug)]
pub struct ResponseReader {
    state: ResponseReaderState,
    head: Option<Head>,
    /// The beginning of an incomplete head.
    partial: Vec<u8>,
    location: Option<Box<[u8]>>,
    content_len: u64,
    interim: u8,
}

impl Default for ResponseReader {
    fn default() -> Self {
        Self {
            state: ResponseReaderState::Head,
            head: None,
            partial: Vec::new(),
            location: None,
            content_len: 0,
            interim: 0,
        }
    }
}

impl ResponseReader {
    /// Clears the last response.
    #[inline]
    pub fn begin(&mut self) {
        self.state = ResponseReaderState::Head;
        self.head = None;
        self.content_len = 0;
        self.interim = 0;
        if self.partial.capacity() > 0 {
            self.partial = Vec::new();
        }
        if self.location.is_some() {
            self.location = None;
        }
    }

    /// Takes what belongs to the response from the start of `input`.
    ///
    /// # Errors
    /// When the bytes are not an acceptable response; the reader is unusable until the next `begin`.
    #[inline]
    pub fn feed(
        &mut self,
        input: &[u8],
        expected: Expected,
        memo: &mut HeadMemo,
    ) -> Result<Progress, Http1Error> {
        self.feed_into(input, expected, memo, &mut ())
    }

    /// As [`ResponseReader::feed`], and passes head and body to `sink`.
    ///
    /// # Errors
    /// As [`ResponseReader::feed`].
    #[inline]
    pub fn feed_into(
        &mut self,
        input: &[u8],
        expected: Expected,
        memo: &mut HeadMemo,
        sink: &mut impl Sink,
    ) -> Result<Progress, Http1Error> {
        let mut at = 0;
        loop {
            match &mut self.state {
                ResponseReaderState::Head => {
                    match self.take_head(&input[at..], expected, memo, sink)? {
                        Some(taken) => at += taken,
                        None => return Ok(Progress::More),
                    }
                }
                ResponseReaderState::Body(body) => {
                    let mut content = ContentMeter {
                        len: self.content_len,
                        len_max: expected.body_len_max,
                    };
                    at += body.take(&input[at..], &mut content, sink)?;
                    self.content_len = content.len;
                    if !body.is_complete() {
                        return Ok(Progress::More);
                    }
                    self.state = ResponseReaderState::Complete;
                }
                ResponseReaderState::Complete => return Ok(Progress::Complete(at)),
            }
        }
    }

    /// Remaining bytes of a body with a known length; they may be skipped unread. 0 when there is none.
    #[inline]
    pub fn skippable(&self) -> u64 {
        match self.state {
            ResponseReaderState::Body(BodyState::Sized(left)) => left,
            _ => 0,
        }
    }

    /// Accounts for `count` skipped bytes of such a body.
    ///
    /// # Panics
    /// When `count` is more than [`ResponseReader::skippable`].
    #[inline]
    pub fn skip(&mut self, count: u64) -> Progress {
        let left = self.skippable();
        assert!(
            count <= left,
            "{count} bytes of a body of {left} cannot be skipped"
        );
        if left == 0 {
            return Progress::More;
        }
        self.content_len += count;
        if count < left {
            self.state = ResponseReaderState::Body(BodyState::Sized(left - count));
            return Progress::More;
        }
        self.state = ResponseReaderState::Complete;
        Progress::Complete(0)
    }

    /// The effect of an end of the connection now.
    pub fn end(&self) -> AnswerEnd {
        match self.state {
            ResponseReaderState::Complete | ResponseReaderState::Body(BodyState::UntilClose) => {
                AnswerEnd::Complete
            }
            ResponseReaderState::Body(_) => AnswerEnd::InBody,
            ResponseReaderState::Head if self.has_begun() => AnswerEnd::InHead,
            ResponseReaderState::Head => AnswerEnd::BeforeAnswer,
        }
    }

    /// Whether any byte of the response has arrived, interim ones included.
    pub fn has_begun(&self) -> bool {
        self.head.is_some() || self.interim > 0 || !self.partial.is_empty()
    }

    /// The final head, once it is complete.
    pub fn head(&self) -> Option<&Head> {
        self.head.as_ref()
    }

    /// Status of the final head; 0 before it is complete.
    pub fn status(&self) -> u16 {
        self.head.map_or(0, |head| head.status)
    }

    /// Content coding of the body.
    pub fn coding(&self) -> ContentCoding {
        self.head.map_or(ContentCoding::Other, |head| head.coding)
    }

    /// Bytes of the body so far, decoded.
    pub fn content_len(&self) -> u64 {
        self.content_len
    }

    /// Whether the connection can carry another request, once the response is complete.
    pub fn keeps_alive(&self) -> bool {
        self.state == ResponseReaderState::Complete && self.head.is_some_and(|head| head.keep_alive)
    }

    /// The value of `Location`, stored when it was requested and the status is a redirect.
    pub fn take_location(&mut self) -> Option<Box<[u8]>> {
        self.location.take()
    }

    /// Takes a head, or the available part of it; `None` while it is incomplete.
    #[inline]
    fn take_head(
        &mut self,
        input: &[u8],
        expected: Expected,
        memo: &mut HeadMemo,
        sink: &mut impl Sink,
    ) -> Result<Option<usize>, Http1Error> {
        if self.partial.is_empty()
            && let Some((len, head)) = memo.recall(input)
        {
            self.begin_body(head, &input[..len], expected, sink)?;
            return Ok(Some(len));
        }
        self.take_new_head(input, expected, memo, sink)
    }

    fn take_new_head(
        &mut self,
        input: &[u8],
        expected: Expected,
        memo: &mut HeadMemo,
        sink: &mut impl Sink,
    ) -> Result<Option<usize>, Http1Error> {
        if self.partial.is_empty() {
            let Some(len) = head::find_end_within(input, 0, expected.head.len)? else {
                self.partial.extend_from_slice(input);
                return Ok(None);
            };
            let head = head::parse_within(&input[..len], expected.head.headers, |head, _| *head)?;
            memo.store(&input[..len], head);
            self.begin_body(head, &input[..len], expected, sink)?;
            return Ok(Some(len));
        }
        let scanned = self.partial.len();
        let room = expected.head.len.saturating_sub(scanned);
        self.partial
            .extend_from_slice(&input[..input.len().min(room)]);
        let Some(len) = head::find_end_within(&self.partial, scanned, expected.head.len)? else {
            return Ok(None);
        };
        let bytes = std::mem::take(&mut self.partial);
        let head = head::parse_within(&bytes[..len], expected.head.headers, |head, _| *head)?;
        self.begin_body(head, &bytes[..len], expected, sink)?;
        Ok(Some(len - scanned))
    }

    #[inline]
    fn begin_body(
        &mut self,
        head: Head,
        bytes: &[u8],
        expected: Expected,
        sink: &mut impl Sink,
    ) -> Result<(), Http1Error> {
        if head.status < 200 {
            return self.skip_interim(head.status);
        }
        self.head = Some(head);
        sink.head(&head, bytes);
        if expected.keep_location && (300..400).contains(&head.status) {
            self.location = head.location().map(|range| bytes[range].into());
        }
        if expected.no_body || matches!(head.status, 204 | 304) {
            self.state = ResponseReaderState::Complete;
            return Ok(());
        }
        self.state = ResponseReaderState::Body(match head.length {
            BodyLength::Sized(len) if len > expected.body_len_max => {
                return Err(Http1Error::BodyTooLong);
            }
            BodyLength::Sized(len) => BodyState::Sized(len),
            BodyLength::Chunked => BodyState::chunked(),
            BodyLength::Unspecified => BodyState::UntilClose,
        });
        Ok(())
    }

    fn skip_interim(&mut self, status: u16) -> Result<(), Http1Error> {
        if status == 101 {
            return Err(Http1Error::UnaskedUpgrade);
        }
        self.interim += 1;
        if self.interim > INTERIM_MAX {
            return Err(Http1Error::TooManyInterim);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXPECTED: Expected = Expected {
        no_body: false,
        keep_location: true,
        head: HeadLimits::DEFAULT,
        body_len_max: 1 << 20,
    };

    fn read(input: &str, expected: Expected) -> (Result<Progress, Http1Error>, ResponseReader) {
        let mut reader = ResponseReader::default();
        reader.begin();
        let progress = reader.feed(input.as_bytes(), expected, &mut HeadMemo::default());
        (progress, reader)
    }

    #[test]
    fn interim_answers_are_skipped() {
        let input = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n\
                     HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        let (progress, reader) = read(input, EXPECTED);
        assert_eq!(progress, Ok(Progress::Complete(input.len())));
        assert_eq!(reader.status(), 200);
        assert_eq!(
            read("HTTP/1.1 101 Switching\r\n\r\n", EXPECTED).0,
            Err(Http1Error::UnaskedUpgrade)
        );
        let endless = "HTTP/1.1 100 Continue\r\n\r\n".repeat(33);
        assert_eq!(read(&endless, EXPECTED).0, Err(Http1Error::TooManyInterim));
    }

    #[test]
    fn some_answers_have_no_body_whatever_they_say() {
        for status in [204, 304] {
            let input = format!("HTTP/1.1 {status} X\r\nContent-Length: 9\r\n\r\n");
            assert_eq!(
                read(&input, EXPECTED).0,
                Ok(Progress::Complete(input.len()))
            );
        }
        let input = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        let head_request = Expected {
            no_body: true,
            ..EXPECTED
        };
        assert_eq!(
            read(input, head_request).0,
            Ok(Progress::Complete(input.len()))
        );
    }

    #[test]
    fn heads_have_the_limits_of_their_reader() {
        let lines = |count: usize| "A: b\r\n".repeat(count);
        let answer = format!("HTTP/1.1 204 No Content\r\n{}\r\n", lines(300));
        let limited = |len, headers| Expected {
            head: HeadLimits { len, headers },
            ..EXPECTED
        };
        let whole = |expected| read(&answer, expected).0;
        let split = |expected| {
            let mut reader = ResponseReader::default();
            let memo = &mut HeadMemo::default();
            let pieces = answer.as_bytes().chunks(100);
            pieces
                .map(|piece| reader.feed(piece, expected, memo))
                .find(|progress| !matches!(progress, Ok(Progress::More)))
                .unwrap()
        };
        let len = answer.len();
        assert_eq!(whole(limited(len, 300)), Ok(Progress::Complete(len)));
        assert_eq!(
            split(limited(len, 300)),
            Ok(Progress::Complete(len - len / 100 * 100))
        );
        for result in [whole(limited(len - 1, 300)), split(limited(len - 1, 300))] {
            assert_eq!(result, Err(Http1Error::HeadTooLong(len - 1)));
        }
        for result in [whole(limited(len, 299)), split(limited(len, 299))] {
            assert_eq!(result, Err(Http1Error::TooManyHeaders(299)));
        }
    }

    #[test]
    fn bodies_have_a_limit() {
        let small = Expected {
            body_len_max: 4,
            ..EXPECTED
        };
        assert_eq!(
            read("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", small).0,
            Err(Http1Error::BodyTooLong)
        );
        assert_eq!(
            read(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
                small
            )
            .0,
            Err(Http1Error::BodyTooLong)
        );
        assert_eq!(
            read("HTTP/1.1 200 OK\r\n\r\nhello", small).0,
            Err(Http1Error::BodyTooLong)
        );
    }

    #[test]
    fn the_end_of_the_connection_means_what_it_cuts() {
        assert_eq!(read("", EXPECTED).1.end(), AnswerEnd::BeforeAnswer);
        assert_eq!(read("HTTP/1.1 20", EXPECTED).1.end(), AnswerEnd::InHead);
        assert_eq!(
            read("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe", EXPECTED)
                .1
                .end(),
            AnswerEnd::InBody
        );
        assert_eq!(
            read("HTTP/1.1 200 OK\r\n\r\nhe", EXPECTED).1.end(),
            AnswerEnd::Complete
        );
        assert!(!read("HTTP/1.1 200 OK\r\n\r\nhe", EXPECTED).1.keeps_alive());
    }

    #[test]
    fn bytes_beyond_the_answer_are_left() {
        let input = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokEXTRA";
        assert_eq!(
            read(input, EXPECTED).0,
            Ok(Progress::Complete(input.len() - 5))
        );
    }

    #[test]
    fn a_sized_body_may_be_skipped() {
        let (progress, mut reader) =
            read("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhe", EXPECTED);
        assert_eq!((progress, reader.skippable()), (Ok(Progress::More), 7));
        assert_eq!(reader.skip(5), Progress::More);
        assert_eq!(reader.end(), AnswerEnd::InBody);
        assert_eq!(reader.skip(2), Progress::Complete(0));
        assert_eq!((reader.content_len(), reader.keeps_alive()), (9, true));
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhe";
        assert_eq!(read(chunked, EXPECTED).1.skippable(), 0);
    }

    #[derive(Default)]
    struct RecordingSink {
        heads: Vec<Vec<u8>>,
        body: Vec<u8>,
    }

    impl Sink for RecordingSink {
        fn head(&mut self, _head: &Head, bytes: &[u8]) {
            self.heads.push(bytes.to_vec());
        }

        fn content(&mut self, bytes: &[u8]) {
            self.body.extend_from_slice(bytes);
        }
    }

    #[test]
    fn a_sink_gets_head_and_body_however_the_bytes_are_split() {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nSet-Cookie: a=b\r\n\r\n";
        let input = format!("HTTP/1.1 100 Continue\r\n\r\n{head}5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n");
        for size in [1, 7, 64, 1000] {
            let (mut reader, mut kept) = (ResponseReader::default(), RecordingSink::default());
            let mut memo = HeadMemo::default();
            for piece in input.as_bytes().chunks(size) {
                reader
                    .feed_into(piece, EXPECTED, &mut memo, &mut kept)
                    .unwrap();
            }
            assert_eq!(kept.heads, [head.as_bytes()]);
            assert_eq!(kept.body, b"hello!");
            assert!(reader.head().is_some_and(|head| head.sets_cookie));
        }
    }

    #[test]
    fn a_redirect_keeps_its_location() {
        let (_, mut reader) = read(
            "HTTP/1.1 302 Found\r\nLocation:  /next \r\nContent-Length: 0\r\n\r\n",
            EXPECTED,
        );
        assert_eq!(reader.take_location().as_deref(), Some(&b"/next"[..]));
    }
}
