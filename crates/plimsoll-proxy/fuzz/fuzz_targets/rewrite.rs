//! Whatever target a client requests, a rewritten one is read as it was written.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_proxy::properties::target_is_rewritten_safely;

fuzz_target!(|target: &str| target_is_rewritten_safely(target));
