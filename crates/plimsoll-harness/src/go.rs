//! Programs of Go, built from sources of its module proxy by their lock files.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};

use crate::step::execute;

/// Builds a package of the module in `folder` into `program`, unless it was built since `go.sum` and `sources`, by their
/// names in that folder, changed. The program has no C parts, and no paths of the machine that built it.
///
/// # Errors
/// When `go` cannot be run, or does not build it.
pub fn build(folder: &Path, package: &str, program: &Path, sources: &[&str]) -> Result<()> {
    let modified = |path: &Path| std::fs::metadata(path).and_then(|it| it.modified());
    let sources = ["go.sum"].iter().chain(sources);
    let changed = sources
        .filter_map(|name| modified(&folder.join(name)).ok())
        .max();
    if changed.is_some_and(|changed| modified(program).is_ok_and(|built| changed <= built)) {
        return Ok(());
    }
    execute(
        Command::new("go")
            .args(["build", "-mod=readonly", "-trimpath", "-o"])
            .arg(program)
            .arg(package)
            .current_dir(folder)
            .env("CGO_ENABLED", "0")
            .env("GOTOOLCHAIN", "local")
            .stdin(Stdio::null()),
    )
    .with_context(|| {
        let name = program.file_name().unwrap_or_default().display();
        format!("missing: {name}, which `go` builds from sources of the Go module proxy")
    })
}
