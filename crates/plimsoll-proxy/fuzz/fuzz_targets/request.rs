//! A request that the edge accepts is forwarded as one that means the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_proxy::properties::request_goes_on_as_it_was_meant;

fuzz_target!(|input: (bool, &[u8])| {
    let (trusted, bytes) = input;
    request_goes_on_as_it_was_meant(bytes, trusted);
});
