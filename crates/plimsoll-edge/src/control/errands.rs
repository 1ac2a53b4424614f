//! What is done besides requests.

use std::sync::Mutex;

use plimsoll_config::edge::{Alarm, Edge, Traces};

use crate::lock::lock;

/// What there is to do; a reload changes it.
#[derive(Debug, Default)]
pub(crate) struct Errands {
    alarm: Mutex<Option<Alarm>>,
    traces: Mutex<Option<Traces>>,
}

impl Errands {
    pub(crate) fn new(edge: &Edge) -> Self {
        let errands = Self::default();
        errands.follow(edge);
        errands
    }

    /// Spans alone.
    #[cfg(test)]
    pub(crate) fn with_traces(traces: Traces) -> Self {
        Self {
            traces: Mutex::new(Some(traces)),
            ..Self::default()
        }
    }

    /// Follows a new configuration.
    pub(crate) fn follow(&self, edge: &Edge) {
        lock(&self.alarm).clone_from(&edge.alarm);
        lock(&self.traces).clone_from(&edge.traces);
    }

    /// What is watched, if anything is.
    pub(crate) fn alarm(&self) -> Option<Alarm> {
        lock(&self.alarm).clone()
    }

    /// Where spans go, if they go anywhere.
    pub(crate) fn traces(&self) -> Option<Traces> {
        lock(&self.traces).clone()
    }
}
