//! The reference pages and schemas are generated from the code: `cargo xtask reference` writes them, the tests compare.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use plimsoll_harness::step::execute;
use plimsoll_harness::workspace::{Workspace, cargo};

/// Folder in the repository.
const FOLDER: &str = "docs/reference";

/// Builds the program, which then writes the pages into the repository.
pub(crate) fn write() -> Result<()> {
    let workspace = Workspace::find()?;
    let mut build = cargo();
    build
        .args(["build", "--package", "plimsoll"])
        .current_dir(workspace.root());
    execute(&mut build)?;
    generate(&workspace, &workspace.root().join(FOLDER))
}

/// Fails if a page in the repository differs from the generated one.
///
/// Uses the binary that the end-to-end tests have just built: another build would take minutes.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let fresh = tempfile::tempdir()?;
    generate(workspace, fresh.path())?;
    let stale = differences(fresh.path(), &workspace.root().join(FOLDER))?;
    if !stale.is_empty() {
        bail!(
            "{} in {FOLDER} not up to date: run `cargo xtask reference` and commit",
            stale.join(", ")
        );
    }
    Ok(())
}

fn generate(workspace: &Workspace, folder: &Path) -> Result<()> {
    let binary = workspace.target().join("debug/plimsoll");
    let mut command = Command::new(binary);
    execute(
        command
            .args(["generate", "reference"])
            .arg(folder)
            .stdin(Stdio::null()),
    )
}

/// Names of generated files that are missing or differ in the repository, which may have hand-written pages too.
fn differences(fresh: &Path, committed: &Path) -> Result<Vec<String>> {
    let mut stale = Vec::new();
    let mut count = 0;
    for entry in std::fs::read_dir(fresh)? {
        let entry = entry?;
        count += 1;
        let made = std::fs::read(entry.path())
            .with_context(|| format!("cannot read {}", entry.path().display()))?;
        if std::fs::read(committed.join(entry.file_name())).ok() != Some(made) {
            stale.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    if count == 0 {
        bail!("the generator wrote no page");
    }
    stale.sort();
    Ok(stale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stale_and_missing_pages_are_named() {
        let (fresh, committed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let put = |folder: &Path, name: &str, text: &str| {
            std::fs::write(folder.join(name), text).unwrap();
        };
        assert!(
            differences(fresh.path(), committed.path()).is_err(),
            "no page is a fault"
        );
        put(fresh.path(), "same.md", "1");
        put(committed.path(), "same.md", "1");
        put(committed.path(), "by-hand.md", "1");
        assert!(
            differences(fresh.path(), committed.path())
                .unwrap()
                .is_empty()
        );
        put(fresh.path(), "changed.md", "2");
        put(committed.path(), "changed.md", "1");
        put(fresh.path(), "absent.md", "1");
        assert_eq!(
            differences(fresh.path(), committed.path()).unwrap(),
            ["absent.md", "changed.md"]
        );
    }
}
