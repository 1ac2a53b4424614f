//! The current activity of a probe: it names what blocks a probe that does not return.

use std::sync::{Arc, Mutex, PoisonError};

/// The current activity, shared by the probe and its caller.
#[derive(Clone, Debug, Default)]
pub struct Activity(Arc<Mutex<String>>);

impl Activity {
    /// It does this now.
    pub(crate) fn is(&self, what: &str) {
        let mut now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        now.clear();
        now.push_str(what);
    }

    /// The last activity; empty before the first.
    pub fn now(&self) -> String {
        let now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        now.clone()
    }
}
