//! Arbitrary frames, split anywhere, read as they do in one piece; what is held stays within its limits.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_wire::websocket::deflate::Inflater;
use plimsoll_wire::websocket::{Event, WebSocketError, WebSocketLimits, WebSocketReader, Role};

const LIMITS: WebSocketLimits = WebSocketLimits {
    message_len_max: 4096,
    fragments_max: 16,
};

/// Events, inflated if they can be, and how it ended.
fn read(role: Role, bytes: &[u8], piece: usize) -> (Vec<Event<'static>>, Option<WebSocketError>) {
    let mut bytes = bytes.to_vec();
    let mut reader = WebSocketReader::new(role, true);
    let mut inflater = Inflater::new(true);
    let mut events = Vec::new();
    let mut out = Vec::new();
    for piece in bytes.chunks_mut(piece) {
        let mut at = 0;
        while at < piece.len() {
            let len = piece.len() - at;
            let (taken, event) = match reader.next(&mut piece[at..], &LIMITS) {
                Ok(next) => next,
                Err(error) => return (events, Some(error)),
            };
            assert!(taken <= len && (event.is_some() || taken == len));
            at += taken;
            if let Some(Event::Deflated(deflated)) = &event {
                match deflated.inflate(&mut inflater, LIMITS.message_len_max, &mut out) {
                    Ok(content) => events.push(Event::Binary(content.bytes().to_vec().into())),
                    Err(error) => return (events, Some(error)),
                }
                assert!(out.len() <= LIMITS.message_len_max);
            }
            events.extend(event.map(Event::into_owned));
        }
    }
    (events, None)
}

fuzz_target!(|input: (u8, bool, &[u8])| {
    let (piece, is_server, bytes) = input;
    let role = if is_server {
        Role::Server
    } else {
        Role::Client
    };
    let whole = read(role, bytes, bytes.len().max(1));
    assert_eq!(whole, read(role, bytes, usize::from(piece).max(1)));
});
