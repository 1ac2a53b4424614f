//! Why an edge does not start, or does not follow.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::error::{self, TlsError};

/// Why an edge did not start, or did not follow a new configuration.
#[derive(Debug, thiserror::Error)]
pub enum EdgeError {
    /// A port in use, or an address that is not here.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The admin address cannot be had.
    #[error("cannot listen on the admin address {address}")]
    Admin {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The admin address can be reached by others, and asks for no token.
    #[error("the admin address {0} is reachable from other hosts, and no token is set")]
    AdminOpen(SocketAddr),
    /// A socket that was handed over cannot be used.
    #[error("cannot use the inherited socket `{name}` at {address}: {why}")]
    Handed {
        /// Its name.
        name: String,
        /// Where it is bound.
        address: String,
        /// Why not.
        why: String,
    },
    /// The access log cannot be written.
    #[error("cannot write the access log {}", path.display())]
    AccessLog {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A regular expression of a route.
    #[error("invalid regular expression of a route")]
    Expression(#[from] regex::Error),
    /// A certificate or its key.
    #[error("cannot use a certificate")]
    Tls(#[from] TlsError),
    /// What is kept between starts cannot be.
    #[error("cannot store certificates in {}", path.display())]
    State {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The process cannot become the user.
    #[error("cannot switch to the user `{name}`")]
    User {
        /// The user.
        name: String,
        /// What the system says.
        source: io::Error,
    },
    /// The number of event loops cannot change while they run.
    #[error("cannot change the number of event loops ({0}) while running; restart the edge")]
    Loops(usize),
    /// The system gave no thread or no event queue.
    #[error("cannot start an event loop")]
    Loop(#[source] io::Error),
    /// More event loops than the hub's channels know.
    #[error("the hub supports at most 64 event loops, but {0} are configured")]
    HubLoops(usize),
    /// A database of countries that is none.
    #[error("cannot use the country database: {0}")]
    Countries(String),
    /// The system gave no random bytes.
    #[error("the system provides no random bytes")]
    NoRandom,
    /// A loop has ended.
    #[error("an event loop has ended")]
    LoopGone,
}

impl From<error::SettingsError> for EdgeError {
    fn from(settings_error: error::SettingsError) -> Self {
        match settings_error {
            error::SettingsError::Tls(tls) => Self::Tls(tls),
            error::SettingsError::Countries(error) => Self::Countries(error.to_string()),
            error::SettingsError::NoRandom => Self::NoRandom,
            error::SettingsError::HubLoops(loops) => Self::HubLoops(loops),
        }
    }
}
