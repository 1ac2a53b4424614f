//! Accepts connections, within the limits on them, and prepares each for its first request.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use plimsoll_net::client_socket::{ClientSocket, Inbound};
use plimsoll_net::lock::lock;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::accept::proxy_header::{self, Version};
use crate::client::ClientStream;
use crate::connection::DownstreamConnection;
use crate::http2;
use crate::peer::Peer;
use crate::settings::ListenerSettings;
use crate::tls;
use crate::tls::challenges::ACME_TLS;
use crate::worker::Worker;

/// Pause when the system has no descriptor for another connection.
const PAUSE: Duration = Duration::from_millis(50);

/// Number of connections, over all loops.
#[derive(Debug, Default)]
pub struct Census {
    total: AtomicU32,
    by_address: Mutex<HashMap<IpAddr, u32>>,
}

/// A counted connection; released on drop.
#[derive(Debug)]
pub(crate) struct ConnectionGuard {
    census: Arc<Census>,
    address: Option<IpAddr>,
}

impl Census {
    /// Counts a connection; `None` at the limit.
    pub(crate) fn count(
        self: &Arc<Self>,
        address: IpAddr,
        total_max: u32,
        per_address_max: u32,
    ) -> Option<ConnectionGuard> {
        if self.total.fetch_add(1, Ordering::Relaxed) >= total_max {
            self.total.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        let mut counted = ConnectionGuard {
            census: Arc::clone(self),
            address: None,
        };
        if per_address_max > 0 {
            let mut by_address = lock(&self.by_address);
            let count = by_address.entry(address).or_default();
            if *count >= per_address_max {
                return None;
            }
            *count += 1;
            counted.address = Some(address);
        }
        Some(counted)
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.census.total.fetch_sub(1, Ordering::Relaxed);
        if let Some(address) = self.address {
            let mut by_address = lock(&self.census.by_address);
            if let Some(count) = by_address.get_mut(&address) {
                *count -= 1;
                if *count == 0 {
                    by_address.remove(&address);
                }
            }
        }
    }
}

/// Accepts forever.
pub async fn accept(
    listener: Rc<tokio::net::TcpListener>,
    local_address: SocketAddr,
    event_loop: Rc<Worker>,
    census: Arc<Census>,
) {
    loop {
        match listener.accept().await {
            Ok((stream, address)) => welcome(stream, address, local_address, &event_loop, &census),
            Err(error) if is_connection_error(&error) => {}
            // Out of descriptors or memory: existing connections continue, and some will end.
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// Accepts the backlog; these connections arrived before shutdown was decided.
pub fn accept_waiting(
    listener: &tokio::net::TcpListener,
    local_address: SocketAddr,
    event_loop: &Rc<Worker>,
    census: &Arc<Census>,
) {
    let mut cx = Context::from_waker(Waker::noop());
    while let Poll::Ready(Ok((stream, address))) = listener.poll_accept(&mut cx) {
        welcome(stream, address, local_address, event_loop, census);
    }
}

fn welcome(
    stream: TcpStream,
    address: SocketAddr,
    local_address: SocketAddr,
    event_loop: &Rc<Worker>,
    census: &Arc<Census>,
) {
    let address = address.ip().to_canonical();
    let settings = event_loop.settings();
    let limits = &settings.limits;
    let counted = census.count(address, limits.connections_max, limits.per_address_max);
    let (Some(counted), Some(listener)) = (counted, settings.listener(local_address)) else {
        event_loop.figures.rejected.increment();
        return;
    };
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let peer = Peer::new(address, &settings.trusted);
    if listener.tls.is_none() && !(listener.proxy_protocol && peer.is_trusted()) {
        let connection = DownstreamConnection::new(
            ClientStream::Socket(ClientSocket::Plain(stream)),
            peer,
            event_loop,
        );
        tokio::task::spawn_local(async move {
            connection.await;
            drop(counted);
        });
        return;
    }
    let (listener, event_loop) = (Arc::clone(listener), Rc::clone(event_loop));
    tokio::task::spawn_local(async move {
        // Boxed: an idle connection must not carry the room of its handshake.
        Box::pin(prepare(stream, peer, listener, event_loop)).await;
        drop(counted);
    });
}

/// Steps before the first request: PROXY header and TLS.
async fn prepare(
    mut stream: TcpStream,
    mut peer: Peer,
    listener: Arc<ListenerSettings>,
    event_loop: Rc<Worker>,
) {
    let settings = event_loop.settings();
    let timeout = settings.limits.head_timeout;
    if listener.proxy_protocol && peer.is_trusted() {
        let header = tokio::time::timeout(timeout, proxied(&mut stream)).await;
        match header {
            Ok(Ok(Some(client))) => peer = Peer::new(client.ip().to_canonical(), &settings.trusted),
            Ok(Ok(None)) => {}
            _ => return event_loop.figures.rejected.increment(),
        }
    }
    let Some(tls) = &listener.tls else {
        return DownstreamConnection::new(
            ClientStream::Socket(ClientSocket::Plain(stream)),
            peer,
            &event_loop,
        )
        .await;
    };
    let Some(mut stream) = handshake(stream, tls, timeout, &event_loop).await else {
        return;
    };
    stream.get_mut().0.end_handshake();
    if stream.get_ref().1.alpn_protocol() == Some(ACME_TLS) {
        // The client only completed a handshake (ACME validation).
        return;
    }
    peer.set_secure();
    if stream.get_ref().1.alpn_protocol() == Some(tls::H2) {
        return http2::serve(stream, peer, event_loop, DownstreamConnection::begin_stream).await;
    }
    DownstreamConnection::new(
        ClientStream::Socket(ClientSocket::Tls(Box::new(stream))),
        peer,
        &event_loop,
    )
    .await;
}

/// A TLS handshake; `None` where it fails or takes too long. That is counted before the socket is closed: a client that was
/// rejected finds itself counted.
async fn handshake(
    stream: TcpStream,
    tls: &TlsAcceptor,
    timeout: Duration,
    event_loop: &Worker,
) -> Option<TlsStream<Inbound>> {
    let mut handshake = tls
        .accept(Inbound::new(stream, &event_loop.memory))
        .into_fallible();
    let outcome = tokio::time::timeout(timeout, &mut handshake).await;
    if let Ok(Ok(stream)) = outcome {
        return Some(stream);
    }
    event_loop.figures.rejected.increment();
    None
}

/// The client named by a PROXY header.
async fn proxied(stream: &mut TcpStream) -> io::Result<Option<SocketAddr>> {
    let no_header = |_| io::Error::from(io::ErrorKind::InvalidData);
    let mut fixed = [0; proxy_header::FIXED_LEN];
    let (start, rest) = fixed.split_at_mut(proxy_header::START_LEN);
    stream.read_exact(start).await?;
    let start: [u8; proxy_header::START_LEN] = std::array::from_fn(|at| start[at]);
    match proxy_header::version(start).map_err(no_header)? {
        Version::Line => {
            let mut line = start.to_vec();
            // Byte by byte: data behind the line belongs to the client.
            while line.len() < proxy_header::LINE_LEN_MAX && !line.ends_with(b"\n") {
                line.push(stream.read_u8().await?);
            }
            proxy_header::line(&line).map_err(no_header)
        }
        Version::Binary => {
            stream.read_exact(rest).await?;
            let len = proxy_header::addresses_len(fixed).map_err(no_header)?;
            let mut addresses = vec![0; len];
            stream.read_exact(&mut addresses).await?;
            proxy_header::binary(fixed, &addresses).map_err(no_header)
        }
    }
}

/// Whether an error of `accept` concerns only the connection to be accepted, which is gone.
fn is_connection_error(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::Interrupted
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_counted_in_total_and_by_address() {
        let census = Arc::new(Census::default());
        let (a, b) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        let first = census.count(a, 3, 2).unwrap();
        let _second = census.count(a, 3, 2).unwrap();
        assert!(census.count(a, 3, 2).is_none());
        let _third = census.count(b, 3, 2).unwrap();
        assert!(census.count(b, 3, 2).is_none());
        drop(first);
        assert!(census.count(a, 3, 2).is_some());
        assert_eq!(census.total.load(Ordering::Relaxed), 2);
    }
}
