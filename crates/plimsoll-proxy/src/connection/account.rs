//! What a connection is counted for in its loop.

use plimsoll_net::loop_state::LoopState;

/// Counted as a connection, for its memory, and its requests.
#[derive(Debug, Default)]
pub(super) struct ConnectionAccount {
    /// Requests so far: only the first may be the preface of HTTP/2.
    requests: u32,
    /// Memory that the event loop has accounted for this connection, bytes.
    memory: usize,
    /// Counted as a connection. A stream of HTTP/2 is not; its connection is.
    is_counted: bool,
}

impl ConnectionAccount {
    /// Counts an accepted connection.
    pub(super) fn accepted(event_loop: &LoopState) -> Self {
        event_loop.figures.accepted.increment();
        event_loop.figures.connections.increment();
        Self {
            is_counted: true,
            ..Self::default()
        }
    }

    #[inline]
    pub(super) fn is_counted(&self) -> bool {
        self.is_counted
    }

    /// Whether no request has begun.
    #[inline]
    pub(super) fn is_new(&self) -> bool {
        self.requests == 0
    }

    /// A request begins.
    #[inline]
    pub(super) fn count_request(&mut self) {
        self.requests = self.requests.saturating_add(1);
    }

    /// The connection holds this much memory now.
    #[inline]
    pub(super) fn hold(&mut self, memory: usize, event_loop: &LoopState) {
        event_loop.memory.hold(self.memory, memory);
        self.memory = memory;
    }

    /// The connection has ended.
    pub(super) fn close(&mut self, event_loop: &LoopState) {
        self.hold(0, event_loop);
        if self.is_counted {
            event_loop.figures.connections.decrement();
        }
    }
}
