//! How many users the tutor carries: one search of our own program over the plan of the case.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use crate::clock::pause;
use crate::step::line;

/// How often the search is looked at, and the wish to stop.
const POLL: Duration = Duration::from_millis(100);

/// The search met its objective, was undecided, or was void by its own word: it prints a result with all of these.
const TOLD: [i32; 3] = [0, 4, 6];

/// What is searched, and how.
pub(super) struct Search<'a> {
    pub(super) plimsoll: &'a Path,
    pub(super) plan: &'a Path,
    pub(super) url: &'a str,
    /// Where its run file and report go.
    pub(super) out: &'a Path,
    /// Short name of those.
    pub(super) name: &'a str,
    pub(super) is_quick: bool,
}

/// What a search found.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Found {
    /// The highest number of users within the objective, with the interval in which it lies.
    Line { low: f64, median: f64, high: f64 },
    /// Why there is none.
    Nothing(String),
}

/// Runs the search to its end; a wish to stop ends it early, with an error.
pub(super) fn users_carried(search: &Search<'_>, is_stopped: &AtomicBool) -> Result<Found> {
    // It ends with us, as the servers do.
    let mut command = Command::new("setpriv");
    command
        .args(["--pdeathsig", "KILL", "--"])
        .arg(search.plimsoll)
        .arg("limit")
        .arg(search.plan)
        .args(["--target", search.url, "--json", "--name", search.name])
        .arg("--out")
        .arg(search.out)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    if search.is_quick {
        command.arg("--quick");
    }
    let text = line(&command);
    let mut child = command.spawn().context("cannot run setpriv")?;
    let stdout = child
        .stdout
        .take()
        .expect("the output was asked for as a pipe");
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
        status.code().is_some_and(|code| TOLD.contains(&code)),
        "`{text}` ended with {status}"
    );
    found(&stdout)
}

fn end(child: &mut Child, is_stopped: &AtomicBool) -> Result<std::process::ExitStatus> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if is_stopped.load(Ordering::Relaxed) {
            bail!("stopped before the search was over");
        }
        pause(POLL);
    }
}

/// Reads the JSON object of `plimsoll limit`.
fn found(stdout: &str) -> Result<Found> {
    let told: Value = serde_json::from_str(stdout).context("plimsoll limit printed no JSON")?;
    let line = &told["load_line"];
    if line.is_null() {
        let reason = told["reason"].as_str().unwrap_or("it gave no reason");
        return Ok(Found::Nothing(reason.to_owned()));
    }
    let unit = line["unit"].as_str().unwrap_or_default();
    ensure!(
        unit == "users",
        "the search told its line in `{unit}`, and users were asked for"
    );
    let number = |key: &str| {
        line[key]
            .as_f64()
            .with_context(|| format!("the load line lacks {key}"))
    };
    Ok(Found::Line {
        low: number("low")?,
        median: number("median")?,
        high: number("high")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_line_and_the_lack_of_one() {
        let line = r#"{"load_line":{"low":180.0,"median":191.5,"high":204.0,"unit":"users"},"reason":null}"#;
        let expected = Found::Line {
            low: 180.0,
            median: 191.5,
            high: 204.0,
        };
        assert_eq!(found(line).unwrap(), expected);
        let none = r#"{"load_line":null,"reason":"the machine was busy"}"#;
        assert_eq!(
            found(none).unwrap(),
            Found::Nothing("the machine was busy".to_owned())
        );
        let rate = r#"{"load_line":{"low":1,"median":2,"high":3,"unit":"req/s"}}"#;
        let error = found(rate).unwrap_err().to_string();
        assert!(error.contains("`req/s`"), "{error}");
        assert!(found("").is_err());
    }
}
