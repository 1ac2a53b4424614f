//! Who is at the other end of a connection.

use std::net::IpAddr;

use plimsoll_config::edge::Network;

/// Who is at the other end.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) address: IpAddr,
    pub(crate) text: String,
    /// Whether what it says of its clients is believed.
    pub(crate) trusted: bool,
    pub(crate) secure: bool,
}

impl Peer {
    /// Somebody at an address, not encrypted so far; those in `trusted` networks are believed.
    pub(crate) fn new(address: IpAddr, trusted: &[Network]) -> Self {
        Self {
            address,
            text: address.to_string(),
            trusted: trusted.iter().any(|network| network.holds(address)),
            secure: false,
        }
    }
}
