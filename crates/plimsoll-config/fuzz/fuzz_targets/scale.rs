//! Any text is a scaling policy, or is refused with places inside it; its bounds hold.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_config::document::{FileError, Surroundings};
use plimsoll_config::scale::{self, REPLICAS_MAX};

/// No file is there; every variable is set.
struct Anything;

impl Surroundings for Anything {
    fn file(&self, _path: &str, _len_max: u64) -> Result<Vec<u8>, FileError> {
        Err(FileError::Unreadable("no such file".to_owned()))
    }

    fn variable(&self, name: &str) -> Option<String> {
        Some(name.to_owned())
    }
}

fuzz_target!(|text: &str| {
    match scale::read(text, "fuzz", &Anything) {
        Ok(read) => {
            assert!((1..=REPLICAS_MAX).contains(&read.min));
            assert!((read.min..=REPLICAS_MAX).contains(&read.max));
            assert!(read.replica.line > 0.0 && read.replica.in_flight_max() > 0.0);
            for threshold in &read.threshold {
                assert!(threshold.below < threshold.above);
            }
        }
        Err(diagnostics) => assert!(!diagnostics.list().is_empty()),
    }
});
