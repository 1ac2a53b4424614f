//! Connections to programs that the hub listens to or shares: plain, or by TLS.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_config::edge::ServerTls;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::outbound;
use crate::upstream::{Upstream, trust};

/// Time limit of a connection and of a response.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// Runs an exchange with a peer within [`PATIENCE`] in total: a peer that trickles data is not waited for longer.
///
/// # Errors
/// A message.
pub(super) async fn within<T>(act: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let done = tokio::time::timeout(PATIENCE, act).await;
    done.map_err(|_| format!("no answer within {PATIENCE:?}"))?
}

/// Connects, within [`PATIENCE`].
///
/// # Errors
/// A message.
pub(super) async fn connect(host: &str, port: u16) -> Result<TcpStream, String> {
    let connected = tokio::time::timeout(PATIENCE, TcpStream::connect((host, port))).await;
    let stream = connected
        .map_err(|_| format!("no connection within {PATIENCE:?}"))?
        .map_err(|error| error.to_string())?;
    // Requests are short and latency matters.
    let _ = stream.set_nodelay(true);
    Ok(stream)
}

/// Upgrades to TLS, within [`PATIENCE`].
///
/// # Errors
/// A message that names the relevant setting.
pub(super) async fn secure(
    stream: TcpStream,
    host: &str,
    tls: &ServerTls,
) -> Result<Upstream, String> {
    let name = trust::name(tls, host).map_err(|error| error.to_string())?;
    let trusts_as_host = tls.authorities.is_none() && !tls.insecure;
    let connector = if trusts_as_host {
        outbound::connector()
    } else {
        let config = trust::bare(tls).map_err(|error| error.to_string())?;
        TlsConnector::from(Arc::new(config))
    };
    let shaken = tokio::time::timeout(PATIENCE, connector.connect(name, stream)).await;
    let stream = shaken
        .map_err(|_| format!("no TLS handshake within {PATIENCE:?}"))?
        .map_err(|error| {
            format!("TLS handshake failed: {error}; see `tls: {{ ca, name, insecure }}` beside its address")
        })?;
    Ok(Upstream::Tls(Box::new(stream)))
}
