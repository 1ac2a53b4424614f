//! The socket of a client: plain or TLS, HTTP/1 or an HTTP/2 stream.

mod inbound;

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use crate::stream::Http2Stream;
pub use inbound::Inbound;

/// The socket of a client.
#[derive(Debug)]
pub enum ClientSocket {
    /// Without encryption.
    Plain(TcpStream),
    /// Encrypted.
    Tls(Box<TlsStream<Inbound>>),
    /// A stream of an HTTP/2 connection.
    Stream(Box<Http2Stream>),
}

impl ClientSocket {
    /// Reads available bytes; 0 is the end of the stream.
    #[inline]
    pub fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(stream) => poll_read(stream, cx, buffer),
            Self::Tls(stream) => {
                let count = ready!(poll_read(stream.as_mut(), cx, buffer))?;
                stream.get_mut().0.handed_on();
                Poll::Ready(Ok(count))
            }
            Self::Stream(stream) => stream.poll_read(cx, buffer),
        }
    }

    /// Writes as much as fits of both slices, in order.
    #[inline]
    pub fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        first: &[u8],
        second: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(stream) => poll_write(stream, cx, first, second),
            Self::Tls(stream) => poll_write(stream.as_mut(), cx, first, second),
            Self::Stream(stream) => {
                let bytes = if first.is_empty() { second } else { first };
                stream.poll_write(cx, bytes)
            }
        }
    }

    /// Limits the bytes that the kernel buffers beyond those in flight. A stream of HTTP/2 shares its connection, and
    /// is bounded by its flow-control window.
    pub fn bound_unsent(&self, bytes: u32) {
        let stream = match self {
            Self::Plain(stream) => stream,
            Self::Tls(stream) => stream.get_ref().0.socket(),
            Self::Stream(_) => return,
        };
        // A kernel without this option keeps its default.
        let _ = SockRef::from(stream).set_tcp_notsent_lowat(bytes);
    }

    /// Memory for bytes in flight.
    #[inline]
    pub fn memory(&self) -> usize {
        match self {
            Self::Stream(stream) => stream.memory(),
            Self::Tls(stream) => stream.get_ref().0.memory(),
            Self::Plain(_) => 0,
        }
    }

    /// Releases memory that a TLS stream still holds for written bytes.
    #[inline]
    pub fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_flush(cx),
            Self::Plain(_) | Self::Stream(_) => Poll::Ready(Ok(())),
        }
    }

    /// Closes the write side.
    pub fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_shutdown(cx),
            // It signalled its end with the last byte of the response.
            Self::Stream(_) => Poll::Ready(Ok(())),
        }
    }
}

/// Reads available bytes; 0 is the end of the stream.
#[inline]
pub fn poll_read(
    stream: &mut (impl AsyncRead + Unpin),
    cx: &mut Context<'_>,
    buffer: &mut [u8],
) -> Poll<io::Result<usize>> {
    let mut filled = ReadBuf::new(buffer);
    ready!(Pin::new(stream).poll_read(cx, &mut filled))?;
    Poll::Ready(Ok(filled.filled().len()))
}

/// Writes as much as fits of both slices, in order.
#[inline]
pub fn poll_write(
    stream: &mut (impl AsyncWrite + Unpin),
    cx: &mut Context<'_>,
    first: &[u8],
    second: &[u8],
) -> Poll<io::Result<usize>> {
    let stream = Pin::new(stream);
    if second.is_empty() {
        stream.poll_write(cx, first)
    } else if first.is_empty() {
        stream.poll_write(cx, second)
    } else {
        stream.poll_write_vectored(cx, &[IoSlice::new(first), IoSlice::new(second)])
    }
}
