//! Clean roots: an empty folder, and a fresh Debian.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::step::execute;

use crate::release::{Release, output};

/// A program that sees only a folder: its own mounts, processes and environment.
pub(crate) fn chroot(root: &Path) -> Command {
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "--pid", "--fork", "--kill-child", "chroot"])
        .arg(root)
        .env_clear()
        .env(
            "PATH",
            "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        )
        .env("HOME", "/root")
        .env("LC_ALL", "C.UTF-8")
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null());
    command
}

/// Runs lines of a shell in a root with one; the first that fails ends them.
pub(crate) fn shell(root: &Path, lines: &str) -> Result<()> {
    execute(chroot(root).args(["sh", "-euxc", lines]))
}

/// A fresh Debian of this host's release. It is loaded once and unpacked for each try.
pub(crate) fn debian(release: &Release, root: &Path) -> Result<()> {
    let tar = loaded(release)?;
    execute(
        Command::new("tar")
            .args(["--extract", "--numeric-owner", "--file"])
            .arg(tar)
            .arg("--directory")
            .arg(root),
    )
}

fn loaded(release: &Release) -> Result<PathBuf> {
    let codename = codename()?;
    let tar = release.tool(&format!("debian-{codename}.tar"));
    if tar.exists() {
        return Ok(tar);
    }
    let folder = release.try_folder()?;
    let root = folder.path().join("root");
    execute(
        Command::new("debootstrap")
            .args(["--variant=minbase", "--include=ca-certificates", &codename])
            .arg(&root)
            .arg(mirror(&codename)?)
            .stdout(Stdio::null())
            .stdin(Stdio::null()),
    )?;
    let half = tar.with_extension("part");
    execute(
        Command::new("tar")
            .args(["--create", "--numeric-owner", "--file"])
            .arg(&half)
            .arg("--directory")
            .arg(&root)
            .args(["--exclude=./var/cache/apt/archives/*.deb", "."]),
    )?;
    std::fs::rename(half, &tar)?;
    Ok(tar)
}

fn codename() -> Result<String> {
    let text = std::fs::read_to_string("/etc/os-release")?;
    let mut lines = text.lines();
    let codename = lines.find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    Ok(codename.context("this host is no Debian")?.to_owned())
}

/// Where this host has its packages from.
fn mirror(codename: &str) -> Result<String> {
    let mut apt = Command::new("apt-get");
    apt.args(["indextargets", "--format", "$(SITE)"])
        .args(["Created-By: Packages", "Origin: Debian", "Component: main"])
        .arg(format!("Codename: {codename}"));
    let found = output(&mut apt)?;
    let first = found.lines().next().unwrap_or_default();
    ensure!(
        !first.is_empty(),
        "apt has no list of packages for {codename}; run `apt-get update`"
    );
    Ok(first.to_owned())
}
