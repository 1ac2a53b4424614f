//! Arbitrary text as a script of another tool: a plan or an error, never a panic; a plan names its target in column 1.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_import::{Script, ScriptFiles, ScriptOptions, curl, jmeter, k6, openapi, postman};

/// Beside the script is a file of every name.
struct Files;

impl ScriptFiles for Files {
    fn text(&self, path: &str) -> Result<String, String> {
        Ok(path.to_owned())
    }
}

fuzz_target!(|input: (u8, &str)| {
    let (kind, text) = input;
    let script = Script {
        name: "script",
        text,
        files: &Files,
    };
    let importers = [
        curl::import,
        postman::import,
        openapi::import,
        k6::import,
        jmeter::import,
    ];
    let importer = importers[usize::from(kind) % importers.len()];
    if let Ok(imported) = importer(&script, &ScriptOptions::default()) {
        assert!(
            imported
                .plan
                .lines()
                .any(|line| line.starts_with("target: "))
        );
    }
});
