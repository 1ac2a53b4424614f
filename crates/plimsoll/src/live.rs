//! `--live`: the page of the command that runs.
//!
//! A process has one page at most. Every load that the command starts reports to it, also those of experiments, whose
//! assignments and progress lines are made in several places: they find it here.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plimsoll_lab::active_run::{Assignment, Finished};
use plimsoll_lab::controls::RunControls;
use plimsoll_lab::experiment::log::ExperimentLog;
use plimsoll_lab::progress::{Progress, StopFlag};
use plimsoll_lab::run_log::{EventFollower, Followers};
use plimsoll_live::{LiveAddress, LivePage, ProgressHandle, ProgressReport};
use plimsoll_model::event::{Event, FORMAT_MAJOR, FORMAT_MINOR, WatchHeader};
use plimsoll_model::plan::Facts;
use plimsoll_model::reading::Readings;
use plimsoll_model::redact;

use crate::exit::Exit;
use crate::explain::CliError;
use crate::metrics_export;
use crate::screen::eprint;

/// The page of this process, while it is open.
static PAGE: Mutex<Option<OpenPage>> = Mutex::new(None);

struct OpenPage {
    page: LivePage,
    controls: RunControls,
}

fn open_page() -> MutexGuard<'static, Option<OpenPage>> {
    PAGE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The page is open as long as this lives.
#[derive(Debug)]
#[must_use]
pub(crate) struct LiveGuard {
    result: String,
}

impl LiveGuard {
    /// A run has ended: open pages name its file.
    pub(crate) fn ended(&mut self, finished: &Finished) {
        self.result = format!("The run file is {}.", finished.log_path.display());
    }
}

impl Drop for LiveGuard {
    fn drop(&mut self) {
        let open = open_page().take();
        if let Some(open) = open {
            open.page.finish(&self.result);
        }
    }
}

/// Opens the page at the address, if one is given, and prints its URL. Its viewers may raise `stop`.
pub(crate) fn open(address: Option<LiveAddress>, stop: &StopFlag) -> Result<LiveGuard, CliError> {
    open_with(address, RunControls::new(stop.clone()))
}

/// The same, whose viewers may also change the load.
pub(crate) fn open_changeable(
    address: Option<LiveAddress>,
    stop: &StopFlag,
) -> Result<LiveGuard, CliError> {
    open_with(address, RunControls::new(stop.clone()).with_load_changes())
}

fn open_with(address: Option<LiveAddress>, controls: RunControls) -> Result<LiveGuard, CliError> {
    if let Some(address) = address {
        let page = LivePage::start(address, controls.clone())
            .map_err(|error| CliError::new(Exit::Usage, error.to_string()))?;
        eprint(&format!("live page: {}", page.url()));
        if !address.0.ip().is_loopback() {
            eprint(
                "note: the live page is not encrypted, and whoever has its URL can act on the run",
            );
        }
        *open_page() = Some(OpenPage { page, controls });
    }
    Ok(LiveGuard {
        result: "The command has ended.".to_owned(),
    })
}

/// Lets the page, if one is open, see a load and act on it.
pub(crate) fn attach(assignment: &mut Assignment) {
    if let Some(open) = &*open_page() {
        assignment.followers.add(open.page.follower());
        assignment.controls = open.controls.clone();
    }
}

/// The log of a single run, from which findings form while it grows.
pub(crate) fn set_log(assignment: &Assignment) {
    if let Some(open) = &*open_page() {
        open.page.set_log(&assignment.log_path);
    }
}

/// Lets the page and the exports see the trials of an experiment.
pub(crate) fn attach_experiment(log: &mut ExperimentLog) {
    let followers = Followers::default();
    if let Some(open) = &*open_page() {
        followers.add(open.page.follower());
    }
    if let Some(follower) = metrics_export::experiment_follower() {
        followers.add(follower);
    }
    log.follow(followers);
}

/// The page of `watch`, which has no log unless it is asked for.
#[derive(Debug)]
pub(crate) struct WatchPage {
    follower: Box<dyn EventFollower>,
    progress: ProgressHandle,
}

impl WatchPage {
    /// Shows the target; `None` without a page.
    pub(crate) fn open(target: Option<&str>) -> Option<Self> {
        let open = open_page();
        let page = &open.as_ref()?.page;
        let header = WatchHeader {
            format_major: FORMAT_MAJOR,
            format_minor: FORMAT_MINOR,
            started_at: jiff::Timestamp::now().to_string(),
            target: target.map(|url| redact::url(url).into_owned()),
            host: Facts::new(),
            versions: Facts::new(),
        };
        let mut shown = Self {
            follower: page.follower(),
            progress: page.progress(),
        };
        shown.pass(&Event::WatchStarted(Box::new(header)));
        Some(shown)
    }

    /// Shows the readings of a second of so many.
    pub(crate) fn show(&mut self, readings: &Readings, seconds: u32) {
        self.pass(&Event::ReadingsTaken(readings.clone()));
        self.progress.show(&ProgressReport {
            stage: "Watching".to_owned(),
            remaining_s: Some(u64::from(seconds.saturating_sub(readings.second + 1))),
        });
    }

    fn pass(&mut self, event: &Event) {
        // The page has no use for the text.
        self.follower.event_logged(event, &Arc::from(""));
    }
}

/// What shows the progress on the page.
pub(crate) fn progress() -> Option<ProgressHandle> {
    open_page().as_ref().map(|open| open.page.progress())
}

/// What the page needs of the progress of a load.
pub(crate) fn progress_report(progress: &Progress<'_>) -> ProgressReport {
    ProgressReport {
        stage: progress.stage.to_owned(),
        remaining_s: Some(progress.remaining.as_secs()),
    }
}
