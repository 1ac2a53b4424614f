//! What a probe is doing, for whoever waits for it: when it does not come back, what holds it has a name.

use std::sync::{Arc, Mutex, PoisonError};

/// What is being done now, shared by the probe and whoever waits for it.
#[derive(Clone, Debug, Default)]
pub struct Activity(Arc<Mutex<String>>);

impl Activity {
    /// It does this now.
    pub(crate) fn is(&self, what: &str) {
        let mut now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        now.clear();
        now.push_str(what);
    }

    /// What it did last; empty before it began.
    pub fn now(&self) -> String {
        let now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        now.clone()
    }
}
