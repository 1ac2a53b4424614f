//! A place in line.

use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use super::lock;
use super::server::Server;

/// Somebody who waits for a place with a server.
#[derive(Debug, Default)]
pub(crate) struct Ticket {
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    Waiting(Option<Waker>),
    Granted(Arc<Server>),
    Over,
}

impl Default for State {
    fn default() -> Self {
        Self::Waiting(None)
    }
}

impl Ticket {
    /// Grants a place, which must have been taken before; `false` when nobody wants it any more.
    pub(crate) fn grant(&self, server: &Arc<Server>) -> bool {
        let mut state = lock(&self.state);
        let State::Waiting(waker) = &mut *state else {
            return false;
        };
        let waker = waker.take();
        *state = State::Granted(Arc::clone(server));
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        true
    }

    /// The server, if it was granted by now.
    pub(crate) fn taken(&self) -> Option<Arc<Server>> {
        let mut state = lock(&self.state);
        match &*state {
            State::Granted(_) => match std::mem::replace(&mut *state, State::Over) {
                State::Granted(server) => Some(server),
                _ => None,
            },
            _ => None,
        }
    }

    /// Waits for the server.
    pub(crate) fn poll(&self, cx: &Context<'_>) -> Poll<Arc<Server>> {
        if let Some(server) = self.taken() {
            return Poll::Ready(server);
        }
        let mut state = lock(&self.state);
        match &mut *state {
            State::Waiting(waker) => {
                *waker = Some(cx.waker().clone());
                Poll::Pending
            }
            State::Granted(server) => {
                let server = Arc::clone(server);
                *state = State::Over;
                Poll::Ready(server)
            }
            State::Over => Poll::Pending,
        }
    }

    /// Waits no longer; a server that was granted meanwhile is handed out, for its place must be given back.
    pub(crate) fn leave(&self) -> Option<Arc<Server>> {
        match std::mem::replace(&mut *lock(&self.state), State::Over) {
            State::Granted(server) => Some(server),
            State::Waiting(_) | State::Over => None,
        }
    }
}
