//! `--export`: metrics of a run to other programs while it goes on. Nothing here ends a run or changes its exit code.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plimsoll_export::Exporter;
use plimsoll_lab::active_run::Assignment;
use plimsoll_lab::run_log::EventFollower;
use plimsoll_model::event::{Event, FORMAT_MAJOR, FORMAT_MINOR, WatchHeader};
use plimsoll_model::plan::Facts;
use plimsoll_model::reading::Readings;
use plimsoll_model::redact;

use crate::arguments::MetricsExportArguments;
use crate::screen::eprint;

/// Follows a run. The exports end with it.
#[derive(Debug)]
struct ExportFollower(Exporter);

impl EventFollower for ExportFollower {
    fn event_logged(&mut self, event: &Event, _: &Arc<str>) {
        self.0.observe(event);
    }

    fn take_notes(&mut self) -> Vec<String> {
        warned(self.0.flush())
    }
}

impl Drop for ExportFollower {
    fn drop(&mut self) {
        warned(self.0.finish());
    }
}

/// The exports of an experiment, which all of its loads share.
static SHARED: Mutex<Option<Exporter>> = Mutex::new(None);

fn shared() -> MutexGuard<'static, Option<Exporter>> {
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Follows the loads of an experiment, and its trials. The exports go on after each.
#[derive(Debug)]
struct SharedFollower(Exporter);

impl EventFollower for SharedFollower {
    fn event_logged(&mut self, event: &Event, _: &Arc<str>) {
        self.0.observe(event);
    }

    fn experiment_logged(&mut self, line: &Arc<str>) {
        self.0.observe_experiment(line);
    }
}

/// The exports of an experiment go on as long as this lives.
#[derive(Debug)]
#[must_use]
pub(crate) struct ExportGuard(());

impl Drop for ExportGuard {
    fn drop(&mut self) {
        let open = shared().take();
        if let Some(exporter) = open {
            warned(exporter.finish());
        }
    }
}

/// Starts the exports that the user wants of an experiment, which is named after its folder.
pub(crate) fn open(
    arguments: &MetricsExportArguments,
    folder: &Path,
    command: &'static str,
) -> ExportGuard {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    *shared() = start(arguments, &name, command);
    ExportGuard(())
}

/// What sees the trials of an experiment, where they are exported.
pub(crate) fn experiment_follower() -> Option<Box<dyn EventFollower>> {
    let exporter = shared().clone()?;
    Some(Box::new(SharedFollower(exporter)))
}

/// Lets the exports that the user wants see a run.
pub(crate) fn attach(assignment: &mut Assignment, arguments: &MetricsExportArguments) {
    if let Some(follower) = experiment_follower() {
        return assignment.followers.add(follower);
    }
    let name = assignment.log_path.file_stem().unwrap_or_default();
    let name = name.to_string_lossy().into_owned();
    if let Some(exporter) = start(arguments, &name, assignment.command) {
        let follower = ExportFollower(exporter);
        assignment.followers.add(Box::new(follower));
    }
}

fn start(arguments: &MetricsExportArguments, run: &str, command: &'static str) -> Option<Exporter> {
    if arguments.requests.is_empty() {
        return None;
    }
    match Exporter::start(&arguments.requests, &arguments.headers, run, command) {
        Ok(exporter) => {
            warned(exporter.unavailable());
            for page in exporter.pages() {
                eprint(&format!("metrics: {page}"));
            }
            Some(exporter)
        }
        Err(error) => {
            eprint(&format!(
                "warning: --export: {error}; the measurement goes on without it"
            ));
            None
        }
    }
}

/// Shows sentences, and gives them back without secrets.
fn warned(losses: Vec<String>) -> Vec<String> {
    let losses = losses.into_iter();
    let losses: Vec<String> = losses
        .map(|text| redact::text(&text).into_owned())
        .collect();
    for text in &losses {
        eprint(&format!("warning: {text}"));
    }
    losses
}

/// The exports of `watch` and `edge`, which have no log unless one is wanted.
#[derive(Debug)]
pub(crate) struct WatchExport(Exporter);

impl WatchExport {
    /// Starts them; `None` without any.
    pub(crate) fn start(
        arguments: &MetricsExportArguments,
        target: Option<&str>,
        command: &'static str,
    ) -> Option<Self> {
        let now = jiff::Timestamp::now();
        let began = now
            .to_zoned(jiff::tz::TimeZone::UTC)
            .strftime("%Y%m%dT%H%M%S%.3fZ");
        let exporter = start(arguments, &format!("{began}-{command}"), command)?;
        exporter.observe(&Event::WatchStarted(Box::new(WatchHeader {
            format_major: FORMAT_MAJOR,
            format_minor: FORMAT_MINOR,
            started_at: now.to_string(),
            target: target.map(|url| redact::url(url).into_owned()),
            host: Facts::new(),
            versions: Facts::new(),
        })));
        Some(Self(exporter))
    }

    /// Exports the readings of a second.
    pub(crate) fn take(&self, readings: &Readings) {
        self.0.observe(&Event::ReadingsTaken(readings.clone()));
    }

    /// Ends them; what was lost.
    pub(crate) fn finish(self) -> Vec<String> {
        warned(self.0.finish())
    }
}
