//! A place in the queue.

use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use super::lock;
use super::server::UpstreamServer;

/// A request that waits for a slot at a server.
#[derive(Debug, Default)]
pub(crate) struct Ticket {
    state: Mutex<TicketState>,
}

#[derive(Debug)]
enum TicketState {
    Waiting(Option<Waker>),
    Granted(Arc<UpstreamServer>),
    Over,
}

impl Default for TicketState {
    fn default() -> Self {
        Self::Waiting(None)
    }
}

impl Ticket {
    /// Grants a slot, which must have been taken before; `false` when the request gave up.
    pub(crate) fn grant(&self, server: &Arc<UpstreamServer>) -> bool {
        let mut state = lock(&self.state);
        let TicketState::Waiting(waker) = &mut *state else {
            return false;
        };
        let waker = waker.take();
        *state = TicketState::Granted(Arc::clone(server));
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        true
    }

    /// The granted server, if there is one by now.
    pub(crate) fn taken(&self) -> Option<Arc<UpstreamServer>> {
        let mut state = lock(&self.state);
        match &*state {
            TicketState::Granted(_) => match std::mem::replace(&mut *state, TicketState::Over) {
                TicketState::Granted(server) => Some(server),
                _ => None,
            },
            _ => None,
        }
    }

    /// Waits for the server.
    pub(crate) fn poll(&self, cx: &Context<'_>) -> Poll<Arc<UpstreamServer>> {
        if let Some(server) = self.taken() {
            return Poll::Ready(server);
        }
        let mut state = lock(&self.state);
        match &mut *state {
            TicketState::Waiting(waker) => {
                *waker = Some(cx.waker().clone());
                Poll::Pending
            }
            TicketState::Granted(server) => {
                let server = Arc::clone(server);
                *state = TicketState::Over;
                Poll::Ready(server)
            }
            TicketState::Over => Poll::Pending,
        }
    }

    /// Gives up; a server granted meanwhile is returned, because its slot must be released.
    pub(crate) fn leave(&self) -> Option<Arc<UpstreamServer>> {
        match std::mem::replace(&mut *lock(&self.state), TicketState::Over) {
            TicketState::Granted(server) => Some(server),
            TicketState::Waiting(_) | TicketState::Over => None,
        }
    }
}
