//! A page is split without losing a byte of its text; references lead to web servers or nowhere.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_cache::properties::pages_come_apart_safely;

fuzz_target!(|input: (&[u8], &str)| pages_come_apart_safely(input.0, input.1));
