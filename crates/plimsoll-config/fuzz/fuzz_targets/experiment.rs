//! Any text is an experiment, or is refused with places inside it; cells and trials are bounded.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_config::document::{FileError, Surroundings};
use plimsoll_config::experiment;
use plimsoll_model::experiment::{CELLS_MAX, PRODUCT_MAX};
use plimsoll_model::price::HeldResources;

/// Every file is the same template; every variable is set.
struct Anything;

impl Surroundings for Anything {
    fn file(&self, _path: &str, _len_max: u64) -> Result<Vec<u8>, FileError> {
        Ok(b"workers {{ workers }};\n".to_vec())
    }

    fn variable(&self, name: &str) -> Option<String> {
        Some(name.to_owned())
    }

    fn machine(&self) -> Option<HeldResources> {
        Some(HeldResources {
            machines: 1.0,
            cpus: 8.0,
            memory: 16 << 30,
        })
    }
}

fuzz_target!(|text: &str| {
    match experiment::read(text, "fuzz", &Anything) {
        Ok(read) => {
            let is_tuning = read.tuning.is_some();
            assert!(is_tuning || (1..=CELLS_MAX).contains(&read.listed().len()));
            assert!((1..=PRODUCT_MAX).contains(&(read.cells_len() as u64)));
            for cell in read.listed() {
                let _ = read.design.describe(cell).to_string();
            }
            if let Some(tuning) = &read.tuning {
                assert!(tuning.is_feasible(&tuning.default_levels()));
            }
        }
        Err(diagnostics) => assert!(!diagnostics.list().is_empty()),
    }
});
