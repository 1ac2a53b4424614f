//! The sockets of a loop's clients, by their index in the audience.

use std::task::{Context, Poll, Waker};

use plimsoll_hub::{ClientId, Outlet};
use plimsoll_net::client_socket::ClientSocket;

/// Destination of a client's bytes.
#[derive(Debug)]
pub(super) struct SubscriberSocket {
    pub(super) client: ClientSocket,
    /// Wakes its connection, when there is room to write or data arrived.
    waker: Waker,
    /// It is closed for writing.
    pub(super) is_gone: bool,
    /// It is to be disconnected because it is too slow.
    pub(super) is_condemned: bool,
    /// It has read something since the last ping.
    pub(super) has_moved: bool,
}

impl SubscriberSocket {
    pub(super) fn new(client: ClientSocket, waker: Waker) -> Self {
        Self {
            client,
            waker,
            is_gone: false,
            is_condemned: false,
            has_moved: false,
        }
    }

    /// Writes what the socket accepts at once. Its connection is woken when there is room for the rest.
    fn write(&mut self, bytes: &[u8]) -> usize {
        if self.is_gone {
            return 0;
        }
        let mut cx = Context::from_waker(&self.waker);
        let mut written = 0;
        while written < bytes.len() {
            match self.client.poll_write(&mut cx, &bytes[written..], &[]) {
                Poll::Ready(Ok(count)) if count > 0 => written += count,
                Poll::Ready(_) => {
                    self.is_gone = true;
                    self.waker.wake_by_ref();
                    break;
                }
                Poll::Pending => break,
            }
        }
        self.has_moved |= written > 0;
        self.flush();
        written
    }

    /// The waker of its connection.
    pub(super) fn waker(&self) -> &Waker {
        &self.waker
    }

    /// Wakes its connection.
    pub(super) fn wake(&self) {
        self.waker.wake_by_ref();
    }

    /// Flushes what an encrypted stream still buffers.
    pub(super) fn flush(&mut self) {
        let mut cx = Context::from_waker(&self.waker);
        if let Poll::Ready(Err(_)) = self.client.poll_flush(&mut cx) {
            self.is_gone = true;
        }
    }
}

/// All of a loop.
#[derive(Debug, Default)]
pub(super) struct SubscriberSockets {
    sockets: Vec<Option<SubscriberSocket>>,
    /// Bytes written since the last query.
    pub(super) written: u64,
}

impl SubscriberSockets {
    pub(super) fn give(&mut self, id: ClientId, socket: SubscriberSocket) {
        let index = id.index();
        if self.sockets.len() <= index {
            self.sockets.resize_with(index + 1, || None);
        }
        self.sockets[index] = Some(socket);
    }

    pub(super) fn get(&mut self, id: ClientId) -> Option<&mut SubscriberSocket> {
        self.sockets.get_mut(id.index())?.as_mut()
    }

    pub(super) fn take(&mut self, id: ClientId) -> Option<SubscriberSocket> {
        self.sockets.get_mut(id.index())?.take()
    }

    /// Marks a client for disconnection by its connection.
    pub(super) fn condemn(&mut self, id: ClientId) {
        if let Some(socket) = self.get(id) {
            socket.is_condemned = true;
            socket.waker.wake_by_ref();
        }
    }
}

impl Outlet for SubscriberSockets {
    fn write(&mut self, id: ClientId, bytes: &[u8]) -> usize {
        let Some(socket) = self.get(id) else {
            return 0;
        };
        let written = socket.write(bytes);
        self.written += written as u64;
        written
    }
}
