//! Scheme and host of a request, provided that everything forwarded to its upstream agrees on them.

use plimsoll_cache::{KeyRef, KeyRule, Query};
use plimsoll_wire::head::Header;
use plimsoll_wire::request_head::RequestHead;

use crate::peer::Peer;

/// Scheme and host of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address<'a> {
    pub secure: bool,
    /// With its port, as received.
    pub host: &'a str,
    /// Without the default port of the scheme.
    bare_host: &'a str,
    trusted: bool,
}

/// Scheme and host do not depend on the key rule.
static ANY: KeyRule = KeyRule {
    query: Query::All,
    sorted: false,
};

impl<'a> Address<'a> {
    /// The address of a request. `None` when its target is not a path, or when headers of a trusted peer contradict or
    /// repeat scheme, host or port: an upstream may use either.
    pub(crate) fn of(head: &RequestHead<'_, '_>, host: &'a str, peer: &Peer) -> Option<Self> {
        if !(head.target.is_empty() || head.target.starts_with('/')) {
            return None;
        }
        let secure = if peer.is_trusted() {
            scheme(head.headers, peer.is_secure())?
        } else {
            peer.is_secure()
        };
        let address = Self {
            secure,
            host,
            bare_host: "",
            trusted: peer.is_trusted(),
        }
        .written(host);
        (!peer.is_trusted() || address.agrees(head.headers)).then_some(address)
    }

    /// The same address with another spelling of its host.
    pub(crate) fn written<'b>(&self, host: &'b str) -> Address<'b> {
        Address {
            secure: self.secure,
            host,
            bare_host: KeyRef::new(self.secure, host, "/", &ANY).host(),
            trusted: self.trusted,
        }
    }

    /// Whether a header of a trusted peer only repeats this address in another spelling.
    pub(crate) fn is_redundant(&self, header: &Header<'_>) -> bool {
        self.trusted
            && match header.name.len() {
                16 if header.name.eq_ignore_ascii_case("x-forwarded-port") => true,
                16 if header.name.eq_ignore_ascii_case("x-forwarded-host") => {
                    let value = header.value;
                    value.len() != self.bare_host.len() || value.iter().any(u8::is_ascii_uppercase)
                }
                _ => false,
            }
    }

    /// Whether all headers of a trusted peer agree with this address.
    fn agrees(&self, headers: &[Header<'_>]) -> bool {
        let (mut hosts, mut ports) = (0, 0);
        headers.iter().all(|header| {
            let value = header.value.trim_ascii();
            match header.name.len() {
                9 if header.name.eq_ignore_ascii_case("forwarded") => self.is_in_list(value),
                10 if header.name.eq_ignore_ascii_case("cf-visitor") => {
                    value == format!("{{\"scheme\":\"{}\"}}", self.scheme()).as_bytes()
                }
                16 if header.name.eq_ignore_ascii_case("x-forwarded-host") => {
                    hosts += 1;
                    hosts == 1 && self.is_host(value)
                }
                16 if header.name.eq_ignore_ascii_case("x-forwarded-port") => {
                    ports += 1;
                    ports == 1 && self.is_own_port(value)
                }
                _ => true,
            }
        })
    }

    fn scheme(&self) -> &'static str {
        if self.secure { "https" } else { "http" }
    }

    fn is_host(&self, value: &[u8]) -> bool {
        std::str::from_utf8(value).is_ok_and(|host| {
            let bare = KeyRef::new(self.secure, host, "/", &ANY).host();
            bare.eq_ignore_ascii_case(self.bare_host)
        })
    }

    /// Whether a value is the default port of the scheme, for a host without a port.
    fn is_own_port(&self, value: &[u8]) -> bool {
        let own: &[u8] = if self.secure { b"443" } else { b"80" };
        let is_ipv6 = self.bare_host.ends_with(']');
        value == own && (is_ipv6 || !self.bare_host.contains(':'))
    }

    /// Whether every element of a `Forwarded` header (RFC 7239, 4) names this host and scheme or none, and besides only
    /// addresses of clients and proxies.
    fn is_in_list(&self, value: &[u8]) -> bool {
        let pairs = value.split(|&byte| byte == b',' || byte == b';');
        pairs.map(<[u8]>::trim_ascii).all(|pair| {
            let Some(at) = pair.iter().position(|&byte| byte == b'=') else {
                return pair.is_empty();
            };
            let (name, value) = (&pair[..at], &pair[at + 1..]);
            let Some(value) = unquoted(value) else {
                return false;
            };
            match name.to_ascii_lowercase().as_slice() {
                // Addresses contain neither commas nor semicolons.
                b"for" | b"by" => true,
                b"host" => self.is_host(value),
                b"proto" => value.eq_ignore_ascii_case(self.scheme().as_bytes()),
                _ => false,
            }
        })
    }
}

/// The scheme in the headers of a trusted peer, otherwise that of its connection; `None` when it is ambiguous or
/// unknown.
fn scheme(headers: &[Header<'_>], is_encrypted: bool) -> Option<bool> {
    let mut protos = headers.iter().filter(|header| {
        header.name.len() == 17 && header.name.eq_ignore_ascii_case("x-forwarded-proto")
    });
    let secure = match protos.next().map(|header| header.value) {
        None => is_encrypted,
        Some(b"https") => true,
        Some(b"http") => false,
        Some(_) => return None,
    };
    protos.next().is_none().then_some(secure)
}

/// A value without its quotes; `None` when they are unbalanced or contain escapes.
fn unquoted(value: &[u8]) -> Option<&[u8]> {
    let inner = match value {
        [b'"', inner @ .., b'"'] => inner,
        value => value,
    };
    (!inner.iter().any(|byte| b"\"\\".contains(byte))).then_some(inner)
}
