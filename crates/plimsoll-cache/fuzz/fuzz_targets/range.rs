//! Whatever range is requested, a part lies within its body.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_cache::properties::range_lies_within;

fuzz_target!(|input: (&[u8], u64)| {
    let (range, len) = input;
    range_lies_within(range, len);
    range_lies_within(&[b"bytes=", range].concat(), len);
});
