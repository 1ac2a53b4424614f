//! A WebSocket upgrade: the request and the accepting response, each with arbitrary headers behind.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_proxy::properties::{answer_goes_on_as_it_was_meant, request_goes_on_as_it_was_meant};

const REQUEST_HEAD: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n";
const AGREES: &[u8] =
    b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n";

fuzz_target!(|bytes: &[u8]| {
    request_goes_on_as_it_was_meant(&[REQUEST_HEAD, bytes].concat(), false);
    answer_goes_on_as_it_was_meant(&[AGREES, bytes].concat());
    answer_goes_on_as_it_was_meant(bytes);
});
