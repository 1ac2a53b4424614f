//! Apache Otava itself on the trials of a comparison, in an environment of its own.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::python;
use plimsoll_harness::workspace::Workspace;
use serde_json::{Value, json};

/// Folder of its program and its packages, in the project.
const FOLDER: &str = "crates/plimsoll-soak/src/soak/compared";

fn environment(workspace: &Workspace) -> PathBuf {
    workspace.target().join("otava")
}

/// Installs it as the lock file has it.
pub(super) fn install(workspace: &Workspace) -> Result<()> {
    let lock = workspace.root().join(FOLDER).join("requirements.txt");
    python::install(&lock, &environment(workspace))
}

/// What it concludes from the series of the baseline and of the candidate: more time is worse.
pub(super) fn verdict(workspace: &Workspace, series: &Value) -> Result<Value> {
    let verdicts = verdicts(workspace, &[series])?;
    Ok(json!(verdicts.first().context("Otava has no verdict")?))
}

/// The same for many comparisons at once.
pub(super) fn verdicts(workspace: &Workspace, series: &[&Value]) -> Result<Vec<&'static str>> {
    let mut child = Command::new(environment(workspace).join("bin/python"))
        // Neither the folder of the program nor variables of the user add packages.
        .arg("-I")
        .arg(workspace.root().join(FOLDER).join("judge.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot run Otava")?;
    let mut input = child.stdin.take().context("Otava has no input")?;
    write!(input, "{}", json!(series))?;
    drop(input);
    let output = child.wait_with_output()?;
    ensure!(
        output.status.success(),
        "Otava failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let changes: Vec<f64> = serde_json::from_slice(&output.stdout)?;
    ensure!(
        changes.len() == series.len(),
        "Otava judged {} of {} comparisons",
        changes.len(),
        series.len()
    );
    let verdict = |change: &f64| match change {
        change if *change > 0.0 => "worse",
        change if *change < 0.0 => "better",
        _ => "same",
    };
    Ok(changes.iter().map(verdict).collect())
}
