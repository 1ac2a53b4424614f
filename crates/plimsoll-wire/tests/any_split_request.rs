//! A client's bytes, split anywhere: the same requests are read, or refused at the same point.
#![expect(
    clippy::unwrap_used,
    reason = "these are tests, and the lint sees only functions marked so"
)]

use plimsoll_wire::framing::BodyReader;
use plimsoll_wire::head::BodyLength;
use plimsoll_wire::request_head::{RequestError, find_end, header_buffer, parse, skip_empty_lines};
use proptest::prelude::*;

const HEAD_LEN_MAX: usize = 20_000;

/// One request as read.
#[derive(Debug, PartialEq, Eq)]
struct ReadRequest {
    line: String,
    host: Option<String>,
    headers: Vec<(String, Vec<u8>)>,
    keep_alive: bool,
    upgrade: bool,
    body: Vec<u8>,
    is_whole: bool,
}

/// A reader like the edge's: bytes are buffered until a head is complete, then belong to a body.
#[derive(Default)]
struct RequestReader {
    held: Vec<u8>,
    body: Option<BodyReader>,
    requests: Vec<ReadRequest>,
    is_refused: bool,
}

impl RequestReader {
    fn take(&mut self, piece: &[u8]) {
        let mut scanned = self.held.len();
        self.held.extend_from_slice(piece);
        while !self.is_refused && self.step(scanned) {
            scanned = 0;
        }
    }

    /// Takes the next head or piece of a body; returns whether there may be more.
    fn step(&mut self, scanned: usize) -> bool {
        if let Some(mut body) = self.body.take() {
            let asked = self.requests.last_mut().unwrap();
            let taken = body.take(&self.held, |content| asked.body.extend_from_slice(content));
            let Ok(taken) = taken else {
                self.is_refused = true;
                return false;
            };
            assert!(taken <= self.held.len());
            self.held.drain(..taken);
            asked.is_whole = body.is_complete();
            if !asked.is_whole {
                assert!(self.held.is_empty());
                self.body = Some(body);
            }
            return asked.is_whole;
        }
        if let Ok(found) = self.head(scanned) {
            found
        } else {
            self.is_refused = true;
            false
        }
    }

    fn head(&mut self, scanned: usize) -> Result<bool, RequestError> {
        let skip = skip_empty_lines(&self.held)?;
        let Some(end) = find_end(
            &self.held[skip..],
            scanned.saturating_sub(skip),
            HEAD_LEN_MAX,
        )?
        else {
            return Ok(false);
        };
        let bytes: Vec<u8> = self.held.drain(..skip + end).skip(skip).collect();
        assert!(bytes.ends_with(b"\r\n\r\n"));
        let mut room = header_buffer();
        let head = parse(&bytes, &mut room)?;
        self.body = Some(BodyReader::new(
            match head.length {
                BodyLength::Unspecified => BodyLength::Sized(0),
                length => length,
            },
            5000,
        ));
        self.requests.push(ReadRequest {
            line: format!("{} {} {}", head.method, head.target, head.is_1_1),
            host: head.host.map(str::to_owned),
            headers: head
                .headers
                .iter()
                .map(|header| (header.name.to_owned(), header.value.to_vec()))
                .collect(),
            keep_alive: head.keep_alive,
            upgrade: head.upgrade,
            body: Vec::new(),
            is_whole: false,
        });
        Ok(true)
    }
}

fn read(bytes: &[u8], pieces: &[usize]) -> (Vec<ReadRequest>, bool) {
    let mut reader = RequestReader::default();
    let mut rest = bytes;
    for piece in pieces.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (first, others) = rest.split_at((*piece).min(rest.len()));
        reader.take(first);
        rest = others;
    }
    (reader.requests, reader.is_refused)
}

fn header() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("Host: a.example\r\n".to_owned()),
        (0_usize..30).prop_map(|len| format!("Content-Length: {len}\r\n")),
        Just("Transfer-Encoding: chunked\r\n".to_owned()),
        Just("Connection: close, x\r\n".to_owned()),
        Just("Connection: Upgrade\r\nUpgrade: websocket\r\n".to_owned()),
        Just("Expect: 100-continue\r\n".to_owned()),
        "[A-Za-z-]{1,8}:[ -~]{0,20}\r\n",
        "[ -~]{0,12}[\r\n]{1,3}",
    ]
}

fn request() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        Just("GET / HTTP/1.1\r\nHost: a\r\n".to_owned()),
        Just("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n".to_owned()),
        Just("POST http://a/y HTTP/1.0\r\n".to_owned()),
        "[A-Z]{1,4} /[ -~]{0,10} HTTP/1\\.[01]\r\n",
        Just("\r\n".to_owned()),
    ];
    let body = prop_oneof![
        Just(String::new()),
        Just("5;x\r\nhello\r\n0\r\nT: u\r\n\r\n".to_owned()),
        "[0-9a-f]{1,2}[;\r\n]{0,3}[ -~\r\n]{0,40}",
    ];
    (line, prop::collection::vec(header(), 0..4), body).prop_map(|(line, headers, body)| {
        format!("{line}{}\r\n{body}", headers.concat()).into_bytes()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn plausible_requests_read_the_same_however_split(
        requests in prop::collection::vec(request(), 1..4),
        pieces in prop::collection::vec(1_usize..30, 1..8),
    ) {
        let bytes = requests.concat();
        prop_assert_eq!(read(&bytes, &[bytes.len().max(1)]), read(&bytes, &pieces));
    }

    #[test]
    fn arbitrary_bytes_read_the_same_however_split(
        bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(b'\r'), Just(b'\n'), Just(b' '), Just(b':')], 0..300),
        pieces in prop::collection::vec(1_usize..30, 1..8),
    ) {
        prop_assert_eq!(read(&bytes, &[bytes.len().max(1)]), read(&bytes, &pieces));
    }
}

#[test]
fn long_lines_are_refused_at_once_or_in_pieces() {
    for (len, is_refused) in [(15_000, false), (17_000, true)] {
        let bytes = format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "x".repeat(len)).into_bytes();
        for piece in [bytes.len(), 1000] {
            let (asked, refused) = read(&bytes, &[piece]);
            assert_eq!(refused, is_refused, "{len} in pieces of {piece}");
            assert_eq!(asked.len(), usize::from(!is_refused));
        }
    }
}
