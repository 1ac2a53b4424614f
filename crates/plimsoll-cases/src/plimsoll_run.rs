//! Runs one `plimsoll` command to its end and parses its JSON object.

use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use plimsoll_harness::clock::pause;
use plimsoll_harness::run_report::RunReport;
use plimsoll_harness::server::path_with_servers;
use plimsoll_harness::step::line;
use plimsoll_harness::template::{Values, words};

use crate::case::Case;

/// How often the command is looked at, and the wish to stop.
const POLL: Duration = Duration::from_millis(100);

/// The objective was met, missed, undecided, the measurement void by its own word, or interrupted, which keeps what was
/// measured: it prints a result with all of these.
const RESULT_CODES: [i32; 5] = [0, 3, 4, 6, 130];

impl Case {
    /// Runs `plimsoll` with the words of a template and some that hold spaces, pinned if a core is given; its files go into the
    /// case's folder of runs.
    pub(crate) fn run(
        &self,
        core: Option<usize>,
        template: &str,
        values: &Values,
        more: &[&str],
    ) -> Result<RunReport> {
        let mut arguments = words("plimsoll", template, values)?;
        arguments.extend(more.iter().map(ToString::to_string));
        let out = self.store.join("runs").display().to_string();
        arguments.extend(["--out".to_owned(), out]);
        let plimsoll = self.plimsoll();
        let Some(core) = core else {
            return run_plimsoll(&plimsoll, arguments, self.is_stopped());
        };
        let plimsoll = plimsoll.display().to_string();
        arguments.splice(0..0, ["-c".to_owned(), core.to_string(), plimsoll]);
        run_plimsoll(Path::new("taskset"), arguments, self.is_stopped())
    }

    /// Runs `plimsoll` with these words; its results go into this folder.
    pub(crate) fn run_in(&self, out: &Path, mut words: Vec<String>) -> Result<RunReport> {
        words.extend(["--out".to_owned(), out.display().to_string()]);
        run_plimsoll(&self.plimsoll(), words, self.is_stopped())
    }
}

/// Runs `plimsoll ARGUMENTS --json` to its end; a wish to stop ends it early, with an error.
fn run_plimsoll(
    plimsoll: &Path,
    arguments: Vec<String>,
    is_stopped: &AtomicBool,
) -> Result<RunReport> {
    // It ends with us, as the servers do.
    let mut command = Command::new("setpriv");
    command
        .args(["--pdeathsig", "KILL", "--"])
        .arg(plimsoll)
        .args(arguments)
        .arg("--json")
        // Servers that it starts are where only root's path leads.
        .env("PATH", path_with_servers())
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
    RunReport::parse(&stdout).with_context(|| format!("`{text}` printed no JSON"))
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
    pub(crate) fn of(report: &RunReport, unit: &str) -> Result<Self> {
        if report.value("load_line").is_null() {
            let reason = report.value("reason").as_str();
            return Ok(Self::Nothing(
                reason.unwrap_or("it gave no reason").to_owned(),
            ));
        }
        let its_unit = report.value("load_line.unit").as_str().unwrap_or_default();
        ensure!(
            its_unit == unit,
            "the search reported its line in `{its_unit}` instead of {unit}"
        );
        Ok(Self::Line {
            low: report.number("load_line.low")?,
            median: report.number("load_line.median")?,
            high: report.number("load_line.high")?,
        })
    }

    /// The line itself.
    pub(crate) fn median(&self) -> Option<f64> {
        match self {
            Self::Line { median, .. } => Some(*median),
            Self::Nothing(_) => None,
        }
    }

    /// Its cells in a table: the line and its interval, or why there is none.
    pub(crate) fn cells(&self) -> [String; 2] {
        match self {
            Self::Line { low, median, high } => {
                [format!("{median:.0}"), format!("{low:.0}-{high:.0}")]
            }
            Self::Nothing(reason) => [format!("not known: {reason}"), "–".to_owned()],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Result<LoadLineResult> {
        LoadLineResult::of(&RunReport::parse(text)?, "users")
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
        let error = run_plimsoll(Path::new("false"), vec!["limit".to_owned()], &never).unwrap_err();
        assert!(
            error
                .to_string()
                .ends_with("false limit --json` ended with exit status: 1"),
            "{error}"
        );
        let error = run_plimsoll(Path::new("echo"), vec!["hello".to_owned()], &never).unwrap_err();
        assert!(error.to_string().ends_with("printed no JSON"), "{error}");
        let stopped = AtomicBool::new(true);
        let sleeps = vec!["-c".to_owned(), "exec sleep 60".to_owned()];
        let error = run_plimsoll(Path::new("sh"), sleeps, &stopped).unwrap_err();
        assert_eq!(error.to_string(), "stopped before it was over");
    }
}
