//! Why a job cannot be started.

use std::path::PathBuf;

use thiserror::Error;

/// Why a job cannot be started. Later failures of requests are data, not errors.
#[derive(Debug, Error)]
pub enum LoadError {
    /// A value of the plan or load is out of its range.
    #[error("{place} is {found}, must be {range}")]
    Plan {
        /// The name of the value.
        place: &'static str,
        /// The value found.
        found: String,
        /// The valid range.
        range: &'static str,
    },
    /// A step of a journey cannot be run.
    #[error("cannot run the step {step}: {reason}")]
    Step {
        /// Its label, or its journey's name.
        step: String,
        /// What is wrong, and what would be valid.
        reason: String,
    },
    /// A process of an external script cannot be started.
    #[error(
        "cannot start the process of the journey {journey}, {command}: {source}; the program must exist relative to the plan's folder or in PATH"
    )]
    Process {
        /// Name of its journey.
        journey: String,
        /// Program and arguments.
        command: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// The connections need more descriptors than the process may have open.
    #[error(
        "{required} file descriptors are needed, but the limit of this process is {limit}; raise the limit with \
         `ulimit -n {required}` (a service: `LimitNOFILE={required}`), or open fewer connections"
    )]
    Descriptors {
        /// Descriptors needed.
        required: u64,
        /// The hard limit.
        limit: u64,
    },
    /// A certificate file cannot be used.
    #[error("cannot use the CA file {}: {reason}; give a PEM file with at least one certificate", path.display())]
    CaFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// TLS cannot be set up.
    #[error("cannot set up TLS: {0}")]
    Tls(String),
    /// The operating system refused a resource that the event loops need.
    #[error("cannot {action}: {source}")]
    System {
        /// The action that failed.
        action: &'static str,
        /// The system's error.
        source: std::io::Error,
    },
}
