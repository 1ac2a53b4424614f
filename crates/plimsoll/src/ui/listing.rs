//! The runs of a folder, with what came of them. Broken and newer files are listed with their fault.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use plimsoll_lab::run_log;
use plimsoll_model::run::Run;
use plimsoll_report::{Report, answer};
use serde::Serialize;
use serde_json::json;

use super::is_run;
use super::start::Starter;

/// Runs in the list at most: the newest.
const RUNS_MAX: usize = 2_000;
/// Files that are read for one answer: a list of many comes in parts.
const READ_MAX: usize = 12;

/// What is known of a file; `None` where it does not apply, or was not read so far.
#[derive(Clone, Debug, Default, Serialize)]
struct ListedRun {
    name: String,
    kind: Option<String>,
    target: Option<String>,
    started_at: Option<String>,
    answer: Option<String>,
    line: Option<ListedLine>,
    fault: Option<String>,
}

/// The load line that a search found, as an interval, and what makes it comparable with others.
#[derive(Clone, Debug, Serialize)]
struct ListedLine {
    low: f64,
    median: f64,
    high: f64,
    unit: &'static str,
    objective: String,
}

/// Length and time of change: a file that differs is read again.
type FileState = (u64, Option<SystemTime>);

pub(super) struct Listing {
    folder: PathBuf,
    read: Mutex<BTreeMap<String, (FileState, ListedRun)>>,
}

impl Listing {
    pub(super) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            read: Mutex::default(),
        }
    }

    /// Whether there is a run of this name in the folder itself.
    pub(super) fn has(&self, name: &str) -> bool {
        self.files().iter().any(|(file, _)| file == name)
    }

    /// The run files, the newest first; their names begin with the moment of the run.
    fn files(&self) -> Vec<(String, FileState)> {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten();
        let mut files: Vec<_> = entries
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let about = entry.metadata().ok()?;
                let name = entry.file_name().into_string().ok()?;
                let is_listed = about.is_file() && is_run(Path::new(&name));
                is_listed.then(|| (name, (about.len(), about.modified().ok())))
            })
            .collect();
        files.sort_by(|(a_name, a), (b_name, b)| (b.1, b_name).cmp(&(a.1, a_name)));
        files
    }

    /// The list; parts of it are unread as long as `is_complete` is false.
    pub(super) fn json(&self, starter: &Starter) -> Vec<u8> {
        let mut files = self.files();
        let left_out = files.len().saturating_sub(RUNS_MAX);
        files.truncate(RUNS_MAX);
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        read.retain(|name, _| files.iter().any(|(file, _)| file == name));
        let mut budget = READ_MAX;
        let mut runs = Vec::with_capacity(files.len());
        let mut is_complete = true;
        for (name, state) in files {
            let known = read.get(&name).filter(|(known, _)| *known == state);
            let run = match known {
                Some((_, run)) => run.clone(),
                None if budget > 0 => {
                    budget -= 1;
                    let run = read_run(&self.folder.join(&name), &name);
                    read.insert(name, (state, run.clone()));
                    run
                }
                None => {
                    is_complete = false;
                    ListedRun {
                        name,
                        ..ListedRun::default()
                    }
                }
            };
            runs.push(run);
        }
        let folder = self.folder.display().to_string();
        let list = json!({
            "folder": folder, "runs": runs, "left_out": left_out, "is_complete": is_complete,
            "allowed": starter.allowed(), "started": starter.status(),
        });
        list.to_string().into_bytes()
    }
}

fn read_run(path: &Path, name: &str) -> ListedRun {
    let name = name.to_owned();
    match run_log::read(path) {
        Ok(loaded) => {
            let header = &loaded.run.header;
            let answer = answer::sentence(&Report::of(&loaded.run));
            ListedRun {
                name,
                kind: Some(header.command.clone()),
                target: Some(header.plan.target.url.clone()),
                started_at: Some(header.started_at.clone()),
                answer: Some(match loaded.cut {
                    Some(cut) => format!("{answer} (cut off: {cut})"),
                    None => answer,
                }),
                line: line(&loaded.run),
                fault: None,
            }
        }
        Err(run_log::RunLogError::WithoutLoad { .. }) => ListedRun {
            name,
            kind: Some("watch".to_owned()),
            answer: Some("Readings without load.".to_owned()),
            ..ListedRun::default()
        },
        Err(error) => ListedRun {
            name,
            fault: Some(error.to_string()),
            ..ListedRun::default()
        },
    }
}

fn line(run: &Run) -> Option<ListedLine> {
    let line = run.search.as_ref()?.line.as_ref().ok()?;
    let objective = run.header.plan.objective.as_ref();
    Some(ListedLine {
        low: line.low,
        median: line.median,
        high: line.high,
        unit: line.unit.symbol(),
        objective: objective.map(ToString::to_string).unwrap_or_default(),
    })
}
