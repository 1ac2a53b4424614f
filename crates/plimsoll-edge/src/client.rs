//! The client's end of a connection: bytes in, bytes out, encrypted or not.

mod inbound;

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use crate::fragments::pipe::WriteEnd;
use crate::stream::Http2Stream;
pub(crate) use inbound::Inbound;

/// A connection to a client.
#[derive(Debug)]
pub(crate) enum ClientStream {
    Plain(TcpStream),
    Tls(Box<TlsStream<Inbound>>),
    Stream(Box<Http2Stream>),
    /// It was handed to whoever speaks its protocol.
    Gone,
    /// A request of the edge's own, for a page that is put together.
    Inner(Box<WriteEnd>),
    /// There is none: what is fetched is for the cache. It takes all and says nothing.
    Nobody,
}

impl ClientStream {
    /// Reads what is there; 0 is the end.
    #[inline]
    pub(crate) fn poll_read(
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
            Self::Inner(inner) => inner.poll_read(cx, buffer),
            Self::Gone => Poll::Ready(Ok(0)),
            Self::Nobody => Poll::Pending,
        }
    }

    /// Writes what fits of both parts, one after the other.
    #[inline]
    pub(crate) fn poll_write(
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
            Self::Inner(inner) => inner.poll_write(cx, first, second),
            Self::Gone => Poll::Ready(Ok(0)),
            Self::Nobody => Poll::Ready(Ok(first.len() + second.len())),
        }
    }

    /// Lets the kernel hold at most so many bytes that were not sent yet, beside what is on its way. A stream of HTTP/2
    /// shares its connection, and is bounded by its window.
    pub(crate) fn bound_unsent(&self, bytes: u32) {
        let stream = match self {
            Self::Plain(stream) => stream,
            Self::Tls(stream) => stream.get_ref().0.socket(),
            Self::Stream(_) | Self::Gone | Self::Inner(_) | Self::Nobody => return,
        };
        // Where the kernel does not know it, it holds what it always did.
        let _ = SockRef::from(stream).set_tcp_notsent_lowat(bytes);
    }

    /// Memory that it takes for bytes on their way.
    #[inline]
    pub(crate) fn memory(&self) -> usize {
        match self {
            Self::Stream(stream) => stream.memory(),
            Self::Tls(stream) => stream.get_ref().0.memory(),
            Self::Plain(_) | Self::Inner(_) | Self::Gone | Self::Nobody => 0,
        }
    }

    /// Lets go of what an encrypted stream still holds of what was written.
    #[inline]
    pub(crate) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_flush(cx),
            Self::Plain(_) | Self::Stream(_) | Self::Inner(_) | Self::Gone | Self::Nobody => {
                Poll::Ready(Ok(()))
            }
        }
    }

    /// Says that nothing more will be written.
    pub(crate) fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_shutdown(cx),
            // Its end was said with the last byte of its answer.
            Self::Stream(_) | Self::Inner(_) | Self::Gone | Self::Nobody => Poll::Ready(Ok(())),
        }
    }
}

/// Reads what is there; 0 is the end.
#[inline]
pub(crate) fn poll_read(
    stream: &mut (impl AsyncRead + Unpin),
    cx: &mut Context<'_>,
    buffer: &mut [u8],
) -> Poll<io::Result<usize>> {
    let mut filled = ReadBuf::new(buffer);
    ready!(Pin::new(stream).poll_read(cx, &mut filled))?;
    Poll::Ready(Ok(filled.filled().len()))
}

/// Writes what fits of both parts, one after the other.
#[inline]
pub(crate) fn poll_write(
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
