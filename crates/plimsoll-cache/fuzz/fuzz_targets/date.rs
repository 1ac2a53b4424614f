//! A date is parsed or rejected; a parsed one round-trips.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_cache::properties::date_is_read_or_refused;

fuzz_target!(|input: (&[u8], u32)| date_is_read_or_refused(input.0, input.1));
