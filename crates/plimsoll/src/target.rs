//! From a URL to addresses: parsed, resolved, and checked for public addresses.

use std::io::{IsTerminal as _, Write as _};
use std::net::{IpAddr, SocketAddr};

use plimsoll_config::login;
use plimsoll_model::plan::Target;
use url::Url;

use crate::arguments::TransportArguments;
use crate::exit::Exit;
use crate::explain::CliError;

/// A target, and the parts of its URL beyond the address.
#[derive(Debug)]
pub(crate) struct Resolved {
    pub(crate) target: Target,
    /// Path and query of the URL.
    pub(crate) path: String,
    /// `user:password` of the URL.
    pub(crate) credentials: Option<Vec<u8>>,
}

/// Parses a URL and resolves its host.
pub(crate) fn resolve(text: &str, arguments: &TransportArguments) -> Result<Resolved, CliError> {
    // The caller has checked that WebSocket URLs are expected; their handshake is HTTP.
    let url = parse_any(text)?;
    let (host, port) = host_and_port(&url);
    let connection = &arguments.connection;
    let addresses = if connection.unix_socket.is_some() {
        Vec::new()
    } else if connection.address.is_empty() {
        resolve_host(&host, port, connection.ipv4, connection.ipv6)?
    } else {
        connection.address.clone()
    };
    let target = Target {
        url: without_secrets(&url),
        tls: matches!(url.scheme(), "https" | "wss"),
        host: arguments.request.host.clone().unwrap_or(host),
        port,
        addresses,
        unix_socket: connection.unix_socket.clone(),
    };
    if !connection.i_own_this {
        confirm_ownership(&target)?;
    }
    Ok(Resolved {
        target,
        path: path_of(&url),
        credentials: login::of(&url),
    })
}

fn host_and_port(url: &Url) -> (String, u16) {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    (host.to_owned(), url.port_or_known_default().unwrap_or(80))
}

/// Another origin in a plan's steps: flags about the target's address do not apply to it.
pub(crate) fn resolve_other(
    text: &str,
    arguments: &TransportArguments,
) -> Result<Target, CliError> {
    let url = parse(text)?;
    let (host, port) = host_and_port(&url);
    let connection = &arguments.connection;
    let target = Target {
        url: without_secrets(&url),
        tls: url.scheme() == "https",
        addresses: resolve_host(&host, port, connection.ipv4, connection.ipv6)?,
        host,
        port,
        unix_socket: None,
    };
    if !connection.i_own_this {
        confirm_ownership(&target)?;
    }
    Ok(target)
}

/// The first address of a URL's host.
pub(crate) fn first_address(text: &str) -> Result<SocketAddr, CliError> {
    let url = parse(text)?;
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let addresses = resolve_host(
        host,
        url.port_or_known_default().unwrap_or(80),
        false,
        false,
    )?;
    Ok(addresses[0])
}

/// Parses a URL; `http://` may be omitted.
pub(crate) fn parse(text: &str) -> Result<Url, CliError> {
    let url = parse_any(text)?;
    if matches!(url.scheme(), "ws" | "wss") {
        return Err(unsupported_scheme(&url).remedy("use http:// or https://"));
    }
    Ok(url)
}

fn unsupported_scheme(url: &Url) -> CliError {
    CliError::usage(format!("unsupported URL scheme `{}`", url.scheme()))
}

/// The same, but also accepts WebSocket URLs.
pub(crate) fn parse_any(text: &str) -> Result<Url, CliError> {
    let full = if text.contains("://") {
        text.to_owned()
    } else {
        format!("http://{text}")
    };
    let url = Url::parse(&full).map_err(|error| {
        CliError::usage(format!("`{text}` is not a URL: {error}"))
            .remedy("write it as http://host:port/path or https://host/path")
    })?;
    if !matches!(url.scheme(), "http" | "https" | "ws" | "wss") {
        return Err(unsupported_scheme(&url).remedy("use http:// or https://"));
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(CliError::usage(format!("`{text}` has no host"))
            .remedy("write it as http://host:port/path"));
    }
    Ok(url)
}

fn path_of(url: &Url) -> String {
    match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    }
}

fn without_secrets(url: &Url) -> String {
    let mut shown = url.clone();
    // Both fail only for URLs without a host, which were refused above.
    let _ = shown.set_username("");
    let _ = shown.set_password(None);
    plimsoll_model::redact::url(shown.as_str()).into_owned()
}

pub(crate) fn resolve_host(
    host: &str,
    port: u16,
    ipv4: bool,
    ipv6: bool,
) -> Result<Vec<SocketAddr>, CliError> {
    let found = plimsoll_names::host::resolve(host, port).map_err(|error| {
        CliError::new(
            Exit::Unreachable,
            format!("cannot resolve the host `{host}`: {error}"),
        )
        .remedy("check the spelling, or set its address with --address IP:PORT")
    })?;
    let mut addresses: Vec<SocketAddr> = found
        .into_iter()
        .filter(|address| !(ipv4 && address.is_ipv6() || ipv6 && address.is_ipv4()))
        .collect();
    addresses.dedup();
    if let Some(first) = addresses.first() {
        // A name such as localhost has an address of each family and often a listener on one of them only: like
        // curl, one family is used, the first that answers; the engine takes all addresses of it in turn.
        let family = reachable_family(&addresses).unwrap_or(first.is_ipv6());
        addresses.retain(|address| address.is_ipv6() == family);
        return Ok(addresses);
    }
    let family = if ipv4 { "IPv4" } else { "IPv6" };
    Err(CliError::new(
        Exit::Unreachable,
        format!("the host `{host}` has no {family} address"),
    )
    .remedy("remove -4 or -6"))
}

/// Whether the first address that accepts a connection is IPv6; `None` when none does or there is no choice.
fn reachable_family(addresses: &[SocketAddr]) -> Option<bool> {
    let mixed =
        addresses.iter().any(SocketAddr::is_ipv6) && addresses.iter().any(SocketAddr::is_ipv4);
    if !mixed {
        return None;
    }
    let reachable = |address: &&SocketAddr| {
        std::net::TcpStream::connect_timeout(address, std::time::Duration::from_secs(2)).is_ok()
    };
    addresses.iter().find(reachable).map(SocketAddr::is_ipv6)
}

/// A source must be an address of this machine; otherwise each connection would fail as if no port were left.
pub(crate) fn check_sources(sources: &[IpAddr]) -> Result<(), CliError> {
    for source in sources {
        // Port 0: the kernel only checks the address.
        if let Err(error) = std::net::UdpSocket::bind((*source, 0)) {
            return Err(CliError::usage(format!(
                "cannot connect from {source} (`--source`, `sources:`): {error}"
            ))
            .remedy("use an address of this machine; `ip address` lists them"));
        }
    }
    Ok(())
}

/// A load test never starts against a public address without confirmation.
fn confirm_ownership(target: &Target) -> Result<(), CliError> {
    let Some(address) = target
        .addresses
        .iter()
        .find(|address| is_public(address.ip()))
    else {
        return Ok(());
    };
    let ip = address.ip().to_string();
    let what = if target.host.trim_matches(['[', ']']) == ip {
        format!("{ip} is a public address")
    } else {
        format!("{} has the public address {ip}", target.host)
    };
    let refused = || {
        CliError::usage(what.clone())
            .remedy("load only services that are yours; confirm it with --i-own-this")
    };
    let (stdin, mut stderr) = (std::io::stdin(), std::io::stderr());
    if !(stdin.is_terminal() && stderr.is_terminal()) {
        return Err(refused());
    }
    let _ = write!(stderr, "{what}. Is it yours, and may it be loaded? [y/N] ");
    let mut answer = String::new();
    let _ = stdin.read_line(&mut answer);
    if matches!(answer.trim().to_lowercase().as_str(), "y" | "yes") {
        Ok(())
    } else {
        Err(refused())
    }
}

/// Whether an address belongs to the public Internet.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            let shared = v4.octets()[0] == 100 && (64..128).contains(&v4.octets()[1]);
            !(v4.is_loopback()
                || v4.is_private()
                || v4.is_link_local()
                || v4.is_unspecified()
                || shared)
        }
        IpAddr::V6(v6) => {
            !(v6.is_loopback()
                || v6.is_unique_local()
                || v6.is_unicast_link_local()
                || v6.is_unspecified())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whose_address_it_is() {
        for private in [
            "127.0.0.1",
            "10.1.2.3",
            "172.20.0.1",
            "192.168.1.1",
            "100.64.0.1",
            "::1",
            "fd00::1",
            "fe80::1",
            "::ffff:10.0.0.1",
            "0.0.0.0",
        ] {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
        for public in [
            "1.1.1.1",
            "172.32.0.1",
            "100.128.0.1",
            "2001:4860::1",
            "::ffff:8.8.8.8",
        ] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
    }

    #[test]
    fn a_url_is_read_as_people_type_it() {
        assert_eq!(
            parse("localhost:8080/a?b=1").unwrap().as_str(),
            "http://localhost:8080/a?b=1"
        );
        assert!(
            parse("ftp://x/")
                .unwrap_err()
                .to_string()
                .contains("http://")
        );
        assert!(parse("http://").unwrap_err().to_string().contains("help"));
    }

    #[test]
    fn secrets_do_not_reach_the_shown_url() {
        let url = parse("https://me:hunter2@host/p?token=abc&page=2").unwrap();
        let shown = without_secrets(&url);
        assert!(
            !shown.contains("hunter2") && !shown.contains("abc"),
            "{shown}"
        );
        assert!(shown.contains("page=2"), "{shown}");
    }
}
