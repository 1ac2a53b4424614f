//! `cargo xtask demo`: builds the binary and executes its demo.

use std::convert::Infallible;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use anyhow::{Result, ensure};
use plimsoll_harness::workspace::{Workspace, cargo};

/// A profile of its own: who tries the demo waits for the build first, and a few hundred requests a second need no more.
const PROFILE: &str = "demo";

/// Returns only if something fails: otherwise this process is the demo, with its exit code and its signals.
pub(crate) fn run(rest: &[String]) -> Result<Infallible> {
    let workspace = Workspace::find()?;
    let status = cargo()
        .args(["build", "--profile", PROFILE, "--package", "plimsoll"])
        .current_dir(workspace.root())
        .status()?;
    ensure!(
        status.success(),
        "the build failed: see the compiler's messages above"
    );
    let binary = workspace.target().join(PROFILE).join("plimsoll");
    let error = Command::new(&binary).arg("demo").args(rest).exec();
    Err(anyhow::Error::new(error).context(format!("cannot run {}", binary.display())))
}
