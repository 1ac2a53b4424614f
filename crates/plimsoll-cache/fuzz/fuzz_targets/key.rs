//! Two targets share a key only when the rule treats them as equal.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_cache::properties::keys_distinguish_targets;

fuzz_target!(|input: (&str, &str, &str)| keys_distinguish_targets(input.0, input.1, input.2));
