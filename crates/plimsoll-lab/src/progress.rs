//! Progress of a run, for watchers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use plimsoll_model::plan::LoadUnit;
use plimsoll_model::trial::{Trial, TrialSpec};
use plimsoll_model::window::Window;

/// A request to stop, raised by a signal handler or another thread; measurements are kept.
#[derive(Clone, Debug, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// The shared flag itself, for a signal handler.
    pub fn shared(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }

    /// Asks to stop.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether a stop was requested.
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// One moment of progress.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The second of results that has just closed.
    pub window: &'a Window,
    /// The current activity, such as `bracket: trial 3 at 400/s`.
    pub stage: &'a str,
    /// Load line so far (low, median, high), in `unit`.
    pub interval: Option<(f64, f64, f64)>,
    /// What the loads of a search are counted in.
    pub unit: LoadUnit,
    /// Estimate of the remaining time.
    pub remaining: Duration,
    /// Busy share of the machine's CPU, 0 to 1, when the probes could read it.
    pub cpu: Option<f64>,
}

/// Observer of a run. Every method does nothing by default.
pub trait Watcher {
    /// A second of results has closed.
    fn window_closed(&mut self, _progress: &Progress<'_>) {}
    /// A trial has begun.
    fn trial_started(&mut self, _spec: &TrialSpec) {}
    /// A trial was judged.
    fn trial_ended(&mut self, _trial: &Trial) {}
    /// A note that the user must read now.
    fn noted(&mut self, _text: &str) {}
}

/// Nobody watches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Watcher for Unwatched {}

/// Passes on the standard error of external scripts, and what ended some of the load.
pub(crate) fn report_process_output(window: &Window, watcher: &mut dyn Watcher) {
    for process in window.processes.values() {
        for line in &process.stderr {
            watcher.noted(line);
        }
    }
    for error in &window.load_errors {
        watcher.noted(error);
    }
}

/// Passes on notes of the probes about components: those not reachable, and how to grant access.
pub(crate) fn report_component_notes(notes: Vec<String>, watcher: &mut dyn Watcher) {
    for text in notes {
        watcher.noted(&format!("note: {text}"));
    }
}
