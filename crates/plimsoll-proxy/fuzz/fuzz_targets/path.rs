//! However a path is spelled, no server behind the edge reads it as one that another route guards.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_proxy::properties::no_spelling_gets_past_a_guard;

fuzz_target!(|target: &str| no_spelling_gets_past_a_guard(target));
