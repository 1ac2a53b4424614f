//! Addresses of receivers, also in a static binary, which has no resolver of the C library.

use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};

use plimsoll_names::host;
use ureq::Error;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

/// Addresses that are tried at most: ureq holds no more.
const ADDRESSES_MAX: usize = 16;

/// Finds the addresses of a URL's host.
#[derive(Debug)]
pub(crate) struct HostResolver;

impl Resolver for HostResolver {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        let host = uri.host().ok_or(Error::HostNotFound)?.to_owned();
        let default_port = if uri.scheme_str() == Some("https") {
            443
        } else {
            80
        };
        let port = uri.port_u16().unwrap_or(default_port);
        let found = resolve_within(host, port, timeout)?;
        let mut addresses = self.empty();
        for address in config.ip_family().keep_wanted(found).take(ADDRESSES_MAX) {
            addresses.push(address);
        }
        if addresses.is_empty() {
            return Err(Error::HostNotFound);
        }
        Ok(addresses)
    }
}

/// On a thread of its own: a name server that does not answer must not hold up the receiver beyond its time limit.
fn resolve_within(
    host: String,
    port: u16,
    timeout: NextTimeout,
) -> Result<std::vec::IntoIter<SocketAddr>, Error> {
    let (sender, receiver) = sync_channel(1);
    std::thread::Builder::new()
        .name("export-names".to_owned())
        .spawn(move || {
            // After the time limit nobody waits any more.
            let _ = sender.send(host::resolve(&host, port));
        })?;
    match receiver.recv_timeout(*timeout.after) {
        Ok(found) => Ok(found?.into_iter()),
        Err(RecvTimeoutError::Timeout) => Err(Error::Timeout(timeout.reason)),
        Err(RecvTimeoutError::Disconnected) => {
            Err(io::Error::other("the lookup ended unexpectedly").into())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn ports_are_those_of_the_scheme_unless_given() {
        for (url, port) in [
            ("http://127.0.0.9/write", 80),
            ("https://127.0.0.9/write", 443),
            ("https://127.0.0.9:9090/write", 9090),
        ] {
            let uri: Uri = url.parse().unwrap();
            let found = HostResolver.resolve(&uri, &Config::default(), NextTimeout::default());
            let expected = SocketAddr::from((Ipv4Addr::new(127, 0, 0, 9), port));
            assert_eq!(*found.unwrap(), [expected], "{url}");
        }
    }
}
