//! A cache file, its metadata under a valid checksum, or a purge journal: any bytes are parsed or rejected.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_cache::properties::{description_is_read_or_refused, file_is_read_or_refused};

fuzz_target!(|bytes: &[u8]| {
    file_is_read_or_refused(bytes);
    description_is_read_or_refused(bytes);
});
