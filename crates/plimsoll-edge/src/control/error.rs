//! Errors of starting an edge, or of applying a configuration.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use plimsoll_hub_io::hub::TooManyLoops;
use plimsoll_net::tls_error::TlsError;
use plimsoll_proxy::error;

/// Why an edge did not start, or did not apply a new configuration.
#[derive(Debug, thiserror::Error)]
pub enum EdgeError {
    /// The port is in use, or the address is not local.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The error of the system.
        source: io::Error,
    },
    /// The admin address cannot be bound.
    #[error("cannot listen on the admin address {address}")]
    Admin {
        /// The address.
        address: SocketAddr,
        /// The error of the system.
        source: io::Error,
    },
    /// The admin address is reachable from other hosts, and requires no token.
    #[error("the admin address {0} is reachable from other hosts, and no token is set")]
    AdminOpen(SocketAddr),
    /// An inherited socket cannot be used.
    #[error("cannot use the inherited socket `{name}` at {address}: {why}")]
    Handed {
        /// Its name.
        name: String,
        /// Where it is bound.
        address: String,
        /// The reason.
        why: String,
    },
    /// The access log cannot be written.
    #[error("cannot write the access log {}", path.display())]
    AccessLog {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A regular expression of a route.
    #[error("invalid regular expression of a route")]
    Expression(#[from] regex::Error),
    /// A certificate or its key.
    #[error("cannot use a certificate")]
    Tls(#[from] TlsError),
    /// The state directory cannot be written.
    #[error("cannot store certificates in {}", path.display())]
    State {
        /// The directory.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The process cannot switch to the user.
    #[error("cannot switch to the user `{name}`")]
    User {
        /// The user.
        name: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The number of event loops cannot change while they run.
    #[error("cannot change the number of event loops ({0}) while running; restart the edge")]
    Loops(usize),
    /// The system provided no thread or no event queue.
    #[error("cannot start an event loop")]
    Loop(#[source] io::Error),
    /// More event loops than the hub supports.
    #[error("the hub supports at most 64 event loops, but {0} are configured")]
    HubLoops(usize),
    /// An invalid country database.
    #[error("cannot use the country database: {0}")]
    Countries(String),
    /// The system provided no random bytes.
    #[error("the system provides no random bytes")]
    NoRandom,
    /// An event loop has ended.
    #[error("an event loop has ended")]
    LoopGone,
}

impl From<error::SettingsError> for EdgeError {
    fn from(settings_error: error::SettingsError) -> Self {
        match settings_error {
            error::SettingsError::Tls(tls) => Self::Tls(tls),
            error::SettingsError::Countries(error) => Self::Countries(error.to_string()),
            error::SettingsError::NoRandom => Self::NoRandom,
            error::SettingsError::HubLoops(TooManyLoops(loops)) => Self::HubLoops(loops),
        }
    }
}
