//! What is stored for any request and response may be shared, and is sent again with the same meaning.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_cache::properties::what_is_stored_may_be_shared;

fuzz_target!(|input: (&[u8], &[u8], u32)| {
    let (request, answer, seconds) = input;
    what_is_stored_may_be_shared(request, answer, seconds);
    what_is_stored_may_be_shared(
        &[b"GET / HTTP/1.1\r\n", request, b"\r\n\r\n"].concat(),
        &[
            b"HTTP/1.1 200 OK\r\nCache-Control: max-age=9\r\n",
            answer,
            b"\r\n\r\n",
        ]
        .concat(),
        seconds,
    );
});
