//! A file of a copy, a description under a true sum, or a journal of purges: any bytes are read or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_cache::properties::{description_is_read_or_refused, file_is_read_or_refused};

fuzz_target!(|bytes: &[u8]| {
    file_is_read_or_refused(bytes);
    description_is_read_or_refused(bytes);
});
