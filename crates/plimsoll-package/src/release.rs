//! One release: its version, its files, and where they are.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::step::{execute, line};
use plimsoll_harness::workspace::Workspace;

/// The only platform of the packages.
pub(crate) const TARGET: &str = "x86_64-unknown-linux-gnu";

/// What is packaged.
pub(crate) struct Release {
    pub(crate) workspace: Workspace,
    pub(crate) version: String,
    /// Seconds since 1970 of the commit, for the dates of files: the same sources give the same archives.
    pub(crate) epoch: String,
    pub(crate) commit: String,
    pub(crate) downloads: String,
    pub(crate) homepage: String,
    /// Where the packages are written to.
    folder: PathBuf,
}

impl Release {
    pub(crate) fn new(downloads: &str, homepage: &str) -> Result<Self> {
        let workspace = Workspace::find()?;
        let packages = workspace.metadata()["packages"].as_array();
        let product = packages
            .into_iter()
            .flatten()
            .find(|package| package["name"] == "plimsoll");
        let version = product.and_then(|package| package["version"].as_str());
        let version = version.context("cargo metadata lacks the package plimsoll")?;
        let git = |format: &str| {
            let mut git = Command::new("git");
            git.args(["log", "-1", &format!("--format={format}")])
                .current_dir(workspace.root());
            output(&mut git)
        };
        Ok(Self {
            version: version.to_owned(),
            epoch: git("%ct")?,
            commit: git("%H")?,
            downloads: downloads.trim_end_matches('/').to_owned(),
            homepage: homepage.to_owned(),
            folder: workspace.target().join("package"),
            workspace,
        })
    }

    /// The same release, of the same commit, with its packages in another folder.
    pub(crate) fn in_folder(&self, folder: &Path) -> Result<Self> {
        Ok(Self {
            workspace: Workspace::find()?,
            version: self.version.clone(),
            epoch: self.epoch.clone(),
            commit: self.commit.clone(),
            downloads: self.downloads.clone(),
            homepage: self.homepage.clone(),
            folder: folder.to_owned(),
        })
    }

    /// The folder of the packages.
    pub(crate) fn folder(&self) -> PathBuf {
        self.folder.clone()
    }

    /// A package.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    /// What several packages contain, beside the packages.
    pub(crate) fn staging(&self) -> PathBuf {
        self.folder().join("staging")
    }

    /// A file or folder of `packaging`.
    pub(crate) fn source(&self, path: &str) -> PathBuf {
        self.workspace.root().join("packaging").join(path)
    }

    /// Cargo's output for the static binary. A folder of its own, so that other builds keep theirs.
    pub(crate) fn cargo_target(&self) -> PathBuf {
        self.workspace.target().join("package-build")
    }

    /// The static binary.
    pub(crate) fn binary(&self) -> PathBuf {
        let folder = self.cargo_target().join(TARGET);
        folder.join("release").join("plimsoll")
    }

    /// The static binary without symbols, as packages contain it.
    pub(crate) fn stripped(&self) -> PathBuf {
        self.staging().join("plimsoll")
    }

    /// A program that the tools step built or installed.
    pub(crate) fn tool(&self, path: &str) -> PathBuf {
        self.workspace.target().join("tools").join(path)
    }

    /// Name of the archive, without its ending: also of the folder in it.
    pub(crate) fn archive_name(&self) -> String {
        format!("plimsoll-{}-x86_64-linux", self.version)
    }

    /// Name of the Debian package of a version.
    pub(crate) fn deb_name(version: &str) -> String {
        format!("plimsoll_{version}-1_amd64.deb")
    }

    /// An empty folder for a try, removed afterwards.
    pub(crate) fn try_folder(&self) -> Result<tempfile::TempDir> {
        let parent = self.folder();
        std::fs::create_dir_all(&parent)?;
        Ok(tempfile::Builder::new()
            .prefix(".try-")
            .tempdir_in(parent)?)
    }

    /// Packs a folder: the same content is the same file.
    pub(crate) fn pack(&self, parent: &Path, name: &str, to: &Path) -> Result<()> {
        let mut tar = Command::new("tar");
        tar.args(["--create", "--sort=name", "--format=posix"])
            .arg("--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime")
            .args(["--owner=0", "--group=0", "--numeric-owner"])
            .args(["--mode=u+rwX,go+rX,go-w"])
            .arg(format!("--mtime=@{}", self.epoch))
            .arg("--directory")
            .arg(parent);
        let is_compressed = |ending: &OsStr| ending == "gz" || ending == "tgz";
        if to.extension().is_some_and(is_compressed) {
            tar.arg("--use-compress-program=gzip --no-name --best");
        }
        tar.arg("--file").arg(to).arg(name);
        execute(&mut tar)
    }
}

/// What a program prints; its failure is an error that names the command.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let name = line(command);
    let done = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot run {name}"))?;
    let text = String::from_utf8_lossy(&done.stdout).trim().to_owned();
    ensure!(
        done.status.success(),
        "`{name}` ended with {}: {text} {}",
        done.status,
        String::from_utf8_lossy(&done.stderr).trim()
    );
    Ok(text)
}

/// An empty folder in the place of another.
pub(crate) fn renew(folder: &Path) -> Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))
}

/// Copies a file into a folder that may not exist yet.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    if let Some(folder) = to.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
    Ok(())
}
