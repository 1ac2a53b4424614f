//! Any text is a plan, or is refused with places inside it; the reader never panics and its memory is bounded.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_config::document::{FileError, Surroundings};
use plimsoll_config::plan::{self, Given};

/// Every file has the same few rows; every variable is set.
struct Anything;

impl Surroundings for Anything {
    fn file(&self, _path: &str, _len_max: u64) -> Result<Vec<u8>, FileError> {
        Ok(b"name,value\na,1\n".to_vec())
    }

    fn variable(&self, name: &str) -> Option<String> {
        Some(name.to_owned())
    }
}

fuzz_target!(|text: &str| {
    let given = Given {
        target: None,
        name: "fuzz".to_owned(),
        may_miss_variables: false,
    };
    let Err(diagnostics) = plan::read(text, &given, &Anything) else {
        return;
    };
    assert!(!diagnostics.list().is_empty());
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines: Vec<&str> = text.split('\n').collect();
    for diagnostic in diagnostics.list() {
        let line = lines[diagnostic.line - 1];
        assert!((1..=line.chars().count() + 1).contains(&diagnostic.column), "{diagnostic}");
    }
});
