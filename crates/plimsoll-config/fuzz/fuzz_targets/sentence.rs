//! Any text is a demand, which means the same in its plain form, or is refused with a form that is read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_config::sentence::sentence;

fuzz_target!(|text: &str| {
    match sentence(text) {
        Ok(read) => assert_eq!(sentence(&read.to_string()), Ok(read)),
        Err(problem) => {
            assert!(problem.input.get(problem.span.clone()).is_some());
            if let Some(nearest) = problem.nearest {
                assert!(sentence(&nearest).is_ok(), "{nearest}");
            }
        }
    }
});
