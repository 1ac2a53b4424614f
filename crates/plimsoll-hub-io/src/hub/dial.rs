//! Connections to programs that the hub listens to or shares: plain, or by TLS.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_config::edge::ServerTls;
use plimsoll_net::outbound;
use plimsoll_net::upstream::{Upstream, trust};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// Time limit of a connection and of a response.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
/// Pauses between two attempts to connect, the first and the longest.
pub(super) const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));

/// Idle time after which a peer is checked.
const SILENCE: Duration = Duration::from_secs(10);
/// Size of one read.
const READ_LEN: usize = 64 * 1024;

/// Runs an exchange with a peer within [`PATIENCE`] in total: a peer that trickles data is not waited for longer.
///
/// # Errors
/// A message.
pub(super) async fn within<T>(act: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let done = tokio::time::timeout(PATIENCE, act).await;
    done.map_err(|_| format!("no answer within {PATIENCE:?}"))?
}

/// Connects, within [`PATIENCE`].
async fn connect(host: &str, port: u16) -> Result<TcpStream, String> {
    let connected = tokio::time::timeout(PATIENCE, plimsoll_names::host::connect(host, port)).await;
    let stream = connected
        .map_err(|_| format!("no connection within {PATIENCE:?}"))?
        .map_err(|error| error.to_string())?;
    // Requests are short and latency matters.
    let _ = stream.set_nodelay(true);
    Ok(stream)
}

/// Upgrades to TLS, within [`PATIENCE`]; an error names the relevant setting.
async fn secure(stream: TcpStream, host: &str, tls: &ServerTls) -> Result<Upstream, String> {
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

/// A buffered connection.
pub(super) struct BufferedConnection {
    stream: Upstream,
    held: Vec<u8>,
    /// Bytes of `held` that were consumed.
    taken: usize,
}

impl BufferedConnection {
    pub(super) async fn open(host: &str, port: u16) -> Result<Self, String> {
        Ok(Self {
            stream: Upstream::Plain(connect(host, port).await?),
            held: Vec::new(),
            taken: 0,
        })
    }

    /// Upgrades to TLS.
    ///
    /// # Errors
    /// A message; also when data arrived before the handshake, which anyone on the path could have injected.
    pub(super) async fn secure(self, host: &str, tls: &ServerTls) -> Result<Self, String> {
        let (Upstream::Plain(stream), true) = (self.stream, self.taken == self.held.len()) else {
            return Err("unexpected data before the TLS handshake".to_owned());
        };
        Ok(Self {
            stream: secure(stream, host, tls).await?,
            held: Vec::new(),
            taken: 0,
        })
    }

    /// Whether the traffic stays on this host.
    pub(super) fn is_near(&self) -> bool {
        match &self.stream {
            Upstream::Plain(stream) => stream.peer_addr().is_ok_and(|peer| peer.ip().is_loopback()),
            Upstream::Tls(_) => false,
        }
    }

    /// Writes all of it, within [`PATIENCE`].
    pub(super) async fn send(&mut self, bytes: &[u8]) -> Result<(), String> {
        let sending = async {
            self.stream.write_all(bytes).await?;
            self.stream.flush().await
        };
        let sent = tokio::time::timeout(PATIENCE, sending).await;
        sent.map_err(|_| format!("it accepted no data for {PATIENCE:?}"))?
            .map_err(|error| error.to_string())
    }

    /// Received bytes that are not yet consumed.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.held[self.taken..]
    }

    /// Consumes this many bytes.
    pub(super) fn advance(&mut self, len: usize) {
        self.taken += len;
    }

    /// Waits for more data. Cancel-safe.
    pub(super) async fn fill(&mut self) -> Result<(), String> {
        self.held.drain(..self.taken);
        self.taken = 0;
        if self.held.is_empty() {
            self.held.shrink_to(READ_LEN);
        }
        self.held.reserve(READ_LEN);
        match self.stream.read_buf(&mut self.held).await {
            Ok(0) => Err("it closed the connection".to_owned()),
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Waits for more data; whether some arrived in time. Cancel-safe.
    pub(super) async fn more(&mut self, patience: Duration) -> Result<bool, String> {
        match tokio::time::timeout(patience, self.fill()).await {
            Ok(filled) => filled.map(|()| true),
            Err(_) => Ok(false),
        }
    }

    /// Waits for more data, which must arrive in time.
    pub(super) async fn must_have_more(&mut self) -> Result<(), String> {
        if self.more(PATIENCE).await? {
            return Ok(());
        }
        Err(format!("no answer within {PATIENCE:?}"))
    }

    /// Waits for more data; sends `question` as a liveness check when the connection is idle for long. `is_asked` is
    /// kept between calls.
    pub(super) async fn more_or_ping(
        &mut self,
        is_asked: &mut bool,
        question: &[u8],
    ) -> Result<(), String> {
        let patience = if *is_asked { PATIENCE } else { SILENCE };
        if self.more(patience).await? {
            *is_asked = false;
            return Ok(());
        }
        if *is_asked {
            return Err(format!("no answer within {PATIENCE:?}"));
        }
        *is_asked = true;
        self.send(question).await
    }
}
