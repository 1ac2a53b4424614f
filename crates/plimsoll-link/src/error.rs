//! What can go wrong before a link carries anything.

use std::net::SocketAddr;

/// A relay cannot start, or has ended by itself.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// An address cannot be bound.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The error of the system.
        source: std::io::Error,
    },
    /// A link leads to itself, directly or over other links.
    #[error("the link {listen} leads back to itself by {to}")]
    Loop {
        /// Where it listens.
        listen: SocketAddr,
        /// Where it leads.
        to: SocketAddr,
    },
    /// There is no link, or there are too many.
    #[error("{0} links; valid: 1 to 256")]
    Count(usize),
    /// The thread or its parts cannot be started.
    #[error("cannot start the thread of the links: {0}")]
    Thread(#[from] std::io::Error),
    /// The thread has ended by itself.
    #[error("the thread of the links has ended by itself")]
    Gone,
}
