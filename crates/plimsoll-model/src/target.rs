//! Where requests go.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Where requests go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// The URL as the user gave it, without credentials.
    pub url: String,
    /// Whether TLS is spoken.
    pub tls: bool,
    /// Name for TLS and the default `Host` header.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Addresses to connect to, used in turn. Empty only with `unix_socket`.
    pub addresses: Vec<SocketAddr>,
    /// Connect to this socket instead of an address.
    pub unix_socket: Option<PathBuf>,
}

impl Target {
    /// `/` at this address, without TLS.
    pub fn at(address: SocketAddr) -> Self {
        Self {
            url: format!("http://{address}/"),
            tls: false,
            host: address.ip().to_string(),
            port: address.port(),
            addresses: vec![address],
            unix_socket: None,
        }
    }
}
