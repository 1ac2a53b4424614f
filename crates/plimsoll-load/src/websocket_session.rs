//! WebSockets of one loop: their state, their schedule, and received messages.
//!
//! Nothing here touches a socket: the loop passes in received bytes, and writes the prepared output.

mod output;
mod owned;
mod receive;
mod rest;
mod schedule;
mod session;
mod stream;

use std::collections::{BTreeMap, HashMap, HashSet};

use plimsoll_model::broadcast::{ChannelObserver, SubscriberState};
use plimsoll_wire::websocket::deflate::Inflater;
use plimsoll_wire::websocket::{Opcode, WebSocketLimits, closing};

use self::output::Output;
pub(crate) use self::owned::Owned;
pub(crate) use self::receive::{Fed, Moment, ReceiveContext, SessionEnd};
pub(crate) use self::rest::REST_NS;
use self::rest::Rest;
use self::schedule::MessageSchedule;
pub(crate) use self::schedule::{Lost, WebSocketTimer};
pub(crate) use self::session::Sent;
use self::session::WebSocketSession;
use crate::agenda::{self, Agenda};
use crate::finder::MarkFinder;
use crate::handshake::{AFTER_KEY, KEY};
use crate::prepared_load::PreparedLoad;
use crate::recorder::WebSocketWindowBuilder;
use crate::scenario::program::Program;

/// Label of the random numbers of handshakes and masks among the seeds derived from a trial's.
const MASKS_LABEL: u64 = 0x6d61_736b;

/// The WebSockets of a loop.
pub(crate) struct WebSocketSessions {
    /// By connection.
    rows: Vec<Option<WebSocketSession>>,
    channel_stats: BTreeMap<u32, ChannelObserver>,
    is_alone: bool,
    finder: MarkFinder,
    /// The same for each subscription of users.
    finders: Vec<MarkFinder>,
    /// Channels whose name was reported.
    named: HashSet<u32>,
    /// Reconnects of a load from flags, by request.
    returning: HashMap<u32, Lost>,
    schedule: MessageSchedule,
    limits: WebSocketLimits,
    /// Compression state, created with the first use.
    inflater: Option<Box<Inflater>>,
    inflated: Vec<u8>,
    /// WebSockets opened so far, over all loops if each opens as many.
    opened: u64,
    loops: u64,
    /// Whether open WebSockets are being closed.
    is_over: bool,
    /// Why the handshake failed that is counted next.
    cause: Option<String>,
    output: Output,
    /// Whether messages may accumulate.
    rest: Rest,
}

impl WebSocketSessions {
    /// For loop `index`; `None` for another kind of load.
    pub(crate) fn new(prepared: &PreparedLoad, index: u32) -> Option<Box<Self>> {
        if !prepared.has_sockets() {
            return None;
        }
        let connections = match prepared.agenda() {
            Some(_) => prepared.connections_of(index),
            None => 0,
        };
        let seed = prepared.seed().derive(MASKS_LABEL).derive(u64::from(index));
        let mut schedule = MessageSchedule::default();
        let disconnects = prepared.program().map(Program::disconnects);
        for (at_ns, socket, place) in disconnects.into_iter().flatten() {
            let timer = WebSocketTimer::Disconnect(socket, place);
            schedule.push_timer(prepared.start_ns().saturating_add(at_ns), timer);
        }
        Some(Box::new(Self {
            rows: Vec::with_capacity(connections),
            channel_stats: BTreeMap::new(),
            is_alone: prepared.plan().cores == 1 && !prepared.has_polls(),
            finder: MarkFinder::default(),
            finders: Vec::new(),
            named: HashSet::new(),
            returning: HashMap::new(),
            schedule,
            limits: agenda::limits(prepared.plan()),
            inflater: None,
            inflated: Vec::new(),
            opened: u64::from(index),
            loops: u64::from(prepared.plan().cores),
            is_over: false,
            cause: None,
            output: Output::new(seed.generator()),
            rest: Rest::default(),
        }))
    }

    /// The broadcasts that a loop received on a channel.
    #[inline]
    fn channel_stats(&mut self, channel: u32) -> &mut ChannelObserver {
        let is_alone = self.is_alone;
        let entry = self.channel_stats.entry(channel);
        entry.or_insert_with(|| ChannelObserver::new(is_alone))
    }

    fn get(&mut self, id: u32) -> Option<&mut WebSocketSession> {
        self.rows.get_mut(id as usize)?.as_mut()
    }

    /// Prepares a handshake on a connection: the template with a fresh key.
    pub(crate) fn begin_handshake(&mut self, id: u32, path: u32, template: &[u8]) {
        let end = template.len().saturating_sub(AFTER_KEY);
        let at = end.saturating_sub(KEY.len());
        self.begin_handshake_with(id, path, (template, Some(at)), None);
    }

    /// The same for a user: `template` has the key at an offset; without one it requests an event stream.
    pub(crate) fn begin_handshake_with(
        &mut self,
        id: u32,
        path: u32,
        (template, at): (&[u8], Option<usize>),
        owned: Option<Box<Owned>>,
    ) {
        let key = self.output.handshake(template, at);
        let index = id as usize;
        if index >= self.rows.len() {
            self.rows.resize_with(index + 1, || None);
        }
        self.rows[index] = Some(WebSocketSession::new(path, key, at.is_none(), owned));
    }

    /// Prepares a user's message.
    pub(crate) fn queue_message(&mut self, id: u32, opcode: Opcode, payload: &[u8]) {
        let is_deflated = self.get(id).is_some_and(|session| session.is_deflated());
        self.output.message(is_deflated, opcode, payload);
    }

    /// A WebSocket is open: returns when its first message is due, if it sends several.
    pub(crate) fn opened(&mut self, agenda: &Agenda, (id, generation): (u32, u32), now: u64) {
        let number = self.opened;
        self.opened += self.loops;
        if let Some(first) = agenda.first_message(number, now) {
            self.schedule.push_message((first, id, generation));
        }
    }

    /// Prepares the message. Returns its length.
    pub(crate) fn queue_agenda_message(&mut self, agenda: &Agenda, id: u32) -> u64 {
        self.queue_message(id, Opcode::Text, agenda.text());
        agenda.text().len() as u64
    }

    /// When the next message or timer is due.
    #[inline]
    pub(crate) fn next_due(&self) -> u64 {
        let schedule = &self.schedule;
        schedule.next_message().min(schedule.next_timer())
    }

    /// The next message, if it is due by `release`: when, and on which connection of which generation.
    pub(crate) fn pop_due(&mut self, release: u64) -> Option<(u64, u32, u32)> {
        self.schedule.pop_message(release)
    }

    /// Schedules the next message on this connection.
    pub(crate) fn again(&mut self, agenda: &Agenda, (due, id, generation): (u64, u32, u32)) {
        let next = agenda.next_message(due);
        self.schedule.push_message((next, id, generation));
    }

    /// Whether messages can be sent on this connection: it is open, and the target reads.
    pub(crate) fn may_send(&mut self, id: u32) -> Option<bool> {
        let session = self.get(id).filter(|session| session.is_open())?;
        Some(session.unsent.is_empty())
    }

    /// Whether a user's message can be sent on this connection: it is open, and the target reads.
    pub(crate) fn takes(&mut self, id: u32) -> bool {
        self.get(id).is_some_and(|session| session.takes_messages())
    }

    /// A message was sent, and its response is pending.
    pub(crate) fn await_answer(&mut self, agenda: &Agenda, id: u32, sent: Sent) {
        if let Some(session) = self.get(id) {
            session.awaited = sent.due;
            session.sent = sent.at;
        }
        if let Some(expiry) = agenda.expiry_of(sent.due) {
            self.schedule.push_expiry(expiry, id, sent.due);
        }
    }

    /// The next deadline of a response.
    #[inline]
    pub(crate) fn next_expiry(&self) -> u64 {
        self.schedule.next_expiry()
    }

    /// A connection whose response has timed out.
    pub(crate) fn pop_expired(&mut self, now: u64) -> Option<u32> {
        while let Some((id, due)) = self.schedule.pop_expiry(now) {
            if self.get(id).is_some_and(|session| session.awaited == due) {
                return Some(id);
            }
        }
        None
    }

    /// Stops waiting for a response; returns the pending message, if any. The response may still arrive.
    pub(crate) fn give_up_answer(&mut self, id: u32) -> Option<Sent> {
        let session = self.get(id)?;
        let sent = session.take_awaited()?;
        session.owed += 1;
        Some(sent)
    }

    /// Whether the connection has nothing pending, so that it can be closed.
    pub(crate) fn is_at_rest(&mut self, id: u32) -> bool {
        self.get(id).is_some_and(|session| session.is_at_rest())
    }

    /// Connections with an open WebSocket.
    pub(crate) fn all_open(&self) -> Vec<u32> {
        let sessions = (0_u32..).zip(&self.rows);
        sessions
            .filter(|(_, session)| session.as_ref().is_some_and(WebSocketSession::is_open))
            .map(|(id, _)| id)
            .collect()
    }

    /// Prepares a close frame with a code, unless one was sent.
    pub(crate) fn bid_farewell(&mut self, id: u32, code: u16) {
        let session = self.get(id);
        if session.is_some_and(|session| session.closing.send() && session.stream.is_none()) {
            let payload = closing::payload(Some(code), "");
            self.output.frame(Opcode::Close, &payload);
        }
    }

    /// A subscriber unsubscribes.
    pub(crate) fn leave(&mut self, id: u32, now: u64) {
        let Some(session) = self.rows.get_mut(id as usize).and_then(Option::as_mut) else {
            return;
        };
        let is_alone = self.is_alone;
        let channel_stats = &mut self.channel_stats;
        let mut leave = |channel: u32, listener: &SubscriberState| {
            let stats = channel_stats
                .entry(channel)
                .or_insert_with(|| ChannelObserver::new(is_alone));
            stats.close(listener, now / 1000);
        };
        match &session.owned {
            None => leave(session.path, &session.listener),
            Some(owned) => {
                for (channel, listener) in owned.subscriptions() {
                    leave(channel, listener);
                }
            }
        }
    }

    /// Drops the state of a connection.
    pub(crate) fn forget(&mut self, id: u32) {
        if let Some(session) = self.rows.get_mut(id as usize) {
            *session = None;
        }
    }

    /// Hands over the received broadcasts.
    pub(crate) fn flush(&mut self, second: &mut WebSocketWindowBuilder) {
        for (&path, stats) in &mut self.channel_stats {
            second.add_channel(path, &stats.take_window());
        }
    }

    /// Drops prepared output.
    pub(crate) fn clear_output(&mut self) {
        self.output.clear();
    }

    /// Prepared output.
    #[inline]
    pub(crate) fn output(&self) -> &[u8] {
        self.output.bytes()
    }

    /// So many bytes of the output were written to a connection: the rest is queued.
    pub(crate) fn output_written(&mut self, id: u32, written: usize) {
        let session = self.rows.get_mut(id as usize).and_then(Option::as_mut);
        if let Some(session) = session {
            let rest = self.output.bytes().get(written..);
            session.unsent.extend_from_slice(rest.unwrap_or_default());
        }
        self.output.clear();
    }

    /// Pending bytes.
    pub(crate) fn unsent(&mut self, id: u32) -> Option<&mut Vec<u8>> {
        self.get(id).map(|session| &mut session.unsent)
    }

    /// Whether open WebSockets are being closed, because the load is over.
    pub(crate) fn are_over(&self) -> bool {
        self.is_over
    }

    /// The load is over. Returns whether that is new.
    pub(crate) fn end(&mut self) -> bool {
        !std::mem::replace(&mut self.is_over, true)
    }

    /// Why the handshake failed that is counted next.
    pub(crate) fn set_cause(&mut self, cause: String) {
        self.cause = Some(cause);
    }

    pub(crate) fn take_cause(&mut self) -> Option<String> {
        self.cause.take()
    }

    /// This request reopens a lost WebSocket of a load from flags.
    pub(crate) fn begin_return(&mut self, request: u32, lost: Lost) {
        self.returning.insert(request, lost);
    }

    /// Whether this request reopens a lost WebSocket of a load from flags.
    pub(crate) fn is_return(&self, request: u32) -> bool {
        self.returning.contains_key(&request)
    }

    /// A request has ended; returns what it was to reopen, if anything.
    #[inline]
    pub(crate) fn end_return(&mut self, request: u32) -> Option<Lost> {
        if self.returning.is_empty() {
            return None;
        }
        self.returning.remove(&request)
    }

    /// Schedules work.
    pub(crate) fn remind(&mut self, at: u64, timer: WebSocketTimer) {
        self.schedule.push_timer(at, timer);
    }

    /// The next work that is due by now.
    pub(crate) fn pop_timer(&mut self, now: u64) -> Option<(u64, WebSocketTimer)> {
        self.schedule.pop_timer(now)
    }

    /// A batch of events was handled; see [`Rest::note`].
    pub(crate) fn note_batch(&mut self, count: usize, is_more: bool, now: u64) {
        self.rest.note(count, is_more, now);
    }

    /// Whether to let messages accumulate now.
    #[inline]
    pub(crate) fn take_rest(&mut self) -> bool {
        self.rest.take()
    }
}

/// The code of a connection that ended without a close frame (RFC 6455, 7.4.1).
pub(crate) const ABNORMAL: u16 = 1006;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connections::TargetConnection;

    #[test]
    fn one_that_waits_is_small() {
        let size = size_of::<Option<WebSocketSession>>() + size_of::<TargetConnection>();
        assert!(size <= 512, "{size} bytes for a connection that waits");
    }
}
