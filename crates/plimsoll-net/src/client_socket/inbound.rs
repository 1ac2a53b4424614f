//! The socket of a TLS client. Its handshake is bounded, and incomplete records are accounted for.
//!
//! A record and a handshake message are buffered until they are complete: 64 KiB for each client that never completes
//! one. An ordinary `ClientHello` takes 2 or 3 KiB; a client that sends more than [`HANDSHAKE_LEN_MAX`] before the
//! handshake is done is rejected. Buffered bytes count towards the memory budget of the event loop, like everything
//! that waits for slow clients.

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::memory::Memory;

/// Most bytes that a client may send before its handshake is done.
const HANDSHAKE_LEN_MAX: usize = 16 * 1024;
/// Most buffered bytes of an incomplete record.
const RECORD_LEN_MAX: usize = 20 * 1024;

/// The socket of a TLS client.
#[derive(Debug)]
pub struct Inbound {
    stream: TcpStream,
    memory: Rc<Memory>,
    in_handshake: bool,
    /// Bytes received but not yet delivered: an incomplete record, or one without application data.
    unread: usize,
    /// How many of them were counted by the event loop during the handshake.
    counted: usize,
}

impl Inbound {
    /// Before its handshake; `memory` counts what it buffers.
    pub fn new(stream: TcpStream, memory: &Rc<Memory>) -> Self {
        Self {
            stream,
            memory: Rc::clone(memory),
            in_handshake: true,
            unread: 0,
            counted: 0,
        }
    }

    /// The handshake is done: from here on [`Inbound::memory`] reports buffered bytes.
    pub fn end_handshake(&mut self) {
        self.in_handshake = false;
        self.unread = 0;
        self.memory.hold(self.counted, 0);
        self.counted = 0;
    }

    /// All received bytes were complete records, and were delivered.
    #[inline]
    pub(crate) fn handed_on(&mut self) {
        self.unread = 0;
    }

    /// Memory for an incomplete record.
    #[inline]
    pub fn memory(&self) -> usize {
        self.unread.min(RECORD_LEN_MAX)
    }

    /// The TCP socket.
    pub(crate) fn socket(&self) -> &TcpStream {
        &self.stream
    }

    /// Accounts for bytes of the handshake.
    ///
    /// # Errors
    /// When there are too many, or the memory budget of connections is exhausted.
    fn count(&mut self) -> io::Result<()> {
        if self.unread > HANDSHAKE_LEN_MAX {
            return Err(io::Error::other("the TLS handshake is too long"));
        }
        if self.memory.is_full() {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        self.memory.hold(self.counted, self.unread);
        self.counted = self.unread;
        Ok(())
    }
}

impl Drop for Inbound {
    fn drop(&mut self) {
        self.memory.hold(self.counted, 0);
    }
}

impl AsyncRead for Inbound {
    #[inline]
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        self.unread = self
            .unread
            .saturating_add(buffer.filled().len().saturating_sub(before));
        if self.in_handshake {
            self.count()?;
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Inbound {
    #[inline]
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    #[inline]
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    #[inline]
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
