//! The request on its way to the server: its head, then pieces of its body.

use std::task::{Context, Poll};

use plimsoll_net::chunk_writer;
use plimsoll_net::client_socket::poll_write;
use plimsoll_net::upstream::Upstream;
use plimsoll_wire::error::Http1Error;
use plimsoll_wire::framing::BodyReader;
use plimsoll_wire::head::BodyLength;

use crate::message::outgoing::Outgoing;

/// The request as forwarded, and how much of its body the client has sent.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts of one request"
)]
pub(crate) struct RequestUpload {
    /// Bytes for the server.
    pending: Outgoing,
    body: BodyReader,
    /// The body is forwarded in chunks.
    is_chunked: bool,
    /// The client has sent the whole body.
    is_received: bool,
    /// `pending` still holds the whole request.
    is_whole: bool,
    /// The server accepts no more of the request.
    is_stopped: bool,
}

impl RequestUpload {
    /// Resets what the next request does not set.
    pub(super) fn clear(&mut self) {
        self.pending.clear();
        self.is_stopped = false;
    }

    /// Starts a request with a body of this length; returns the buffer for its head.
    pub(super) fn begin(&mut self, has_body: bool, length: BodyLength, max: u64) -> &mut Vec<u8> {
        self.is_received = !has_body;
        self.is_whole = !has_body;
        self.is_chunked = length == BodyLength::Chunked;
        self.body = BodyReader::new(length, max);
        self.pending.buffer()
    }

    /// Memory for bytes in flight.
    #[inline]
    pub(super) fn memory(&self) -> usize {
        self.pending.memory()
    }

    /// Whether the client has sent the whole body.
    #[inline]
    pub(super) fn is_received(&self) -> bool {
        self.is_received
    }

    /// Whether the whole request is still here, to be sent again.
    #[inline]
    pub(super) fn is_repeatable(&self) -> bool {
        self.is_whole && self.is_received
    }

    /// Whether the server has taken the whole request.
    #[inline]
    pub(super) fn is_sent(&self) -> bool {
        self.is_received && self.pending.is_empty() && !self.is_stopped
    }

    /// Whether more of the body is to be read: the server has taken what came before.
    #[inline]
    pub(super) fn wants_body(&self) -> bool {
        !self.is_received && !self.is_stopped && self.pending.is_empty()
    }

    /// Bytes of the body so far.
    pub(super) fn body_len(&self) -> u64 {
        self.body.content_len()
    }

    /// Sends the same request from its first byte.
    pub(super) fn restart(&mut self) {
        self.pending.rewind();
        self.is_stopped = false;
    }

    /// The server accepts no more. It may have responded before it closed; its response is still to be read.
    pub(super) fn stop(&mut self) {
        self.is_stopped = true;
    }

    /// Sends pending bytes to the server; whether it made progress.
    pub(super) fn send(&mut self, cx: &mut Context<'_>, stream: &mut Upstream) -> bool {
        let mut moved = false;
        while !self.pending.is_empty() && !self.is_stopped {
            match poll_write(stream, cx, self.pending.left(), &[]) {
                Poll::Ready(Ok(count)) if count > 0 => {
                    self.pending.advance(count);
                    moved = true;
                }
                Poll::Ready(_) => {
                    self.stop();
                    moved = true;
                }
                Poll::Pending => break,
            }
        }
        moved
    }

    /// Makes room for the next piece of the body: what was sent cannot be sent again.
    #[inline]
    pub(super) fn begin_piece(&mut self) {
        self.is_whole = false;
        self.pending.clear();
    }

    /// Takes a piece of the client's body; returns how many bytes belonged to it.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Result<usize, Http1Error> {
        let out = self.pending.buffer();
        let taken = if self.is_chunked {
            self.body
                .take(bytes, |content| chunk_writer::write(out, content))
        } else {
            self.body
                .take(bytes, |content| out.extend_from_slice(content))
        }?;
        if self.body.is_complete() {
            self.is_received = true;
            if self.is_chunked {
                self.pending.append(chunk_writer::LAST_CHUNK);
            }
        }
        Ok(taken)
    }
}
