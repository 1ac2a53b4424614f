//! Configuration of the background tasks.

use std::sync::Mutex;

use plimsoll_config::edge::{EdgeConfig, RateAlert, Traces};
use plimsoll_net::lock::lock;

/// What the background tasks work on; a reload changes it.
#[derive(Debug, Default)]
pub(crate) struct BackgroundTasks {
    rate_alert: Mutex<Option<RateAlert>>,
    traces: Mutex<Option<Traces>>,
}

impl BackgroundTasks {
    pub(crate) fn new(edge: &EdgeConfig) -> Self {
        let tasks = Self::default();
        tasks.follow(edge);
        tasks
    }

    /// Span export only.
    #[cfg(test)]
    pub(crate) fn with_traces(traces: Traces) -> Self {
        Self {
            traces: Mutex::new(Some(traces)),
            ..Self::default()
        }
    }

    /// Applies a new configuration.
    pub(crate) fn follow(&self, edge: &EdgeConfig) {
        lock(&self.rate_alert).clone_from(&edge.rate_alert);
        lock(&self.traces).clone_from(&edge.traces);
    }

    /// The rate alert, if configured.
    pub(crate) fn rate_alert(&self) -> Option<RateAlert> {
        lock(&self.rate_alert).clone()
    }

    /// The collector of spans, if configured.
    pub(crate) fn traces(&self) -> Option<Traces> {
        lock(&self.traces).clone()
    }
}
