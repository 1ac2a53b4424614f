//! The two ends of a connection's bytes: the event loop at one, h2 at the other. No socket is in it.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes that wait to be written, from which on h2 has to wait.
const OUT_LEN_MAX: usize = 256 * 1024;

/// Bytes that were read and not yet taken, from which on the target floods us: h2 takes all it can at once, and
/// cannot only while it may not write.
const IN_LEN_MAX: usize = 1024 * 1024;

/// The loop's end.
#[derive(Clone, Debug, Default)]
pub(super) struct Pipe(Arc<Mutex<Bytes>>);

#[derive(Debug, Default)]
struct Bytes {
    /// Read from the target; the first `taken` of them h2 has.
    inward: Vec<u8>,
    taken: usize,
    /// The target will send nothing more.
    is_ended: bool,
    /// To be written; the first `written` of them are.
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

    // Only one thread ever has both ends; nothing panics while it is locked.
    fn lock(&self) -> MutexGuard<'_, Bytes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes came from the target. Whether they fit.
    pub(super) fn push(&self, bytes: &[u8]) -> bool {
        let mut pipe = self.lock();
        if pipe.taken == pipe.inward.len() {
            pipe.inward.clear();
            pipe.taken = 0;
        }
        pipe.inward.extend_from_slice(bytes);
        pipe.inward.len() - pipe.taken <= IN_LEN_MAX
    }

    /// The target will send nothing more.
    pub(super) fn end(&self) {
        self.lock().is_ended = true;
    }

    pub(super) fn has_outward(&self) -> bool {
        let pipe = self.lock();
        pipe.written < pipe.outward.len()
    }

    /// Gives what waits to be written to `write`, which says how much of it it took. How much that was.
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
            // Nobody has to be woken: the loop polls whenever it has put something in.
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
