//! Country databases in the format of `MaxMind`, generated for tests: a few networks, each with its country code.

use std::net::IpAddr;

/// Bits of a record in the tree.
const RECORD_BITS: u16 = 24;
/// The marker before the metadata.
const MARKER: &[u8] = b"\xab\xcd\xefMaxMind.com";

/// Writes a database. A network is an address and its prefix length.
///
/// # Panics
/// When the networks overlap, or are too many for a small database.
pub fn countries(networks: &[(IpAddr, u8, &str)]) -> Vec<u8> {
    let mut data = Vec::new();
    let mut tree = SearchTree(vec![[Record::Nothing; 2]]);
    for (address, bits, country) in networks {
        let offset = data.len();
        map(&mut data, 1);
        text(&mut data, "country");
        map(&mut data, 1);
        text(&mut data, "iso_code");
        text(&mut data, country);
        // IPv4 is at the beginning of IPv6.
        let (number, bits) = match address {
            IpAddr::V4(address) => (u128::from(address.to_bits()), bits + 96),
            IpAddr::V6(address) => (address.to_bits(), *bits),
        };
        tree.put(number, bits, offset);
    }
    let mut file = tree.bytes();
    let count = tree.0.len();
    file.extend_from_slice(&[0; 16]);
    file.extend_from_slice(&data);
    file.extend_from_slice(MARKER);
    metadata(&mut file, count);
    file
}

#[derive(Clone, Copy)]
enum Record {
    Nothing,
    Node(usize),
    Data(usize),
}

struct SearchTree(Vec<[Record; 2]>);

impl SearchTree {
    fn put(&mut self, number: u128, bits: u8, offset: usize) {
        let mut node = 0;
        for place in 0..bits {
            let side = usize::from(number >> (127 - place) & 1 == 1);
            if place + 1 == bits {
                let record = &mut self.0[node][side];
                assert!(matches!(record, Record::Nothing), "networks overlap");
                *record = Record::Data(offset);
                return;
            }
            node = match self.0[node][side] {
                Record::Node(next) => next,
                Record::Nothing => {
                    self.0.push([Record::Nothing; 2]);
                    let next = self.0.len() - 1;
                    self.0[node][side] = Record::Node(next);
                    next
                }
                Record::Data(_) => panic!("networks overlap"),
            };
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let count = self.0.len();
        let records = self.0.iter().flatten().map(|record| match record {
            Record::Nothing => count,
            Record::Node(next) => *next,
            Record::Data(offset) => count + 16 + offset,
        });
        let mut bytes = Vec::with_capacity(count * 6);
        for value in records {
            let value = u32::try_from(value).expect("a small database");
            assert!(value < 1 << RECORD_BITS, "a small database");
            bytes.extend_from_slice(&value.to_be_bytes()[1..]);
        }
        bytes
    }
}

fn metadata(file: &mut Vec<u8>, count: usize) {
    let count = u32::try_from(count).expect("a small database");
    map(file, 9);
    text(file, "node_count");
    control(file, 6, 4);
    file.extend_from_slice(&count.to_be_bytes());
    for (name, value) in [
        ("record_size", RECORD_BITS),
        ("ip_version", 6),
        ("binary_format_major_version", 2),
        ("binary_format_minor_version", 0),
    ] {
        text(file, name);
        control(file, 5, 2);
        file.extend_from_slice(&value.to_be_bytes());
    }
    text(file, "database_type");
    text(file, "Test-Country");
    text(file, "languages");
    // A list and a 64-bit number: their types need an extended type byte.
    file.extend_from_slice(&[0, 11 - 7]);
    text(file, "build_epoch");
    file.extend_from_slice(&[1, 9 - 7, 1]);
    text(file, "description");
    map(file, 0);
}

fn map(out: &mut Vec<u8>, len: u8) {
    control(out, 7, len);
}

fn text(out: &mut Vec<u8>, text: &str) {
    let len = u8::try_from(text.len()).expect("a short text");
    control(out, 2, len);
    out.extend_from_slice(text.as_bytes());
}

fn control(out: &mut Vec<u8>, kind: u8, len: u8) {
    assert!(len < 29, "longer values are written in another way");
    out.push(kind << 5 | len);
}
