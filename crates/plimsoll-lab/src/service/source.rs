//! Revisions of a Git repository: each in a worktree of its own, built once for all trials.
//!
//! A worktree is a checkout that shares the objects of its repository; Git lists it there until it is removed. Worktrees
//! are made in the folder of the experiment alone, so that those that a killed experiment left are known without a
//! journal.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::command::CommandSpec;
use super::fault::{ApplyFault, ApplyFaultKind};
use super::stage::{Stage, last_line, last_lines};

/// Folder of the checkouts, in the folder of the experiment.
const CHECKOUTS_FOLDER: &str = "checkouts";
/// Digits of a commit in the name of its checkout.
const COMMIT_SHOWN: usize = 12;
/// Name of the output of Git.
const GIT_OUTPUT: &str = "git";
/// Time limit of a command of Git.
const GIT_TIME: Duration = Duration::from_mins(10);
/// Variables that would lead Git to another repository, as hooks set them.
const GIT_VARIABLES: [&str; 6] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_PREFIX",
    "GIT_OBJECT_DIRECTORY",
];

/// A revision with its build, of which there is one checkout.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct CheckoutKey {
    repository: PathBuf,
    commit: String,
    build: Vec<String>,
}

impl CheckoutKey {
    /// Its name: a number and the first digits of the commit.
    fn name(&self, number: usize) -> String {
        let commit: String = self.commit.chars().take(COMMIT_SHOWN).collect();
        format!("{number}-{commit}")
    }
}

fn build_output(stage: &Stage, key: &CheckoutKey, number: usize) -> PathBuf {
    stage.output(&format!("build-{}", key.name(number)))
}

/// The checkouts of an experiment. A build that failed is not repeated.
#[derive(Debug, Default)]
pub(super) struct Checkouts {
    known: HashMap<CheckoutKey, Result<PathBuf, ApplyFault>>,
    /// The commit of a cell and setup: a branch that moves meanwhile does not change what is measured.
    commits: HashMap<(usize, usize), String>,
    /// Output of the last build that failed.
    failed_build: Option<PathBuf>,
}

/// The source of a setup in a cell, as the experiment names it.
struct NamedSource {
    repository: PathBuf,
    revision: String,
    /// For messages.
    place: String,
}

impl NamedSource {
    /// `None` when the setup has no source in this cell.
    fn of(stage: &Stage, cell: usize, setup: usize) -> Option<Self> {
        let source = stage.experiment.setups[setup].source.as_ref()?;
        let revision = stage.text(cell, &source.revision)?;
        Some(Self {
            repository: stage.path(&source.repository),
            place: format!("git {revision}"),
            revision,
        })
    }
}

impl Checkouts {
    /// The last lines of the last build that failed.
    pub(super) fn failed_build(&self) -> Vec<String> {
        let output = self.failed_build.as_deref();
        output.map_or_else(Vec::new, last_lines)
    }

    /// The commit of a setup in a cell; `None` when it has no source there.
    ///
    /// # Errors
    /// When there is no such repository or revision.
    pub(super) fn commit(
        &mut self,
        stage: &mut Stage,
        cell: usize,
        setup: usize,
    ) -> Result<Option<String>, ApplyFault> {
        if let Some(known) = self.commits.get(&(cell, setup)) {
            return Ok(Some(known.clone()));
        }
        let Some(named) = NamedSource::of(stage, cell, setup) else {
            return Ok(None);
        };
        let commit = commit_of(stage, &named.repository, &named.revision, &named.place)?;
        self.commits.insert((cell, setup), commit.clone());
        Ok(Some(commit))
    }

    /// Checks out the source of a setup and builds it, unless that is done already; returns its folder. `None` when the
    /// setup has no source in this cell.
    pub(super) fn folder(
        &mut self,
        stage: &mut Stage,
        cell: usize,
        setup: usize,
    ) -> Result<Option<PathBuf>, ApplyFault> {
        let Some(NamedSource {
            repository, place, ..
        }) = NamedSource::of(stage, cell, setup)
        else {
            return Ok(None);
        };
        let Some(commit) = self.commit(stage, cell, setup)? else {
            return Ok(None);
        };
        let experiment = Arc::clone(&stage.experiment);
        let source = experiment.setups[setup].source.as_ref();
        let build = source.and_then(|source| source.build.as_ref());
        let key = CheckoutKey {
            build: build.map_or_else(Vec::new, |build| stage.words(cell, &build.words)),
            repository,
            commit,
        };
        if let Some(known) = self.known.get(&key) {
            return known.clone().map(Some);
        }
        let number = self.known.len() + 1;
        let within = build.map_or(GIT_TIME, |build| build.within);
        let made = check_out(stage, &key, number, within, &place);
        if made.is_err() {
            self.failed_build = Some(build_output(stage, &key, number));
        }
        let is_lasting = made.as_ref().map_or_else(ApplyFault::is_of_trial, |_| true);
        if is_lasting {
            self.known.insert(key, made.clone());
        }
        made.map(Some)
    }
}

/// Makes a worktree and builds in it.
fn check_out(
    stage: &mut Stage,
    key: &CheckoutKey,
    number: usize,
    within: Duration,
    place: &str,
) -> Result<PathBuf, ApplyFault> {
    let folder = checkouts_folder(stage)?.join(key.name(number));
    let path = folder.display().to_string();
    let words = [
        "worktree",
        "add",
        "--detach",
        path.as_str(),
        key.commit.as_str(),
    ];
    git(stage, &key.repository, &words, place)?;
    if !key.build.is_empty() {
        let output = build_output(stage, key, number);
        let spec = CommandSpec {
            words: &key.build,
            unset: &GIT_VARIABLES,
            folder: &folder,
            within,
            output: &output,
        };
        let place = format!("build of {place}");
        stage
            .run_command(&spec)
            .map_err(|failure| failure.fault(ApplyFaultKind::Source, &place, &output))?;
    }
    Ok(folder)
}

/// The folder of the checkouts, absolute and without links, as Git lists it.
fn checkouts_folder(stage: &Stage) -> Result<PathBuf, ApplyFault> {
    let folder = stage.context.folder.join(CHECKOUTS_FOLDER);
    let made = fs::create_dir_all(&folder).and_then(|()| folder.canonicalize());
    made.map_err(|error| {
        ApplyFault::new(
            ApplyFaultKind::Source,
            folder.display().to_string(),
            format!("the folder of checkouts cannot be made: {error}"),
            "use a folder of your own with --out",
        )
    })
}

/// The commit of a revision.
fn commit_of(
    stage: &mut Stage,
    repository: &Path,
    revision: &str,
    place: &str,
) -> Result<String, ApplyFault> {
    // Without the `.` of the current folder.
    let at: PathBuf = repository.components().collect();
    let at = at.display();
    let fault = |problem: String, remedy: &str| {
        ApplyFault::new(ApplyFaultKind::Source, place, problem, remedy)
    };
    let found = git(stage, repository, &["rev-parse", "--git-dir"], place);
    if let Err(error) = found {
        if error.kind() != ApplyFaultKind::Source {
            return Err(error);
        }
        let reply = last_line(&stage.output(GIT_OUTPUT));
        return Err(fault(
            format!("{at} is not a Git repository that can be read: {reply}"),
            "start in the folder of the repository, and check that `git status` works there",
        ));
    }
    let name = format!("{revision}^{{commit}}");
    let words = ["rev-parse", "--verify", "--quiet", name.as_str()];
    // A name that begins with `-` would be a flag; no revision has one.
    let commit = if revision.starts_with('-') {
        String::new()
    } else {
        match git(stage, repository, &words, place) {
            Ok(output) => last_line(&output),
            Err(error) if error.kind() == ApplyFaultKind::Source => String::new(),
            Err(error) => return Err(error),
        }
    };
    let is_commit = commit.len() >= 40 && commit.chars().all(|c| c.is_ascii_hexdigit());
    if is_commit {
        return Ok(commit);
    }
    Err(fault(
        format!("the repository {at} has no such revision"),
        "valid: a commit, tag or branch that `git rev-parse` knows; `git fetch --tags` brings those of a remote",
    ))
}

/// Whether a checkout has a submodule whose folder is empty, as a worktree leaves it.
pub(super) fn has_empty_submodule(folder: &Path) -> bool {
    let text = fs::read_to_string(folder.join(".gitmodules")).unwrap_or_default();
    let mut paths = text.lines().filter_map(|line| {
        let (key, path) = line.split_once('=')?;
        (key.trim() == "path").then(|| folder.join(path.trim()))
    });
    paths.any(|path| fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none()))
}

/// Files of the work tree of a repository that differ from its last commit: no revision has these changes.
pub(super) fn uncommitted(stage: &mut Stage, repository: &Path) -> usize {
    let words = ["status", "--porcelain", "--untracked-files=no"];
    let Ok(output) = git(stage, repository, &words, "git status") else {
        return 0;
    };
    fs::read_to_string(output).map_or(0, |list| list.lines().count())
}

/// Runs Git; returns the file of its output.
fn git(
    stage: &mut Stage,
    repository: &Path,
    words: &[&str],
    place: &str,
) -> Result<PathBuf, ApplyFault> {
    let repository = repository.display().to_string();
    // No hook of the repository is run.
    let fixed = [
        "git",
        "-C",
        repository.as_str(),
        "-c",
        "core.hooksPath=/dev/null",
        "-c",
        "core.fsmonitor=false",
    ];
    let words: Vec<String> = fixed
        .iter()
        .chain(words)
        .map(|&word| word.to_owned())
        .collect();
    let output = stage.output(GIT_OUTPUT);
    let base = stage.context.base.clone();
    let spec = CommandSpec {
        words: &words,
        unset: &GIT_VARIABLES,
        folder: &base,
        within: GIT_TIME,
        output: &output,
    };
    stage
        .run_command(&spec)
        .map_err(|failure| failure.fault(ApplyFaultKind::Source, place, &output))?;
    Ok(output)
}

/// Whether the folder of an experiment has checkouts.
pub(super) fn has_checkouts(folder: &Path) -> bool {
    let entries = fs::read_dir(folder.join(CHECKOUTS_FOLDER));
    let names = entries.into_iter().flatten().filter_map(Result::ok);
    let mut names = names.map(|entry| entry.file_name());
    names.any(|name| is_checkout(&name.to_string_lossy()))
}

/// Removes all worktrees in the folder of the experiment, of the repositories that it names; returns how many.
pub(super) fn remove_all(stage: &mut Stage) -> Result<usize, ApplyFault> {
    let folder = stage.context.folder.join(CHECKOUTS_FOLDER);
    let Ok(folder) = folder.canonicalize() else {
        return Ok(0);
    };
    let experiment = Arc::clone(&stage.experiment);
    let sources = experiment.setups.iter().filter_map(|it| it.source.as_ref());
    let mut repositories: Vec<PathBuf> = sources.map(|it| stage.path(&it.repository)).collect();
    repositories.sort();
    repositories.dedup();
    let failed = |problem: String| {
        ApplyFault::new(
            ApplyFaultKind::NotRestored,
            folder.display().to_string(),
            format!("the checkouts are not removed: {problem}"),
            "remove each with `git worktree remove --force PATH` in its repository",
        )
    };
    // A request to stop does not end this.
    let stop = std::mem::take(&mut stage.context.stop);
    let mut removed = Ok(0);
    for repository in &repositories {
        let count = remove_of(stage, repository, &folder);
        let count = count.map_err(|fault| failed(fault.to_string()));
        removed = removed.and_then(|known: usize| Ok(known + count?));
    }
    stage.context.stop = stop;
    let removed = removed?;
    remove_rest(&folder).map_err(|error| failed(error.to_string()))?;
    Ok(removed)
}

/// Removes what Git did not know of, of the folders that are named as checkouts. The folder of the experiment is that of the
/// user, who may have one of the same name.
fn remove_rest(folder: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() && is_checkout(&entry.file_name().to_string_lossy()) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    match fs::remove_dir(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::DirectoryNotEmpty => Err(error),
        _ => Ok(()),
    }
}

/// Whether a name is that of a checkout: its number and twelve digits of its commit.
fn is_checkout(name: &str) -> bool {
    name.split_once('-').is_some_and(|(number, commit)| {
        !number.is_empty()
            && number.chars().all(|c| c.is_ascii_digit())
            && commit.len() == COMMIT_SHOWN
            && commit.chars().all(|c| c.is_ascii_hexdigit())
    })
}

/// Removes the worktrees of a repository in a folder.
fn remove_of(stage: &mut Stage, repository: &Path, folder: &Path) -> Result<usize, ApplyFault> {
    let place = "git worktree";
    // A repository that is gone lists none.
    let Ok(output) = git(
        stage,
        repository,
        &["worktree", "list", "--porcelain"],
        place,
    ) else {
        return Ok(0);
    };
    let list = fs::read_to_string(&output).unwrap_or_default();
    let ours: Vec<&str> = list
        .lines()
        .filter_map(|line| line.strip_prefix("worktree "))
        .filter(|path| Path::new(path).starts_with(folder))
        .collect();
    for path in &ours {
        // Twice, because one whose creation was cut is locked.
        let words = ["worktree", "remove", "--force", "--force", path];
        git(stage, repository, &words, place)?;
    }
    Ok(ours.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_the_user_with_the_same_name_stays() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join(CHECKOUTS_FOLDER);
        for name in ["1-0123456789ab", "2024-report", "1-0123456789abc", "mine"] {
            fs::create_dir_all(folder.join(name)).unwrap();
        }
        fs::write(folder.join("3-0123456789ab"), "a file").unwrap();
        remove_rest(&folder).unwrap();
        let mut left: Vec<String> = fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        left.sort();
        let expected = ["1-0123456789abc", "2024-report", "3-0123456789ab", "mine"];
        assert_eq!(left, expected);
        let empty = root.path().join("empty");
        fs::create_dir_all(empty.join("12-0123456789ab")).unwrap();
        remove_rest(&empty).unwrap();
        assert!(!empty.exists());
    }
}
