//! Any text is a world, or is refused with places inside it; a world has an end of its calls, and any text changes it or not.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_config::document::{FileError, Surroundings};
use plimsoll_config::world::{self, LAW_S_MAX, TIERS_MAX, WhatIf};

/// Every file is the same table; every variable is set.
struct Anything;

impl Surroundings for Anything {
    fn file(&self, _path: &str, _len_max: u64) -> Result<Vec<u8>, FileError> {
        Ok(b"from,a,b\na,,10\nb,12,\n".to_vec())
    }

    fn variable(&self, name: &str) -> Option<String> {
        Some(name.to_owned())
    }
}

fuzz_target!(|text: &str| {
    match world::read(text, &Anything) {
        Ok(read) => {
            assert!((1..=TIERS_MAX).contains(&read.tiers.len()));
            assert!(!read.load.groups.is_empty());
            for tier in &read.tiers {
                assert!(tier.service.mean_s() <= LAW_S_MAX);
                for to in tier.calls.iter().flat_map(|call| &call.to) {
                    assert!(read.distances.of_call(tier, &read.tiers[*to]).is_ok());
                }
            }
            for line in text.lines().take(8) {
                if let Ok(what_if) = WhatIf::read(line.trim_start_matches('#'), &read) {
                    let _ = what_if.describe(&read);
                    assert!(what_if.applied(&read).is_ok());
                }
            }
        }
        Err(diagnostics) => assert!(!diagnostics.list().is_empty()),
    }
});
