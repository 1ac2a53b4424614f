//! Runs the binary and reads its output.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use jsonschema::Validator;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use plimsoll_testkit::turns::{self, MachineTurn};

/// Output of a command.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for CommandOutput {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl CommandOutput {
    /// The one JSON object on stdout.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("stdout is not one JSON object: {error}\n{self:?}"))
    }
}

impl CommandOutput {
    /// The result; `None`, with a report, if the run is void because this machine was too busy. A run that is void for any
    /// other reason is a failure.
    pub(crate) fn measured(&self) -> Option<Value> {
        let json = self.json();
        let void = json["void"].to_string();
        if json["void"].is_null() {
            return Some(json);
        }
        let causes = [
            "the generator was late",
            "the generator used",
            "the hypervisor took",
        ];
        assert!(causes.iter().any(|cause| void.contains(cause)), "{json:#}");
        plimsoll_testkit::not_tried::disturbed(void);
        None
    }

    /// Asserts that a load was sent. On a busy machine the generator is late: what was measured is void then (6), not what was
    /// sent.
    #[track_caller]
    pub(crate) fn assert_sent(&self) {
        assert!([0, 6].contains(&self.code), "{self:?}");
    }
}

/// Whether responses of an origin were so much later than its law that they prove nothing; reported.
pub(crate) fn is_late(late: Duration, at_most: Duration) -> bool {
    let is_late = late > at_most;
    if is_late {
        plimsoll_testkit::not_tried::disturbed(format_args!(
            "the origin's replies left {late:?} late"
        ));
    }
    is_late
}

/// A folder of its own, in which commands run.
pub(crate) struct Sandbox {
    folder: TempDir,
    /// The commands run beside those of other tests, or alone if the test asked for that.
    _turn: Arc<MachineTurn>,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self {
            _turn: turns::held_or_shared(),
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The binary with these arguments, not started yet.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        command
            .args(arguments)
            .current_dir(self.path())
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments).spawn().unwrap()
    }

    /// Runs to the end. Whatever happens, nothing panics.
    pub(crate) fn run(&self, arguments: &[&str]) -> CommandOutput {
        let result = CommandOutput::from(self.command(arguments).output().unwrap());
        assert!(
            !result.stderr.contains("panicked"),
            "{arguments:?}: {result:?}"
        );
        result
    }

    /// Starts the gate of a search, and interrupts it after two of its trials, which shows all but how it is decided.
    pub(crate) fn two_gate_trials(&self, arguments: &[&str]) -> CommandOutput {
        let mut child = self.start(arguments);
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let (mut text, mut trials) = (String::new(), 0);
        while trials < 2 {
            let before = text.len();
            if stderr.read_line(&mut text).unwrap() == 0 {
                break;
            }
            trials += usize::from(text[before..].starts_with("gate  "));
        }
        interrupt(&child);
        stderr.read_to_string(&mut text).unwrap();
        CommandOutput {
            stderr: text,
            ..child.wait_with_output().unwrap().into()
        }
    }

    /// Holds an object against the schema that `plimsoll generate schema NAME` prints.
    pub(crate) fn assert_follows_schema(&self, name: &str, json: &Value) {
        let output = self.run(&["generate", "schema", name]);
        assert_eq!(output.code, 0, "{output:?}");
        let validator: Validator = jsonschema::draft202012::new(&output.json()).unwrap();
        let errors: Vec<String> = validator
            .iter_errors(json)
            .map(|error| error.to_string())
            .collect();
        assert!(errors.is_empty(), "{errors:#?}\n{json:#}");
    }

    /// The run files below `./plimsoll`.
    pub(crate) fn run_files(&self) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(self.path().join("plimsoll")) else {
            return Vec::new();
        };
        entries
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|ending| ending == "run"))
            .collect()
    }
}

/// Sends a signal to a program. To one that has ended and was not waited for it does nothing.
#[track_caller]
pub(crate) fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// Sends what Ctrl-C sends.
#[track_caller]
pub(crate) fn interrupt(child: &Child) {
    signal(child, Signal::INT);
}

/// A number in a JSON object by its path, such as `response_time_ms.p95`.
pub(crate) fn number(json: &Value, path: &str) -> f64 {
    path.split('.')
        .fold(json, |value, key| &value[key])
        .as_f64()
        .unwrap_or_else(|| panic!("no number at {path} in {json:#}"))
}

/// A count in a JSON object by its path, such as `outcomes.ok`; a status that was never seen has none.
pub(crate) fn count(json: &Value, path: &str) -> u64 {
    path.split('.')
        .fold(json, |value, key| &value[key])
        .as_u64()
        .unwrap_or(0)
}

/// Asserts that `value` lies within `share` of `expected`.
pub(crate) fn assert_near(value: f64, expected: f64, share: f64, what: &str) {
    assert!(
        (value - expected).abs() <= share * expected,
        "{what}: {value} is not within {share} of {expected}"
    );
}
