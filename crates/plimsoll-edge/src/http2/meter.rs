//! How much of what a client sends is of any use.
//!
//! Pings, settings, priorities, window updates, resets and empty frames cost their sender next to nothing. A client
//! may send as many as go with its requests and answers; who sends little else is cut off.

use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// How many bytes may come for each that is of use.
const SHARE: u64 = 8;
/// Useful bytes that every connection is credited with.
const CREDIT: u64 = 256 * 1024;

/// Counts of one connection.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    came: Cell<u64>,
    useful: Cell<u64>,
}

impl Meter {
    /// Bytes of heads, of bodies, and of answers, whose reader must make room for more by frames.
    pub(crate) fn useful(&self, bytes: usize) {
        self.useful
            .set(self.useful.get().saturating_add(bytes as u64));
    }

    /// Counts bytes that came.
    ///
    /// # Errors
    /// When too few of all have been of use.
    fn came(&self, bytes: usize) -> io::Result<()> {
        self.came.set(self.came.get().saturating_add(bytes as u64));
        if self.came.get() / SHARE > self.useful.get().saturating_add(CREDIT) {
            return Err(io::Error::other("a flood of frames"));
        }
        Ok(())
    }
}

/// A connection whose bytes are counted as they come.
pub(crate) struct Metered<T> {
    pub(crate) io: T,
    pub(crate) meter: Rc<Meter>,
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
        Pin::new(&mut self.io).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
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
        let meter = Meter::default();
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
