//! Arbitrary text as a test plan of JMeter: a plan or an error, never a panic; a plan names its target in column 1.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_import::{Script, ScriptFiles, ScriptOptions, jmeter};

/// No file is beside the script.
struct NoFiles;

impl ScriptFiles for NoFiles {
    fn text(&self, path: &str) -> Result<String, String> {
        Err(format!("cannot open {path}"))
    }
}

fuzz_target!(|text: &str| {
    let script = Script {
        name: "a.jmx",
        text,
        files: &NoFiles,
    };
    if let Ok(imported) = jmeter::import(&script, &ScriptOptions::default()) {
        assert!(imported.plan.lines().any(|line| line.starts_with("target: ")));
    }
});
