//! The current activity of a probe: it names what blocks a probe that does not return.

use std::sync::{Arc, Mutex};

use plimsoll_model::lock::lock;

/// The current activity, shared by the probe and its caller.
#[derive(Clone, Debug, Default)]
pub struct Activity(Arc<Mutex<String>>);

impl Activity {
    /// It does this now.
    pub(crate) fn is(&self, what: &str) {
        let mut now = lock(&self.0);
        now.clear();
        now.push_str(what);
    }

    /// The last activity; empty before the first.
    pub fn now(&self) -> String {
        let now = lock(&self.0);
        now.clone()
    }
}
