//! How a program is reached that the hub listens to or shares: in the open, or by TLS.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_config::edge::ServerTls;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::outbound;
use crate::upstream::{Upstream, trust};

/// Time for a connection and for an answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// Does something that the other side must take part in, within [`PATIENCE`] for all of it: who says a little again and
/// again is not waited for either.
///
/// # Errors
/// In words.
pub(super) async fn within<T>(act: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let done = tokio::time::timeout(PATIENCE, act).await;
    done.map_err(|_| format!("no answer within {PATIENCE:?}"))?
}

/// Connects, within [`PATIENCE`].
///
/// # Errors
/// In words.
pub(super) async fn connect(host: &str, port: u16) -> Result<TcpStream, String> {
    let connected = tokio::time::timeout(PATIENCE, TcpStream::connect((host, port))).await;
    let stream = connected
        .map_err(|_| format!("no connection within {PATIENCE:?}"))?
        .map_err(|error| error.to_string())?;
    // What is asked is short, and somebody waits for it.
    let _ = stream.set_nodelay(true);
    Ok(stream)
}

/// Goes on by TLS, within [`PATIENCE`].
///
/// # Errors
/// In words, with what the configuration can say about it.
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
