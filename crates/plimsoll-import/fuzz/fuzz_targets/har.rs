//! Arbitrary text as a recording: a plan or an error, never a panic; a plan names its target in column 1.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_import::{har, journey};

fuzz_target!(|text: &str| {
    if let Ok(recording) = har::read(text)
        && let Ok(imported) = journey::plan(&recording, &journey::Options::default())
    {
        assert!(
            imported
                .plan
                .lines()
                .any(|line| line.starts_with("target: "))
        );
    }
});
