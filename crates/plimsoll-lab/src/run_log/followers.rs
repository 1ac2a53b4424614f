//! Who sees the events of a run while it is going on: the live page, exporters.

use std::sync::{Arc, Mutex};

use plimsoll_model::event::Event;
use plimsoll_model::lock::lock;

/// Sees every event in the order of the log, after it was appended, also when the disk refused it.
///
/// It is called under the lock of the log: it must not block, and it bounds what it keeps.
pub trait EventFollower: std::fmt::Debug + Send {
    /// An event of a run or of `watch`; `line` is the event as one line of JSON, without its end.
    fn event_logged(&mut self, event: &Event, line: &Arc<str>);

    /// An event of an experiment (a matrix, a comparison, a search for settings): a line of its log, without its end.
    fn experiment_logged(&mut self, line: &Arc<str>) {
        let _ = line;
    }

    /// What a reader of the report must know of this follower, at the end of the run, before its last event.
    fn take_notes(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// Who follows a run; empty by default. Clones share their followers.
#[derive(Clone, Debug, Default)]
pub struct Followers(Arc<Mutex<Vec<Box<dyn EventFollower>>>>);

impl Followers {
    /// Adds a follower, which sees what is logged from now on.
    pub fn add(&self, follower: Box<dyn EventFollower>) {
        lock(&self.0).push(follower);
    }

    /// Whether nobody follows.
    pub fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }

    /// Drops all followers: they have seen the last event.
    pub fn clear(&self) {
        lock(&self.0).clear();
    }

    /// Notes of all of them for the end of the log.
    pub fn take_notes(&self) -> Vec<String> {
        let mut followers = lock(&self.0);
        let notes = followers
            .iter_mut()
            .flat_map(|follower| follower.take_notes());
        notes.collect()
    }

    /// Calls all of them in the order in which they were added. Without followers the line is not even copied.
    pub(crate) fn event_logged(&self, event: &Event, line: &str) {
        self.each(line, |follower, line| follower.event_logged(event, line));
    }

    /// The same for a line of an experiment's log.
    pub(crate) fn experiment_logged(&self, line: &str) {
        self.each(line, |follower, line| follower.experiment_logged(line));
    }

    fn each(&self, line: &str, mut call: impl FnMut(&mut dyn EventFollower, &Arc<str>)) {
        let mut followers = lock(&self.0);
        if followers.is_empty() {
            return;
        }
        let line = Arc::from(line);
        for follower in followers.iter_mut() {
            call(&mut **follower, &line);
        }
    }
}
