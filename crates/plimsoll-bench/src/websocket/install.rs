//! Installation of the clients: k6 by Go, Artillery by npm, Tsung from Debian.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Result;
use plimsoll_harness::packages;
use plimsoll_harness::step::execute;
use plimsoll_harness::workspace::Workspace;

use crate::hub::hubs;
use crate::journeys::install::{k6, k6_folder};
use crate::load::tool::debian_version;
use crate::page::version;

/// The last that runs on the Node of this project's other parts.
const ARTILLERY_VERSION: &str = "2.0.21";

/// Where the clients are, and their server.
pub(super) struct Installed {
    pub(super) plimsoll: PathBuf,
    /// `None` if it is missing and must not be installed; the same of Artillery.
    pub(super) k6: Option<PathBuf>,
    pub(super) artillery: Option<PathBuf>,
    pub(super) bun: PathBuf,
    /// The server's script.
    pub(super) server: PathBuf,
    /// The folder of the clients' scripts.
    pub(super) scripts: PathBuf,
}

impl Installed {
    /// Finds the clients and installs those that are missing, if that is wanted.
    pub(super) fn find(workspace: &Workspace, install: bool) -> Result<Self> {
        let folder = workspace.target().join("peers");
        if install {
            if !packages::is_installed("tsung") {
                packages::install(&["tsung"])?;
            }
            k6(&folder)?;
            artillery(&folder)?;
        }
        let programs = hubs::HubPrograms::find(workspace)?;
        let k6 = k6_folder(&folder).join("k6");
        let artillery = artillery_folder(&folder).join("node_modules/.bin/artillery");
        Ok(Self {
            plimsoll: workspace.release("plimsoll"),
            k6: k6.is_file().then_some(k6),
            artillery: artillery.is_file().then_some(artillery),
            bun: programs.bun,
            server: workspace.root().join("bench/hub/bun.js"),
            scripts: workspace.root().join("bench/websocket"),
        })
    }

    /// Names and versions, for the page.
    pub(super) fn versions(&self) -> Vec<String> {
        let k6 = self
            .k6
            .as_ref()
            .and_then(|k6| version(&k6.display().to_string(), "version"));
        let artillery = self.artillery.as_ref();
        [
            version(&self.plimsoll.display().to_string(), "--version"),
            k6,
            artillery.map(|_| format!("Artillery {ARTILLERY_VERSION}")),
            debian_version("tsung").map(|version| format!("Tsung {version}")),
            version(&self.bun.display().to_string(), "--version")
                .map(|version| format!("server: Bun {version}")),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// A folder for each version, so that a new pin brings a new one.
fn artillery_folder(folder: &Path) -> PathBuf {
    folder.join(format!("artillery-{ARTILLERY_VERSION}"))
}

fn artillery(folder: &Path) -> Result<()> {
    let folder = artillery_folder(folder);
    if folder.join("node_modules/.bin/artillery").is_file() {
        return Ok(());
    }
    std::fs::create_dir_all(&folder)?;
    execute(
        Command::new("nice")
            .args([
                "-n",
                "5",
                "npm",
                "install",
                "--no-audit",
                "--no-fund",
                "--loglevel=error",
            ])
            // It would bring browsers, which no WebSocket needs.
            .args(["--ignore-scripts", "--prefix"])
            .arg(&folder)
            .arg(format!("artillery@{ARTILLERY_VERSION}"))
            .stdin(Stdio::null()),
    )
}
