//! What is going on, for whoever watches.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use plimsoll_model::plan::LoadUnit;
use plimsoll_model::trial::{Trial, TrialSpec};
use plimsoll_model::window::Window;

/// A request to stop, raised by a signal handler or another thread; what was measured is kept.
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

    /// Whether somebody asked to stop.
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// One moment of progress.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The second of results that has just closed.
    pub window: &'a Window,
    /// What is being done, such as `bracket: trial 3 at 400/s`.
    pub stage: &'a str,
    /// Load line so far (low, median, high), in `unit`.
    pub interval: Option<(f64, f64, f64)>,
    /// What the loads of a search are counted in.
    pub unit: LoadUnit,
    /// Estimate of what is left.
    pub remaining: Duration,
    /// Busy share of the machine's CPU, 0 to 1, when the probes could read it.
    pub cpu: Option<f64>,
}

/// Somebody who watches a run. Every method does nothing by default.
pub trait Watcher {
    /// A second of results has closed.
    fn window_closed(&mut self, _progress: &Progress<'_>) {}
    /// A trial has begun.
    fn trial_started(&mut self, _spec: &TrialSpec) {}
    /// A trial was judged.
    fn trial_ended(&mut self, _trial: &Trial) {}
    /// Something that the user must know now.
    fn noted(&mut self, _text: &str) {}
}

/// Nobody watches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Watcher for Unwatched {}

/// Passes on what processes wrote to their standard error, and what ended a part of the load.
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

/// Passes on what the probes said of parts of the service: which are not seen, and what gives access to them.
pub(crate) fn report_component_notes(notes: Vec<String>, watcher: &mut dyn Watcher) {
    for text in notes {
        watcher.noted(&format!("note: {text}"));
    }
}
