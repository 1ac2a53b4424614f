//! The wheel `plimsoll-load`, by maturin. Cargo finds the binary built already: target, flags and profile are the same.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::step::execute;

use crate::build::RUSTFLAGS;
use crate::guide;
use crate::release::{Release, TARGET, copy, output};

/// Builds the wheel.
pub(crate) fn make(release: &Release) -> Result<()> {
    execute(
        Command::new(release.tool("packaging/bin/maturin"))
            .args(["build", "--release", "--locked", "--target", TARGET])
            .args(["--compatibility", "manylinux2014", "--out"])
            .arg(release.folder())
            .arg("--target-dir")
            .arg(release.cargo_target())
            .current_dir(release.source("wheel"))
            .env("RUSTFLAGS", RUSTFLAGS)
            .env("SOURCE_DATE_EPOCH", &release.epoch)
            .stdin(Stdio::null()),
    )
}

fn wheel(release: &Release) -> Result<PathBuf> {
    let start = format!("plimsoll_load-{}-", release.version);
    let files = std::fs::read_dir(release.folder())?.filter_map(|entry| Some(entry.ok()?.path()));
    let mut wheels = files.filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(&start) && name.ends_with(".whl")
    });
    wheels.next().context("there is no wheel")
}

/// Installs it without an index into a new environment, and starts the program as the guide says.
pub(crate) fn check(release: &Release) -> Result<()> {
    let folder = release.try_folder()?;
    let wheel = wheel(release)?;
    let name = wheel.file_name().context("a wheel has a name")?;
    copy(&wheel, &folder.path().join(name))?;
    let mut shell = Command::new("unshare");
    shell
        .args(["--net", "sh", "-euc", &guide::commands(release, "pip")?])
        .current_dir(folder.path())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", folder.path());
    let text = output(&mut shell)?;
    let expected = format!("plimsoll {}", release.version);
    ensure!(text.contains(&expected), "the program printed `{text}`");
    Ok(())
}
