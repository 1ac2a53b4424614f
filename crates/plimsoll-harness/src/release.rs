//! The release binaries that are measured and tested.

use anyhow::Result;

use crate::step::execute;
use crate::workspace::{Workspace, cargo};

/// The release binaries of the product and of the origin.
///
/// # Errors
///
/// If the build fails.
pub fn build(workspace: &Workspace) -> Result<()> {
    execute(
        cargo()
            .args([
                "build",
                "--release",
                "-p",
                "plimsoll",
                "-p",
                "plimsoll-testkit",
                "--bins",
            ])
            .current_dir(workspace.root()),
    )
}
