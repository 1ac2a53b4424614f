//! Packages of `PyPI` from a lock file.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Result;

use crate::packages;
use crate::step::execute;

/// Installs them into a virtual environment, unless it was done since the lock file was written.
///
/// # Errors
///
/// If the environment cannot be made, or pip fails.
pub fn install(lock: &Path, environment: &Path) -> Result<()> {
    let done = environment.join("done");
    let modified = |path: &Path| std::fs::metadata(path).and_then(|it| it.modified());
    let (installed, locked) = (modified(&done), modified(lock));
    if installed.is_ok_and(|installed| locked.is_ok_and(|locked| locked <= installed)) {
        return Ok(());
    }
    let make = || {
        let mut make = Command::new("python3");
        make.args(["-m", "venv", "--clear"]).arg(environment);
        execute(make.stdin(Stdio::null()))
    };
    if make().is_err() {
        // On Debian, pip for virtual environments is in a separate package.
        packages::install(&["python3-venv"])?;
        make()?;
    }
    let mut install = Command::new(environment.join("bin/pip"));
    install
        .args(["install", "--quiet", "--require-hashes"])
        .args(["--only-binary", ":all:"])
        .args(["--disable-pip-version-check", "--requirement"])
        .arg(lock);
    execute(install.stdin(Stdio::null()))?;
    std::fs::write(done, "")?;
    Ok(())
}
