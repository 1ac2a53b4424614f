//! `cargo xtask demo`: builds the release binary and executes its demo.

use std::convert::Infallible;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use anyhow::{Result, ensure};
use plimsoll_harness::workspace::{Workspace, cargo};

/// Returns only if something fails: otherwise this process is the demo, with its exit code and its signals.
pub(crate) fn run(rest: &[String]) -> Result<Infallible> {
    let workspace = Workspace::find()?;
    let status = cargo()
        .args(["build", "--release", "--package", "plimsoll"])
        .current_dir(workspace.root())
        .status()?;
    ensure!(
        status.success(),
        "the release build failed: see the compiler's messages above"
    );
    let binary = workspace.release("plimsoll");
    let error = Command::new(&binary).arg("demo").args(rest).exec();
    Err(anyhow::Error::new(error).context(format!("cannot run {}", binary.display())))
}
