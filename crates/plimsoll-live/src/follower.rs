//! The measuring side: reduces events, and hands them on without ever waiting.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use plimsoll_lab::run_log::EventFollower;
use plimsoll_model::event::Event;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::text::clip;
use crate::update::{Reducer, Update};

/// Updates that may wait for the page's thread.
pub(crate) const QUEUE_LEN: usize = 1_024;

/// A message to the page's thread.
#[derive(Debug)]
pub(crate) enum Message {
    Update(Update),
    /// Nothing more will come.
    Finished,
}

/// The way to the page's thread; what does not fit is counted.
#[derive(Clone, Debug)]
pub(crate) struct Updates {
    pub(crate) sender: mpsc::Sender<Message>,
    pub(crate) dropped: Arc<AtomicU64>,
}

impl Updates {
    pub(crate) fn send(&self, update: Update) {
        if self.sender.try_send(Message::Update(update)).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Receives the events of a log.
#[derive(Debug)]
pub struct LiveFollower {
    updates: Updates,
    reducer: Reducer,
}

impl LiveFollower {
    pub(crate) fn new(updates: Updates, may_change: bool) -> Self {
        Self {
            updates,
            reducer: Reducer::changeable(may_change),
        }
    }
}

impl EventFollower for LiveFollower {
    fn event_logged(&mut self, event: &Event, _line: &Arc<str>) {
        for update in self.reducer.reduce(event) {
            self.updates.send(update);
        }
    }

    fn experiment_logged(&mut self, line: &Arc<str>) {
        if let Ok(line) = serde_json::from_str::<Value>(line) {
            self.updates.send(Update::Experiment(line));
        }
    }

    fn take_notes(&mut self) -> Vec<String> {
        let dropped = self.updates.dropped.load(Ordering::Relaxed);
        if dropped == 0 {
            return Vec::new();
        }
        vec![format!(
            "the live page could not take {dropped} of its updates in, and has gaps; the run file has all of them"
        )]
    }
}

/// What a command knows about its progress, and the log does not.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgressReport {
    /// The current activity, such as `bracket: trial 3 at 400/s`.
    pub stage: String,
    /// Estimate of the remaining time, s.
    pub remaining_s: Option<u64>,
}

/// Shows the progress of a command on its page.
#[derive(Clone, Debug)]
pub struct ProgressHandle(pub(crate) Updates);

impl ProgressHandle {
    /// Shows it; never waits.
    pub fn show(&self, report: &ProgressReport) {
        self.0.send(Update::Section {
            name: "progress",
            value: json!({ "stage": clip(&report.stage), "remaining_s": report.remaining_s }),
        });
    }
}
