//! Countries of addresses, by a database of `MaxMind`.

use std::collections::BTreeMap;
use std::net::IpAddr;

use maxminddb::{PathElement, Reader};

use super::DayError;

/// Countries that are told apart; there are about 250 codes.
const COUNTRIES_MAX: usize = 1000;
/// Name of addresses without a country.
const UNKNOWN: &str = "unknown";

/// Requests by country.
#[derive(Debug)]
pub(super) struct Countries {
    reader: Reader<Vec<u8>>,
    names: Vec<String>,
    requests: Vec<u64>,
}

impl Countries {
    pub(super) fn new(database: Vec<u8>) -> Result<Self, DayError> {
        let reader = Reader::from_source(database)?;
        if reader.metadata().record_size == 0 {
            return Err(DayError::NoCountries);
        }
        Ok(Self {
            reader,
            names: vec![UNKNOWN.to_owned()],
            requests: vec![0],
        })
    }

    /// Number of the country of an address; 0 if it has none.
    pub(super) fn number(&mut self, address: &str) -> u16 {
        let code = address
            .trim_matches(['[', ']'])
            .parse::<IpAddr>()
            .ok()
            .and_then(|address| country(&self.reader, address));
        let Some(code) = code else { return 0 };
        let index = match self.names.iter().position(|name| *name == code) {
            Some(index) => index,
            None if self.names.len() < COUNTRIES_MAX => {
                self.names.push(code);
                self.requests.push(0);
                self.names.len() - 1
            }
            None => 0,
        };
        u16::try_from(index).unwrap_or(0)
    }

    /// Counts requests of the country with this number.
    pub(super) fn count(&mut self, number: u16, requests: u64) {
        if let Some(count) = self.requests.get_mut(usize::from(number)) {
            *count += requests;
        }
    }

    pub(super) fn by_code(self) -> BTreeMap<String, u64> {
        let counted = self.names.into_iter().zip(self.requests);
        counted.filter(|(_, requests)| *requests > 0).collect()
    }
}

fn country(reader: &Reader<Vec<u8>>, address: IpAddr) -> Option<String> {
    let result = reader.lookup(address.to_canonical()).ok()?;
    let paths = [["country", "iso_code"], ["registered_country", "iso_code"]];
    paths.iter().find_map(|[outer, inner]| {
        let path = [PathElement::Key(outer), PathElement::Key(inner)];
        result
            .decode_path::<&str>(&path)
            .ok()
            .flatten()
            .map(str::to_owned)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_counted_by_country() {
        let networks = [
            ("192.0.2.0".parse().unwrap(), 24, "FI"),
            ("2001:db8::".parse().unwrap(), 32, "DE"),
        ];
        let database = plimsoll_testkit::countries::countries(&networks);
        let mut countries = Countries::new(database).unwrap();
        for (address, requests) in [
            ("192.0.2.7", 5),
            ("::ffff:192.0.2.9", 1),
            ("[2001:db8::1]", 2),
            ("198.51.100.1", 3),
            ("no address", 4),
        ] {
            let number = countries.number(address);
            countries.count(number, requests);
        }
        let expected = [("DE", 2), ("FI", 6), ("unknown", 7)];
        let expected = expected.map(|(code, count)| (code.to_owned(), count));
        assert_eq!(countries.by_code(), BTreeMap::from(expected));
    }

    #[test]
    fn another_file_is_refused() {
        assert!(Countries::new(b"no database".to_vec()).is_err());
    }
}
