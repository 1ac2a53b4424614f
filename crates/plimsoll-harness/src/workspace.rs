//! Paths of the workspace, from cargo.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::Value;

/// The workspace as `cargo metadata` describes it.
pub struct Workspace {
    root: PathBuf,
    target: PathBuf,
    metadata: Value,
}

impl Workspace {
    /// The workspace of the running program.
    ///
    /// # Errors
    ///
    /// If cargo cannot run, or does not describe the workspace.
    pub fn find() -> Result<Self> {
        // `cargo run` sets the path of the package that it runs. The compiled-in path may be that of another checkout if both
        // share a target folder.
        let folder = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let manifest = folder.join("Cargo.toml");
        let output = cargo()
            .args([
                "metadata",
                "--format-version",
                "1",
                "--no-deps",
                "--manifest-path",
            ])
            .arg(manifest)
            .output()
            .context("cannot run cargo metadata")?;
        anyhow::ensure!(
            output.status.success(),
            "cargo metadata failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let metadata: Value =
            serde_json::from_slice(&output.stdout).context("cargo metadata is not JSON")?;
        let path = |key: &str| -> Result<PathBuf> {
            let text = metadata[key].as_str();
            Ok(text
                .with_context(|| format!("cargo metadata lacks {key}"))?
                .into())
        };
        Ok(Self {
            root: path("workspace_root")?,
            target: path("target_directory")?,
            metadata,
        })
    }

    /// Folder of the repository.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Folder of cargo's output; honours `CARGO_TARGET_DIR`.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Cargo's description of the packages, without their dependencies.
    pub fn metadata(&self) -> &Value {
        &self.metadata
    }

    /// A binary of the release profile.
    pub fn release(&self, name: &str) -> PathBuf {
        self.target.join("release").join(name)
    }
}

/// The cargo that runs this program, or the one in the path. Without the variables of this package: build scripts (ring's)
/// that depend on them would run again, and all their dependents, whenever they change.
pub fn cargo() -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    for (name, _) in std::env::vars_os() {
        let is_ours = name.to_str().is_some_and(|name| {
            name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
        });
        if is_ours {
            command.env_remove(name);
        }
    }
    command
}
