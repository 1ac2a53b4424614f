//! Packages of npm from a lock file.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Result;

use crate::step::execute;

/// Installs a site's packages from its lock file, once.
///
/// # Errors
///
/// If npm cannot run or fails.
pub fn install(site: &Path) -> Result<()> {
    let modified = |path: &str| std::fs::metadata(site.join(path)).and_then(|it| it.modified());
    // npm writes this file last.
    let installed = modified("node_modules/.package-lock.json");
    if installed
        .is_ok_and(|installed| modified("package-lock.json").is_ok_and(|lock| lock <= installed))
    {
        return Ok(());
    }
    execute(
        Command::new("npm")
            .args(["ci", "--no-audit", "--no-fund", "--loglevel=error"])
            .current_dir(site)
            .stdin(Stdio::null()),
    )
}
