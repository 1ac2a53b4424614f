//! Recipes for package managers that this host does not have: parsed, not run.

use std::process::{Command, Stdio};

use anyhow::{Result, ensure};
use plimsoll_harness::step::execute;

use crate::records::digest;
use crate::release::{Release, copy};

const FORMULA: &str = "plimsoll.rb";
const FLAKE: &str = "flake.nix";

/// Fills in the formula; the flake builds from the sources and is copied.
pub(crate) fn make(release: &Release) -> Result<()> {
    let archive = format!("{}.tar.gz", release.archive_name());
    let sum = digest(&release.file(&archive))?;
    let text = std::fs::read_to_string(release.source("homebrew").join(FORMULA))?;
    let text = fill(&text, release, &archive, &sum);
    std::fs::write(release.file(FORMULA), text)?;
    copy(&release.source("nix").join(FLAKE), &release.file(FLAKE))
}

fn fill(text: &str, release: &Release, archive: &str, sum: &str) -> String {
    text.replace("@HOMEPAGE@", &release.homepage)
        .replace("@DOWNLOADS@", &release.downloads)
        .replace("@ARCHIVE@", archive)
        .replace("@SHA256@", sum)
}

/// Parses both.
pub(crate) fn check(release: &Release) -> Result<()> {
    let formula = std::fs::read_to_string(release.file(FORMULA))?;
    ensure!(!formula.contains('@'), "the formula has an unfilled place");
    execute(
        Command::new("ruby")
            .arg("-c")
            .arg(release.file(FORMULA))
            .stdin(Stdio::null()),
    )?;
    execute(
        Command::new("nix-instantiate")
            .arg("--parse")
            .arg(release.file(FLAKE))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null()),
    )?;
    println!("Homebrew's formula and Nix' flake are parsed, not run");
    Ok(())
}
