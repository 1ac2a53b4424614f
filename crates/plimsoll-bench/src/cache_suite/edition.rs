//! An edition of the suite: the tests it has, its origin server, and its client.
//!
//! Editions differ in the paths of their programs, which `package.json` lists.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use plimsoll_harness::node::install;
use plimsoll_harness::workspace::Workspace;
use serde_json::Value;

use super::verdict::{Results, Test};

/// Where our lock file and the script that lists the tests stand.
const FOLDER: &str = "benchmarks/cache-suite";
/// The newest edition among the packages.
const PACKAGED: &str = "node_modules/http-cache-tests";
/// The slowest subject is through in two minutes. An edition may wait for ever for an answer that never ends.
const CLIENT_S: u32 = 600;
/// Exit code of `timeout` when it killed the program.
const TIMED_OUT: i32 = 124;

pub(super) struct Edition {
    root: PathBuf,
    client: PathBuf,
    server: PathBuf,
    /// As a page names it.
    pub(super) title: String,
    pub(super) tests: Vec<Test>,
}

impl Edition {
    /// The packaged edition, installed from its lock file, or a checkout with installed packages.
    pub(super) fn find(workspace: &Workspace, checkout: Option<&Path>) -> Result<Self> {
        let folder = workspace.root().join(FOLDER);
        let root = if let Some(root) = checkout {
            root.canonicalize().with_context(|| {
                format!(
                    "cannot read {}: name the folder of a checkout",
                    root.display()
                )
            })?
        } else {
            install(&folder)?;
            folder.join(PACKAGED)
        };
        ensure!(
            checkout.is_none() || root.join("node_modules").is_dir(),
            "{0} lacks the packages it needs; `npm install --omit=dev` there brings them",
            root.display()
        );
        let package = root.join("package.json");
        let package: Value = std::fs::read_to_string(&package)
            .with_context(|| format!("no edition of the suite: cannot read {}", package.display()))
            .and_then(|text| Ok(serde_json::from_str(&text)?))?;
        Ok(Self {
            client: root.join(script(&package, "cli")?),
            server: root.join(script(&package, "server")?),
            title: title(&package, &root, checkout.is_some()),
            tests: tests(&folder, &root)?,
            root,
        })
    }

    /// The program of the suite's own origin, which keeps what it saw of each test for the client.
    pub(super) fn server(&self) -> &Path {
        &self.server
    }

    /// Asks the cache at this port all that the suite asks.
    pub(super) fn run_all(&self, port: u16) -> Result<Results> {
        let output = self
            .client(port, "")
            .stderr(Stdio::inherit())
            .output()
            .context("cannot run node")?;
        if output.status.code() == Some(TIMED_OUT) {
            bail!(
                "the client waited {CLIENT_S} s: some answer never ends; `--only ID` runs one test, shown in full"
            );
        }
        ensure!(
            output.status.success(),
            "the suite's client ended with {}",
            output.status
        );
        Results::read(&String::from_utf8_lossy(&output.stdout))
    }

    /// Asks one question, and returns what the client shows of it.
    pub(super) fn run_test(&self, port: u16, id: &str) -> Result<String> {
        let output = self
            .client(port, id)
            .stderr(Stdio::inherit())
            .output()
            .context("cannot run node")?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn client(&self, port: u16, id: &str) -> Command {
        let mut command = Command::new("timeout");
        command
            .args([&CLIENT_S.to_string(), "node", "--no-warnings"])
            .arg(&self.client)
            .current_dir(&self.root)
            .env("npm_config_base", format!("http://127.0.0.1:{port}"))
            .env("npm_config_id", id)
            // Read when the other is empty, and then it has to be there.
            .env("npm_package_config_id", "")
            .stdin(Stdio::null());
        command
    }
}

/// The program of a script such as `node server/server.mjs &`.
fn script<'a>(package: &'a Value, name: &str) -> Result<&'a Path> {
    let line = package["scripts"][name].as_str().unwrap_or_default();
    let mut words = line.split_whitespace().map(Path::new);
    let program = words.find(|word| word.extension().is_some_and(|it| it == "mjs"));
    program.with_context(|| format!("the edition's package.json names no program for `{name}`"))
}

/// The version; for a checkout, its commit too if git knows it.
fn title(package: &Value, root: &Path, is_checkout: bool) -> String {
    let version = package["version"].as_str().unwrap_or("of no version");
    if !is_checkout {
        return format!("http-cache-tests {version}");
    }
    let commit = Command::new("git")
        .args(["rev-parse", "--short", "HEAD"])
        .current_dir(root)
        .stderr(Stdio::null())
        .output();
    let commit = commit
        .ok()
        .filter(|output| output.status.success() && root.join(".git").exists())
        .map_or(String::new(), |output| {
            format!(
                ", commit {}",
                String::from_utf8_lossy(&output.stdout).trim()
            )
        });
    format!("http-cache-tests, a checkout after {version}{commit}")
}

/// What the edition's own index of tests lists.
fn tests(folder: &Path, root: &Path) -> Result<Vec<Test>> {
    let output = Command::new("node")
        .args(["--no-warnings", "tests.mjs"])
        .arg(root)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .context("cannot run node")?;
    ensure!(
        output.status.success(),
        "cannot list the tests of {}: {}",
        root.display(),
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Test::list(&String::from_utf8_lossy(&output.stdout))
}

#[cfg(test)]
mod tests_of_editions {
    use serde_json::json;

    use super::*;

    #[test]
    fn finds_the_programs_wherever_an_edition_has_them() {
        let old = json!({ "scripts": { "server": "node server/server.mjs &", "cli": "node --no-warnings cli.mjs" } });
        let new = json!({ "scripts": { "server": "node test-engine/server/server.mjs", "lint": "standard tests" } });
        assert_eq!(
            script(&old, "server").unwrap(),
            Path::new("server/server.mjs")
        );
        assert_eq!(script(&old, "cli").unwrap(), Path::new("cli.mjs"));
        assert_eq!(
            script(&new, "server").unwrap(),
            Path::new("test-engine/server/server.mjs")
        );
        assert!(script(&new, "cli").is_err());
    }
}
