//! Whatever a coordinator sends: a worker begins its load once at most.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_workers::properties::a_worker_begins_once_whatever_its_coordinator_sends;

fuzz_target!(|text: &str| a_worker_begins_once_whatever_its_coordinator_sends(text));
