//! Meter of useful and useless traffic of a client.
//!
//! Pings, settings, priorities, window updates, resets and empty frames cost their sender next to nothing. A client may
//! send as many as its requests and responses justify; one that sends little else is disconnected. So is one that
//! resets most of its requests. The meter also records since when the client has read nothing of the written data.

use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::resets::ResetBudget;
use crate::clock::{EdgeClock, Nanoseconds};

/// Bytes allowed per useful byte.
const SHARE: u64 = 8;
/// Initial credit of useful bytes.
const CREDIT: u64 = 256 * 1024;

/// Counts of one connection.
#[derive(Debug)]
pub struct ConnectionMeter {
    clock: EdgeClock,
    came: Cell<u64>,
    useful: Cell<u64>,
    resets: ResetBudget,
    blocked_since: Cell<Option<Nanoseconds>>,
}

impl ConnectionMeter {
    /// A connection without streams.
    pub fn new(clock: EdgeClock) -> Self {
        Self {
            clock,
            came: Cell::new(0),
            useful: Cell::new(0),
            resets: ResetBudget::new(clock.now()),
            blocked_since: Cell::new(None),
        }
    }

    /// A stream was answered completely.
    pub(crate) fn count_answer(&self) {
        self.resets.refill(1);
    }

    /// A stream was reset by its client, or because of its client, before it was answered.
    pub(crate) fn count_reset(&self) {
        self.resets.take(self.clock.now());
    }

    /// Whether more streams were reset than allowed.
    pub fn has_too_many_resets(&self) -> bool {
        self.resets.is_exhausted()
    }

    /// Since when the client has read nothing of the written data.
    pub fn blocked_since(&self) -> Option<Nanoseconds> {
        self.blocked_since.get()
    }

    /// Records the result of a write attempt.
    fn wrote<T>(&self, polled: &Poll<T>) {
        if polled.is_ready() {
            self.blocked_since.set(None);
        } else if self.blocked_since.get().is_none() {
            self.blocked_since.set(Some(self.clock.now()));
        }
    }

    /// Useful bytes: heads, bodies, and responses, for which the reader must send window updates.
    pub(crate) fn useful(&self, bytes: usize) {
        self.useful
            .set(self.useful.get().saturating_add(bytes as u64));
    }

    /// Counts received bytes.
    ///
    /// # Errors
    /// When too few of all bytes were useful.
    fn came(&self, bytes: usize) -> io::Result<()> {
        self.came.set(self.came.get().saturating_add(bytes as u64));
        if self.came.get() / SHARE > self.useful.get().saturating_add(CREDIT) {
            return Err(io::Error::other("frame flood"));
        }
        Ok(())
    }
}

/// A connection whose bytes are counted as they come.
pub struct Metered<T> {
    /// The socket.
    pub io: T,
    /// Counts what passes.
    pub meter: Rc<ConnectionMeter>,
}

impl<T: AsyncRead + Unpin> AsyncRead for Metered<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.io).poll_read(cx, buffer))?;
        Poll::Ready(self.meter.came(buffer.filled().len() - before))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Metered<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.io).poll_write(cx, bytes);
        self.meter.wrote(&polled);
        polled
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.io).poll_write_vectored(cx, bufs);
        self.meter.wrote(&polled);
        polled
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.io).poll_flush(cx);
        self.meter.wrote(&polled);
        polled
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_with_requests_is_let_through() {
        let meter = ConnectionMeter::new(EdgeClock::start());
        for _ in 0..100_000 {
            meter.useful(100);
            meter.came(700).unwrap();
        }
        let mut idle = 0_u64;
        while meter.came(17).is_ok() {
            idle += 17;
        }
        assert!(
            (SHARE * CREDIT..4 * SHARE * CREDIT + 10_000_000).contains(&idle),
            "{idle}"
        );
    }
}
