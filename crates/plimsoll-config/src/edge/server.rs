//! Upstream servers: a URL, or a map with options.

use std::net::{IpAddr, SocketAddr};

use url::{Host, Url};

use super::file::required;
use super::pools::{CEILING_MAX, ServerLookup};
use crate::document::Shape::Text;
use crate::document::{
    DocumentNode, DocumentReader, NodeKind, SettingsMap as _, count, settings, text,
};

settings! {
    /// One upstream server.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ServerConfig, SERVER "server" {
        /// As written, for metrics and logs.
        name: String = String::new();
        /// `http://host:port` or `https://host:port`. Each address of a name is a server; the name is resolved again
        /// after its TTL.
        "url": Text;
        /// The host of its URL: an address, or a name that is resolved periodically.
        host: String = String::new();
        /// The port of its URL.
        port: u16 = 0;
        /// Whether it uses TLS.
        tls: bool = false;
        /// Addresses, resolved by the reader of the configuration.
        addresses: Vec<SocketAddr> = Vec::new();
        /// Host and port as written, for the `Host` header.
        authority: String = String::new();
        /// Maximum requests in flight for this server; overrides that of the pool.
        max_in_flight: Option<u32> = None, "max_in_flight": count(1..=CEILING_MAX);
        /// Weight relative to the other servers. Default: {default}. With 0, the server gets no new requests.
        weight: u32 = 1, "weight": count(0..=1000);
        /// Zone of this server.
        zone: Option<String> = None, "zone": text("a name");
    }
}

/// An invalid server URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ServerUrlError {
    /// What is wrong.
    pub message: String,
    /// The valid form.
    pub valid: &'static str,
}

impl ServerConfig {
    /// The server of a URL; `http://` is optional. A name has no addresses until it is resolved.
    ///
    /// # Errors
    /// When the text is not the URL of a server.
    pub fn parse(text: &str) -> Result<Self, ServerUrlError> {
        let full = if text.contains("://") {
            text.to_owned()
        } else {
            format!("http://{text}")
        };
        let url_error = |message: String, valid| ServerUrlError { message, valid };
        let url = Url::parse(&full).map_err(|error| {
            let valid = "http://host:port or https://host:port";
            url_error(format!("`{text}` is not a URL: {error}"), valid)
        })?;
        let tls = match url.scheme() {
            "http" => false,
            "https" => true,
            other => {
                let valid = "http:// or https://";
                return Err(url_error(format!("unsupported scheme `{other}`"), valid));
            }
        };
        let is_server = matches!(url.path(), "" | "/")
            && url.query().is_none()
            && url.fragment().is_none()
            && url.username().is_empty()
            && url.password().is_none();
        if !is_server {
            let valid = "http://host:port; the path of the client's request is forwarded unchanged";
            return Err(url_error(
                format!("`{text}` is not the URL of a server alone: it has a path, query or login"),
                valid,
            ));
        }
        let port = url.port_or_known_default().unwrap_or(80);
        let (host, address): (String, Option<IpAddr>) = match url.host() {
            Some(Host::Ipv4(address)) => (address.to_string(), Some(address.into())),
            Some(Host::Ipv6(address)) => (address.to_string(), Some(address.into())),
            Some(Host::Domain(name)) if !name.is_empty() => (name.to_owned(), None),
            _ => {
                let valid = "http://host:port";
                return Err(url_error(format!("`{text}` has no host"), valid));
            }
        };
        let written = url.host_str().unwrap_or_default();
        Ok(Self {
            name: format!("{written}:{port}"),
            authority: match url.port() {
                Some(port) => format!("{written}:{port}"),
                None => written.to_owned(),
            },
            addresses: address
                .map(|address| SocketAddr::new(address, port))
                .into_iter()
                .collect(),
            host,
            port,
            tls,
            ..Self::defaults()
        })
    }

    /// A server at an address.
    pub fn at(address: SocketAddr) -> Self {
        Self {
            name: address.to_string(),
            host: address.ip().to_string(),
            port: address.port(),
            addresses: vec![address],
            authority: address.to_string(),
            ..Self::defaults()
        }
    }

    /// Whether its host is a name, whose addresses may change.
    pub fn is_named(&self) -> bool {
        self.host.parse::<IpAddr>().is_err()
    }
}

/// Reads `servers:` of a pool.
pub(super) fn servers(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    lookup: &ServerLookup<'_>,
) -> Vec<ServerConfig> {
    let items = reader.list(node, "servers");
    if items.is_empty() {
        reader.report(
            node,
            "the pool has no server",
            "a list such as [http://127.0.0.1:3000]",
        );
    }
    let mut servers: Vec<ServerConfig> = Vec::new();
    for item in items {
        let Some(server) = server(reader, item, lookup) else {
            continue;
        };
        if servers.iter().any(|existing| existing.name == server.name) {
            reader.report(
                item,
                format!("duplicate server {}", server.name),
                "each server once; use `weight` for a larger share",
            );
        }
        servers.push(server);
    }
    servers
}

fn server(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    lookup: &ServerLookup<'_>,
) -> Option<ServerConfig> {
    if matches!(node.kind, NodeKind::Scalar { .. }) {
        return located(reader, node, lookup);
    }
    let fields = reader.fields(node, &SERVER)?;
    let options = ServerConfig::read(reader, &fields);
    let found = required(reader, &fields, "url").and_then(|node| located(reader, node, lookup))?;
    Some(ServerConfig {
        max_in_flight: options.max_in_flight,
        weight: options.weight,
        zone: options.zone,
        ..found
    })
}

/// The server that a URL names, with its addresses.
fn located(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    lookup: &ServerLookup<'_>,
) -> Option<ServerConfig> {
    const VALID: &str = "http://host:port with a host name that DNS resolves";
    let mut server = match ServerConfig::parse(&reader.word(node, VALID)?) {
        Ok(server) => server,
        Err(error) => {
            reader.report(node, error.message, error.valid);
            return None;
        }
    };
    if server.is_named() {
        match lookup(&server) {
            Ok(addresses) => server.addresses = addresses,
            Err(why) => {
                reader.report(node, why, VALID);
                return None;
            }
        }
    }
    Some(server)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, name: &str, host: &str, authority: &str, tls: bool) {
        let server = ServerConfig::parse(text).unwrap();
        let parsed = (
            server.name.as_str(),
            server.host.as_str(),
            server.authority.as_str(),
            server.tls,
        );
        assert_eq!(parsed, (name, host, authority, tls), "{text}");
        assert_eq!(server.is_named(), server.addresses.is_empty(), "{text}");
    }

    #[test]
    fn a_url_names_a_server() {
        check(
            "127.0.0.1:3000",
            "127.0.0.1:3000",
            "127.0.0.1",
            "127.0.0.1:3000",
            false,
        );
        check(
            "http://App.example/",
            "app.example:80",
            "app.example",
            "app.example",
            false,
        );
        check(
            "https://app.example",
            "app.example:443",
            "app.example",
            "app.example",
            true,
        );
        check(
            "https://[::1]:8443",
            "[::1]:8443",
            "::1",
            "[::1]:8443",
            true,
        );
        assert_eq!(
            ServerConfig::parse("http://[::1]:80").unwrap().addresses,
            ["[::1]:80".parse().unwrap()]
        );
    }

    #[test]
    fn what_is_no_server_is_named() {
        for (text, message) in [
            ("ftp://a", "unsupported scheme `ftp`"),
            ("http://", "is not a URL"),
            ("http://a/path", "is not the URL of a server alone"),
            ("http://a/?x", "is not the URL of a server alone"),
            ("http://me:secret@a", "is not the URL of a server alone"),
            ("http://a:99999", "is not a URL"),
        ] {
            let error = ServerConfig::parse(text).unwrap_err();
            assert!(error.message.contains(message), "{text}: {error}");
        }
    }
}
