//! Addresses of a host's name.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};

use tokio::net::TcpStream;

use crate::{IS_STATIC, servers};

/// The addresses of a name or of an address in text; waits for name servers.
///
/// # Errors
/// When the name has no address, or no name server answers.
pub fn resolve(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    if let Some(address) = literal(host) {
        return Ok(vec![(address, port).into()]);
    }
    if IS_STATIC {
        return blocking(host, port);
    }
    Ok((host, port).to_socket_addrs()?.collect())
}

/// The same of `HOST:PORT`, with brackets around an IPv6 address.
///
/// # Errors
/// As [`resolve`], and without a port.
pub fn resolve_authority(authority: &str) -> io::Result<Vec<SocketAddr>> {
    let (host, port) = split(authority)?;
    resolve(host, port)
}

/// The same while an event loop goes on.
///
/// # Errors
/// As [`resolve`].
pub async fn lookup(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    if let Some(address) = literal(host) {
        return Ok(vec![(address, port).into()]);
    }
    by_the_host(host, port).await
}

/// The states of an asynchronous function stay in the binary, also those that a constant condition never reaches.
#[cfg(target_feature = "crt-static")]
async fn by_the_host(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    servers::lookup(host, port).await
}

#[cfg(not(target_feature = "crt-static"))]
async fn by_the_host(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    Ok(tokio::net::lookup_host((host, port)).await?.collect())
}

/// The same of `HOST:PORT`.
///
/// # Errors
/// As [`resolve_authority`].
pub async fn lookup_authority(authority: &str) -> io::Result<Vec<SocketAddr>> {
    let (host, port) = split(authority)?;
    lookup(host, port).await
}

/// A connection to the first address of a host that accepts one.
///
/// # Errors
/// As [`resolve`], or the error of the last address.
pub async fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in lookup(host, port).await? {
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// An address in text, also in the brackets of a URL.
fn literal(host: &str) -> Option<IpAddr> {
    let inner = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    inner.unwrap_or(host).parse().ok()
}

fn split(authority: &str) -> io::Result<(&str, u16)> {
    let invalid = || io::Error::new(io::ErrorKind::InvalidInput, "expected HOST:PORT");
    let (host, port) = authority.rsplit_once(':').ok_or_else(invalid)?;
    Ok((host, port.parse().map_err(|_| invalid())?))
}

/// On a thread of its own, because the caller's may run an event loop already.
fn blocking(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = runtime.enable_all().build()?;
            runtime.block_on(servers::lookup(host, port))
        });
        let ended = waiting.join();
        ended.unwrap_or_else(|_| Err(io::Error::other("the lookup ended unexpectedly")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_in_text_need_no_lookup() {
        let address = SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], 80));
        assert_eq!(resolve("::1", 80).unwrap(), [address]);
        assert_eq!(resolve_authority("[::1]:80").unwrap(), [address]);
        let address = SocketAddr::from(([127, 0, 0, 9], 443));
        assert_eq!(resolve_authority("127.0.0.9:443").unwrap(), [address]);
        for wrong in ["localhost", "localhost:", "localhost:http", "a:70000"] {
            let error = resolve_authority(wrong).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{wrong}");
        }
    }

    /// The way of a static binary, also inside an event loop.
    #[test]
    fn localhost_is_found_without_the_c_library() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let found = runtime.block_on(async { blocking("localhost", 80) });
        let found = found.unwrap();
        assert!(found.contains(&SocketAddr::from(([127, 0, 0, 1], 80))));
        assert!(found.iter().all(|address| address.ip().is_loopback()));
    }
}
