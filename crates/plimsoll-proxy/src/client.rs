//! The client of a connection: a socket, or a part of the edge itself.

pub(crate) mod channel;

use std::io;
use std::task::{Context, Poll};

use plimsoll_net::client_socket::ClientSocket;

use crate::fragments::pipe::WriteEnd;

/// The client of a connection.
#[derive(Debug)]
pub(crate) enum ClientStream {
    Socket(ClientSocket),
    /// Moved out, to the code that speaks the upgraded protocol.
    Gone,
    /// A subrequest of the edge, for an ESI fragment.
    Inner(Box<WriteEnd>),
    /// No client: a background fetch for the cache. Accepts every write and never sends.
    Nobody,
}

impl ClientStream {
    /// Whether it is a stream of an HTTP/2 connection.
    pub(crate) fn is_http2(&self) -> bool {
        matches!(self, Self::Socket(ClientSocket::Stream(_)))
    }

    /// Reads available bytes; 0 is the end of the stream.
    #[inline]
    pub(crate) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Socket(socket) => socket.poll_read(cx, buffer),
            Self::Inner(inner) => inner.poll_read(cx, buffer),
            Self::Gone => Poll::Ready(Ok(0)),
            Self::Nobody => Poll::Pending,
        }
    }

    /// Writes as much as fits of both slices, in order.
    #[inline]
    pub(crate) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        first: &[u8],
        second: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Socket(socket) => socket.poll_write(cx, first, second),
            Self::Inner(inner) => inner.poll_write(cx, first, second),
            Self::Gone => Poll::Ready(Ok(0)),
            Self::Nobody => Poll::Ready(Ok(first.len() + second.len())),
        }
    }

    /// Memory for bytes in flight.
    #[inline]
    pub(crate) fn memory(&self) -> usize {
        match self {
            Self::Socket(socket) => socket.memory(),
            Self::Inner(_) | Self::Gone | Self::Nobody => 0,
        }
    }

    /// Releases memory that a TLS stream still holds for written bytes.
    #[inline]
    pub(crate) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Socket(socket) => socket.poll_flush(cx),
            Self::Inner(_) | Self::Gone | Self::Nobody => Poll::Ready(Ok(())),
        }
    }

    /// Closes the write side.
    pub(crate) fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Socket(socket) => socket.poll_shutdown(cx),
            // These signalled their end with the last byte of the response.
            Self::Inner(_) | Self::Gone | Self::Nobody => Poll::Ready(Ok(())),
        }
    }
}
