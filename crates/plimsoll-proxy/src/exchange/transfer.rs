//! Moves the bytes of an exchange, in both directions at once.
//!
//! Each direction applies backpressure when its receiver is slow, so an exchange never holds more than one buffer of each.

use std::task::{Context, Poll};

use plimsoll_net::client_socket::poll_read;
use plimsoll_wire::error::Http1Error;

use super::{Exchange, ExchangeEnd, Side, UpstreamFailure};
use crate::client::channel::BodyPiece;
use crate::message::outgoing::GATHERED_MAX;

/// Result of one round of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExchangeProgress {
    /// No progress.
    Still,
    /// Something was written, and the next read is pending: another round would find nothing.
    Sent,
    /// Something was read: there may be more, and something to write.
    Moved,
}

impl Exchange {
    /// Makes progress in both directions.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, side: &mut Side<'_>) -> Poll<ExchangeEnd> {
        let mut moved = false;
        loop {
            let step = self.step(cx, side);
            moved |= matches!(step, Ok(ExchangeProgress::Moved | ExchangeProgress::Sent));
            match step {
                Ok(_) if self.cache.is_diverted() => return Poll::Ready(ExchangeEnd::Diverted),
                Ok(ExchangeProgress::Moved | ExchangeProgress::Sent) if self.answer.is_coding() => {
                    // Compression is CPU-bound: other tasks run between two pieces.
                    self.keep_deadline(side, true);
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Ok(ExchangeProgress::Moved) if !self.has_delivered() => {}
                Ok(_) => {
                    let is_flushed = match side.client.poll_flush(cx) {
                        Poll::Ready(Ok(())) => true,
                        Poll::Ready(Err(_)) => return Poll::Ready(ExchangeEnd::ClientGone),
                        Poll::Pending => false,
                    };
                    if is_flushed && self.has_delivered() {
                        return Poll::Ready(self.done());
                    }
                    if let Poll::Ready(Err(_)) = self.link.poll_flush(cx) {
                        self.upload.stop();
                    }
                    self.keep_deadline(side, moved);
                    return Poll::Pending;
                }
                Err(end) => return Poll::Ready(end),
            }
        }
    }

    /// Whether the whole response has arrived and was written to the client.
    #[inline]
    fn has_delivered(&self) -> bool {
        self.answer.is_complete() && self.to_client.is_empty()
    }

    /// One round in all directions.
    fn step(
        &mut self,
        cx: &mut Context<'_>,
        side: &mut Side<'_>,
    ) -> Result<ExchangeProgress, ExchangeEnd> {
        if self.link.is_connecting() && !self.poll_connection(cx, side)? {
            return Ok(ExchangeProgress::Still);
        }
        let sent = self.send(cx);
        let taken = self.take_body(cx, side)?;
        let delivered = self.deliver(cx, side)?;
        let received = self.receive(cx, side)?;
        Ok(if taken || received {
            ExchangeProgress::Moved
        } else if sent || delivered {
            ExchangeProgress::Sent
        } else {
            ExchangeProgress::Still
        })
    }

    /// Sends the request to the server.
    fn send(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(stream) = self.link.stream() else {
            return false;
        };
        self.upload.send(cx, stream)
    }

    /// Reads the client's body, as far as the server has taken what came before.
    fn take_body(
        &mut self,
        cx: &mut Context<'_>,
        side: &mut Side<'_>,
    ) -> Result<bool, ExchangeEnd> {
        if !self.upload.wants_body() || self.answer.is_complete() {
            return Ok(false);
        }
        self.upload.begin_piece();
        let mut shared = side.event_loop.shared.borrow_mut();
        let take = |bytes: &[u8]| self.feed(bytes);
        match side.client.poll_body(cx, &mut shared, usize::MAX, take) {
            Poll::Ready(Ok(BodyPiece::Held)) => Ok(true),
            Poll::Ready(Ok(BodyPiece::Read(count))) => {
                side.event_loop.figures.bytes_in.add(count as u64);
                Ok(true)
            }
            Poll::Ready(Ok(BodyPiece::Gone)) => Err(ExchangeEnd::ClientGone),
            Poll::Ready(Err(end)) => Err(end),
            Poll::Pending => Ok(false),
        }
    }

    /// Takes a piece of the client's body; returns how many bytes belonged to it.
    fn feed(&mut self, bytes: &[u8]) -> Result<usize, ExchangeEnd> {
        self.upload.feed(bytes).map_err(|error| {
            let status = if error == Http1Error::BodyTooLong {
                413
            } else {
                400
            };
            self.refusal(status)
        })
    }

    /// How it ends when the client's body is not acceptable.
    pub(super) fn refusal(&self, status: u16) -> ExchangeEnd {
        if self.record.bytes_out() > 0 || !self.to_client.is_empty() {
            ExchangeEnd::Broken
        } else {
            ExchangeEnd::Refused(status)
        }
    }

    /// Writes pending output to the client.
    fn deliver(&mut self, cx: &mut Context<'_>, side: &mut Side<'_>) -> Result<bool, ExchangeEnd> {
        let mut moved = false;
        while !self.to_client.is_empty() {
            match side.client.poll_write(cx, self.to_client.left(), &[]) {
                Poll::Ready(Ok(count)) if count > 0 => {
                    self.to_client.advance(count);
                    self.record.sent(count);
                    moved = true;
                }
                Poll::Ready(_) => return Err(ExchangeEnd::ClientGone),
                Poll::Pending => break,
            }
        }
        self.to_client.clear_if_written();
        Ok(moved)
    }

    /// Reads the response, and writes it directly to the client as far as possible.
    fn receive(&mut self, cx: &mut Context<'_>, side: &mut Side<'_>) -> Result<bool, ExchangeEnd> {
        if !self.to_client.is_empty() || self.answer.is_complete() {
            return Ok(false);
        }
        if self.is_in_vain() {
            return Err(ExchangeEnd::Broken);
        }
        if self.is_far_ahead(cx) {
            return Ok(false);
        }
        let Some(stream) = self.link.stream() else {
            return Ok(false);
        };
        let mut shared = side.event_loop.shared.borrow_mut();
        match poll_read(stream, cx, &mut shared) {
            Poll::Ready(Ok(count)) if count > 0 => {
                let direct = self.take_answer(&shared[..count], side)?;
                self.pass(cx, side, &shared[direct])?;
                Ok(true)
            }
            Poll::Ready(end) => {
                drop(shared);
                if self.answer.has_begun() {
                    self.answer_ended(side, end.is_ok())?;
                } else {
                    self.ended_unanswered(side)?;
                }
                Ok(true)
            }
            Poll::Pending => {
                drop(shared);
                // Nothing more for now: flush, so that the client gets everything available.
                self.flush_coder(side)
            }
        }
    }

    /// Writes pending output and then `direct`; what does not fit is buffered.
    fn pass(
        &mut self,
        cx: &mut Context<'_>,
        side: &mut Side<'_>,
        direct: &[u8],
    ) -> Result<(), ExchangeEnd> {
        let mut direct = direct;
        if direct.len() <= GATHERED_MAX && !self.to_client.is_empty() {
            self.to_client.append(direct);
            direct = &[];
        }
        while !(self.to_client.is_empty() && direct.is_empty()) {
            let first = self.to_client.left();
            let first_len = first.len();
            match side.client.poll_write(cx, first, direct) {
                Poll::Ready(Ok(count)) if count > 0 => {
                    self.record.sent(count);
                    self.to_client.advance(count.min(first_len));
                    direct = &direct[count.saturating_sub(first_len)..];
                }
                Poll::Ready(_) => return Err(ExchangeEnd::ClientGone),
                Poll::Pending => {
                    self.to_client.append(direct);
                    return Ok(());
                }
            }
        }
        self.to_client.clear();
        Ok(())
    }

    fn done(&mut self) -> ExchangeEnd {
        if self.answer.has_switched() {
            return ExchangeEnd::Switched;
        }
        ExchangeEnd::Done {
            keep: self.answer.keeps_client() && self.upload.is_received(),
        }
    }

    /// How it ends when its server fails, by what the client has received.
    pub(super) fn failure(&self, failure: UpstreamFailure) -> ExchangeEnd {
        if self.record.bytes_out() > 0 || !self.to_client.is_empty() {
            ExchangeEnd::Broken
        } else {
            ExchangeEnd::Failed(failure)
        }
    }
}
