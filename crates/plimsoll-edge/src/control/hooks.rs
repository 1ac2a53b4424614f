//! Callbacks from the edge to its embedder.

use std::sync::Arc;

use plimsoll_config::edge::EdgeConfig;
use plimsoll_net::clock::{AgeAhead, HandedClock};
use plimsoll_net::notice::NoticeSink;

/// Called by a thread that has done all there is to do for now, before it waits.
pub type IdleHook = Arc<dyn Fn() + Send + Sync>;

type ReadAgain = Arc<dyn Fn() -> Result<EdgeConfig, String> + Send + Sync>;

/// Callbacks from the edge to its embedder.
#[derive(Clone)]
pub struct Hooks {
    /// Receives notices for the user while the edge runs.
    pub report: NoticeSink,
    /// Reads the configuration again, for a reload.
    pub read_again: ReadAgain,
    /// Receives lifecycle phases, for service managers.
    pub phase: Arc<dyn Fn(EdgePhase) + Send + Sync>,
    /// The clock of the edge; `None` for that of the machine. Deadlines then pass when whoever holds it lets them.
    pub clock: Option<HandedClock>,
    /// Lets cached responses age faster than the system's clock goes.
    pub age_ahead: AgeAhead,
    /// Called by event loops and background tasks before each wait: what they count is visible then. Tests wait for this
    /// instead of reading metrics again and again.
    pub idle: Option<IdleHook>,
}

/// Lifecycle phase of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgePhase {
    /// It takes requests; also after a reload, whether or not it succeeded.
    Ready,
    /// It reloads its configuration, and still takes requests.
    Reloading,
    /// It takes no new connections.
    Stopping,
}

impl Hooks {
    /// Discards notices, and has no configuration to reload.
    pub fn none() -> Self {
        Self {
            report: Arc::new(|_| ()),
            read_again: Arc::new(
                || Err("this edge has no configuration file to reload".to_owned()),
            ),
            phase: Arc::new(|_| ()),
            clock: None,
            age_ahead: AgeAhead::default(),
            idle: None,
        }
    }
}
