//! Programs of measurements: where they are, how they are installed, and their versions. `benchmarks/programs.toml` lists them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

use crate::packages::{Tool, is_installed, see_to};
use crate::page::version;
use crate::step::execute;
use crate::template::Values;
use crate::workspace::Workspace;
use crate::{data, node};

/// The list.
const FILE: &str = "benchmarks/programs.toml";

/// A program of the list.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProgramEntry {
    /// Where it comes from.
    from: Source,
    /// Debian package, `crate`, `module@version`, `package@version`, or a folder of the repository.
    #[serde(default)]
    package: String,
    /// Its path below that folder; for a Debian package without a program in the path, a file of it.
    #[serde(default)]
    file: String,
    /// The flag that prints its version, or how else it is known.
    #[serde(default)]
    version: String,
    /// What stands before the version.
    #[serde(default)]
    title: String,
    /// The printed version ends here.
    cut: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Source {
    /// Our release build.
    Release,
    Debian,
    Cargo,
    Go,
    /// A version pinned in the list.
    Npm,
    /// A lock file of the repository.
    Locked,
    /// A folder of the repository that Maven compiles; the path is that of the compiled program.
    Maven,
}

/// Programs that were found.
pub struct Programs {
    entries: BTreeMap<String, ProgramEntry>,
    names: Vec<String>,
    root: PathBuf,
    release: PathBuf,
    peers: PathBuf,
}

impl Programs {
    /// Finds these programs and installs those that are missing, if that is wanted.
    ///
    /// # Errors
    ///
    /// If one is not in the list, or cannot be installed.
    pub fn find(workspace: &Workspace, names: &[String], install: bool) -> Result<Self> {
        let list: BTreeMap<String, ProgramEntry> = data::read(workspace.root(), FILE)?;
        let mut entries = BTreeMap::new();
        for name in names {
            let entry = list.get(name);
            let entry = entry.with_context(|| format!("{FILE} has no program `{name}`: add it"))?;
            entries.insert(name.clone(), entry.clone());
        }
        let programs = Self {
            entries,
            names: names.to_vec(),
            root: workspace.root().to_owned(),
            release: workspace.release(""),
            peers: workspace.target().join("peers"),
        };
        if install {
            programs.install()?;
        }
        Ok(programs)
    }

    /// Where a program is.
    ///
    /// # Errors
    ///
    /// If it is not installed.
    pub fn path(&self, name: &str) -> Result<PathBuf> {
        let entry = self.entries.get(name);
        let entry =
            entry.with_context(|| format!("`{name}` is not among the programs of the page"))?;
        let path = self.whereabouts(name, entry);
        let is_there = path.exists() || path.is_relative() && is_installed(name);
        ensure!(is_there, "{name} is not installed");
        Ok(path)
    }

    /// Fails if a command line names a program that is not installed.
    ///
    /// # Errors
    ///
    /// With its name.
    pub fn check(&self, line: &str) -> Result<()> {
        for name in &self.names {
            let value = format!("@{}@", name.replace('-', "_"));
            if line.contains(&value) || line.split_whitespace().next() == Some(name) {
                self.path(name)?;
            }
        }
        Ok(())
    }

    /// Paths of all programs that are there, for templates.
    pub fn values(&self) -> Values {
        let found = self
            .names
            .iter()
            .filter_map(|name| Some((name, self.path(name).ok()?)));
        let values = Values::default().with("peers", self.peers.display());
        found.fold(values, |values, (name, path)| {
            values.with(&name.replace('-', "_"), path.display())
        })
    }

    /// Folder of what is installed for measurements.
    pub fn peers(&self) -> &Path {
        &self.peers
    }

    /// Names and versions, for the page.
    pub fn versions(&self) -> Vec<String> {
        let shown = |name: &String| {
            let entry = &self.entries[name];
            let path = self.path(name);
            let text = match entry.version.as_str() {
                "" => None,
                "package" => debian_version(&entry.package),
                "package.json" => locked_version(&self.root.join(&entry.package), name),
                "jar" => jar_version(&path.ok()?.join("lib"), &entry.file),
                "pinned" => {
                    path.ok()?;
                    entry
                        .package
                        .rsplit_once('@')
                        .map(|(_, version)| version.to_owned())
                }
                flag => version(&path.ok()?.display().to_string(), flag),
            }?;
            let cut = entry.cut.as_deref().and_then(|cut| text.split(cut).next());
            Some(format!("{}{}", entry.title, cut.unwrap_or(&text)))
        };
        self.names.iter().filter_map(shown).collect()
    }

    fn whereabouts(&self, name: &str, entry: &ProgramEntry) -> PathBuf {
        match entry.from {
            Source::Release => self.release.join(name),
            Source::Debian if entry.file.is_empty() => name.into(),
            Source::Debian => entry.file.clone().into(),
            Source::Cargo if is_installed(name) => name.into(),
            Source::Cargo => self.peers.join("bin").join(name),
            Source::Go => self.pinned(name, entry).join(name),
            Source::Npm => self
                .pinned(name, entry)
                .join("node_modules/.bin")
                .join(name),
            Source::Locked => self.root.join(&entry.package).join(&entry.file),
            Source::Maven => self.peers.join(name),
        }
    }

    /// A folder for each version, so that a new pin brings a new program.
    fn pinned(&self, name: &str, entry: &ProgramEntry) -> PathBuf {
        let version = entry
            .package
            .rsplit_once('@')
            .map_or("", |(_, version)| version);
        self.peers
            .join(format!("{name}-{}", version.trim_start_matches('v')))
    }

    fn install(&self) -> Result<()> {
        let debian = self
            .entries
            .iter()
            .filter(|(_, entry)| entry.from == Source::Debian);
        let tools: Vec<Tool<'_>> = debian
            .map(|(name, entry)| {
                let file = if entry.file.is_empty() {
                    name
                } else {
                    &entry.file
                };
                Tool::new(file, &entry.package)
            })
            .collect();
        see_to(&tools)?;
        for (name, entry) in &self.entries {
            let folder = self.pinned(name, entry);
            let is_there = self.path(name).is_ok();
            match entry.from {
                Source::Cargo if !is_there => execute(
                    nice("cargo")
                        .args(["install", &entry.package, "--locked", "--root"])
                        .arg(&self.peers),
                )?,
                Source::Go if !is_there => {
                    ensure!(
                        is_installed("go"),
                        "missing: go, which builds {name}; install a current Go toolchain, or measure without {name} by \
                         --no-install"
                    );
                    execute(
                        nice("go")
                            .args(["install", &entry.package])
                            .env("GOBIN", &folder)
                            .env("GOPATH", self.peers.join("go"))
                            // Otherwise `rm -r` of the target folder fails.
                            .env("GOFLAGS", "-modcacherw"),
                    )?;
                }
                Source::Npm if !is_there => {
                    std::fs::create_dir_all(&folder)?;
                    execute(
                        nice("npm")
                            .args(["install", "--no-audit", "--no-fund", "--loglevel=error"])
                            // It would bring browsers, which no measurement needs.
                            .args(["--ignore-scripts", "--prefix"])
                            .arg(&folder)
                            .arg(&entry.package),
                    )?;
                }
                Source::Locked => node::install(&self.root.join(&entry.package))?,
                // Each time: the simulation may have changed.
                Source::Maven => self.compile(name, entry)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn compile(&self, name: &str, entry: &ProgramEntry) -> Result<()> {
        let below = |folder: &str| self.peers.join(folder).display().to_string();
        execute(
            nice("mvn")
                .args(["--quiet", "--batch-mode", "--file"])
                .arg(self.root.join(&entry.package).join("pom.xml"))
                .arg(format!("-Dmaven.repo.local={}", below("m2")))
                .arg(format!("-Dbench.folder={}", below(name)))
                .args(["compile", "dependency:copy-dependencies"]),
        )
    }
}

fn nice(program: &str) -> Command {
    let mut command = Command::new("nice");
    command.args(["-n", "5", program]).stdin(Stdio::null());
    command
}

/// The version of a program that does not print it itself.
fn debian_version(package: &str) -> Option<String> {
    let output = Command::new("dpkg-query")
        .args(["-W", "-f", "${Version}", package])
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then_some(text)
}

fn locked_version(folder: &Path, name: &str) -> Option<String> {
    let file = folder.join(format!("node_modules/{name}/package.json"));
    let text = std::fs::read_to_string(file).ok()?;
    let read: serde_json::Value = serde_json::from_str(&text).ok()?;
    Some(read["version"].as_str()?.to_owned())
}

/// The version in the name of the newest jar with this beginning.
fn jar_version(folder: &Path, begin: &str) -> Option<String> {
    let names = std::fs::read_dir(folder).ok()?;
    names
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| {
            let version = name.strip_prefix(begin)?.strip_suffix(".jar")?;
            let is_version = version.starts_with(|first: char| first.is_ascii_digit());
            is_version.then(|| version.to_owned())
        })
        .max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_of_the_list_says_where_it_comes_from() {
        let workspace = Workspace::find().unwrap();
        let list: BTreeMap<String, ProgramEntry> = data::read(workspace.root(), FILE).unwrap();
        for (name, entry) in &list {
            let is_pinned =
                !matches!(entry.from, Source::Go | Source::Npm) || entry.package.contains('@');
            let has_package = entry.from == Source::Release || !entry.package.is_empty();
            assert!(is_pinned && has_package, "{name}: {entry:?}");
        }
        let names: Vec<String> = ["plimsoll", "k6", "oha"].map(str::to_owned).into();
        let programs = Programs::find(&workspace, &names, false).unwrap();
        assert!(
            programs
                .pinned("k6", &list["k6"])
                .ends_with("peers/k6-1.8.1")
        );
        let error = Programs::find(&workspace, &["no".to_owned()], false)
            .err()
            .unwrap();
        assert_eq!(
            error.to_string(),
            "benchmarks/programs.toml has no program `no`: add it"
        );
    }
}
