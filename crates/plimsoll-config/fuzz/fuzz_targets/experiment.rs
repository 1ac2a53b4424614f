//! Any text is an experiment, or is refused with places inside it; cells and trials are bounded.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_config::document::{FileError, Surroundings};
use plimsoll_config::experiment;
use plimsoll_model::experiment::CELLS_MAX;

/// Every file is the same template; every variable is set.
struct Anything;

impl Surroundings for Anything {
    fn file(&self, _path: &str, _len_max: u64) -> Result<Vec<u8>, FileError> {
        Ok(b"workers {{ workers }};\n".to_vec())
    }

    fn variable(&self, name: &str) -> Option<String> {
        Some(name.to_owned())
    }
}

fuzz_target!(|text: &str| {
    match experiment::read(text, "fuzz", &Anything) {
        Ok(read) => {
            assert!((1..=CELLS_MAX).contains(&read.cells.len()));
            for cell in &read.cells {
                let _ = read.design.describe(cell).to_string();
            }
        }
        Err(diagnostics) => assert!(!diagnostics.list().is_empty()),
    }
});
