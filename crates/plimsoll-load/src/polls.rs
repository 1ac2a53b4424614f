//! Messages that users of one loop fetch by polling, counted by channel as broadcasts are.
//!
//! A user listens from its first request to its last answer. What was published before it came has no time.

use std::collections::{BTreeMap, HashSet};

use plimsoll_model::broadcast::{ChannelObserver, Receipt, SubscriberState};
use plimsoll_model::journey::Layout;

use crate::finder::{MarkFinder, Marks};
use crate::prepared_load::PreparedLoad;
use crate::recorder::WebSocketWindowBuilder;

/// A user who polls.
#[derive(Debug)]
pub(crate) struct UserPoll {
    /// Index in the program's polls.
    index: u32,
    /// The number of its channel, once it has an answer.
    channel: Option<u32>,
    /// What it has received, once it has an answer.
    listener: Option<SubscriberState>,
    /// When its first request was due, µs since 1970.
    open_unix_us: u64,
    /// When its last answer arrived, ns of run time.
    answered_ns: u64,
}

impl UserPoll {
    /// One that has no answer yet, of this index in the program's polls.
    pub(crate) fn new(index: u32) -> Self {
        Self {
            index,
            channel: None,
            listener: None,
            open_unix_us: 0,
            answered_ns: 0,
        }
    }

    /// Index in the program's polls.
    pub(crate) fn index(&self) -> u32 {
        self.index
    }

    /// Whether the channel is known.
    pub(crate) fn has_channel(&self) -> bool {
        self.channel.is_some()
    }

    /// The number of its channel.
    pub(crate) fn set_channel(&mut self, channel: u32) {
        self.channel = Some(channel);
    }
}

/// When an answer arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PollMoment {
    /// When its request was due, ns of run time.
    pub(crate) due: u64,
    /// When it arrived, ns of run time.
    pub(crate) now: u64,
    /// The same, µs since 1970.
    pub(crate) unix_us: u64,
}

impl PollMoment {
    /// When its request was due, µs since 1970.
    fn due_unix_us(self) -> u64 {
        let took_us = self.now.saturating_sub(self.due) / 1000;
        self.unix_us.saturating_sub(took_us)
    }
}

/// The messages that users of a loop fetch.
#[derive(Debug)]
pub(crate) struct Polls {
    channels: BTreeMap<u32, ChannelObserver>,
    /// By poll.
    finders: Vec<MarkFinder>,
    /// Channels whose name was reported.
    named: HashSet<u32>,
    /// Whether nobody else receives messages of these channels.
    is_alone: bool,
}

impl Polls {
    /// `None` for a load in which nobody polls.
    pub(crate) fn new(prepared: &PreparedLoad) -> Option<Box<Self>> {
        let is_alone = prepared.plan().cores == 1 && !prepared.has_sockets();
        prepared
            .has_polls()
            .then(|| Box::new(Self::empty(is_alone)))
    }

    fn empty(is_alone: bool) -> Self {
        Self {
            channels: BTreeMap::new(),
            finders: Vec::new(),
            named: HashSet::new(),
            is_alone,
        }
    }

    /// Reports the name of a channel with the second in which this loop first uses it.
    pub(crate) fn name_channel(
        &mut self,
        channel: u32,
        name: String,
        second: &mut WebSocketWindowBuilder,
    ) {
        if self.named.insert(channel) {
            second.name_channel(channel, name);
        }
    }

    /// An answer to a user arrived, with these messages.
    pub(crate) fn receive(
        &mut self,
        poll: &mut UserPoll,
        (marks, messages): (&Marks, &[Vec<u8>]),
        at: PollMoment,
        second: &mut WebSocketWindowBuilder,
    ) {
        let Some(channel) = poll.channel else {
            return;
        };
        let place = poll.index as usize;
        if place >= self.finders.len() {
            self.finders.resize_with(place + 1, MarkFinder::default);
        }
        let finder = &mut self.finders[place];
        let is_alone = self.is_alone;
        let observer = self.channels.entry(channel);
        let observer = observer.or_insert_with(|| ChannelObserver::new(is_alone));
        if poll.listener.is_none() {
            poll.open_unix_us = at.due_unix_us();
        }
        let listener = &mut poll.listener;
        let listener = listener.get_or_insert_with(|| SubscriberState::new(at.due / 1000));
        poll.answered_ns = at.now;
        for message in messages {
            second.received(message.len() as u64);
            let found = finder.find(marks, Layout::Plain, message);
            if !marks.is_empty() && !found.is_marked() {
                continue;
            }
            let is_timed = |timestamp_us: &u64| *timestamp_us >= poll.open_unix_us;
            let timestamp_us = found.timestamp_us.filter(is_timed);
            if let Some(timestamp_us) = timestamp_us
                && timestamp_us > at.unix_us
            {
                second.ahead(timestamp_us - at.unix_us);
            }
            let receipt = Receipt {
                id: found.sequence.unwrap_or(found.hash),
                sequence: found.sequence,
                at_us: at.now / 1000,
                latency_us: timestamp_us.map(|from_us| at.unix_us.saturating_sub(from_us)),
            };
            observer.record(listener, receipt);
        }
    }

    /// A user ceases to poll.
    pub(crate) fn close(&mut self, poll: &mut UserPoll) {
        if let (Some(channel), Some(listener)) = (poll.channel, poll.listener.take())
            && let Some(observer) = self.channels.get_mut(&channel)
        {
            observer.close(&listener, poll.answered_ns / 1000);
        }
    }

    /// Hands over what was received.
    pub(crate) fn flush(&mut self, second: &mut WebSocketWindowBuilder) {
        for (&channel, observer) in &mut self.channels {
            second.add_channel(channel, &observer.take_window());
        }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::broadcast::BroadcastReach;

    use super::*;
    use crate::clock::SECOND_NS;

    fn message(seq: u64, at_s: u64) -> Vec<u8> {
        format!(r#"{{"seq":{seq},"at":{}}}"#, 1_700_000_000 + at_s).into_bytes()
    }

    /// Two users poll every three seconds, a second apart; the second misses a message.
    #[test]
    fn what_a_poller_missed_is_not_reached_and_its_backlog_has_no_time() {
        let marks = Marks::of(Some("$.at"), Some("$.seq")).unwrap();
        let mut polls = Polls::empty(true);
        let mut second = WebSocketWindowBuilder::default();
        let mut users = [UserPoll::new(0), UserPoll::new(0)];
        for round in 0..4 {
            for (number, user) in (0_u64..).zip(&mut users) {
                user.set_channel(5);
                let s = 10 + number + 3 * round;
                // One message a second, in the answer that follows.
                let messages: Vec<Vec<u8>> = (s - 3..s)
                    .filter(|seq| (number, *seq) != (1, 15))
                    .map(|seq| message(seq, seq))
                    .collect();
                let at = PollMoment {
                    due: s * SECOND_NS,
                    now: s * SECOND_NS,
                    unix_us: (1_700_000_000 + s) * 1_000_000,
                };
                polls.receive(user, (&marks, &messages), at, &mut second);
            }
        }
        for user in &mut users {
            polls.close(user);
        }
        polls.flush(&mut second);
        let window = second.close_for_test();
        assert_eq!((window.messages_in, window.ahead), (23, 0));
        let channel = &window.channels[&5];
        // The first answer of each is a backlog of three.
        assert_eq!(channel.latency.count(), 23 - 6);
        assert!(channel.latency.max().unwrap() < 3_010_000);
        assert_eq!((channel.duplicates, channel.gaps), (0, 1));
        let mut reach = BroadcastReach::default();
        reach.add(channel);
        let reached = reach.result();
        assert_eq!(reached.expected - reached.received, 1, "{reached:?}");
    }
}
