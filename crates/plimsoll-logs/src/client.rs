//! Who sent a request: addresses, lists of them, and hosts.

use std::borrow::Cow;
use std::net::IpAddr;

use crate::value::{self, Value};

/// Longest address or name that is kept, bytes: the longest name of DNS.
const ADDRESS_LEN_MAX: usize = 255;

/// The address of the client: the left-most one of a forwarded list (RFC 7239, 5.2, and the custom of
/// `X-Forwarded-For`), else the one that connected.
pub(crate) fn address<'a>(
    forwarded: Option<Value<'a>>,
    connected: Option<Value<'a>>,
) -> Option<Cow<'a, str>> {
    forwarded
        .and_then(|list| map(list, left_most))
        .or_else(|| map(connected?, left_most))
}

/// Applies a function that takes a slice of its argument, without copying where that is possible.
fn map(value: Value<'_>, slice: fn(&[u8]) -> Option<&[u8]>) -> Option<Cow<'_, str>> {
    match value {
        Cow::Borrowed(bytes) => slice(bytes).map(|found| value::text(Cow::Borrowed(found))),
        Cow::Owned(bytes) => {
            slice(&bytes).map(|found| Cow::Owned(String::from_utf8_lossy(found).into_owned()))
        }
    }
}

/// The first item of a list that identifies a client: an address, or a name if there is none.
fn left_most(list: &[u8]) -> Option<&[u8]> {
    if is_ipv4(list) {
        return Some(list);
    }
    let items = || {
        list.split(|byte| matches!(byte, b',' | b' ' | b'+' | b';'))
            .map(bare)
    };
    items()
        .find(|item| is_address(item))
        .or_else(|| items().find(|item| is_name(item)))
}

/// An item without quotes, brackets, port and `for=`.
pub(crate) fn bare(item: &[u8]) -> &[u8] {
    let mut text = item.trim_ascii();
    let has_for = text
        .get(..4)
        .is_some_and(|start| start.eq_ignore_ascii_case(b"for="));
    if has_for {
        text = &text[4..];
    }
    while let Some(inner) = text.strip_prefix(b"\"").or_else(|| text.strip_prefix(b"(")) {
        text = inner;
    }
    while let Some(inner) = text.strip_suffix(b"\"").or_else(|| text.strip_suffix(b")")) {
        text = inner;
    }
    if let Some(inner) = text.strip_prefix(b"[")
        && let Some(end) = memchr::memchr(b']', inner)
    {
        text = &inner[..end];
    } else if let Some(colon) = memchr::memchr(b':', text)
        && memchr::memrchr(b':', text) == Some(colon)
        && value::whole(&text[colon + 1..]).is_some()
    {
        // A single colon is that of a port; addresses of IPv6 have more.
        text = &text[..colon];
    }
    match text.get(..7) {
        Some(mapped) if mapped.eq_ignore_ascii_case(b"::ffff:") && text.contains(&b'.') => {
            without_port(&text[7..])
        }
        _ => text,
    }
}

fn without_port(text: &[u8]) -> &[u8] {
    let end = memchr::memchr(b':', text).unwrap_or(text.len());
    &text[..end]
}

/// Whether this is an address of IPv4 or IPv6.
pub(crate) fn is_address(text: &[u8]) -> bool {
    if text.len() < 2 || text.len() > 64 {
        return false;
    }
    if is_ipv4(text) {
        return true;
    }
    // A zone such as `%eth0` is no part of what is parsed.
    let end = memchr::memchr(b'%', text).unwrap_or(text.len());
    let parsed = std::str::from_utf8(&text[..end]).ok();
    parsed.is_some_and(|text| text.parse::<IpAddr>().is_ok())
}

/// Whether an address is of the machine itself or of a network of its own: that of a proxy, if a public one is beside it.
pub(crate) fn is_private(text: &[u8]) -> bool {
    let end = memchr::memchr(b'%', text).unwrap_or(text.len());
    let parsed = std::str::from_utf8(&text[..end]).ok();
    match parsed.and_then(|text| text.parse::<IpAddr>().ok()) {
        Some(IpAddr::V4(address)) => {
            let [first, second, ..] = address.octets();
            // RFC 6598: behind the address translation of a carrier or of a cloud.
            let is_shared = first == 100 && (64..128).contains(&second);
            address.is_private() || address.is_loopback() || address.is_link_local() || is_shared
        }
        Some(IpAddr::V6(address)) => {
            address.is_loopback() || address.is_unique_local() || address.is_unicast_link_local()
        }
        None => false,
    }
}

/// Whether this is an address of IPv4 in the only form that servers write: most lines begin with one, so this is quicker
/// than the library's parser, which says the same.
fn is_ipv4(text: &[u8]) -> bool {
    if !(7..=15).contains(&text.len()) {
        return false;
    }
    let (mut number, mut digits, mut points) = (0_u32, 0_u32, 0_u32);
    for &byte in text {
        match byte {
            b'0'..=b'9' => {
                let is_leading_zero = digits > 0 && number == 0;
                number = number * 10 + u32::from(byte - b'0');
                digits += 1;
                if number > 255 || is_leading_zero {
                    return false;
                }
            }
            b'.' if digits > 0 => {
                (number, digits) = (0, 0);
                points += 1;
            }
            _ => return false,
        }
    }
    points == 3 && digits > 0
}

/// A host name, or an identifier that a proxy made up (RFC 7239, 6.3); `unknown` identifies nobody (6.2).
fn is_name(text: &[u8]) -> bool {
    !value::is_absent(text)
        && text.len() <= ADDRESS_LEN_MAX
        && !matches!(
            text,
            b"unknown" | b"UNKNOWN" | b"Unknown" | b"_" | b"unix:" | b"local"
        )
        && !text.contains(&b'=')
        && text.iter().any(u8::is_ascii_alphanumeric)
}

/// Longest header of syslog or of a container in front of a line, bytes.
pub(crate) const HEADER_LEN_MAX: usize = 256;

/// What is behind a header of syslog or of a container's name, `Nov 22 01:43:45 web nginx: ` or `web_1  | `, if an
/// address follows it.
pub(crate) fn without_header(line: &[u8]) -> &[u8] {
    let start = &line[..line.len().min(HEADER_LEN_MAX)];
    if is_address(first_word(start)) {
        return line;
    }
    let ends = memchr::memchr_iter(b' ', start).filter(|blank| {
        let is_mark = blank.checked_sub(1).and_then(|at| start.get(at));
        matches!(is_mark, Some(b':' | b'|'))
    });
    let mut rests = ends.map(|blank| line[blank + 1..].trim_ascii_start());
    rests
        .find(|rest| is_address(first_word(rest)))
        .unwrap_or(line)
}

/// The first item of a line, bare.
fn first_word(line: &[u8]) -> &[u8] {
    let end = memchr::memchr2(b' ', b',', line).unwrap_or(line.len());
    bare(&line[..end])
}

/// A host without the port that its scheme has anyway.
pub(crate) fn without_default_port(host: Value<'_>) -> Value<'_> {
    let kept = host
        .strip_suffix(b":80")
        .or_else(|| host.strip_suffix(b":443"))
        .map_or(host.len(), <[u8]>::len);
    match host {
        Cow::Borrowed(host) => Cow::Borrowed(&host[..kept]),
        Cow::Owned(mut host) => {
            host.truncate(kept);
            Cow::Owned(host)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn addresses_are_those_of_the_library(
            text in prop_oneof!["[0-9.]{0,17}", "([0-9]{1,3}\\.){3}[0-9]{1,3}", "[0-9a-f:.]{1,20}"],
        ) {
            let expected = text.parse::<Ipv4Addr>().is_ok();
            prop_assert_eq!(is_ipv4(text.as_bytes()), expected, "{}", text);
        }
    }

    fn check(forwarded: &str, connected: &str) -> Option<String> {
        let value = |text: &str| Some(Cow::Owned(text.as_bytes().to_vec()));
        address(value(forwarded), value(connected)).map(Cow::into_owned)
    }

    #[test]
    fn the_left_most_address_is_the_client() {
        for (forwarded, expected) in [
            ("203.0.113.7, 10.36.42.175", "203.0.113.7"),
            ("203.0.113.7:41234,172.16.0.1", "203.0.113.7"),
            ("198.51.100.3:33453,+172.16.0.1", "198.51.100.3"),
            ("unknown, 203.0.113.7", "203.0.113.7"),
            (
                "for=\"[2001:db8::7]:4711\";proto=https, for=10.0.0.1",
                "2001:db8::7",
            ),
            ("For=192.0.2.43", "192.0.2.43"),
            ("::ffff:192.0.2.43", "192.0.2.43"),
            ("_hidden", "_hidden"),
            ("-", "10.0.0.9"),
            ("", "10.0.0.9"),
            ("unknown", "10.0.0.9"),
        ] {
            assert_eq!(
                check(forwarded, "10.0.0.9").as_deref(),
                Some(expected),
                "{forwarded}"
            );
        }
        assert_eq!(
            check("-", "client.example").as_deref(),
            Some("client.example")
        );
        for nobody in ["-", "", "unknown", "unix:"] {
            assert_eq!(check("-", nobody), None, "{nobody}");
        }
    }

    #[test]
    fn default_ports_are_left_out() {
        for (host, expected) in [
            ("shop.example:443", "shop.example"),
            ("shop.example:8080", "shop.example:8080"),
            ("shop.example", "shop.example"),
        ] {
            let value = without_default_port(Cow::Borrowed(host.as_bytes()));
            assert_eq!(value.as_ref(), expected.as_bytes());
        }
    }
}
