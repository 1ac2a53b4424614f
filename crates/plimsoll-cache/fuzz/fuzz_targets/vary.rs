//! A secondary key depends on the fields of `Vary`, and on nothing else.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_cache::properties::selecting_depends_on_what_is_named;

fuzz_target!(|input: (&[u8], &[u8], &[u8])| {
    selecting_depends_on_what_is_named(input.0, input.1, input.2);
});
