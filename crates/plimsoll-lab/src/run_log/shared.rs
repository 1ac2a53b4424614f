//! One log for all threads that make events.

use std::sync::{Arc, Mutex, MutexGuard};

use plimsoll_model::event::Event;
use plimsoll_model::lock::lock;

use super::RunLog;

/// The log, shared by the threads that make events.
#[derive(Clone, Debug)]
pub struct SharedLog(Arc<Mutex<Option<RunLog>>>);

impl SharedLog {
    pub(crate) fn new(log: RunLog) -> Self {
        Self(Arc::new(Mutex::new(Some(log))))
    }

    /// A log that keeps nothing.
    #[cfg(test)]
    pub(crate) fn nowhere() -> Self {
        Self(Arc::new(Mutex::new(None)))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Option<RunLog>> {
        lock(&self.0)
    }

    /// Appends one event; after the end of the run it is lost.
    pub fn append(&self, event: Event) {
        if let Some(log) = self.lock().as_mut() {
            log.append(event);
        }
    }

    pub(crate) fn write_error(&self) -> Option<String> {
        let guard = self.lock();
        guard.as_ref()?.write_error().map(ToString::to_string)
    }
}
