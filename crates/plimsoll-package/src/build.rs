//! The static binary, and what it writes itself: man pages and completions.

use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use plimsoll_harness::step::execute;
use plimsoll_harness::workspace::cargo;

use crate::release::{Release, TARGET, renew};

/// Linked with the C library's archive. Names are found without it (crate `plimsoll-names`).
pub(crate) const RUSTFLAGS: &str = "-C target-feature=+crt-static";

/// Builds the binary and fills the staging folder.
pub(crate) fn run(release: &Release) -> Result<()> {
    execute(
        cargo()
            .args(["build", "--release", "--locked", "--package", "plimsoll"])
            .args(["--target", TARGET, "--target-dir"])
            .arg(release.cargo_target())
            .current_dir(release.workspace.root())
            .env("RUSTFLAGS", RUSTFLAGS)
            .stdin(Stdio::null()),
    )?;
    renew(&release.folder())?;
    renew(&release.staging())?;
    execute(
        Command::new("strip")
            .arg("--strip-all")
            .arg("-o")
            .arg(release.stripped())
            .arg(release.binary()),
    )?;
    for (what, folder) in [("completions", "completions"), ("man", "man")] {
        execute(
            Command::new(release.stripped())
                .args(["generate", what])
                .arg(release.staging().join(folder)),
        )?;
    }
    std::fs::write(release.staging().join("changelog"), changelog(release)?)?;
    Ok(())
}

/// The changelog in Debian's format: what is new is in CHANGELOG.md.
fn changelog(release: &Release) -> Result<String> {
    let mut date = Command::new("date");
    date.args(["--utc", "--rfc-email"])
        .arg(format!("--date=@{}", release.epoch));
    let date = crate::release::output(&mut date).context("no date for the changelog")?;
    Ok(format!(
        "plimsoll ({}-1) unstable; urgency=medium\n\n  * Release {}; CHANGELOG.md of the sources lists what has changed.\n\n \
         -- Plimsoll maintainers <maintainers@plimsoll.invalid>  {date}\n",
        release.version, release.version
    ))
}
