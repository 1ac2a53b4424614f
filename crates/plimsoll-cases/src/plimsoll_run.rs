//! Runs one `plimsoll` command to its end and parses its JSON object.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use plimsoll_harness::clock::pause;
use plimsoll_harness::step::line;
use serde_json::Value;

/// How often the command is looked at, and the wish to stop.
const POLL: Duration = Duration::from_millis(100);

/// The objective was met, missed, undecided, or the measurement void by its own word: it prints a result with all of
/// these.
const RESULT_CODES: [i32; 4] = [0, 3, 4, 6];

/// Runs `plimsoll ARGUMENTS --json` to its end; a wish to stop ends it early, with an error.
pub(crate) fn run_plimsoll(
    plimsoll: &Path,
    arguments: Vec<OsString>,
    is_stopped: &AtomicBool,
) -> Result<Value> {
    // It ends with us, as the servers do.
    let mut command = Command::new("setpriv");
    command
        .args(["--pdeathsig", "KILL", "--"])
        .arg(plimsoll)
        .args(arguments)
        .arg("--json")
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let text = line(&command);
    let mut child = command.spawn().context("cannot run setpriv")?;
    let stdout = child.stdout.take().expect("stdout is piped");
    let reader = std::thread::spawn(move || std::io::read_to_string(stdout));
    let status = match end(&mut child, is_stopped) {
        Ok(status) => status,
        Err(error) => {
            // Nobody waits for its answer any more.
            let _ = child.kill();
            let _ = child.wait();
            return Err(error);
        }
    };
    let stdout = reader.join().expect("the reader does not panic")?;
    ensure!(
        status
            .code()
            .is_some_and(|code| RESULT_CODES.contains(&code)),
        "`{text}` ended with {status}"
    );
    serde_json::from_str(&stdout).with_context(|| format!("`{text}` printed no JSON"))
}

fn end(child: &mut Child, is_stopped: &AtomicBool) -> Result<ExitStatus> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if is_stopped.load(Ordering::Relaxed) {
            bail!("stopped before it was over");
        }
        pause(POLL);
    }
}

/// What a search found.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LoadLineResult {
    /// The highest load within the objective, with the interval in which it lies.
    Line { low: f64, median: f64, high: f64 },
    /// Why there is none.
    Nothing(String),
}

impl LoadLineResult {
    /// Reads the object of `plimsoll limit`, whose line must be in this unit.
    pub(crate) fn of(report: &Value, unit: &str) -> Result<Self> {
        let line = &report["load_line"];
        if line.is_null() {
            let reason = report["reason"].as_str().unwrap_or("it gave no reason");
            return Ok(Self::Nothing(reason.to_owned()));
        }
        let its_unit = line["unit"].as_str().unwrap_or_default();
        ensure!(
            its_unit == unit,
            "the search reported its line in `{its_unit}` instead of {unit}"
        );
        let number = |key: &str| {
            line[key]
                .as_f64()
                .with_context(|| format!("the load line lacks {key}"))
        };
        Ok(Self::Line {
            low: number("low")?,
            median: number("median")?,
            high: number("high")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Result<LoadLineResult> {
        LoadLineResult::of(&serde_json::from_str(text)?, "users")
    }

    #[test]
    fn reads_a_line_and_the_lack_of_one() {
        let line = r#"{"load_line":{"low":180.0,"median":191.5,"high":204.0,"unit":"users"},"reason":null}"#;
        let expected = LoadLineResult::Line {
            low: 180.0,
            median: 191.5,
            high: 204.0,
        };
        assert_eq!(found(line).unwrap(), expected);
        let none = r#"{"load_line":null,"reason":"the machine was busy"}"#;
        assert_eq!(
            found(none).unwrap(),
            LoadLineResult::Nothing("the machine was busy".to_owned())
        );
        let rate = r#"{"load_line":{"low":1,"median":2,"high":3,"unit":"req/s"}}"#;
        let error = found(rate).unwrap_err().to_string();
        assert!(error.contains("`req/s`"), "{error}");
    }

    #[test]
    fn a_program_that_fails_or_talks_is_named() {
        let never = AtomicBool::new(false);
        let error = run_plimsoll(Path::new("false"), vec!["limit".into()], &never).unwrap_err();
        assert!(
            error
                .to_string()
                .ends_with("false limit --json` ended with exit status: 1"),
            "{error}"
        );
        let error = run_plimsoll(Path::new("echo"), vec!["hello".into()], &never).unwrap_err();
        assert!(error.to_string().ends_with("printed no JSON"), "{error}");
        let stopped = AtomicBool::new(true);
        let sleeps = vec!["-c".into(), "exec sleep 60".into()];
        let error = run_plimsoll(Path::new("sh"), sleeps, &stopped).unwrap_err();
        assert_eq!(error.to_string(), "stopped before it was over");
    }
}
