//! One channel.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::shared::SharedOrder;
use super::{Since, Subscriber};
use crate::conflation::{Conflation, Mode, Pending};
use crate::history::History;
use crate::message::{Before, HubMessage};
use crate::rate::RateAllowance;
use crate::rules::ChannelRule;

/// One channel. Small, because there may be a million: rarely needed state is in [`Extras`].
#[derive(Debug)]
pub(super) struct Channel {
    pub(super) name: Box<str>,
    pub(super) epoch: u64,
    /// Offset of the newest message; 0 before the first.
    pub(super) offset: u64,
    pub(super) history: Option<Box<History>>,
    pub(super) extras: Option<Box<Extras>>,
    /// Loops with subscribers, a bit for each.
    loops: u64,
    pub(super) subscribers: u32,
    /// Messages sent, and their deliveries.
    pub(super) messages: u64,
    pub(super) deliveries: u64,
    pub(super) rule: u16,
    /// Whether a timer for its end is set.
    pub(super) is_end_expected: bool,
}

/// State that only some channels need.
#[derive(Debug, Default)]
pub(super) struct Extras {
    /// Earliest time of the next message, ms.
    next_ms: u64,
    pending: Option<HeldData>,
    /// A pending aggregation.
    aggregation: Option<Box<PendingAggregation>>,
    /// Aggregations so far.
    aggregations: u64,
    rate: Option<RateAllowance>,
    /// The newest message, if patches are sent.
    newest: Option<Before>,
    /// Users, and the number of subscriptions of each.
    pub(super) present: BTreeMap<Box<str>, u32>,
}

/// Held data, and the offsets in the shared log of its first and last message.
#[derive(Debug)]
struct HeldData {
    data: Pending,
    first: u64,
    last: u64,
}

/// A pending aggregation by the application.
#[derive(Debug)]
struct PendingAggregation {
    /// Identifies it within the channel.
    ticket: u64,
    first: u64,
    last: u64,
    /// Sent if there is no result in time.
    newest: String,
    until_ms: u64,
}

/// The action of a timer.
pub(super) enum DueAction {
    Nothing,
    /// Send this, with its offset in the shared log.
    Send(String, u64),
    /// Have these aggregated, and wait for the result until then.
    Aggregate {
        ticket: u64,
        items: String,
        until_ms: u64,
    },
}

/// Result of conflation.
pub(super) enum Conflated {
    /// Send it now.
    Now,
    /// Held; if nothing was held before, `due` is the time of the timer.
    Held { due: Option<u64> },
    /// Send what was held, with its offset in the shared log, because both together are too long.
    Overflown(String, u64),
    /// The limit is reached.
    Full,
}

impl Channel {
    pub(super) fn new(name: &str, epoch: u64, rule: u16) -> Self {
        Self {
            name: name.into(),
            epoch,
            offset: 0,
            history: None,
            extras: None,
            loops: 0,
            subscribers: 0,
            messages: 0,
            deliveries: 0,
            rule,
            is_end_expected: false,
        }
    }

    pub(super) fn loops(&self) -> u64 {
        self.loops
    }

    pub(super) fn history_bytes(&self) -> usize {
        self.history.as_ref().map_or(0, |history| history.bytes())
    }

    /// Whether data is held.
    pub(super) fn is_holding(&self) -> bool {
        let extras = self.extras.as_ref();
        extras.is_some_and(|extras| extras.pending.is_some() || extras.aggregation.is_some())
    }

    pub(super) fn may_publish(&mut self, now_ms: u64, rule: &ChannelRule) -> bool {
        let Some(rate) = rule.publish_rate else {
            return true;
        };
        let extras = self.extras.get_or_insert_default();
        let allowance = extras
            .rate
            .get_or_insert_with(|| RateAllowance::full(rate, now_ms));
        allowance.take(rate, now_ms)
    }

    pub(super) fn conflate(
        &mut self,
        now_ms: u64,
        conflation: Conflation,
        len_max: usize,
        (data, at): (&str, u64),
    ) -> Conflated {
        let extras = self.extras.get_or_insert_default();
        if matches!(conflation.mode, Mode::Aggregate { .. }) {
            return extras.gather(now_ms, (data, at));
        }
        let Some(pending) = &mut extras.pending else {
            if now_ms >= extras.next_ms {
                extras.next_ms = now_ms.saturating_add(conflation.interval_ms.max(1));
                return Conflated::Now;
            }
            extras.pending = Some(HeldData {
                data: Pending::new(data),
                first: at,
                last: at,
            });
            return Conflated::Held {
                due: Some(extras.next_ms),
            };
        };
        let overflown = pending.data.take_in(conflation.mode, data, len_max);
        let before = std::mem::replace(&mut pending.last, at);
        match overflown {
            Some(overflown) => {
                pending.first = at;
                Conflated::Overflown(overflown.into_text(), before)
            }
            None => Conflated::Held { due: None },
        }
    }

    /// Takes the data whose interval is over, and starts the next interval.
    pub(super) fn take_due(&mut self, now_ms: u64, rule: &ChannelRule) -> DueAction {
        let Some(extras) = &mut self.extras else {
            return DueAction::Nothing;
        };
        if let Some(asked) = extras.aggregation.take_if(|asked| now_ms >= asked.until_ms) {
            let PendingAggregation { newest, last, .. } = *asked;
            return DueAction::Send(newest, last);
        }
        if now_ms < extras.next_ms || extras.aggregation.is_some() {
            return DueAction::Nothing;
        }
        let Some(pending) = extras.pending.take() else {
            return DueAction::Nothing;
        };
        let interval_ms = rule
            .conflation
            .map_or(0, |conflation| conflation.interval_ms.max(1));
        extras.next_ms = now_ms.saturating_add(interval_ms);
        let Some(Mode::Aggregate { patience_ms }) =
            rule.conflation.map(|conflation| conflation.mode)
        else {
            return DueAction::Send(pending.data.into_text(), pending.last);
        };
        extras.begin_aggregation(pending, now_ms.saturating_add(patience_ms.max(1)))
    }

    /// When held data is due, unless an aggregation is pending.
    pub(super) fn pending_due(&self) -> Option<u64> {
        let extras = self.extras.as_ref()?;
        let is_due = extras.pending.is_some() && extras.aggregation.is_none();
        is_due.then_some(extras.next_ms)
    }

    /// Takes the pending aggregation with this ticket, if any: its newest data, and its offset in the shared log.
    pub(super) fn take_aggregation(&mut self, ticket: u64) -> Option<(String, u64)> {
        let extras = self.extras.as_mut()?;
        let asked = extras.aggregation.take_if(|asked| asked.ticket == ticket)?;
        let PendingAggregation { newest, last, .. } = *asked;
        Some((newest, last))
    }

    /// The position up to which a new subscriber is up to date.
    pub(super) fn standing(&self, order: Option<&SharedOrder>) -> u64 {
        let Some(order) = order else {
            return self.offset;
        };
        let extras = self.extras.as_ref();
        let first = extras.and_then(|extras| match (&extras.aggregation, &extras.pending) {
            (Some(asked), _) => Some(asked.first),
            (None, pending) => pending.as_ref().map(|held| held.first),
        });
        match first {
            Some(first) => first.saturating_sub(1),
            None => self.offset.max(order.at),
        }
    }

    /// Drops the past after missed messages: the channel restarts at an offset.
    pub(super) fn begin_anew(&mut self, offset: u64) {
        self.offset = offset;
        self.history = None;
        if let Some(extras) = &mut self.extras {
            extras.pending = None;
            extras.aggregation = None;
            extras.newest = None;
        }
    }

    /// Replaces the newest message, and returns the previous one.
    pub(super) fn replace_newest(&mut self, offset: u64, data: &str) -> Option<Before> {
        let extras = self.extras.get_or_insert_default();
        let data = data.into();
        extras.newest.replace(Before { offset, data })
    }

    pub(super) fn join(&mut self, subscriber: Subscriber<'_>, rule: &ChannelRule) {
        self.subscribers += 1;
        self.loops |= 1 << (subscriber.event_loop % super::LOOPS_MAX);
        if let Some(user) = subscriber.user.filter(|_| rule.has_presence) {
            let extras = self.extras.get_or_insert_default();
            if let Some(count) = extras.present.get_mut(user) {
                *count += 1;
            } else {
                extras.present.insert(user.into(), 1);
            }
        }
    }

    pub(super) fn leave(&mut self, is_last: bool, subscriber: Subscriber<'_>) {
        self.subscribers = self.subscribers.saturating_sub(1);
        if is_last {
            self.loops &= !(1 << (subscriber.event_loop % super::LOOPS_MAX));
        }
        let (Some(user), Some(extras)) = (subscriber.user, &mut self.extras) else {
            return;
        };
        if let Some(count) = extras.present.get_mut(user) {
            *count -= 1;
            if *count == 0 {
                extras.present.remove(user);
            }
        }
    }

    /// What a new subscriber receives, and whether that is everything since its last position.
    pub(super) fn missed(
        &mut self,
        now_ms: u64,
        rule: &ChannelRule,
        since: Since,
        order: Option<&SharedOrder>,
    ) -> (Vec<Arc<HubMessage>>, Option<bool>) {
        let history = self.history.as_mut().map(|history| {
            history.prune(now_ms, &rule.history);
            &**history
        });
        let newest = |count| history.map(|history| history.newest(count));
        let since = match since {
            Since::Now => return (newest(rule.replayed).unwrap_or_default(), None),
            Since::Earliest => return (newest(usize::MAX).unwrap_or_default(), None),
            Since::Unknown => return (Vec::new(), Some(false)),
            Since::After(since) => since,
        };
        let (epoch, newest) = match order {
            // It may have received more from another hub than is known here.
            Some(order) => (order.epoch, order.at.saturating_add(order.ahead_max)),
            None => (self.epoch, self.offset),
        };
        if since.epoch != epoch || since.offset > newest {
            return (Vec::new(), Some(false));
        }
        if since.offset >= self.offset {
            return (Vec::new(), Some(true));
        }
        match history.and_then(|history| history.after(since.offset)) {
            Some(missed) => (missed, Some(true)),
            None => (Vec::new(), Some(false)),
        }
    }
}

impl Extras {
    /// Holds data for aggregation at the end of the interval.
    fn gather(&mut self, now_ms: u64, (data, at): (&str, u64)) -> Conflated {
        if let Some(pending) = &mut self.pending {
            if !pending.data.gather(data) {
                return Conflated::Full;
            }
            pending.last = at;
            return Conflated::Held { due: None };
        }
        self.pending = Some(HeldData {
            data: Pending::new(data),
            first: at,
            last: at,
        });
        // A pending aggregation sets the next timer when it completes.
        let due = self.aggregation.is_none().then(|| now_ms.max(self.next_ms));
        Conflated::Held { due }
    }

    /// Starts an aggregation of held data.
    fn begin_aggregation(&mut self, pending: HeldData, until_ms: u64) -> DueAction {
        self.aggregations += 1;
        let (items, newest) = pending.data.into_all();
        self.aggregation = Some(Box::new(PendingAggregation {
            ticket: self.aggregations,
            first: pending.first,
            last: pending.last,
            newest,
            until_ms,
        }));
        DueAction::Aggregate {
            ticket: self.aggregations,
            items,
            until_ms,
        }
    }
}
