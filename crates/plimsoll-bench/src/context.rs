//! What every measurement begins and ends with: cores, rounds, a folder, peers from their registry, and the page.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use plimsoll_harness::machine::{raise_descriptor_limit, two_cores};
use plimsoll_harness::step::execute;
use plimsoll_harness::workspace::Workspace;

/// Context of every measurement.
pub(crate) struct BenchContext {
    pub(crate) client_core: usize,
    pub(crate) server_core: usize,
    pub(crate) rounds: u32,
    pub(crate) seconds: u32,
    pub(crate) anyway: bool,
    /// Folder for run files.
    pub(crate) folder: tempfile::TempDir,
}

impl BenchContext {
    pub(crate) fn new(rounds: u32, seconds: u32, anyway: bool) -> Result<Self> {
        raise_descriptor_limit()?;
        let (client_core, server_core) = two_cores()?;
        Ok(Self {
            client_core,
            server_core,
            rounds,
            seconds,
            anyway,
            folder: tempfile::tempdir()?,
        })
    }
}

pub(crate) fn write(path: &Path, page: &str) -> Result<()> {
    std::fs::write(path, page).with_context(|| format!("cannot write {}", path.display()))?;
    println!("wrote {}", path.display());
    Ok(())
}

/// Writes a page to `--out`, else to the project's page if it is `whole`, else to the terminal.
pub(crate) fn deliver_page(
    workspace: &Workspace,
    out: Option<&Path>,
    whole: Option<&str>,
    page: &str,
) -> Result<()> {
    if let Some(path) = out.or(whole.map(Path::new)) {
        return write(&workspace.root().join(path), page);
    }
    println!("\n{page}");
    Ok(())
}

/// Installs a peer from its registry into a folder of its own.
pub(crate) fn cargo_install(name: &str, root: &Path) -> Result<()> {
    execute(
        Command::new("nice")
            .args(["-n", "5", "cargo", "install", name, "--locked", "--root"])
            .arg(root),
    )
}
