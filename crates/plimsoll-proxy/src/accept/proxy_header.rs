//! Parser of the PROXY protocol, versions 1 and 2: what a proxy in front reports about the connection. Pure.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Bytes needed to tell the versions apart; every header is longer.
pub(crate) const START_LEN: usize = 12;
/// Longest header of version 1, its line end included.
pub(crate) const LINE_LEN_MAX: usize = 107;
/// Bytes of version 2 before its addresses.
pub(crate) const FIXED_LEN: usize = 16;
/// Longest addresses and extensions of version 2 accepted.
const ADDRESSES_LEN_MAX: usize = 2048;

const SIGNATURE: &[u8; START_LEN] = b"\r\n\r\n\0\r\nQUIT\n";

/// Malformed header. The connection is unusable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoHeader;

/// How a header continues after its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// A line of text, up to its line feed.
    Line,
    /// Fixed bytes that contain the length of the rest.
    Binary,
}

/// The version that begins with these bytes.
pub(crate) fn version(start: [u8; START_LEN]) -> Result<Version, NoHeader> {
    if start == *SIGNATURE {
        Ok(Version::Binary)
    } else if start.starts_with(b"PROXY ") {
        Ok(Version::Line)
    } else {
        Err(NoHeader)
    }
}

/// The client named by a line; `None` when it is unknown.
pub(crate) fn line(line: &[u8]) -> Result<Option<SocketAddr>, NoHeader> {
    let line = line.strip_suffix(b"\r\n").ok_or(NoHeader)?;
    let line = std::str::from_utf8(line).map_err(|_| NoHeader)?;
    let mut words = line.split(' ');
    if words.next() != Some("PROXY") {
        return Err(NoHeader);
    }
    let family = words.next().ok_or(NoHeader)?;
    if family == "UNKNOWN" {
        return Ok(None);
    }
    let mut address = || words.next().and_then(|word| word.parse::<IpAddr>().ok());
    let (from, to) = (address().ok_or(NoHeader)?, address().ok_or(NoHeader)?);
    let is_family = match family {
        "TCP4" => from.is_ipv4() && to.is_ipv4(),
        "TCP6" => from.is_ipv6() && to.is_ipv6(),
        _ => false,
    };
    let mut port = || words.next().and_then(|word| word.parse::<u16>().ok());
    let (from_port, _) = (port().ok_or(NoHeader)?, port().ok_or(NoHeader)?);
    if !is_family || words.next().is_some() {
        return Err(NoHeader);
    }
    Ok(Some(SocketAddr::new(from, from_port)))
}

/// How many bytes follow the fixed ones of version 2.
pub(crate) fn addresses_len(fixed: [u8; FIXED_LEN]) -> Result<usize, NoHeader> {
    let len = usize::from(u16::from_be_bytes([fixed[14], fixed[15]]));
    let is_version_2 = fixed[12] >> 4 == 2;
    (is_version_2 && len <= ADDRESSES_LEN_MAX)
        .then_some(len)
        .ok_or(NoHeader)
}

/// The client named by a version 2 header; `None` when the proxy connects for itself, or without an address.
pub(crate) fn binary(
    fixed: [u8; FIXED_LEN],
    addresses: &[u8],
) -> Result<Option<SocketAddr>, NoHeader> {
    match (fixed[12] & 15, fixed[13] >> 4) {
        (0, _) | (1, 0 | 3) => Ok(None),
        (1, 1) if addresses.len() >= 12 => {
            let octets: [u8; 4] = addresses[..4].try_into().map_err(|_| NoHeader)?;
            let port = u16::from_be_bytes([addresses[8], addresses[9]]);
            Ok(Some(SocketAddr::new(Ipv4Addr::from(octets).into(), port)))
        }
        (1, 2) if addresses.len() >= 36 => {
            let octets: [u8; 16] = addresses[..16].try_into().map_err(|_| NoHeader)?;
            let port = u16::from_be_bytes([addresses[32], addresses[33]]);
            Ok(Some(SocketAddr::new(Ipv6Addr::from(octets).into(), port)))
        }
        _ => Err(NoHeader),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_the_protocol_says() {
        let client = |text: &str| {
            line(text.as_bytes()).map(|address| address.map(|address| address.to_string()))
        };
        assert_eq!(
            client("PROXY TCP4 192.0.2.7 192.0.2.1 5000 80\r\n"),
            Ok(Some("192.0.2.7:5000".to_owned()))
        );
        assert_eq!(
            client("PROXY TCP6 2001:db8::7 ::1 5000 80\r\n"),
            Ok(Some("[2001:db8::7]:5000".to_owned()))
        );
        assert_eq!(client("PROXY UNKNOWN whatever\r\n"), Ok(None));
        for wrong in [
            "PROXY TCP4 2001:db8::7 ::1 5000 80\r\n",
            "PROXY TCP4 192.0.2.7 192.0.2.1 5000\r\n",
            "PROXY TCP4 192.0.2.7 192.0.2.1 70000 80\r\n",
            "PROXY TCP4 192.0.2.7 192.0.2.1 5000 80 x\r\n",
            "PROXY TCP4 192.0.2.7 192.0.2.1 5000 80\n",
            "PROXY  TCP4 192.0.2.7 192.0.2.1 5000 80\r\n",
        ] {
            assert_eq!(client(wrong), Err(NoHeader), "{wrong:?}");
        }
    }

    fn fixed(command: u8, family: u8, len: u16) -> [u8; FIXED_LEN] {
        let mut fixed = [0; FIXED_LEN];
        fixed[..12].copy_from_slice(SIGNATURE);
        fixed[12] = command;
        fixed[13] = family;
        fixed[14..].copy_from_slice(&len.to_be_bytes());
        fixed
    }

    #[test]
    fn binary_headers_are_read_as_the_protocol_says() {
        let mut four = vec![192, 0, 2, 7, 192, 0, 2, 1];
        four.extend([0x13, 0x88, 0, 80, 3, 0, 0]);
        let head = fixed(0x21, 0x11, 15);
        assert_eq!(addresses_len(head), Ok(15));
        assert_eq!(
            binary(head, &four),
            Ok(Some("192.0.2.7:5000".parse().unwrap()))
        );
        let mut six = vec![0; 36];
        six[15] = 7;
        six[32..34].copy_from_slice(&[0x13, 0x88]);
        assert_eq!(
            binary(fixed(0x21, 0x21, 36), &six),
            Ok(Some("[::7]:5000".parse().unwrap()))
        );
        assert_eq!(binary(fixed(0x20, 0, 0), &[]), Ok(None));
        assert_eq!(binary(fixed(0x21, 0x11, 4), &four[..4]), Err(NoHeader));
        assert_eq!(addresses_len(fixed(0x11, 0x11, 12)), Err(NoHeader));
        assert_eq!(addresses_len(fixed(0x21, 0x11, 5000)), Err(NoHeader));
        assert_eq!(version(*SIGNATURE), Ok(Version::Binary));
        assert_eq!(version(*b"PROXY TCP4 1"), Ok(Version::Line));
        assert_eq!(version(*b"GET / HTTP/1"), Err(NoHeader));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>, head: [u8; FIXED_LEN]) {
            let _ = line(&bytes);
            let _ = addresses_len(head);
            let _ = binary(head, &bytes);
        }
    }
}
