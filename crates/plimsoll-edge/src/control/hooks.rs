//! What an edge asks of whoever started it.

use std::sync::Arc;

use plimsoll_config::edge::EdgeConfig;

use crate::notice::NoticeSink;

type ReadAgain = Arc<dyn Fn() -> Result<EdgeConfig, String> + Send + Sync>;

/// What an edge asks of whoever started it.
#[derive(Clone)]
pub struct Hooks {
    /// Is given what the user should know while it runs.
    pub report: NoticeSink,
    /// Reads the configuration again, for a reload.
    pub read_again: ReadAgain,
    /// Is told how far it is, as service managers want to know.
    pub phase: Arc<dyn Fn(EdgePhase) + Send + Sync>,
}

/// How far an edge is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgePhase {
    /// It takes requests; after a reload again, whether that changed anything or not.
    Ready,
    /// It reads its configuration again, and takes requests meanwhile.
    Reloading,
    /// It takes no new connections.
    Stopping,
}

impl Hooks {
    /// Tells nobody, and has no other configuration.
    pub fn none() -> Self {
        Self {
            report: Arc::new(|_| ()),
            read_again: Arc::new(
                || Err("this edge has no configuration file to reload".to_owned()),
            ),
            phase: Arc::new(|_| ()),
        }
    }
}
