//! WebSockets owned by users of journeys: awaited messages, subscriptions, and due work.

use std::collections::VecDeque;

use plimsoll_model::broadcast::{Receipt, SubscriberState};
use plimsoll_model::journey::{Layout, Reconnect};
use plimsoll_wire::websocket::Opcode;
use rand::RngExt as _;

use super::WebSocketSessions;
use super::receive::ReceiveContext;
use super::session::WebSocketSession;
use crate::clock::nanoseconds;
use crate::finder::{MarkFinder, Marks, ParsedMarks};
use crate::recorder::WebSocketWindowBuilder;
use crate::scenario::program::UnsolicitedMessages;
use crate::virtual_users::{Meant, VirtualUsers};

/// Limits of messages that are kept for an `await` without `send`: number, and length in bytes.
const QUEUED_MAX: usize = 16;
const QUEUED_LEN_MAX: usize = 64 * 1024;

/// A user's WebSocket.
#[derive(Debug)]
pub(crate) struct Owned {
    user: u32,
    /// Index in the program's sockets.
    socket: u32,
    /// The channel of its URL.
    channel: u32,
    /// It is open, and its initial messages are sent.
    is_ready: bool,
    /// The awaited message.
    expected: Option<Meant>,
    /// Timed-out responses that may still arrive, where any message counts as one.
    owed: u32,
    /// Sent as soon as it is open.
    first: Option<(Opcode, Box<[u8]>)>,
    listening: Vec<Listening>,
    queued: VecDeque<Vec<u8>>,
}

/// One subscribed channel.
#[derive(Debug)]
struct Listening {
    /// The marks of its broadcasts; without them all unsolicited messages count.
    subscription: Option<u32>,
    channel: u32,
    listener: SubscriberState,
}

impl Owned {
    pub(crate) fn new(user: u32, socket: u32, channel: u32) -> Self {
        Self {
            user,
            socket,
            channel,
            is_ready: false,
            expected: None,
            owed: 0,
            first: None,
            listening: Vec::new(),
            queued: VecDeque::new(),
        }
    }

    /// Sends this as soon as it is open.
    pub(crate) fn begin_with(&mut self, opcode: Opcode, first: Vec<u8>) {
        self.first = Some((opcode, first.into()));
    }

    /// Is open and ready.
    fn become_ready(&mut self, unsolicited: UnsolicitedMessages, now: u64) {
        self.is_ready = true;
        if unsolicited == UnsolicitedMessages::Broadcasts {
            self.listening.push(Listening {
                subscription: None,
                channel: self.channel,
                listener: SubscriberState::new(now / 1000),
            });
        }
    }

    fn keep(&mut self, message: &[u8]) {
        if message.len() > QUEUED_LEN_MAX {
            return;
        }
        if self.queued.len() >= QUEUED_MAX {
            self.queued.pop_front();
        }
        self.queued.push_back(message.to_vec());
    }

    pub(crate) fn user(&self) -> u32 {
        self.user
    }

    /// Index in the program's sockets.
    pub(crate) fn socket(&self) -> u32 {
        self.socket
    }

    /// Whether it is open, and its initial messages are sent.
    pub(crate) fn is_ready(&self) -> bool {
        self.is_ready
    }

    /// The channel of its URL.
    pub(crate) fn channel(&self) -> u32 {
        self.channel
    }

    /// The subscribed channels, with the state of each subscription.
    pub(super) fn subscriptions(&self) -> impl Iterator<Item = (u32, &SubscriberState)> {
        let listening = self.listening.iter();
        listening.map(|listening| (listening.channel, &listening.listener))
    }

    /// Whether it waits for nothing.
    pub(super) fn is_at_rest(&self) -> bool {
        self.is_ready && self.expected.is_none()
    }
}

impl WebSocketSessions {
    /// A user's WebSocket opens: its handshake response is read, and its initial messages are sent.
    pub(super) fn opened_owned(
        &mut self,
        session: &mut WebSocketSession,
        context: &mut ReceiveContext<'_>,
    ) {
        let (Some(owned), Some(virtual_users)) = (
            session.owned.as_deref_mut(),
            context.virtual_users.as_deref_mut(),
        ) else {
            return;
        };
        let socket = virtual_users.socket(owned.socket);
        if socket.ready.is_some() {
            owned.expected = Some(Meant::Ready(owned.socket));
        } else {
            owned.become_ready(socket.unsolicited, context.at.now);
        }
        if let Some((opcode, first)) = owned.first.take() {
            self.output.message(session.is_deflated(), opcode, &first);
            context.second.sent(first.len() as u64);
        }
    }

    /// A WebSocket message arrived for a user: in some protocols it holds several, a line each.
    pub(super) fn on_user_messages(
        &mut self,
        session: &mut WebSocketSession,
        bytes: &[u8],
        context: &mut ReceiveContext<'_>,
    ) {
        let socket = session.owned.as_ref().map(|owned| owned.socket);
        let layout = socket
            .zip(context.virtual_users.as_ref())
            .map(|(socket, virtual_users)| virtual_users.socket(socket).layout);
        if layout != Some(Layout::Lines) {
            context.second.received(bytes.len() as u64);
            return self.on_user_message(session, bytes, context);
        }
        let lines = bytes.split(|byte| *byte == b'\n');
        for line in lines.filter(|line| !line.is_empty()) {
            context.second.received(line.len() as u64);
            self.on_user_message(session, line, context);
        }
    }

    /// A message arrived for a user: it needs a reply, it is a broadcast, or it is the awaited message.
    fn on_user_message(
        &mut self,
        session: &mut WebSocketSession,
        bytes: &[u8],
        context: &mut ReceiveContext<'_>,
    ) {
        let is_deflated = session.is_deflated();
        let (Some(owned), Some(virtual_users)) = (
            session.owned.as_deref_mut(),
            context.virtual_users.as_deref_mut(),
        ) else {
            return;
        };
        let socket = virtual_users.socket(owned.socket);
        let (layout, unsolicited) = (socket.layout, socket.unsolicited);
        let mut replies = socket.replies.iter();
        if let Some(reply) = replies.find(|reply| *reply.to == *bytes) {
            return self.output.message(is_deflated, Opcode::Text, &reply.with);
        }
        let now = context.at.now;
        if let Some((place, found)) = self.marked(owned, virtual_users, (layout, bytes), now) {
            let listening = &mut owned.listening[place];
            return self.broadcast(listening.channel, &mut listening.listener, found, context);
        }
        if let Some(wanted) = owned.expected
            && virtual_users.means(owned.user, wanted, layout, bytes, now)
        {
            // A late message is no response to a later request.
            if owned.owed > 0 && virtual_users.means_any(wanted) {
                owned.owed -= 1;
                return;
            }
            owned.expected = None;
            if matches!(wanted, Meant::Ready(_)) {
                owned.become_ready(unsolicited, now);
            }
            context.fed.answer = Some(bytes.to_vec());
            return;
        }
        let is_plain = |listening: &Listening| {
            let subscription = listening.subscription;
            subscription
                .is_none_or(|subscription| !virtual_users.subscription(subscription).is_marked())
        };
        if let Some(place) = owned.listening.iter().position(is_plain) {
            let found = self.finder.find(&Marks::default(), layout, bytes);
            let listening = &mut owned.listening[place];
            self.broadcast(listening.channel, &mut listening.listener, found, context);
        } else if unsolicited == UnsolicitedMessages::Queued && owned.is_ready {
            owned.keep(bytes);
        }
    }

    /// The subscription whose marks a message has, and its values.
    fn marked(
        &mut self,
        owned: &Owned,
        virtual_users: &mut VirtualUsers,
        (layout, bytes): (Layout, &[u8]),
        now: u64,
    ) -> Option<(usize, ParsedMarks)> {
        for (place, listening) in owned.listening.iter().enumerate() {
            let Some(index) = listening.subscription else {
                continue;
            };
            let subscription = virtual_users.subscription(index);
            if !subscription.is_marked() {
                continue;
            }
            let finder = self.finders.get_mut(index as usize)?;
            let found = finder.find(&subscription.marks, layout, bytes);
            if !subscription.marks.is_empty() && !found.is_marked() {
                continue;
            }
            if virtual_users.means(owned.user, Meant::Channel(index), layout, bytes, now) {
                return Some((place, found));
            }
        }
        None
    }

    /// Counts a broadcast received by a subscriber.
    #[inline]
    pub(super) fn broadcast(
        &mut self,
        channel: u32,
        listener: &mut SubscriberState,
        found: ParsedMarks,
        context: &mut ReceiveContext<'_>,
    ) {
        let at = context.at;
        let latency_us = found.timestamp_us.map(|timestamp_us| {
            if timestamp_us > at.unix_us {
                context.second.ahead(timestamp_us - at.unix_us);
            }
            at.unix_us.saturating_sub(timestamp_us)
        });
        self.channel_stats(channel).record(
            listener,
            Receipt {
                id: found.sequence.unwrap_or(found.hash),
                sequence: found.sequence,
                at_us: at.now / 1000,
                latency_us,
            },
        );
    }

    /// The user that owns a connection, if any.
    pub(crate) fn owned(&mut self, id: u32) -> Option<&mut Owned> {
        self.get(id)?.owned.as_deref_mut()
    }

    /// Waits for a message. A stored message is returned, unless only new ones count.
    pub(crate) fn want(
        &mut self,
        id: u32,
        request: u32,
        virtual_users: &mut VirtualUsers,
        (is_asked, now): (bool, u64),
    ) -> Option<Vec<u8>> {
        let owned = self.owned(id)?;
        let meant = Meant::Answer(request);
        let layout = virtual_users.socket(owned.socket).layout;
        if is_asked {
            owned.queued.clear();
        }
        let user = owned.user;
        let is_it = |message: &Vec<u8>| virtual_users.means(user, meant, layout, message, now);
        if let Some(place) = owned.queued.iter().position(is_it) {
            return owned.queued.remove(place);
        }
        owned.expected = Some(meant);
        None
    }

    /// Stops waiting: the awaited message may still arrive.
    pub(crate) fn unwant(&mut self, id: u32) {
        if let Some(owned) = self.owned(id) {
            owned.owed += u32::from(owned.expected.take().is_some());
        }
    }

    /// Subscribes to a channel with the number `channel` and this name.
    pub(crate) fn listen(
        &mut self,
        id: u32,
        (subscription, channel): (u32, u32),
        now: u64,
        second: &mut WebSocketWindowBuilder,
        name: Option<String>,
    ) {
        let place = subscription as usize;
        if place >= self.finders.len() {
            self.finders.resize_with(place + 1, MarkFinder::default);
        }
        self.name_channel(channel, name, second);
        let Some(owned) = self.owned(id) else { return };
        let mut known = owned.listening.iter();
        // A repeated subscription adds no second subscriber.
        if known.any(|listening| {
            listening.channel == channel && listening.subscription == Some(subscription)
        }) {
            return;
        }
        owned.listening.push(Listening {
            subscription: Some(subscription),
            channel,
            listener: SubscriberState::new(now / 1000),
        });
    }

    /// Reports the name of a channel with the second in which this loop first uses it.
    pub(crate) fn name_channel(
        &mut self,
        channel: u32,
        name: Option<String>,
        second: &mut WebSocketWindowBuilder,
    ) {
        if let Some(name) = name
            && self.named.insert(channel)
        {
            second.name_channel(channel, name);
        }
    }

    /// Where a connection goes: index of its path.
    pub(crate) fn path(&mut self, id: u32) -> Option<u32> {
        self.get(id).map(|session| session.path)
    }

    /// Draws the delay before an attempt to reopen a lost one, ns.
    pub(crate) fn pause_before(&mut self, reconnect: &Reconnect, tries: u32) -> u64 {
        let doubled = nanoseconds(reconnect.after).saturating_mul(1 << tries.min(30));
        let mean = doubled.min(nanoseconds(reconnect.up_to)).max(1);
        // Thousands that were lost together must not reconnect together.
        mean / 2 + self.output.random().random_range(0..mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_bounded() {
        let mut owned = Owned::new(0, 0, 0);
        owned.keep(&vec![0; QUEUED_LEN_MAX + 1]);
        for number in 0..20_u8 {
            owned.keep(&[number]);
        }
        assert_eq!(owned.queued.len(), QUEUED_MAX);
        assert_eq!(owned.queued[0], [4]);
    }
}
