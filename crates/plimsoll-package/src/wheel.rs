//! The wheel `plimsoll-load`: the static binary as a script, packed by `PyPA`'s own `wheel`.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::step::execute;

use crate::guide;
use crate::release::{Release, copy, output, renew};

/// Writes what a wheel consists of, and packs it; that lists the files with their checksums, too.
pub(crate) fn make(release: &Release) -> Result<()> {
    let staging = release.staging().join("wheel");
    renew(&staging)?;
    let name = format!("plimsoll_load-{}", release.version);
    let info = staging.join(format!("{name}.dist-info"));
    copy(
        &release.stripped(),
        &staging.join(format!("{name}.data/scripts/plimsoll")),
    )?;
    copy(
        &release.workspace.root().join("LICENSE"),
        &info.join("licenses/LICENSE"),
    )?;
    copy(&release.source("wheel/WHEEL"), &info.join("WHEEL"))?;
    let read = |name: &str| std::fs::read_to_string(release.source("wheel").join(name));
    let metadata = read("METADATA")?.replace("@VERSION@", &release.version);
    std::fs::write(info.join("METADATA"), metadata + &read("README.md")?)?;
    execute(
        Command::new(release.tool("packaging/bin/wheel"))
            .args(["pack", "--dest-dir"])
            .arg(release.folder())
            .arg(&staging)
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
