//! The client of a connection, with the bytes that it sent and that are not processed yet.

use std::io;
use std::task::{Context, Poll, ready};

use plimsoll_net::client_socket::ClientSocket;
use tokio::net::TcpStream;

use super::ClientStream;
use crate::fragments::pipe::WriteEnd;
use crate::message::receive_buffer::ReceiveBuffer;

/// Both directions of a client. What it sends too early is held until its turn.
#[derive(Debug)]
pub(crate) struct ClientChannel {
    stream: ClientStream,
    received: ReceiveBuffer,
}

/// Where a piece of a body came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyPiece {
    /// It was held already.
    Held,
    /// So many bytes were read, its own and those after it.
    Read(usize),
    /// The client has disconnected.
    Gone,
}

impl From<ClientStream> for ClientChannel {
    fn from(stream: ClientStream) -> Self {
        Self {
            stream,
            received: ReceiveBuffer::default(),
        }
    }
}

impl ClientChannel {
    /// Whether no client waits: a background fetch.
    #[inline]
    pub(crate) fn is_nobody(&self) -> bool {
        matches!(self.stream, ClientStream::Nobody)
    }

    /// Whether the client is the edge itself, which assembles a page.
    #[inline]
    pub(crate) fn is_inner(&self) -> bool {
        self.inner().is_some()
    }

    /// The pipe to the assembly, for a subrequest.
    #[inline]
    pub(crate) fn inner(&self) -> Option<&WriteEnd> {
        match &self.stream {
            ClientStream::Inner(inner) => Some(inner),
            ClientStream::Socket(_) | ClientStream::Gone | ClientStream::Nobody => None,
        }
    }

    pub(crate) fn is_http2(&self) -> bool {
        self.stream.is_http2()
    }

    /// Whether it is a socket without TLS.
    pub(crate) fn is_plain_socket(&self) -> bool {
        matches!(self.stream, ClientStream::Socket(ClientSocket::Plain(_)))
    }

    /// Memory for bytes in flight.
    #[inline]
    pub(crate) fn memory(&self) -> usize {
        self.received.memory() + self.stream.memory()
    }

    #[inline]
    pub(crate) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        self.stream.poll_read(cx, buffer)
    }

    #[inline]
    pub(crate) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        first: &[u8],
        second: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.stream.poll_write(cx, first, second)
    }

    #[inline]
    pub(crate) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.poll_flush(cx)
    }

    pub(crate) fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.poll_shutdown(cx)
    }

    /// Whether nothing is held.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.received.is_empty()
    }

    #[inline]
    pub(crate) fn held_len(&self) -> usize {
        self.received.len()
    }

    /// Holds these bytes only: they follow the request that begins.
    #[inline]
    pub(crate) fn hold_only(&mut self, bytes: &[u8]) {
        self.received.set(bytes);
    }

    #[inline]
    pub(crate) fn hold(&mut self, bytes: &[u8]) {
        self.received.append(bytes);
    }

    /// Takes what is held, with its memory.
    #[inline]
    pub(crate) fn take_held(&mut self) -> Vec<u8> {
        self.received.take()
    }

    /// Puts back what [`take_held`](Self::take_held) took.
    #[inline]
    pub(crate) fn put_back(&mut self, held: Vec<u8>) {
        self.received.put_back(held);
    }

    /// Drops what is held, with its memory.
    pub(crate) fn release_held(&mut self) {
        self.received.release();
    }

    /// Gives the next piece of a body, at most `len_max` bytes, to `take`, which returns how many of them belonged to
    /// it. What is held comes first; what was read and follows the body is held.
    #[inline]
    pub(crate) fn poll_body<E>(
        &mut self,
        cx: &mut Context<'_>,
        shared: &mut [u8],
        len_max: usize,
        take: impl FnOnce(&[u8]) -> Result<usize, E>,
    ) -> Poll<Result<BodyPiece, E>> {
        if !self.received.is_empty() {
            let len = self.received.len().min(len_max);
            let taken = take(&self.received.bytes()[..len])?;
            self.received.skip(taken);
            return Poll::Ready(Ok(BodyPiece::Held));
        }
        let len = shared.len().min(len_max);
        match ready!(self.stream.poll_read(cx, &mut shared[..len])) {
            Ok(count) if count > 0 => {
                let taken = take(&shared[..count])?;
                self.received.append(&shared[taken..count]);
                Poll::Ready(Ok(BodyPiece::Read(count)))
            }
            _ => Poll::Ready(Ok(BodyPiece::Gone)),
        }
    }

    /// Whether the client has disconnected while it waits. What it sends meanwhile is held, up to `held_max` bytes.
    pub(crate) fn has_left(
        &mut self,
        cx: &mut Context<'_>,
        shared: &mut [u8],
        held_max: usize,
    ) -> bool {
        while self.received.len() < held_max {
            let room = (held_max - self.received.len()).min(shared.len());
            match self.stream.poll_read(cx, &mut shared[..room]) {
                Poll::Ready(Ok(count)) if count > 0 => self.received.append(&shared[..count]),
                Poll::Ready(_) => return true,
                Poll::Pending => return false,
            }
        }
        false
    }

    /// The client has disconnected, and its fetch continues for others.
    pub(crate) fn detach(&mut self) {
        self.stream = ClientStream::Nobody;
    }

    /// Takes the socket, for another protocol, with what is held.
    pub(crate) fn take_socket(&mut self) -> Option<(ClientSocket, Vec<u8>)> {
        match std::mem::replace(&mut self.stream, ClientStream::Gone) {
            ClientStream::Socket(socket) => Some((socket, self.received.take())),
            ClientStream::Gone | ClientStream::Inner(_) | ClientStream::Nobody => None,
        }
    }

    /// Takes a socket without TLS, and drops what is held.
    pub(crate) fn take_plain_socket(&mut self) -> Option<TcpStream> {
        match self.take_socket() {
            Some((ClientSocket::Plain(stream), _)) => Some(stream),
            _ => None,
        }
    }

    /// The other protocol has ended; the socket is back, unless it was closed.
    pub(crate) fn return_socket(&mut self, socket: Option<ClientSocket>) {
        self.stream = socket.map_or(ClientStream::Gone, ClientStream::Socket);
    }
}
