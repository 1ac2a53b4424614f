//! Ranges of addresses.

use std::net::IpAddr;

/// A range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u8,
}

impl Network {
    /// The addresses whose first `bits` bits are those of `address`; `None` when an address has fewer bits.
    pub fn new(address: IpAddr, bits: u8) -> Option<Self> {
        let most = if address.is_ipv4() { 32 } else { 128 };
        (bits <= most).then_some(Self { address, bits })
    }

    /// Every address there is.
    pub fn all() -> [Self; 2] {
        [
            Self {
                address: IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED),
                bits: 0,
            },
            Self {
                address: IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED),
                bits: 0,
            },
        ]
    }

    /// The first and the last address, as numbers; IPv4 addresses are mapped to IPv6.
    pub fn bounds(&self) -> (u128, u128) {
        let (address, bits) = match self.address {
            IpAddr::V4(address) => (address.to_ipv6_mapped(), self.bits + 96),
            IpAddr::V6(address) => (address, self.bits),
        };
        let rest = u128::MAX.checked_shr(bits.into()).unwrap_or(0);
        (address.to_bits() & !rest, address.to_bits() | rest)
    }

    /// `10.0.0.0/8`, `::1`.
    pub fn parse(text: &str) -> Option<Self> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address.parse().ok()?, Some(bits.parse().ok()?)),
            None => (text.parse::<IpAddr>().ok()?, None),
        };
        let most = if address.is_ipv4() { 32 } else { 128 };
        Self::new(address, bits.unwrap_or(most))
    }

    /// Whether it contains an address; an IPv4-mapped IPv6 address is treated as IPv4.
    pub fn holds(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.bits)).unwrap_or(0);
                network.to_bits() & mask == address.to_bits() & mask
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                let mask = u128::MAX
                    .checked_shl(128 - u32::from(self.bits))
                    .unwrap_or(0);
                network.to_bits() & mask == address.to_bits() & mask
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(network: &str, address: &str, holds: bool) {
        let network = Network::parse(network).unwrap();
        assert_eq!(network.holds(address.parse().unwrap()), holds, "{address}");
    }

    #[test]
    fn networks_hold_their_addresses() {
        check("10.0.0.0/8", "10.1.2.3", true);
        check("10.0.0.0/8", "11.1.2.3", false);
        check("10.0.0.0/8", "::ffff:10.1.2.3", true);
        check("0.0.0.0/0", "1.2.3.4", true);
        check("0.0.0.0/0", "::1", false);
        check("::1", "::1", true);
        check("2001:db8::/32", "2001:db8:1::2", true);
        check("192.168.1.7", "192.168.1.8", false);
        assert_eq!(Network::parse("10.0.0.0/33"), None);
        assert_eq!(Network::parse("ten"), None);
    }

    #[test]
    fn bounds_are_the_first_and_the_last() {
        let check = |network: &str, first: &str, last: &str| {
            let bounds = Network::parse(network).unwrap().bounds();
            let number = |text: &str| text.parse::<std::net::Ipv6Addr>().unwrap().to_bits();
            assert_eq!(bounds, (number(first), number(last)), "{network}");
        };
        check("10.1.2.3/8", "::ffff:10.0.0.0", "::ffff:10.255.255.255");
        check("192.0.2.7", "::ffff:192.0.2.7", "::ffff:192.0.2.7");
        check(
            "2001:db8::/32",
            "2001:db8::",
            "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
        );
        check("::/0", "::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
    }
}
