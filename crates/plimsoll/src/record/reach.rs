//! Access control of the recorder: it connects to hosts that the user listed, at the addresses of their first lookup.
//!
//! Others would abuse an open proxy: to hide, or to reach services that only this machine reaches. So a host is listed or
//! refused, a name keeps its addresses for the whole recording (a name that changes to 127.0.0.1 in between is DNS
//! rebinding), and the recorder never connects to itself.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use plimsoll_names::host::lookup_authority;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::target::is_public;

/// Time-out for the lookup of a name and for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Ports permitted for a host listed without one, besides the site's.
const WEB_PORTS: [u16; 2] = [80, 443];
/// Maximum number of hosts whose addresses are kept.
const HOSTS_MAX: usize = 5_000;
/// Every host.
const EVERY: &str = "*";

/// Why a host is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum DialRefusal {
    #[error("the host is not listed; valid: the site, and hosts given with --host or --pass")]
    NotNamed,
    #[error("the host is listed for other ports; add this one with --pass HOST:PORT")]
    OtherPort,
    #[error("the address is that of this proxy")]
    Itself,
    #[error("the host has a private address and is not listed by name; add it with --pass HOST")]
    Inside,
}

/// Why a host was not reached.
#[derive(Debug, thiserror::Error)]
pub(super) enum DialError {
    #[error(transparent)]
    Refused(#[from] DialRefusal),
    #[error("{0}")]
    Failed(#[from] io::Error),
    #[error("no response within {} s", CONNECT_TIMEOUT.as_secs())]
    Late,
}

/// How a host is permitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HostMatch {
    ByName,
    /// By `*` only.
    AsAny,
}

pub(super) struct RestrictedDialer {
    /// Host and port of the site.
    site: String,
    /// `HOST` or `HOST:PORT`.
    hosts: Vec<String>,
    own: SocketAddr,
    known: Mutex<HashMap<String, Vec<SocketAddr>>>,
}

impl RestrictedDialer {
    pub(super) fn new<'a>(
        site: &str,
        hosts: impl IntoIterator<Item = &'a String>,
        own: SocketAddr,
    ) -> Self {
        let hosts = hosts.into_iter();
        Self {
            site: site.to_ascii_lowercase(),
            hosts: hosts.map(|host| host.to_ascii_lowercase()).collect(),
            own,
            known: Mutex::default(),
        }
    }

    /// Whether connections to a host and port are permitted.
    pub(super) fn allows(&self, authority: &str) -> Result<(), DialRefusal> {
        self.named(authority).map(|_| ())
    }

    fn named(&self, authority: &str) -> Result<HostMatch, DialRefusal> {
        let authority = authority.to_ascii_lowercase();
        if authority == self.site || self.hosts.contains(&authority) {
            return Ok(HostMatch::ByName);
        }
        let (host, port) = split(&authority).ok_or(DialRefusal::NotNamed)?;
        let is_named = self.hosts.iter().any(|named| named == host);
        let is_site = split(&self.site).is_some_and(|(site, _)| site == host);
        let of_site = split(&self.site).map(|(_, port)| port);
        let is_of_web = WEB_PORTS.contains(&port) || of_site == Some(port);
        if is_named && is_of_web {
            return Ok(HostMatch::ByName);
        }
        if self.hosts.iter().any(|named| named == EVERY) && is_of_web {
            return Ok(HostMatch::AsAny);
        }
        Err(if is_named || is_site {
            DialRefusal::OtherPort
        } else {
            DialRefusal::NotNamed
        })
    }

    /// Connects to a permitted host.
    pub(super) async fn dial(&self, authority: &str) -> Result<TcpStream, DialError> {
        let named = self.named(authority)?;
        let addresses = self.addresses(authority).await?;
        let mut last_error = DialError::Failed(io::ErrorKind::NotFound.into());
        for address in addresses {
            if named == HostMatch::AsAny && !is_public(address.ip()) {
                last_error = DialRefusal::Inside.into();
                continue;
            }
            if self.is_own(address) {
                return Err(DialRefusal::Itself.into());
            }
            match timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await {
                Ok(Ok(stream)) if self.is_reached(&stream) => {
                    return Err(DialRefusal::Itself.into());
                }
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(error)) => last_error = error.into(),
                Err(_) => last_error = DialError::Late,
            }
        }
        Err(last_error)
    }

    /// The addresses from the first lookup of a name.
    async fn addresses(&self, authority: &str) -> Result<Vec<SocketAddr>, DialError> {
        let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(authority) {
            return Ok(known.clone());
        }
        let found = timeout(CONNECT_TIMEOUT, lookup_authority(authority)).await;
        let found = found.map_err(|_| DialError::Late)??;
        let mut known = lock();
        if known.len() < HOSTS_MAX {
            // Another request may have been first.
            return Ok(known.entry(authority.to_owned()).or_insert(found).clone());
        }
        Err(DialRefusal::NotNamed.into())
    }

    fn is_own(&self, address: SocketAddr) -> bool {
        let (ip, own) = (address.ip().to_canonical(), self.own.ip().to_canonical());
        let is_here =
            ip == own || ip.is_unspecified() || (own.is_unspecified() && ip.is_loopback());
        address.port() == self.own.port() && is_here
    }

    /// Whether a connection leads to this proxy by another address of this machine.
    fn is_reached(&self, stream: &TcpStream) -> bool {
        let ends = stream
            .local_addr()
            .and_then(|here| Ok((here, stream.peer_addr()?)));
        ends.is_ok_and(|(here, there)| {
            there.port() == self.own.port()
                && here.ip() == there.ip()
                && self.own.ip().is_unspecified()
        })
    }
}

fn split(authority: &str) -> Option<(&str, u16)> {
    let (host, port) = authority.rsplit_once(':')?;
    Some((host, port.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_named_or_refused() {
        let own = SocketAddr::from(([127, 0, 0, 1], 8899));
        let hosts = ["cdn.example".to_owned(), "Api.Example:8443".to_owned()];
        let reach = RestrictedDialer::new("shop.example:8080", &hosts, own);
        for authority in [
            "shop.example:8080",
            "SHOP.example:8080",
            "cdn.example:443",
            "cdn.example:80",
            "cdn.example:8080",
            "api.example:8443",
        ] {
            assert_eq!(reach.allows(authority), Ok(()), "{authority}");
        }
        for (authority, refusal) in [
            ("shop.example:22", DialRefusal::OtherPort),
            ("cdn.example:25", DialRefusal::OtherPort),
            ("api.example:443", DialRefusal::NotNamed),
            ("evil.example:443", DialRefusal::NotNamed),
            ("shop.example.evil.example:8080", DialRefusal::NotNamed),
            ("127.0.0.1:8080", DialRefusal::NotNamed),
            ("shop.example", DialRefusal::NotNamed),
            ("", DialRefusal::NotNamed),
        ] {
            assert_eq!(reach.allows(authority), Err(refusal), "{authority}");
        }
        let every = RestrictedDialer::new("shop.example:8080", &["*".to_owned()], own);
        assert_eq!(every.allows("evil.example:443"), Ok(()));
        assert_eq!(every.allows("evil.example:25"), Err(DialRefusal::NotNamed));
    }

    #[test]
    fn a_name_keeps_its_addresses_and_none_of_them_is_this_proxy() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let site = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let own = std::net::TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let authority = format!("localhost:{}", site.local_addr().unwrap().port());
        let itself = format!("127.0.0.1:{}", own.port());
        let hosts = [
            "*".to_owned(),
            itself.clone(),
            format!("0.0.0.0:{}", own.port()),
        ];
        let reach = RestrictedDialer::new(&authority, &hosts, own);
        runtime.block_on(async {
            let kept = vec![site.local_addr().unwrap()];
            reach
                .known
                .lock()
                .unwrap()
                .insert(authority.clone(), kept.clone());
            assert!(reach.dial(&authority).await.is_ok());
            assert_eq!(reach.addresses(&authority).await.unwrap(), kept);
            for itself in &hosts[1..] {
                let refused = reach.dial(itself).await.unwrap_err();
                assert!(
                    matches!(refused, DialError::Refused(DialRefusal::Itself)),
                    "{refused}"
                );
            }
            // A name that is not listed, at an address of this machine.
            let rebound = "rebound.example:80".to_owned();
            reach.known.lock().unwrap().insert(rebound.clone(), kept);
            let refused = reach.dial(&rebound).await.unwrap_err();
            assert!(
                matches!(refused, DialError::Refused(DialRefusal::Inside)),
                "{refused}"
            );
        });
    }
}
