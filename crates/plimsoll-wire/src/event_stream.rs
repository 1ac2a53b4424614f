//! Server-Sent Events as a client reads them (WHATWG HTML, 9.2.6), in pieces of any size.

use thiserror::Error;

/// Limits of buffered data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventStreamLimits {
    /// Longest line, bytes.
    pub line_len_max: usize,
    /// Longest data of one event, bytes.
    pub data_len_max: usize,
}

impl Default for EventStreamLimits {
    /// 1 MiB each.
    fn default() -> Self {
        Self {
            line_len_max: 1 << 20,
            data_len_max: 1 << 20,
        }
    }
}

/// Why a stream must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum EventStreamError {
    /// A line, or the data of an event, is longer than its limit.
    #[error("a line or an event of the stream is longer than its limit")]
    TooLong,
    /// Not UTF-8. A browser would show replacement characters; a measurement reports it.
    #[error("the stream is not UTF-8")]
    Utf8,
}

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamEvent<'a> {
    /// Its type; `message` by default.
    pub kind: &'a str,
    /// The last id, of this event or an earlier one; empty if there was none.
    pub id: &'a str,
    /// Its lines, with line feeds between them.
    pub data: &'a str,
}

/// Reads one stream.
#[derive(Debug, Default)]
pub struct EventReader {
    /// The beginning of an incomplete line.
    line: Vec<u8>,
    data: String,
    has_data: bool,
    kind: String,
    id: String,
    /// The last byte was a carriage return: a line feed that follows belongs to it.
    after_return: bool,
    /// The first line has come: a byte order mark can stand only before it.
    is_begun: bool,
}

/// The byte order mark, which is ignored.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl EventReader {
    /// Takes bytes of the stream, and hands each event that they complete to `each`.
    ///
    /// # Errors
    /// When the stream exceeds a limit or is not text. Nothing more can be read of it.
    pub fn feed(
        &mut self,
        mut bytes: &[u8],
        limits: &EventStreamLimits,
        mut each: impl FnMut(StreamEvent<'_>),
    ) -> Result<(), EventStreamError> {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_return) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = memchr::memchr2(b'\n', b'\r', bytes);
            let piece = &bytes[..end.unwrap_or(bytes.len())];
            if self.line.len() + piece.len() > limits.line_len_max {
                return Err(EventStreamError::TooLong);
            }
            let Some(end) = end else {
                self.line.extend_from_slice(piece);
                return Ok(());
            };
            self.after_return = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            if self.line.is_empty() {
                self.take_line(piece, limits, &mut each)?;
            } else {
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(piece);
                self.take_line(&line, limits, &mut each)?;
            }
        }
        Ok(())
    }

    /// The `Last-Event-ID` of a reconnect; empty without one.
    pub fn last_id(&self) -> &str {
        &self.id
    }

    fn take_line(
        &mut self,
        mut line: &[u8],
        limits: &EventStreamLimits,
        each: &mut impl FnMut(StreamEvent<'_>),
    ) -> Result<(), EventStreamError> {
        if !std::mem::replace(&mut self.is_begun, true) {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        let line = std::str::from_utf8(line).map_err(|_| EventStreamError::Utf8)?;
        if line.is_empty() {
            self.dispatch(each);
            return Ok(());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if self.data.len() + value.len() + 1 > limits.data_len_max {
                    return Err(EventStreamError::TooLong);
                }
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push('\n');
                }
                self.data.push_str(value);
            }
            "event" => value.clone_into(&mut self.kind),
            "id" if !value.contains('\0') => value.clone_into(&mut self.id),
            // A comment has an empty name; unknown names are ignored.
            _ => {}
        }
        Ok(())
    }

    /// An empty line ends an event; an event without data is dropped.
    fn dispatch(&mut self, each: &mut impl FnMut(StreamEvent<'_>)) {
        if std::mem::take(&mut self.has_data) {
            let kind = if self.kind.is_empty() {
                "message"
            } else {
                &self.kind
            };
            each(StreamEvent {
                kind,
                id: &self.id,
                data: &self.data,
            });
        }
        // Released rather than kept: there may be tens of thousands of idle streams.
        self.data = String::new();
        self.kind = String::new();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(
        bytes: &[u8],
        piece: usize,
        limits: &EventStreamLimits,
    ) -> (Vec<String>, Option<EventStreamError>) {
        let mut reader = EventReader::default();
        let mut events = Vec::new();
        for piece in bytes.chunks(piece) {
            let result = reader.feed(piece, limits, |event| {
                events.push(format!("{}|{}|{}", event.kind, event.id, event.data));
            });
            if let Err(error) = result {
                return (events, Some(error));
            }
        }
        (events, None)
    }

    #[track_caller]
    fn check(stream: &str, expected: &[&str]) {
        for piece in 1..=stream.len() {
            let (events, error) = read(stream.as_bytes(), piece, &EventStreamLimits::default());
            assert_eq!(error, None);
            assert_eq!(events, expected, "in pieces of {piece}");
        }
    }

    #[test]
    fn the_examples_of_the_standard_are_read() {
        check(
            "data: YHOO\ndata: +2\ndata: 10\n\n",
            &["message||YHOO\n+2\n10"],
        );
        check(
            ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
            &[
                "message|1|first event",
                "message||second event",
                "message|| third event",
            ],
        );
        check("data\n\ndata\ndata\n\ndata:", &["message||", "message||\n"]);
        check(
            "data:test\n\ndata: test\n\n",
            &["message||test", "message||test"],
        );
        check(
            "event: add\ndata: 73857293\n\nevent: none\n\ndata: x\n\n",
            &["add||73857293", "message||x"],
        );
    }

    #[test]
    fn lines_end_in_any_of_three_ways() {
        check("data: a\r\ndata: b\rdata: c\n\r\n", &["message||a\nb\nc"]);
        check("data: a\r\r", &["message||a"]);
        check("\u{feff}data: ä\n\n", &["message||ä"]);
        check("id: 7\nid: 8\0\nmystery: x\ndata: y\n\n", &["message|7|y"]);
    }

    #[test]
    fn what_is_said_besides_is_kept() {
        let mut reader = EventReader::default();
        let stream = b"retry: 3000\nid: 7:5\n\n";
        reader
            .feed(stream, &EventStreamLimits::default(), |_| ())
            .unwrap();
        assert_eq!(reader.last_id(), "7:5");
    }

    #[test]
    fn a_stream_has_limits_and_is_text() {
        let limits = EventStreamLimits {
            line_len_max: 20,
            data_len_max: 30,
        };
        for piece in [1, 7, 100] {
            let endless = read(&[b'x'; 100], piece, &limits);
            assert_eq!(endless, (vec![], Some(EventStreamError::TooLong)));
            let many = read("data: 0123456789\n".repeat(5).as_bytes(), piece, &limits);
            assert_eq!(many, (vec![], Some(EventStreamError::TooLong)));
            let garbled = read(b"data: \xff\n\n", piece, &limits);
            assert_eq!(garbled, (vec![], Some(EventStreamError::Utf8)));
        }
    }

    proptest! {
        #[test]
        fn a_stream_reads_the_same_however_split(
            lines in prop::collection::vec("(data|id|event|retry|)(:| |)[a-z\u{e4}]{0,6}(\n|\r|\r\n|\n\n)", 0..20),
            piece in 1_usize..20,
        ) {
            let stream = lines.concat();
            let limits = EventStreamLimits { line_len_max: 12, data_len_max: 20 };
            let whole = read(stream.as_bytes(), stream.len().max(1), &limits);
            prop_assert_eq!(whole, read(stream.as_bytes(), piece, &limits));
        }
    }
}
