//! IP filter: address ranges as sorted numbers, countries by a database. Pure.

use std::net::IpAddr;
use std::sync::Arc;

use maxminddb::Reader;
use plimsoll_config::edge::{IpFilterConfig, Network};

/// Compiled lists.
#[derive(Debug)]
pub(crate) struct IpFilter {
    allow: Ranges,
    deny: Ranges,
    countries: Option<Countries>,
}

#[derive(Debug)]
struct Countries {
    reader: Reader<Arc<[u8]>>,
    allows: bool,
    listed: Vec<String>,
}

impl IpFilter {
    /// Compiles them.
    ///
    /// # Errors
    /// When a database is invalid.
    pub(crate) fn new(access: &IpFilterConfig) -> Result<Self, maxminddb::MaxMindDbError> {
        let countries = access.countries.as_ref().map(|countries| {
            let reader = Reader::from_source(Arc::clone(&countries.database));
            reader.map(|reader| Countries {
                reader,
                allows: countries.allows,
                listed: countries.listed.clone(),
            })
        });
        Ok(Self {
            allow: Ranges::new(&access.allow),
            deny: Ranges::new(&access.deny),
            countries: countries.transpose()?,
        })
    }

    /// Whether an address is allowed.
    pub(crate) fn lets_in(&self, address: IpAddr) -> bool {
        let number = number(address);
        if self.allow.hold(number) {
            return true;
        }
        if self.deny.hold(number) {
            return false;
        }
        self.countries
            .as_ref()
            .is_none_or(|countries| countries.lets_in(address))
    }
}

impl Countries {
    fn lets_in(&self, address: IpAddr) -> bool {
        let country = country(&self.reader, address).unwrap_or_default();
        let is_listed = self.listed.iter().any(|listed| listed == country);
        is_listed == self.allows
    }
}

/// Two-letter country code of an address, if the database has it.
fn country(reader: &Reader<Arc<[u8]>>, address: IpAddr) -> Option<&str> {
    let found = reader.lookup(address.to_canonical()).ok()?;
    let paths = [["country", "iso_code"], ["registered_country", "iso_code"]];
    paths.iter().find_map(|[outer, inner]| {
        let path = [
            maxminddb::PathElement::Key(outer),
            maxminddb::PathElement::Key(inner),
        ];
        found.decode_path::<&str>(&path).ok().flatten()
    })
}

/// Sorted ranges that neither touch nor overlap.
#[derive(Debug, Default)]
struct Ranges(Vec<(u128, u128)>);

impl Ranges {
    fn new(networks: &[Network]) -> Self {
        let mut bounds: Vec<_> = networks.iter().map(Network::bounds).collect();
        bounds.sort_unstable();
        let mut ranges: Vec<(u128, u128)> = Vec::new();
        for (first, last) in bounds {
            match ranges.last_mut() {
                Some(before) if first <= before.1.saturating_add(1) => {
                    before.1 = before.1.max(last);
                }
                _ => ranges.push((first, last)),
            }
        }
        Self(ranges)
    }

    fn hold(&self, number: u128) -> bool {
        let behind = self.0.partition_point(|(first, _)| *first <= number);
        behind > 0 && number <= self.0[behind - 1].1
    }
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn networks(texts: &[&str]) -> Vec<Network> {
        let read = |text: &&str| Network::parse(text).unwrap();
        texts.iter().map(read).collect()
    }

    #[track_caller]
    fn check(gate: &IpFilter, address: &str, is_in: bool) {
        assert_eq!(gate.lets_in(address.parse().unwrap()), is_in, "{address}");
    }

    #[test]
    fn what_is_allowed_goes_before_what_is_denied() {
        let gate = IpFilter::new(&IpFilterConfig {
            allow: networks(&["10.1.0.0/16", "2001:db8:1::/48"]),
            deny: networks(&["10.0.0.0/8", "2001:db8::/32", "192.0.2.7"]),
            countries: None,
        })
        .unwrap();
        check(&gate, "10.1.2.3", true);
        check(&gate, "10.2.2.3", false);
        check(&gate, "::ffff:10.2.2.3", false);
        check(&gate, "192.0.2.7", false);
        check(&gate, "192.0.2.8", true);
        check(&gate, "2001:db8:1::5", true);
        check(&gate, "2001:db8:2::5", false);
        let nobody = IpFilter::new(&IpFilterConfig {
            deny: Network::all().to_vec(),
            ..IpFilterConfig::default()
        })
        .unwrap();
        check(&nobody, "127.0.0.1", false);
        check(&nobody, "::1", false);
    }

    proptest::proptest! {
        #[test]
        fn ranges_hold_what_their_networks_hold(
            list in proptest::collection::vec((proptest::num::u32::ANY, 0..=32_u8), 0..40),
            asked in proptest::num::u32::ANY,
        ) {
            let list: Vec<Network> = list
                .into_iter()
                .map(|(address, bits)| Network::new(IpAddr::V4(address.into()), bits).unwrap())
                .collect();
            let ranges = Ranges::new(&list);
            let mut asked: Vec<IpAddr> = vec![IpAddr::V4(asked.into())];
            for network in &list {
                let (first, last) = network.bounds();
                for number in [first.wrapping_sub(1), first, last, last.wrapping_add(1)] {
                    asked.push(IpAddr::V6(number.into()).to_canonical());
                }
            }
            for address in asked {
                let expected = list.iter().any(|network| network.holds(address));
                if address.is_ipv4() {
                    proptest::prop_assert_eq!(ranges.hold(number(address)), expected, "{}", address);
                }
            }
        }
    }
}
