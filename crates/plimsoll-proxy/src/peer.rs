//! The peer of a connection.

use std::net::IpAddr;

use plimsoll_config::edge::Network;

/// The peer.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) address: IpAddr,
    pub(crate) text: String,
    /// Whether its forwarding headers are trusted.
    pub(crate) trusted: bool,
    pub(crate) secure: bool,
}

impl Peer {
    /// A peer at an address, not encrypted so far; those in `trusted` networks are trusted.
    pub(crate) fn new(address: IpAddr, trusted: &[Network]) -> Self {
        Self {
            address,
            text: address.to_string(),
            trusted: trusted.iter().any(|network| network.holds(address)),
            secure: false,
        }
    }
}
