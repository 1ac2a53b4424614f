//! The WebSockets of users: which each has opened, lost, and subscribed to.

use plimsoll_model::journey::Reconnect;
use plimsoll_model::websocket::SocketCut;

use super::VirtualUsers;
use super::user::UserSocket;
use crate::due::NEVER;
use crate::list::NONE;
use crate::scenario::program::{CompiledSocket, Subscription};

/// A WebSocket that a user waited for is open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenedSocket {
    /// Index in the program's sockets.
    pub(crate) index: u32,
    /// The user's number.
    pub(crate) number: u64,
    /// When it was lost; [`NEVER`] for a first opening.
    pub(crate) lost_ns: u64,
    /// Why it was cut, where it was lost from this side.
    pub(crate) cut: Option<SocketCut>,
}

impl VirtualUsers {
    pub(crate) fn socket(&self, index: u32) -> &CompiledSocket {
        self.program.socket(index)
    }

    pub(crate) fn subscription(&self, index: u32) -> &Subscription {
        self.program.subscription(index)
    }

    /// The request for the message that a step awaits, if any, and whether the step sends one.
    pub(crate) fn exchange(&self, index: u32) -> (Option<u32>, bool) {
        let exchange = self.program.exchange(index);
        (exchange.awaited, exchange.message.is_some())
    }

    /// The WebSocket that a user has, is opening, or has lost.
    pub(crate) fn user_socket(&self, id: u32) -> Option<&UserSocket> {
        self.users.get(id as usize)?.socket.as_deref()
    }

    /// A user begins to open a WebSocket; returns the request of its handshake.
    pub(crate) fn begin_socket(&mut self, id: u32, index: u32) -> u32 {
        self.users[id as usize].socket = Some(Box::new(UserSocket::new(index)));
        self.socket(index).request
    }

    /// A user has no WebSocket any more; returns the connection on which it was open.
    pub(crate) fn drop_socket(&mut self, id: u32) -> Option<u32> {
        let socket = self.users.get_mut(id as usize)?.socket.take()?;
        Some(socket.connection).filter(|connection| *connection != NONE)
    }

    /// The WebSocket that a user waits for is open on a connection; `None` when it waits for none, or for another.
    pub(crate) fn socket_opened(
        &mut self,
        id: u32,
        connection: u32,
        is_return: bool,
    ) -> Option<OpenedSocket> {
        let user = self.users.get_mut(id as usize)?;
        let socket = user.socket.as_mut()?;
        let is_lost = socket.lost_ns != NEVER;
        if socket.connection != NONE || is_lost != is_return {
            return None;
        }
        socket.connection = connection;
        socket.tries = 0;
        Some(OpenedSocket {
            index: socket.index,
            number: user.number,
            lost_ns: std::mem::replace(&mut socket.lost_ns, NEVER),
            cut: socket.cut.take(),
        })
    }

    /// The WebSocket of a user on this connection is lost; `last_event` is the id of its last event, if it had any.
    /// Returns whether the user has one there.
    pub(crate) fn socket_lost(
        &mut self,
        id: u32,
        connection: u32,
        last_event: String,
        now: u64,
    ) -> bool {
        let user = self.users.get_mut(id as usize);
        let socket = user.and_then(|user| user.socket.as_mut());
        let Some(socket) = socket.filter(|socket| socket.connection == connection) else {
            return false;
        };
        socket.connection = NONE;
        socket.lost_ns = now;
        if !last_event.is_empty() {
            socket.last_event = last_event;
        }
        true
    }

    /// Begins another attempt to reopen a lost WebSocket, unless they are used up: how, the number of attempts before,
    /// and the user's number.
    pub(crate) fn next_reconnect(&mut self, id: u32) -> Option<(Reconnect, u32, u64)> {
        let user = self.users.get_mut(id as usize)?;
        let socket = user.socket.as_mut().filter(|socket| socket.is_lost())?;
        let reconnect = self.program.socket(socket.index).reconnect;
        let reconnect = reconnect.filter(|reconnect| socket.tries < reconnect.times)?;
        let tries = socket.tries;
        socket.tries += 1;
        Some((reconnect, tries, user.number))
    }

    /// Whether a user has a WebSocket that is lost and not open again.
    pub(crate) fn has_lost_socket(&self, id: u32) -> bool {
        self.user_socket(id).is_some_and(UserSocket::is_lost)
    }

    /// The lost WebSocket of the user with this number: index in the program's sockets.
    pub(crate) fn lost_socket(&self, id: u32, number: u64) -> Option<u32> {
        let user = self.users.get(id as usize)?;
        let socket = user.socket.as_ref().filter(|_| user.number == number)?;
        (socket.connection == NONE && socket.is_lost()).then_some(socket.index)
    }

    /// Whether this user's WebSocket is lost or not open: a step on it fails at once.
    pub(crate) fn misses_socket(&self, id: u32) -> bool {
        let socket = self.user_socket(id);
        let is_there = socket.is_some_and(|socket| socket.connection != NONE);
        self.program.has_sockets() && !is_there
    }

    /// A user has subscribed to a channel; it is repeated after a reconnect.
    pub(crate) fn add_subscription(&mut self, id: u32, subscription: u32, channel: u32) {
        let socket = self.users[id as usize].socket.as_mut();
        if let Some(socket) = socket
            && !socket.subscriptions.contains(&(subscription, channel))
        {
            socket.subscriptions.push((subscription, channel));
        }
    }
}
