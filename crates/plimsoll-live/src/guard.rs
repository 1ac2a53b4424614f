//! Who may use the page: whoever has its token, by an address of this machine, from the page itself.
//!
//! A page of a stranger in the same browser can send requests here, and after its name was bound to another address
//! (DNS rebinding) even read the answers. Its requests carry its name in `Host`, and its origin in `Origin`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use hyper::header::{HOST, HeaderMap, HeaderValue, ORIGIN};
use hyper::{Method, StatusCode};

use crate::error::LiveError;

/// Bytes of randomness in a token.
const TOKEN_LEN: usize = 16;

/// Where the page is served: an address of this machine, port 0 for a free one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveAddress(pub SocketAddr);

impl Default for LiveAddress {
    fn default() -> Self {
        Self(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
    }
}

impl std::str::FromStr for LiveAddress {
    type Err = String;

    /// `127.0.0.1:9000`, `[::1]:9000`, an address alone, a port alone, or `localhost` instead of the address.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = text.replacen("localhost", "127.0.0.1", 1);
        if let Ok(address) = named.parse() {
            return Ok(Self(address));
        }
        if let Ok(port) = named.parse::<u16>() {
            return Ok(Self(SocketAddr::from((Ipv4Addr::LOCALHOST, port))));
        }
        if let Ok(address) = named.parse::<IpAddr>() {
            return Ok(Self(SocketAddr::new(address, 0)));
        }
        Err(format!(
            "`{text}` is not an address of this machine: expected ADDRESS:PORT, an IP address or a port, such as 127.0.0.1:9000"
        ))
    }
}

/// A secret in the path of every URL of a page.
#[derive(Clone)]
pub(crate) struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    pub(crate) fn random() -> Result<Self, LiveError> {
        let mut bytes = [0; TOKEN_LEN];
        getrandom::fill(&mut bytes).map_err(LiveError::Token)?;
        let digit = |half: u8| char::from(b"0123456789abcdef"[usize::from(half)]);
        let digits = bytes
            .iter()
            .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]);
        Ok(Self(digits.collect()))
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// Compares in a time that does not depend on how much is right.
    fn is(&self, text: &str) -> bool {
        let differences = self.0.bytes().zip(text.bytes());
        let differ = differences.fold(0, |differ, (a, b)| differ | (a ^ b));
        text.len() == self.0.len() && differ == 0
    }

    /// The path behind the token, without its slash.
    pub(crate) fn path<'a>(&self, path: &'a str) -> Option<&'a str> {
        let (token, rest) = path.strip_prefix('/')?.split_once('/')?;
        self.is(token).then_some(rest)
    }
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal(pub(crate) StatusCode, pub(crate) &'static str);

const WRONG_HOST: Refusal = Refusal(
    StatusCode::MISDIRECTED_REQUEST,
    "This page is served under the address that plimsoll printed: an IP address or localhost. Other names are refused, \
     because a page of a stranger could use one to get here.\n",
);
const WRONG_ORIGIN: Refusal = Refusal(
    StatusCode::FORBIDDEN,
    "Requests of other pages are refused.\n",
);

/// Checks `Host`, and where the request comes from. Only a page may act, so a `POST` needs its origin.
pub(crate) fn check(method: &Method, headers: &HeaderMap) -> Result<(), Refusal> {
    let mut hosts = headers.get_all(HOST).iter();
    let host = hosts.next().and_then(|host| host.to_str().ok());
    let Some(host) = host.filter(|host| hosts.next().is_none() && is_of_this_machine(host)) else {
        return Err(WRONG_HOST);
    };
    let own = format!("http://{host}");
    let is_own = |origin: &HeaderValue| origin.as_bytes() == own.as_bytes();
    let origins = headers.get_all(ORIGIN);
    let has_origin = origins.iter().next().is_some();
    let field = |name: &str| headers.get(name).map(HeaderValue::as_bytes);
    // Following a link from elsewhere, such as a terminal in a browser, is not reading.
    let is_own_site = !matches!(field("sec-fetch-site"), Some(b"cross-site" | b"same-site"))
        || matches!(field("sec-fetch-mode"), Some(b"navigate"));
    if !origins.iter().all(is_own)
        || (!has_origin && *method != Method::GET && *method != Method::HEAD)
        || !is_own_site
    {
        return Err(WRONG_ORIGIN);
    }
    Ok(())
}

/// Whether a `Host` is an IP address or `localhost`, with any port: a name that a stranger controls never is.
fn is_of_this_machine(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if !name.ends_with(':') && port.parse::<u16>().is_ok() => name,
        _ => host,
    };
    let bare = name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'));
    match bare {
        Some(bare) => bare.parse::<std::net::Ipv6Addr>().is_ok(),
        None => name.parse::<Ipv4Addr>().is_ok() || name == "localhost",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for &(name, value) in lines {
            headers.append(name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn only_addresses_and_localhost_are_hosts() {
        for host in [
            "127.0.0.1:9",
            "localhost:80",
            "localhost",
            "[::1]:9",
            "10.1.2.3",
        ] {
            assert!(is_of_this_machine(host), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "evil.example:9",
            "127.0.0.1.evil.example",
            "localhost.evil.example:9",
            "127.0.0.1@evil.example",
            "[::1].evil.example",
            "::1",
            "0x7f.1",
        ] {
            assert!(!is_of_this_machine(host), "{host}");
        }
    }

    #[test]
    fn acts_need_the_origin_of_the_page() {
        let host = ("host", "127.0.0.1:9");
        let own = ("origin", "http://127.0.0.1:9");
        let of = |method: Method, lines: &[_]| check(&method, &headers(lines)).is_ok();
        assert!(of(Method::GET, &[host]));
        assert!(of(Method::POST, &[host, own]));
        assert!(!of(Method::POST, &[host]));
        assert!(!of(Method::GET, &[]));
        assert!(!of(Method::GET, &[host, host]));
        for origin in [
            "http://evil.example",
            "null",
            "https://127.0.0.1:9",
            "http://127.0.0.1:90",
        ] {
            assert!(!of(Method::POST, &[host, ("origin", origin)]), "{origin}");
            assert!(!of(Method::GET, &[host, ("origin", origin)]), "{origin}");
            assert!(
                !of(Method::POST, &[host, own, ("origin", origin)]),
                "{origin}"
            );
        }
        let other = ("sec-fetch-site", "cross-site");
        assert!(!of(Method::GET, &[host, other]));
        let link = ("sec-fetch-mode", "navigate");
        assert!(of(Method::GET, &[host, other, link]));
        assert!(!of(Method::POST, &[host, other, link]));
    }

    #[test]
    fn the_path_behind_a_token() {
        let token = Token("ab12".to_owned());
        assert_eq!(token.path("/ab12/run.json"), Some("run.json"));
        assert_eq!(token.path("/ab12/"), Some(""));
        for path in [
            "/ab12", "/ab13/", "/ab1/", "/ab123/", "//", "/", "", "/x/ab12/",
        ] {
            assert_eq!(token.path(path), None, "{path}");
        }
        let [first, second] = [Token::random().unwrap(), Token::random().unwrap()];
        assert_eq!(
            (first.text().len(), first.text() == second.text()),
            (32, false)
        );
    }

    #[test]
    fn addresses_are_read() {
        for (text, expected) in [
            ("127.0.0.1:9000", "127.0.0.1:9000"),
            ("9000", "127.0.0.1:9000"),
            ("localhost:9000", "127.0.0.1:9000"),
            ("[::1]:9000", "[::1]:9000"),
            ("::1", "[::1]:0"),
            ("0.0.0.0", "0.0.0.0:0"),
        ] {
            assert_eq!(text.parse::<LiveAddress>().unwrap().0.to_string(), expected);
        }
        for text in ["", "evil.example:80", "127.0.0.1:90000", "127.0.0.1:x"] {
            assert!(text.parse::<LiveAddress>().is_err(), "{text}");
        }
    }
}
