//! One loop's subscribers, and what they receive.

use std::collections::{HashMap, VecDeque};

use super::{BroadcastWindow, Doubt, MARGIN_US, Sighting, Stay};

/// Messages that an ear remembers. One that arrives after that many others counts as new.
const MESSAGES_MAX: usize = 1 << 16;

/// How many messages back from the newest a listener records whether it has received them. One from further back
/// counts as already received: what is unknown does not improve the result.
const WINDOW: u64 = 128;

/// How much earlier another loop may have received a message first, µs.
const SKEW_US_MAX: u64 = 10_000_000;

/// A message that a subscriber got.
#[derive(Clone, Copy, Debug)]
pub struct Receipt {
    /// Identifies a message of the channel: the sequence number, else a hash of the content.
    pub id: u64,
    /// Its sequence number, if it has one.
    pub sequence: Option<u64>,
    /// When it arrived, µs of run time.
    pub at_us: u64,
    /// Since its publisher's stamp, µs.
    pub latency_us: Option<u64>,
}

/// One subscriber.
#[derive(Debug)]
pub struct SubscriberState {
    open_us: u64,
    /// The newest message that it has, in the order of the ear, and a bit for each of the last [`WINDOW`].
    newest: u64,
    has: u128,
    /// What it received within the last [`MARGIN_US`], and when.
    recent: VecDeque<(u64, u64)>,
    sequence: Option<Sequence>,
}

/// Which sequence numbers have arrived.
#[derive(Clone, Copy, Debug)]
struct Sequence {
    lowest: u64,
    highest: u64,
    count: u64,
}

impl SubscriberState {
    /// Listens from now on.
    pub fn new(open_us: u64) -> Self {
        Self {
            open_us,
            newest: 0,
            has: 0,
            recent: VecDeque::new(),
            sequence: None,
        }
    }

    /// Notes a message by its number in the order of the ear; whether it is new to this listener.
    fn note(&mut self, number: u64) -> bool {
        if self.has == 0 || number >= self.newest + WINDOW {
            self.has = 1;
        } else if number > self.newest {
            self.has = self.has << (number - self.newest) | 1;
        } else {
            let back = self.newest - number;
            let is_new = back < WINDOW && self.has >> back & 1 == 0;
            if is_new {
                self.has |= 1 << back;
            }
            return is_new;
        }
        self.newest = number;
        true
    }
}

/// What one loop receives on one channel.
#[derive(Debug)]
pub struct ChannelObserver {
    /// Whether no other loop or worker subscribes to the channel.
    is_alone: bool,
    numbers: HashMap<u64, u64>,
    /// Remembered messages in the order of their first receipt.
    messages: VecDeque<ObservedMessage>,
    /// The number of the first of them.
    first_number: u64,
    /// Numbers of messages received in this second.
    touched: Vec<u64>,
    window: BroadcastWindow,
}

#[derive(Clone, Copy, Debug)]
struct ObservedMessage {
    id: u64,
    first_us: u64,
    received: u64,
    is_touched: bool,
}

impl ChannelObserver {
    /// Has received nothing yet.
    pub fn new(is_alone: bool) -> Self {
        Self {
            is_alone,
            numbers: HashMap::new(),
            messages: VecDeque::new(),
            // Numbers begin at 1: a listener that has nothing is at 0.
            first_number: 1,
            touched: Vec::new(),
            window: BroadcastWindow::default(),
        }
    }

    /// A subscriber got a message.
    pub fn record(&mut self, listener: &mut SubscriberState, receipt: Receipt) {
        let number = self.number(receipt);
        if !listener.note(number) {
            self.window.duplicates += 1;
            return;
        }
        if let Some(sequence) = receipt.sequence {
            self.window.reordered += u64::from(listener.is_behind(sequence));
        }
        if let Some(latency_us) = receipt.latency_us {
            self.window.latency.record(latency_us, 1);
        }
        while let Some((_, at_us)) = listener.recent.front()
            && at_us + MARGIN_US <= receipt.at_us
        {
            listener.recent.pop_front();
        }
        // No loop received it before it was published: what arrives within the margin was first received within it,
        // or before.
        let from_us = listener.open_us + MARGIN_US;
        let index =
            usize::try_from(number - self.first_number).expect("the memory of an ear is small");
        let message = &mut self.messages[index];
        if message.first_us < from_us {
            return;
        }
        message.received += 1;
        listener.recent.push_back((receipt.id, receipt.at_us));
        if !self.is_alone && message.first_us < from_us + SKEW_US_MAX {
            self.window.doubts.push(Doubt {
                id: receipt.id,
                open_us: listener.open_us,
                close_us: None,
            });
        }
    }

    /// The number of a message in the order in which this ear first received them.
    fn number(&mut self, receipt: Receipt) -> u64 {
        let next = self.first_number + self.messages.len() as u64;
        let number = *self.numbers.entry(receipt.id).or_insert(next);
        if number == next {
            self.messages.push_back(ObservedMessage {
                id: receipt.id,
                first_us: receipt.at_us,
                received: 0,
                is_touched: false,
            });
        }
        let index =
            usize::try_from(number - self.first_number).expect("the memory of an ear is small");
        let message = &mut self.messages[index];
        if !message.is_touched {
            message.is_touched = true;
            self.touched.push(number);
        }
        number
    }

    /// A subscriber ceases to listen.
    pub fn close(&mut self, listener: &SubscriberState, at_us: u64) {
        self.window.stays.push(Stay {
            open_us: listener.open_us,
            close_us: at_us,
            received_any: listener.has != 0,
        });
        if let Some(sequence) = listener.sequence {
            self.window.gaps += sequence.highest - sequence.lowest + 1 - sequence.count;
        }
        let late = listener
            .recent
            .iter()
            .filter(|(_, received_us)| received_us + MARGIN_US > at_us);
        self.window.doubts.extend(late.map(|&(id, _)| Doubt {
            id,
            open_us: listener.open_us,
            close_us: Some(at_us),
        }));
    }

    /// What was received since the last call.
    pub fn take_window(&mut self) -> BroadcastWindow {
        let mut window = std::mem::take(&mut self.window);
        for number in self.touched.drain(..) {
            let index =
                usize::try_from(number - self.first_number).expect("the memory of an ear is small");
            let message = &mut self.messages[index];
            window.sightings.push(Sighting {
                id: message.id,
                first_us: message.first_us,
                received: std::mem::take(&mut message.received),
            });
            message.is_touched = false;
        }
        while self.messages.len() > MESSAGES_MAX
            && let Some(oldest) = self.messages.pop_front()
        {
            self.numbers.remove(&oldest.id);
            self.first_number += 1;
        }
        window
    }
}

impl SubscriberState {
    /// Records a sequence number; whether a higher one arrived before.
    fn is_behind(&mut self, number: u64) -> bool {
        let Some(sequence) = &mut self.sequence else {
            self.sequence = Some(Sequence {
                lowest: number,
                highest: number,
                count: 1,
            });
            return false;
        };
        let is_behind = number < sequence.highest;
        sequence.lowest = sequence.lowest.min(number);
        sequence.highest = sequence.highest.max(number);
        sequence.count += 1;
        is_behind
    }
}
