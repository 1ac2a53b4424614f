//! Whatever a worker sends: every second counts once, and sums are those of what was delivered.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_workers::properties::sums_hold_whatever_a_worker_sends;

fuzz_target!(|text: &str| sums_hold_whatever_a_worker_sends(text));
