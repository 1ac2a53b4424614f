//! Frames, split anywhere: the same is read, or refused at the same point; and tungstenite agrees.

use std::io::{self, Read, Write};

use plimsoll_wire::websocket::{
    Close, Event, Opcode, Role, WebSocketError, WebSocketLimits, WebSocketReader, closing, frame,
};
use proptest::prelude::*;
use tungstenite::Message;
use tungstenite::protocol::{Role as TheirRole, WebSocket, WebSocketConfig};

const LIMITS: WebSocketLimits = WebSocketLimits {
    message_len_max: 2000,
    fragments_max: 8,
};

fn read(
    role: Role,
    bytes: &[u8],
    pieces: &[usize],
) -> (Vec<Event<'static>>, Option<WebSocketError>) {
    let mut bytes = bytes.to_vec();
    let mut reader = WebSocketReader::new(role, true);
    let mut events = Vec::new();
    let mut rest = &mut bytes[..];
    for &piece in pieces.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (first, others) = rest.split_at_mut(piece.min(rest.len()));
        let mut at = 0;
        while at < first.len() {
            let len = first.len() - at;
            match reader.next(&mut first[at..], &LIMITS) {
                Ok((taken, event)) => {
                    assert!(taken <= len && (event.is_some() || taken == len));
                    at += taken;
                    events.extend(event.map(Event::into_owned));
                }
                Err(error) => return (events, Some(error)),
            }
        }
        rest = others;
    }
    (events, None)
}

/// A frame, valid or nearly so.
fn plausible() -> impl Strategy<Value = Vec<u8>> {
    let first = prop_oneof![
        8 => prop::sample::select(vec![0x81_u8, 0x82, 0x01, 0x02, 0x00, 0x80, 0x89, 0x8a, 0xc1, 0x41]),
        1 => any::<u8>(),
        1 => Just(0x88),
    ];
    let payload = prop_oneof![
        8 => "[a-zä€😀]{0,60}".prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..140),
        1 => Just(b"\x03\xe8bye".to_vec()),
    ];
    (
        first,
        payload,
        prop::option::weighted(0.8, any::<[u8; 4]>()),
    )
        .prop_map(|(first, payload, key)| {
            let mut bytes = Vec::new();
            frame::write(
                &mut bytes,
                &frame::Frame::plain(Opcode::Binary, &payload),
                key,
            );
            bytes[0] = first;
            bytes
        })
}

/// Input without output.
struct Incoming<'a>(&'a [u8]);

impl Read for Incoming<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Incoming<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The messages that tungstenite reads, and whether it refused the bytes.
fn theirs(role: TheirRole, bytes: &[u8]) -> (Vec<Event<'static>>, bool) {
    let mut socket =
        WebSocket::from_raw_socket(Incoming(bytes), role, Some(WebSocketConfig::default()));
    let mut events = Vec::new();
    loop {
        let event = match socket.read() {
            Ok(Message::Text(text)) => Event::Text(text.to_string().into()),
            Ok(Message::Binary(bytes)) => Event::Binary(bytes.to_vec().into()),
            Ok(Message::Ping(bytes)) => Event::Ping(bytes.to_vec().into()),
            Ok(Message::Pong(bytes)) => Event::Pong(bytes.to_vec().into()),
            Ok(Message::Close(close)) => {
                Event::Close(close.map_or_else(Close::default, |close| Close {
                    code: Some(close.code.into()),
                    reason: close.reason.to_string().into(),
                }))
            }
            Ok(Message::Frame(_)) => unreachable!("reading gives messages"),
            // The end of the bytes is no refusal.
            Err(
                tungstenite::Error::ConnectionClosed
                | tungstenite::Error::Protocol(
                    tungstenite::error::ProtocolError::ResetWithoutClosingHandshake,
                ),
            ) => return (events, false),
            Err(_) => return (events, true),
        };
        let is_close = matches!(event, Event::Close(_));
        events.push(event);
        if is_close {
            return (events, false);
        }
    }
}

/// Valid frames: messages whole or in fragments with pings between them.
fn valid() -> impl Strategy<Value = Vec<(u8, Vec<u8>)>> {
    let message = (
        any::<bool>(),
        prop::collection::vec(("[a-zä€😀]{0,200}", any::<bool>()), 1..5),
    )
        .prop_map(|(is_text, fragments)| {
            let mut frames = Vec::new();
            let count = fragments.len();
            for (index, (payload, ping)) in fragments.into_iter().enumerate() {
                let opcode = match (index, is_text) {
                    (0, true) => 1,
                    (0, false) => 2,
                    _ => 0,
                };
                let last = if index + 1 == count { 0x80 } else { 0 };
                frames.push((opcode | last, payload.into_bytes()));
                if ping {
                    frames.push((0x89, b"ping".to_vec()));
                }
            }
            frames
        });
    prop::collection::vec(message, 0..5).prop_map(|messages| messages.concat())
}

fn encode(frames: &[(u8, Vec<u8>)], key: Option<[u8; 4]>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (first, payload) in frames {
        let start = bytes.len();
        frame::write(
            &mut bytes,
            &frame::Frame::plain(Opcode::Binary, payload),
            key,
        );
        bytes[start] = *first;
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn plausible_frames_read_the_same_however_split(
        frames in prop::collection::vec(plausible(), 1..8),
        pieces in prop::collection::vec(1_usize..40, 1..8),
        is_server in any::<bool>(),
    ) {
        let role = if is_server { Role::Server } else { Role::Client };
        let bytes = frames.concat();
        prop_assert_eq!(read(role, &bytes, &[bytes.len()]), read(role, &bytes, &pieces));
    }

    #[test]
    fn arbitrary_bytes_read_the_same_however_split(
        bytes in prop::collection::vec(any::<u8>(), 1..300),
        pieces in prop::collection::vec(1_usize..40, 1..8),
        is_server in any::<bool>(),
    ) {
        let role = if is_server { Role::Server } else { Role::Client };
        prop_assert_eq!(read(role, &bytes, &[bytes.len()]), read(role, &bytes, &pieces));
    }

    #[test]
    fn valid_frames_are_read_as_tungstenite_reads_them(
        frames in valid(),
        key in any::<[u8; 4]>(),
        pieces in prop::collection::vec(1_usize..40, 1..8),
    ) {
        for (role, their_role, key) in [
            (Role::Server, TheirRole::Server, Some(key)),
            (Role::Client, TheirRole::Client, None),
        ] {
            let mut bytes = encode(&frames, key);
            frame::write(
                &mut bytes,
                &frame::Frame::plain(Opcode::Close, &closing::payload(Some(1000), "ä")),
                key,
            );
            let (ours, fault) = read(role, &bytes, &pieces);
            prop_assert_eq!(fault, None);
            prop_assert_eq!((ours, false), theirs(their_role, &bytes));
        }
    }
}

#[test]
fn what_tungstenite_writes_is_read() {
    let mut written = Vec::new();
    let mut socket =
        WebSocket::from_raw_socket(io::Cursor::new(&mut written), TheirRole::Client, None);
    for message in [
        Message::text("Hällo"),
        Message::binary(vec![7; 70]),
        Message::Ping(vec![1].into()),
    ] {
        socket.send(message).unwrap();
    }
    drop(socket);
    let (events, error) = read(Role::Server, &written, &[3]);
    assert_eq!(error, None);
    assert_eq!(
        events,
        [
            Event::Text("Hällo".into()),
            Event::Binary(vec![7; 70].into()),
            Event::Ping(vec![1].into()),
        ]
    );
}
