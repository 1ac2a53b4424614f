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
use super::stage::{Stage, last_line};

/// Folder of the checkouts, in the folder of the experiment.
const CHECKOUTS_FOLDER: &str = "checkouts";
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

/// The checkouts of an experiment. A build that failed is not repeated.
#[derive(Debug, Default)]
pub(super) struct Checkouts {
    known: HashMap<CheckoutKey, Result<PathBuf, ApplyFault>>,
}

impl Checkouts {
    /// Checks out the source of a setup and builds it, unless that is done already; returns its folder. `None` when the
    /// setup has no source in this cell.
    pub(super) fn folder(
        &mut self,
        stage: &mut Stage,
        cell: usize,
        setup: usize,
    ) -> Result<Option<PathBuf>, ApplyFault> {
        let experiment = Arc::clone(&stage.experiment);
        let Some(source) = &experiment.setups[setup].source else {
            return Ok(None);
        };
        let Some(revision) = stage.text(cell, &source.revision) else {
            return Ok(None);
        };
        let repository = stage.path(&source.repository);
        let place = format!("git {revision}");
        let commit = commit_of(stage, &repository, &revision, &place)?;
        let build = source.build.as_ref();
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
    let short: String = key.commit.chars().take(12).collect();
    let folder = checkouts_folder(stage)?.join(format!("{number}-{short}"));
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
        let output = stage.output(&format!("build-{number}-{short}"));
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
    let revision = format!("{revision}^{{commit}}");
    let output = git(
        stage,
        repository,
        &["rev-parse", "--verify", &revision],
        place,
    )?;
    let commit = last_line(&output);
    let is_commit = commit.len() >= 40 && commit.chars().all(|c| c.is_ascii_hexdigit());
    if is_commit {
        return Ok(commit);
    }
    Err(ApplyFault::new(
        ApplyFaultKind::Source,
        place,
        format!("Git names no commit: {commit}"),
        "valid: a commit, tag or branch of the repository",
    ))
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
    ];
    let words: Vec<String> = fixed
        .iter()
        .chain(words)
        .map(|&word| word.to_owned())
        .collect();
    let output = stage.output("git");
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
    match fs::remove_dir_all(&folder) {
        Ok(()) => Ok(removed),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(removed),
        Err(error) => Err(failed(error.to_string())),
    }
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
