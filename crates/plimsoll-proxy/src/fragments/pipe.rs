//! The pipe between a subrequest and the assembly: bytes in both directions, bounded, on one event loop.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;

use super::nesting::FragmentNesting;
use super::{Draft, Mosaic};
use crate::message::outgoing::Outgoing;
use crate::telemetry::moments::Moments;

/// Most buffered bytes in each direction.
pub(crate) const WAITING_MAX: usize = 64 * 1024;

/// State shared by both ends.
#[derive(Debug, Default)]
pub(crate) struct PipeState {
    /// Bytes of the response: a head, and the framed body.
    pub(crate) answer: Outgoing,
    /// A body that is handed over whole instead.
    pub(crate) body: Option<Bytes>,
    /// Its parsed form, from when it was stored.
    pub(crate) mosaic: Option<Arc<Mosaic>>,
    /// Set if it may contain ESI tags.
    pub(crate) draft: Option<Draft>,
    /// Bytes of the request body.
    pub(crate) request_body: Outgoing,
    pub(crate) report: Report,
    /// The response is complete.
    pub(crate) is_whole: bool,
    /// The writer is closed.
    pub(crate) is_closed: bool,
    /// The reader is gone.
    has_left: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl PipeState {
    /// Wakes the writer: there is space, or more of the request.
    pub(crate) fn wake_writer(&mut self) {
        if let Some(waker) = self.writer.take() {
            waker.wake();
        }
    }

    fn wake_reader(&mut self) {
        if let Some(waker) = self.reader.take() {
            waker.wake();
        }
    }

    /// Registers the reader to be woken.
    pub(crate) fn file_reader(&mut self, cx: &Context<'_>) {
        self.reader = Some(cx.waker().clone());
    }
}

/// What the access log would contain for a client request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    pub(crate) reason: Option<&'static str>,
    pub(crate) server: Option<String>,
    pub(crate) moments: Moments,
}

/// The responding end; it is the client of its connection.
#[derive(Debug)]
pub(crate) struct WriteEnd {
    shared: Rc<RefCell<PipeState>>,
    /// Set for a fragment; otherwise it is the page itself, for an admitted client.
    pub(crate) fragment: Option<Rc<FragmentNesting>>,
}

/// The requesting end.
#[derive(Debug)]
pub(crate) struct ReadEnd(Rc<RefCell<PipeState>>);

/// Creates both ends.
pub(crate) fn pipe(fragment: Option<Rc<FragmentNesting>>) -> (Box<WriteEnd>, ReadEnd) {
    let shared = Rc::new(RefCell::new(PipeState::default()));
    let inner = WriteEnd {
        shared: Rc::clone(&shared),
        fragment,
    };
    (Box::new(inner), ReadEnd(shared))
}

impl WriteEnd {
    /// Writes as much of the response as there is space for.
    pub(crate) fn poll_write(
        &self,
        cx: &Context<'_>,
        first: &[u8],
        second: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        let mut shared = self.shared.borrow_mut();
        if shared.has_left {
            return Poll::Ready(Err(std::io::ErrorKind::BrokenPipe.into()));
        }
        let room = WAITING_MAX.saturating_sub(shared.answer.left().len());
        if room == 0 {
            shared.writer = Some(cx.waker().clone());
            return Poll::Pending;
        }
        shared.answer.clear_if_written();
        let mut count = 0;
        for piece in [first, second] {
            let piece = &piece[..piece.len().min(room - count)];
            shared.answer.append(piece);
            count += piece.len();
        }
        shared.wake_reader();
        Poll::Ready(Ok(count))
    }

    /// Reads available bytes of the request body; 0 when the requester is gone.
    pub(crate) fn poll_read(
        &self,
        cx: &Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<std::io::Result<usize>> {
        let mut shared = self.shared.borrow_mut();
        if shared.has_left {
            return Poll::Ready(Ok(0));
        }
        let left = shared.request_body.left();
        if left.is_empty() || buffer.is_empty() {
            shared.writer = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let count = left.len().min(buffer.len());
        buffer[..count].copy_from_slice(&left[..count]);
        shared.request_body.advance(count);
        shared.request_body.clear_if_written();
        shared.wake_reader();
        Poll::Ready(Ok(count))
    }

    /// Hands over the body of a stored response without copying, after the head.
    pub(crate) fn put_body(&self, body: Bytes, mosaic: Option<Arc<Mosaic>>) {
        let mut shared = self.shared.borrow_mut();
        shared.body = Some(body);
        shared.mosaic = mosaic;
        shared.wake_reader();
    }

    /// Marks the body as possibly containing ESI tags.
    pub(crate) fn mark(&self, draft: Draft) {
        self.shared.borrow_mut().draft = Some(draft);
    }

    /// Reports here instead of in the access log.
    pub(crate) fn report(&self, report: Report) {
        self.shared.borrow_mut().report = report;
    }

    /// Marks the response as complete.
    pub(crate) fn end(&self) {
        self.shared.borrow_mut().is_whole = true;
    }
}

impl Drop for WriteEnd {
    fn drop(&mut self) {
        let mut shared = self.shared.borrow_mut();
        shared.is_closed = true;
        shared.wake_reader();
    }
}

impl ReadEnd {
    /// Accesses the shared state.
    pub(crate) fn with<T>(&self, access: impl FnOnce(&mut PipeState) -> T) -> T {
        access(&mut self.0.borrow_mut())
    }
}

impl Drop for ReadEnd {
    fn drop(&mut self) {
        let mut shared = self.0.borrow_mut();
        shared.has_left = true;
        shared.wake_writer();
    }
}
