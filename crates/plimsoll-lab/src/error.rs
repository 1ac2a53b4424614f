//! Why a run could not go on. Failed requests are data, not an error.

use crate::run_log::RunLogError;

/// The instrument itself failed.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The run log failed.
    #[error(transparent)]
    RunLog(#[from] RunLogError),
    /// The load engine could not start.
    #[error(transparent)]
    Load(#[from] plimsoll_load::LoadError),
    /// The browser of the plan did not start.
    #[error(transparent)]
    Browser(#[from] plimsoll_browser::BrowserError),
    /// An agent of another machine cannot be read.
    #[error(transparent)]
    Agent(#[from] plimsoll_agent::AgentError),
    /// Readings of an agent and of an exporter would have one name.
    #[error(
        "the agent of {name} and the {exporter} would give readings of one name, which could not be told apart"
    )]
    SameMachine {
        /// The name of both machines.
        name: String,
        /// The exporter, and where it is.
        exporter: String,
    },
    /// Workers could not carry the load.
    #[error(transparent)]
    Workers(#[from] plimsoll_workers::WorkersError),
    /// A thread could not be started.
    #[error("cannot start a thread: {0}; raise the limit on processes (ulimit -u)")]
    Thread(#[source] std::io::Error),
}
