//! The sockets of a loop's clients, by the place that each has in the audience.

use std::task::{Context, Poll, Waker};

use plimsoll_hub::{ClientId, Outlet};

use crate::client::ClientStream;

/// Where a client's bytes go.
#[derive(Debug)]
pub(super) struct SubscriberSocket {
    pub(super) client: ClientStream,
    /// Wakes its connection, when there is room for more or something came.
    waker: Waker,
    /// Nothing can be written to it any more.
    pub(super) is_gone: bool,
    /// It is to be disconnected, for it is slow.
    pub(super) is_condemned: bool,
    /// It has taken something since it was asked last whether it is there.
    pub(super) has_moved: bool,
}

impl SubscriberSocket {
    pub(super) fn new(client: ClientStream, waker: Waker) -> Self {
        Self {
            client,
            waker,
            is_gone: false,
            is_condemned: false,
            has_moved: false,
        }
    }

    /// Writes what is taken at once. Its connection is woken when there is room for the rest.
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

    /// What wakes its connection.
    pub(super) fn waker(&self) -> &Waker {
        &self.waker
    }

    /// Lets its connection look after it.
    pub(super) fn wake(&self) {
        self.waker.wake_by_ref();
    }

    /// Lets go of what an encrypted stream still holds.
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
    /// Bytes that were written since somebody asked.
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

    /// A client is to be disconnected; its connection does so.
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
