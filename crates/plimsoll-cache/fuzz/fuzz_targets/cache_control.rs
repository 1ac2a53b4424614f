//! Whatever `Cache-Control` contains, a prohibition is never overlooked.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_cache::properties::directives_are_read_safely;

fuzz_target!(|bytes: &[u8]| directives_are_read_safely(bytes));
