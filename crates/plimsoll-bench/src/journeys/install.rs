//! Installation of the clients: k6 by Go, Gatling by Maven, each version into a folder of
//! the benchmark's own.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};
use plimsoll_harness::packages;
use plimsoll_harness::step::execute;
use plimsoll_harness::workspace::Workspace;

use crate::page::version;

const K6_VERSION: &str = "1.8.1";

/// Name of the jar that contains Gatling's version, which is set in bench/gatling/pom.xml.
const GATLING_JAR: &str = "gatling-core-";

/// Where the clients are.
pub(super) struct Installed {
    pub(super) plimsoll: PathBuf,
    /// `None` if it is missing and must not be installed.
    pub(super) k6: Option<PathBuf>,
    pub(super) k6_script: PathBuf,
    /// Java's class path. `None` if it is missing and must not be installed.
    pub(super) gatling: Option<String>,
    /// Where all that is installed stands.
    pub(super) folder: PathBuf,
}

impl Installed {
    /// Finds the clients and installs those that are missing, if that is wanted.
    pub(super) fn find(workspace: &Workspace, install: bool) -> Result<Self> {
        let folder = workspace.target().join("peers");
        if install {
            packages()?;
            k6(&folder)?;
            gatling(workspace, &folder)?;
        }
        let k6 = k6_folder(&folder).join("k6");
        let gatling = folder.join("gatling");
        let is_compiled = gatling.join("classes/JourneySimulation.class").is_file();
        Ok(Self {
            plimsoll: workspace.release("plimsoll"),
            k6: k6.is_file().then_some(k6),
            k6_script: workspace.root().join("bench/k6/journey.js"),
            gatling: (is_compiled && gatling_version(&gatling).is_some())
                .then(|| format!("{0}/classes:{0}/lib/*", gatling.display())),
            folder,
        })
    }

    /// Names and versions, for the page.
    pub(super) fn versions(&self) -> Vec<String> {
        let k6 = self
            .k6
            .as_ref()
            .and_then(|k6| version(&k6.display().to_string(), "version"));
        let gatling = self
            .gatling
            .as_ref()
            .and_then(|_| gatling_version(&self.folder.join("gatling")));
        [
            version("nginx", "-v"),
            version(&self.plimsoll.display().to_string(), "--version"),
            k6,
            gatling.map(|version| format!("Gatling {version}")),
            version("java", "-version"),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// Debian packages.
fn packages() -> Result<()> {
    let packages: Vec<_> = [
        ("nginx", "nginx-light"),
        ("openssl", "openssl"),
        ("mvn", "maven"),
        ("javac", "default-jdk-headless"),
    ]
    .into_iter()
    .filter(|(program, _)| !packages::is_installed(program))
    .map(|(_, package)| package)
    .collect();
    if packages.is_empty() {
        return Ok(());
    }
    packages::install(&packages)
}

/// A folder for each version, so that a new pin brings a new k6.
pub(crate) fn k6_folder(folder: &Path) -> PathBuf {
    folder.join(format!("k6-{K6_VERSION}"))
}

pub(crate) fn k6(folder: &Path) -> Result<()> {
    let bin = k6_folder(folder);
    if bin.join("k6").is_file() {
        return Ok(());
    }
    ensure!(
        packages::is_installed("go"),
        "missing: go, which builds k6; install a current Go toolchain, or measure without k6 by --no-install"
    );
    execute(
        Command::new("nice")
            .args(["-n", "5", "go", "install"])
            .arg(format!("go.k6.io/k6@v{K6_VERSION}"))
            .env("GOBIN", &bin)
            .env("GOPATH", folder.join("go"))
            // Otherwise `rm -r` of the target folder fails.
            .env("GOFLAGS", "-modcacherw"),
    )
}

/// Compiles our simulation each time: it may have changed.
fn gatling(workspace: &Workspace, folder: &Path) -> Result<()> {
    execute(
        Command::new("nice")
            .args(["-n", "5", "mvn", "--quiet", "--batch-mode", "--file"])
            .arg(workspace.root().join("bench/gatling/pom.xml"))
            .arg(format!(
                "-Dmaven.repo.local={}",
                folder.join("m2").display()
            ))
            .arg(format!(
                "-Dbench.folder={}",
                folder.join("gatling").display()
            ))
            .args(["compile", "dependency:copy-dependencies"]),
    )
}

/// The version in the name of the newest of its jars.
fn gatling_version(gatling: &Path) -> Option<String> {
    let names = std::fs::read_dir(gatling.join("lib")).ok()?;
    names
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| {
            let version = name.strip_prefix(GATLING_JAR)?.strip_suffix(".jar")?;
            let is_version = version.starts_with(|first: char| first.is_ascii_digit());
            is_version.then(|| version.to_owned())
        })
        .max()
}
