//! The cases of the Autobahn test suite that matter for frames and closing, for both sides and however they are split.

use super::event::{Event, MessageContent};
use super::frame::{FrameHead, HEAD_LEN_MAX};
use super::{Role, WebSocketError, WebSocketLimits, WebSocketReader, mask};

const LIMITS: WebSocketLimits = WebSocketLimits {
    message_len_max: 70_000,
    fragments_max: 20,
};

/// A frame as a sender may write it, valid or not: the first byte as given, the payload length in its shortest form.
#[derive(Clone)]
struct Sent {
    first: u8,
    payload: Vec<u8>,
}

fn sent(first: u8, payload: impl AsRef<[u8]>) -> Sent {
    Sent {
        first,
        payload: payload.as_ref().to_vec(),
    }
}

const TEXT: u8 = 0x81;
const BINARY: u8 = 0x82;
const CLOSE: u8 = 0x88;
const PING: u8 = 0x89;
const PONG: u8 = 0x8a;
/// First fragment of a text, further ones, and the last.
const FIRST: u8 = 0x01;
const MIDDLE: u8 = 0x00;
const LAST: u8 = 0x80;
const RSV1: u8 = 0x40;

/// The bytes of frames sent to `role`.
fn bytes(role: Role, frames: &[Sent]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEAD_LEN_MAX);
    for frame in frames {
        let key = (role == Role::Server).then_some([0x9a, 0x1b, 0x5c, 0xe3]);
        let mut head = FrameHead {
            is_last: true,
            is_deflated: false,
            opcode: super::Opcode::Binary,
            mask: key,
            len: frame.payload.len() as u64,
        }
        .encode()
        .to_vec();
        head[0] = frame.first;
        bytes.extend(head);
        let start = bytes.len();
        bytes.extend(&frame.payload);
        if let Some(key) = key {
            mask::apply(&mut bytes[start..], key);
        }
    }
    bytes
}

/// A reader's events as text: `text:…`, `ping:…`, `close:1000:…`.
fn describe(event: &Event<'_>) -> String {
    let show = |bytes: &[u8]| {
        if bytes.len() > 200 {
            format!("{} bytes", bytes.len())
        } else {
            String::from_utf8_lossy(bytes).into_owned()
        }
    };
    match event {
        Event::Text(text) => format!("text:{}", show(text.as_bytes())),
        Event::Binary(bytes) => format!("binary:{}", show(bytes)),
        Event::Ping(bytes) => format!("ping:{}", show(bytes)),
        Event::Pong(bytes) => format!("pong:{}", show(bytes)),
        Event::Close(close) => format!("close:{:?}:{}", close.code, close.reason),
        Event::Deflated(deflated) => format!("deflated:{}", deflated.compressed_len()),
    }
}

fn read(
    role: Role,
    mut input: Vec<u8>,
    piece: usize,
    deflate: bool,
) -> (Vec<String>, Option<WebSocketError>) {
    let mut reader = WebSocketReader::new(role, deflate);
    let mut events = Vec::new();
    for piece in input.chunks_mut(piece) {
        let mut at = 0;
        while at < piece.len() {
            match reader.next(&mut piece[at..], &LIMITS) {
                Ok((taken, event)) => {
                    at += taken;
                    events.extend(event.iter().map(describe));
                }
                Err(error) => return (events, Some(error)),
            }
        }
    }
    (events, None)
}

#[track_caller]
fn check_with(deflate: bool, frames: &[Sent], expected: &[&str], error: Option<WebSocketError>) {
    for role in [Role::Client, Role::Server] {
        let bytes = bytes(role, frames);
        let longest = bytes.len().max(1);
        let pieces = (1..=longest.min(300)).chain([longest.div_ceil(2), longest]);
        for piece in pieces {
            let (events, found) = read(role, bytes.clone(), piece, deflate);
            assert_eq!(found, error, "{role:?} in pieces of {piece}");
            assert_eq!(events, expected, "{role:?} in pieces of {piece}");
        }
    }
}

#[track_caller]
fn check(frames: &[Sent], expected: &[&str], error: Option<WebSocketError>) {
    check_with(false, frames, expected, error);
}

#[test]
fn section_1_lengths() {
    check(&[sent(TEXT, "")], &["text:"], None);
    check(&[sent(BINARY, "")], &["binary:"], None);
    for len in [125, 126, 127, 128] {
        let text = "*".repeat(len);
        check(&[sent(TEXT, &text)], &[&format!("text:{text}")], None);
    }
    for len in [65_535, 65_536] {
        check(
            &[sent(BINARY, vec![0xfe; len])],
            &[&format!("binary:{len} bytes")],
            None,
        );
    }
}

#[test]
fn section_2_pings() {
    check(
        &[sent(PING, ""), sent(PING, "Hello")],
        &["ping:", "ping:Hello"],
        None,
    );
    check(
        &[sent(PING, [b'x'; 125])],
        &[&format!("ping:{}", "x".repeat(125))],
        None,
    );
    check(
        &[sent(PING, [b'x'; 126])],
        &[],
        Some(WebSocketError::ControlTooLong),
    );
    check(
        &[sent(PONG, "unasked"), sent(PING, "p")],
        &["pong:unasked", "ping:p"],
        None,
    );
    let ten: Vec<_> = (0..10)
        .map(|n| sent(PING, format!("payload-{n}")))
        .collect();
    let expected: Vec<_> = (0..10).map(|n| format!("ping:payload-{n}")).collect();
    check(
        &ten,
        &expected.iter().map(String::as_str).collect::<Vec<_>>(),
        None,
    );
}

#[test]
fn section_3_reserved_bits() {
    for bits in 1..8 {
        let bits = bits << 4;
        check(
            &[sent(TEXT, "Hi"), sent(TEXT | bits, "Hello"), sent(PING, "")],
            &["text:Hi"],
            Some(WebSocketError::ReservedBit),
        );
        for control in [PING, CLOSE] {
            check(
                &[sent(control | bits, "")],
                &[],
                Some(WebSocketError::ReservedBit),
            );
        }
    }
}

#[test]
fn section_4_reserved_opcodes() {
    for opcode in (3..8).chain(11..16) {
        check(
            &[sent(TEXT, "Hi"), sent(0x80 | opcode, "x"), sent(PING, "")],
            &["text:Hi"],
            Some(WebSocketError::ReservedOpcode(opcode)),
        );
    }
}

#[test]
fn section_5_fragments() {
    check(
        &[sent(PING & 0x7f, "fragment1"), sent(LAST, "fragment2")],
        &[],
        Some(WebSocketError::ControlFragmented),
    );
    check(
        &[sent(PONG & 0x7f, "fragment1"), sent(LAST, "fragment2")],
        &[],
        Some(WebSocketError::ControlFragmented),
    );
    check(
        &[sent(FIRST, "fragment1"), sent(LAST, "fragment2")],
        &["text:fragment1fragment2"],
        None,
    );
    check(
        &[
            sent(FIRST, "fragment1"),
            sent(PING, "p"),
            sent(LAST, "fragment2"),
            sent(TEXT, "next"),
        ],
        &["ping:p", "text:fragment1fragment2", "text:next"],
        None,
    );
    for alone in [LAST, MIDDLE] {
        check(
            &[sent(alone, "x"), sent(TEXT, "Hi")],
            &[],
            Some(WebSocketError::NothingToContinue),
        );
    }
    check(
        &[sent(FIRST, "a"), sent(TEXT, "b")],
        &[],
        Some(WebSocketError::Interleaved),
    );
    check(
        &[sent(FIRST, "a"), sent(LAST, "b"), sent(LAST, "c")],
        &["text:ab"],
        Some(WebSocketError::NothingToContinue),
    );
    check(
        &[
            sent(FIRST, "1"),
            sent(MIDDLE, "2"),
            sent(PING, "a"),
            sent(MIDDLE, "3"),
            sent(MIDDLE, "4"),
            sent(PING, "b"),
            sent(LAST, "5"),
        ],
        &["ping:a", "ping:b", "text:12345"],
        None,
    );
    check(
        &[sent(FIRST, ""), sent(MIDDLE, ""), sent(LAST, "")],
        &["text:"],
        None,
    );
    check(
        &[sent(FIRST, ""), sent(MIDDLE, "middle"), sent(LAST, "")],
        &["text:middle"],
        None,
    );
    let mut endless = vec![sent(FIRST, "")];
    endless.extend(std::iter::repeat_n(sent(MIDDLE, ""), 30));
    check(&endless, &[], Some(WebSocketError::TooManyFragments(20)));
}

#[test]
fn section_6_text() {
    let word = "Hello-µ@ßöäüàá-UTF-8!!";
    for cut in 0..=word.len() {
        let (first, last) = word.as_bytes().split_at(cut);
        check(
            &[sent(FIRST, first), sent(LAST, last)],
            &[&format!("text:{word}")],
            None,
        );
    }
    for good in [
        "κόσμε",
        "\u{0}",
        "\u{7f}",
        "\u{80}",
        "\u{7ff}",
        "\u{800}",
        "\u{ffff}",
        "\u{10000}",
        "\u{d7ff}\u{e000}",
        "\u{10ffff}",
        "\u{fffe}",
    ] {
        check(&[sent(TEXT, good)], &[&format!("text:{good}")], None);
    }
    for bad in [
        // A surrogate within text; lone continuations; cut sequences; overlong forms; beyond U+10FFFF; five and six
        // bytes.
        &b"\xce\xba\xed\xa0\x80edited"[..],
        b"\x80",
        b"\xbf",
        b"\x80\xbf",
        b"\xce",
        b"\xce\xba\xe1",
        b"\xe1\xbd",
        b"\xf0\x90\x80",
        b"\xc0\xaf",
        b"\xe0\x80\xaf",
        b"\xf0\x80\x80\xaf",
        b"\xc1\xbf",
        b"\xed\xad\xbf",
        b"\xed\xbf\xbf",
        b"\xf4\x90\x80\x80",
        b"\xf7\xbf\xbf\xbf",
        b"\xf8\x88\x80\x80\x80",
        b"\xfc\x84\x80\x80\x80\x80",
        b"\xfe",
        b"\xff",
    ] {
        check(
            &[sent(TEXT, bad), sent(TEXT, "next")],
            &[],
            Some(WebSocketError::Utf8),
        );
        for cut in 0..=bad.len() {
            let (first, last) = bad.split_at(cut);
            check(
                &[sent(FIRST, first), sent(LAST, last), sent(TEXT, "next")],
                &[],
                Some(WebSocketError::Utf8),
            );
        }
    }
    // Invalid text is refused as soon as it is found, even if the message never ends.
    let mut never_ends = sent(FIRST, vec![b'a'; 1000]);
    never_ends.payload[10] = 0xff;
    check(&[never_ends], &[], Some(WebSocketError::Utf8));
    check(
        &[sent(BINARY, b"\xff\xfe")],
        &["binary:\u{fffd}\u{fffd}"],
        None,
    );
}

#[test]
fn section_7_closing() {
    let close = |code: u16, reason: &[u8]| sent(CLOSE, [&code.to_be_bytes(), reason].concat());
    check(&[sent(CLOSE, "")], &["close:None:"], None);
    check(
        &[close(1000, b""), sent(TEXT, "late"), sent(PING, "")],
        &["close:Some(1000):"],
        None,
    );
    check(
        &[sent(FIRST, "a"), close(1001, b"bye"), sent(LAST, "b")],
        &["close:Some(1001):bye"],
        None,
    );
    check(&[sent(CLOSE, "a")], &[], Some(WebSocketError::CloseLength));
    let reason = "r".repeat(123);
    check(
        &[close(1000, reason.as_bytes())],
        &[&format!("close:Some(1000):{reason}")],
        None,
    );
    check(
        &[close(1000, &[b'r'; 124])],
        &[],
        Some(WebSocketError::ControlTooLong),
    );
    check(
        &[close(1000, b"\xce\xba\xed\xa0\x80")],
        &[],
        Some(WebSocketError::Utf8),
    );
    for code in [
        0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535,
    ] {
        check(
            &[close(code, b"x")],
            &[],
            Some(WebSocketError::CloseCode(code)),
        );
    }
    for code in [
        1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999,
    ] {
        check(
            &[close(code, b"")],
            &[&format!("close:Some({code}):")],
            None,
        );
    }
}

#[test]
fn section_9_limits() {
    check(
        &[sent(BINARY, vec![0; 70_000])],
        &["binary:70000 bytes"],
        None,
    );
    let too_long = Some(WebSocketError::TooLong(70_000));
    check(&[sent(BINARY, vec![0; 70_001])], &[], too_long);
    let half = vec![b'x'; 40_000];
    check(
        &[sent(FIRST, &half), sent(PING, ""), sent(LAST, &half)],
        &["ping:"],
        too_long,
    );
    assert_eq!(too_long.map(WebSocketError::close_code), Some(1009));
}

#[test]
fn section_12_compressed() {
    let hello = b"\xf2\x48\xcd\xc9\xc9\x07\x00";
    check_with(
        true,
        &[sent(TEXT | RSV1, hello), sent(TEXT, "plain")],
        &["deflated:7", "text:plain"],
        None,
    );
    check_with(
        true,
        &[
            sent(FIRST | RSV1, &hello[..3]),
            sent(PING, "p"),
            sent(LAST, &hello[3..]),
        ],
        &["ping:p", "deflated:7"],
        None,
    );
    check_with(
        true,
        &[sent(FIRST | RSV1, "a"), sent(LAST | RSV1, "b")],
        &[],
        Some(WebSocketError::ReservedBit),
    );
    check_with(
        true,
        &[sent(PING | RSV1, "")],
        &[],
        Some(WebSocketError::ReservedBit),
    );
    check_with(
        true,
        &[sent(TEXT | 0x20, "")],
        &[],
        Some(WebSocketError::ReservedBit),
    );
}

#[test]
fn a_mask_is_the_clients_and_only_the_clients() {
    for (role, other, error) in [
        (Role::Client, Role::Server, WebSocketError::Masked),
        (Role::Server, Role::Client, WebSocketError::Unmasked),
    ] {
        for frame in [sent(TEXT, "x"), sent(PING, ""), sent(TEXT, vec![b'x'; 300])] {
            let wrong = bytes(other, &[frame]);
            for piece in [1, wrong.len()] {
                assert_eq!(
                    read(role, wrong.clone(), piece, false),
                    (vec![], Some(error))
                );
            }
        }
    }
}

#[test]
fn contents_are_what_they_say() {
    let text = Event::Text("ä".into());
    assert_eq!(text.content(), Some(MessageContent::Text("ä")));
    assert_eq!(text.content().map(|content| content.bytes().len()), Some(2));
    assert_eq!(Event::Ping(b"x"[..].into()).content(), None);
    let deflated = text.into_owned();
    assert_eq!(deflated, Event::Text("ä".into()));
}
