//! What can go wrong before the page is served.

use std::net::SocketAddr;

/// The page cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The address cannot be bound.
    #[error(
        "cannot serve the live page on {address}: {source}; {}",
        remedy(source)
    )]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The thread or its runtime cannot be started.
    #[error("cannot start the thread of the live page: {0}")]
    Thread(std::io::Error),
    /// The system has no random numbers for the token.
    #[error("cannot make the token of the live page: {0}")]
    Token(getrandom::Error),
}

fn remedy(source: &std::io::Error) -> &'static str {
    match source.kind() {
        std::io::ErrorKind::AddrInUse => {
            "another program uses this port: give another one, or none for a free one (--live)"
        }
        std::io::ErrorKind::AddrNotAvailable => {
            "this machine does not have this address: give one of its own, such as 127.0.0.1"
        }
        std::io::ErrorKind::PermissionDenied => "give a port above 1023",
        _ => "give another address, or none for a free port of 127.0.0.1 (--live)",
    }
}
