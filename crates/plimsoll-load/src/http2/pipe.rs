//! A connection's byte pipe, with the event loop at one end and h2 at the other. It has no socket.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Pending output from which on h2 has to wait, bytes.
const OUT_LEN_MAX: usize = 256 * 1024;

/// Unread input from which on the target is flooding, bytes: h2 takes all it can at once, and stops only while it
/// may not write.
const IN_LEN_MAX: usize = 1024 * 1024;

/// The loop's end.
#[derive(Clone, Debug, Default)]
pub(super) struct Pipe(Arc<Mutex<Bytes>>);

#[derive(Debug, Default)]
struct Bytes {
    /// Input from the target; h2 has taken the first `taken` bytes.
    inward: Vec<u8>,
    taken: usize,
    /// The target closed its side.
    is_ended: bool,
    /// Output; the first `written` bytes are written.
    outward: Vec<u8>,
    written: usize,
}

/// h2's end.
#[derive(Debug)]
pub(super) struct H2PipeEnd(Pipe);

impl Pipe {
    pub(super) fn inner(&self) -> H2PipeEnd {
        H2PipeEnd(self.clone())
    }

    // Both ends are on one thread, and nothing panics while it is locked.
    fn lock(&self) -> MutexGuard<'_, Bytes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes arrived from the target. Returns whether they fit.
    pub(super) fn push(&self, bytes: &[u8]) -> bool {
        let mut pipe = self.lock();
        if pipe.taken == pipe.inward.len() {
            pipe.inward.clear();
            pipe.taken = 0;
        }
        pipe.inward.extend_from_slice(bytes);
        pipe.inward.len() - pipe.taken <= IN_LEN_MAX
    }

    /// The target closed its side.
    pub(super) fn end(&self) {
        self.lock().is_ended = true;
    }

    pub(super) fn has_outward(&self) -> bool {
        let pipe = self.lock();
        pipe.written < pipe.outward.len()
    }

    /// Passes pending output to `write`, which returns how much it wrote. Returns the total.
    pub(super) fn write_with(
        &self,
        write: impl FnOnce(&[u8]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let mut pipe = self.lock();
        let count = write(&pipe.outward[pipe.written..])?;
        pipe.written += count;
        if pipe.written == pipe.outward.len() {
            pipe.outward.clear();
            pipe.written = 0;
        }
        Ok(count)
    }
}

impl AsyncRead for H2PipeEnd {
    fn poll_read(
        self: Pin<&mut Self>,
        _context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut pipe = self.0.lock();
        let left = &pipe.inward[pipe.taken..];
        if left.is_empty() {
            // No waker is needed: the loop polls after every input.
            return if pipe.is_ended {
                Poll::Ready(Ok(()))
            } else {
                Poll::Pending
            };
        }
        let count = left.len().min(buffer.remaining());
        buffer.put_slice(&left[..count]);
        pipe.taken += count;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for H2PipeEnd {
    fn poll_write(
        self: Pin<&mut Self>,
        _context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut pipe = self.0.lock();
        let room = OUT_LEN_MAX.saturating_sub(pipe.outward.len() - pipe.written);
        if room == 0 {
            // The loop polls again when the socket has taken some.
            return Poll::Pending;
        }
        let count = room.min(bytes.len());
        if pipe.written > OUT_LEN_MAX {
            let written = std::mem::take(&mut pipe.written);
            pipe.outward.drain(..written);
        }
        pipe.outward.extend_from_slice(&bytes[..count]);
        Poll::Ready(Ok(count))
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Waker;

    #[test]
    fn what_waits_to_be_written_has_a_limit() {
        let pipe = Pipe::default();
        let mut inner = pipe.inner();
        let mut context = Context::from_waker(Waker::noop());
        let mut write = |bytes: &[u8]| Pin::new(&mut inner).poll_write(&mut context, bytes);
        let long = vec![1; OUT_LEN_MAX - 1];
        assert!(matches!(write(&long), Poll::Ready(Ok(count)) if count == long.len()));
        assert!(matches!(write(b"ab"), Poll::Ready(Ok(1))));
        assert!(write(b"c").is_pending());
        let mut written = Vec::new();
        let taken = pipe.write_with(|bytes| {
            written.extend_from_slice(&bytes[..10]);
            Ok(10)
        });
        assert!(taken.is_ok_and(|count| count == 10) && pipe.has_outward());
        assert!(matches!(write(&[2; 20]), Poll::Ready(Ok(10))));
        pipe.write_with(|bytes| {
            written.extend_from_slice(bytes);
            Ok(bytes.len())
        })
        .unwrap();
        assert!(!pipe.has_outward());
        assert_eq!(written.len(), OUT_LEN_MAX + 10);
        assert_eq!(
            &written[OUT_LEN_MAX - 2..],
            &[[1, b'a'].as_slice(), &[2; 10]].concat()
        );
    }

    #[test]
    fn what_is_read_comes_out_in_order_and_then_ends() {
        let pipe = Pipe::default();
        let mut inner = pipe.inner();
        let mut context = Context::from_waker(Waker::noop());
        let mut read = |pipe: &Pipe, len: usize| {
            let mut bytes = vec![0; len];
            let mut buffer = ReadBuf::new(&mut bytes);
            let polled = Pin::new(&mut inner).poll_read(&mut context, &mut buffer);
            let filled = buffer.filled().to_vec();
            assert!(pipe.0.lock().is_ok());
            polled.map(|result| result.map(|()| filled).unwrap())
        };
        assert!(read(&pipe, 4).is_pending());
        assert!(pipe.push(b"abc") && pipe.push(b"def"));
        assert_eq!(read(&pipe, 4), Poll::Ready(b"abcd".to_vec()));
        assert!(pipe.push(b"g"));
        assert_eq!(read(&pipe, 9), Poll::Ready(b"efg".to_vec()));
        assert!(read(&pipe, 9).is_pending());
        pipe.end();
        assert_eq!(read(&pipe, 9), Poll::Ready(Vec::new()));
        assert!(!pipe.push(&vec![0; IN_LEN_MAX + 1]));
    }
}
