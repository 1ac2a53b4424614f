//! Arbitrary bytes, split anywhere: the same result, no panic, and progress.

use std::fmt::Write as _;

use plimsoll_wire::error::Http1Error;
use plimsoll_wire::head::HeadMemo;
use plimsoll_wire::response::{AnswerEnd, Expected, Progress, ResponseReader};
use proptest::prelude::*;

/// The observable state of a reader after it has read.
#[derive(Debug, PartialEq, Eq)]
struct ReadResult {
    result: Result<Option<usize>, Http1Error>,
    status: u16,
    content_len: u64,
    keeps_alive: bool,
    end: AnswerEnd,
    location: Option<Box<[u8]>>,
}

/// Feeds `bytes` in pieces of the given lengths, repeatedly, until the response is complete or refused.
fn read(bytes: &[u8], pieces: &[usize], expected: Expected, memo: &mut HeadMemo) -> ReadResult {
    let mut reader = ResponseReader::default();
    reader.begin();
    let mut at = 0;
    let mut result = Ok(None);
    for piece in pieces.iter().cycle() {
        if at >= bytes.len() {
            break;
        }
        let input = &bytes[at..bytes.len().min(at + piece)];
        match reader.feed(input, expected, memo) {
            Ok(Progress::More) => at += input.len(),
            Ok(Progress::Complete(taken)) => {
                assert!(
                    taken <= input.len(),
                    "took {taken} of {} bytes",
                    input.len()
                );
                result = Ok(Some(at + taken));
                break;
            }
            Err(error) => {
                result = Err(error);
                break;
            }
        }
    }
    let failed = result.is_err();
    ReadResult {
        // The partial result of a refused response does not matter.
        status: if failed { 0 } else { reader.status() },
        content_len: if failed { 0 } else { reader.content_len() },
        keeps_alive: !failed && reader.keeps_alive(),
        end: if failed {
            AnswerEnd::InHead
        } else {
            reader.end()
        },
        location: if failed { None } else { reader.take_location() },
        result,
    }
}

fn header() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[A-Za-z-]{1,20}: [ -~]{0,30}\r\n",
        2 => (0_u32..40).prop_map(|length| format!("Content-Length: {length}\r\n")),
        2 => Just("Transfer-Encoding: chunked\r\n".to_owned()),
        1 => Just("Connection: close\r\n".to_owned()),
        1 => Just("Location: /elsewhere\r\n".to_owned()),
        1 => Just("Content-Encoding: gzip\r\n".to_owned()),
        1 => "[ -~]{0,10}\n",
        1 => " [a-z]{1,5}\r\n",
    ]
}

fn body() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{0,40}",
        prop::collection::vec("[a-z]{1,20}", 0..4).prop_map(|chunks| {
            let mut text = String::new();
            for chunk in &chunks {
                write!(text, "{:x}\r\n{chunk}\r\n", chunk.len())
                    .expect("writing to a string does not fail");
            }
            text.push_str("0\r\n\r\n");
            text
        }),
        "[0-9a-f]{1,2}(;[a-z]{0,3})?\r\n[a-z]{0,20}\r?\n?",
    ]
}

fn answer() -> impl Strategy<Value = Vec<u8>> {
    let head = prop_oneof![8 => Just("HTTP/1.1 "), 1 => Just("HTTP/1.0 "), 1 => Just("HTTX")];
    let status =
        prop_oneof![6 => Just(200_u16), 1 => 100_u16..104, 2 => 200_u16..600, 1 => 0_u16..1000];
    (
        head,
        status,
        prop::collection::vec(header(), 0..6),
        body(),
        0_usize..2,
    )
        .prop_map(|(head, status, headers, body, interim)| {
            let interim = "HTTP/1.1 100 Continue\r\n\r\n".repeat(interim);
            format!(
                "{interim}{head}{status:03} X\r\n{}\r\n{body}",
                headers.concat()
            )
            .into_bytes()
        })
}

fn expected() -> impl Strategy<Value = Expected> {
    (any::<bool>(), any::<bool>(), 0_u64..60).prop_map(|(no_body, keep_location, body_len_max)| {
        Expected {
            head: plimsoll_wire::head::HeadLimits::DEFAULT,
            no_body,
            keep_location,
            body_len_max,
        }
    })
}

fn check(bytes: &[u8], pieces: &[usize], expected: Expected) {
    let whole = read(
        bytes,
        &[bytes.len().max(1)],
        expected,
        &mut HeadMemo::default(),
    );
    let split = read(bytes, pieces, expected, &mut HeadMemo::default());
    assert_eq!(whole, split, "split into {pieces:?}");
    // A memo of the same response changes nothing.
    let mut memo = HeadMemo::default();
    let first = read(bytes, &[bytes.len().max(1)], expected, &mut memo);
    let again = read(bytes, &[bytes.len().max(1)], expected, &mut memo);
    assert_eq!(whole, first);
    assert_eq!(whole, again);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn plausible_answers_read_the_same_however_split(
        bytes in answer(),
        pieces in prop::collection::vec(1_usize..30, 1..8),
        expected in expected(),
    ) {
        check(&bytes, &pieces, expected);
    }

    #[test]
    fn arbitrary_bytes_never_panic_and_read_the_same_however_split(
        start in prop_oneof![Just(&b""[..]), Just(&b"HTTP/1.1 200 OK\r\n"[..]), Just(&b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"[..])],
        rest in prop::collection::vec(prop_oneof![any::<u8>(), Just(b'\r'), Just(b'\n'), Just(b'0')], 0..300),
        pieces in prop::collection::vec(1_usize..30, 1..8),
        expected in expected(),
    ) {
        let bytes = [start, &rest].concat();
        check(&bytes, &pieces, expected);
    }
}
