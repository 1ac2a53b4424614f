//! A connection to a server, plain or encrypted.

pub mod trust;

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// TLS name and configuration of a server.
#[derive(Clone, Debug)]
pub struct Secure {
    /// Authorities, protocol versions, sessions to resume.
    pub config: Arc<ClientConfig>,
    /// The name on its certificate.
    pub name: ServerName<'static>,
}

/// A connection to a server.
#[derive(Debug)]
pub enum Upstream {
    /// Without encryption.
    Plain(TcpStream),
    /// Encrypted.
    Tls(Box<TlsStream<TcpStream>>),
}

impl Upstream {
    /// Connects, handshake included.
    ///
    /// # Errors
    /// When the server cannot be reached in TCP or TLS.
    pub async fn connect(address: SocketAddr, secure: Option<Secure>) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let Some(secure) = secure else {
            return Ok(Self::Plain(stream));
        };
        let connector = TlsConnector::from(secure.config);
        let stream = connector.connect(secure.name, stream).await?;
        Ok(Self::Tls(Box::new(stream)))
    }
}

impl AsyncRead for Upstream {
    #[inline]
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Upstream {
    #[inline]
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_write(cx, bytes),
        }
    }

    #[inline]
    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// Flushes what an encrypted stream still buffers.
    #[inline]
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(_) => Poll::Ready(Ok(())),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_shutdown(cx),
        }
    }
}

/// Explains a failed TLS handshake: the disagreement of configuration and server.
pub fn tls_error(error: &io::Error) -> Option<String> {
    let inner = error.get_ref()?;
    let cause = inner.downcast_ref::<rustls::Error>()?;
    Some(match cause {
        rustls::Error::InvalidCertificate(_) => format!(
            "its certificate is not accepted: {cause}; see `tls: {{ ca, name, insecure }}` of the pool"
        ),
        other => format!("TLS handshake failed: {other}; check whether the server speaks HTTPS"),
    })
}
