//! The peer of a connection.

use std::net::IpAddr;

use plimsoll_config::edge::Network;

/// The peer.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    address: IpAddr,
    text: String,
    is_trusted: bool,
    is_secure: bool,
}

impl Peer {
    /// A peer at an address, not encrypted so far; those in `trusted` networks are trusted.
    pub(crate) fn new(address: IpAddr, trusted: &[Network]) -> Self {
        Self::with_trust(
            address,
            trusted.iter().any(|network| network.holds(address)),
        )
    }

    /// A peer at an address, not encrypted so far.
    pub(crate) fn with_trust(address: IpAddr, is_trusted: bool) -> Self {
        Self {
            address,
            text: address.to_string(),
            is_trusted,
            is_secure: false,
        }
    }

    /// Its connection is encrypted.
    pub(crate) fn set_secure(&mut self) {
        self.is_secure = true;
    }

    #[inline]
    pub(crate) fn address(&self) -> IpAddr {
        self.address
    }

    /// Its address as text.
    #[inline]
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether its forwarding headers are trusted.
    #[inline]
    pub(crate) fn is_trusted(&self) -> bool {
        self.is_trusted
    }

    /// Whether its connection is encrypted.
    #[inline]
    pub(crate) fn is_secure(&self) -> bool {
        self.is_secure
    }
}
