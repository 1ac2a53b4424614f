//! Any PROXY header of a trusted peer is parsed or rejected.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_proxy::properties::proxy_header_is_read_or_refused;

fuzz_target!(|bytes: &[u8]| {
    proxy_header_is_read_or_refused(bytes);
    proxy_header_is_read_or_refused(&[b"PROXY TCP", bytes].concat());
    proxy_header_is_read_or_refused(&[b"\r\n\r\n\0\r\nQUIT\n", bytes].concat());
});
