//! Two targets share a key only when the rule says that they are one.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_cache::properties::keys_tell_targets_apart;

fuzz_target!(|input: (&str, &str, &str)| keys_tell_targets_apart(input.0, input.1, input.2));
