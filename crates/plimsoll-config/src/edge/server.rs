//! An upstream server, from its URL.

use std::net::{IpAddr, SocketAddr};

use url::{Host, Url};

use super::ServerConfig;

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
            max_in_flight: None,
            weight: 1,
            zone: None,
        })
    }

    /// A server at an address.
    pub fn at(address: SocketAddr) -> Self {
        Self {
            name: address.to_string(),
            host: address.ip().to_string(),
            port: address.port(),
            tls: false,
            addresses: vec![address],
            authority: address.to_string(),
            max_in_flight: None,
            weight: 1,
            zone: None,
        }
    }

    /// Whether its host is a name, whose addresses may change.
    pub fn is_named(&self) -> bool {
        self.host.parse::<IpAddr>().is_err()
    }
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
