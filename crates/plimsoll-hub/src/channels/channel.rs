//! One channel.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::shared::SharedOrder;
use super::{Position, Subscriber};
use crate::conflation::{Conflation, Mode, Pending};
use crate::history::History;
use crate::message::{Before, HubMessage};
use crate::rate::RateAllowance;
use crate::rules::ChannelRule;

/// One channel. Small, for there may be a million: what few of them need stands apart.
#[derive(Debug)]
pub(super) struct Channel {
    pub(super) name: Box<str>,
    pub(super) epoch: u64,
    /// Of the newest message; 0 before the first.
    pub(super) offset: u64,
    pub(super) history: Option<Box<History>>,
    pub(super) extras: Option<Box<Extras>>,
    /// Loops that have subscribers, a bit for each.
    loops: u64,
    pub(super) subscribers: u32,
    /// Messages that went out, and to how many subscribers they did.
    pub(super) messages: u64,
    pub(super) deliveries: u64,
    pub(super) rule: u16,
    /// Whether it stands among what is due, to be ended.
    pub(super) is_end_expected: bool,
}

/// What only some channels need.
#[derive(Debug, Default)]
pub(super) struct Extras {
    /// When the next message may go out, ms.
    next_ms: u64,
    pending: Option<HeldData>,
    /// What somebody else makes one of.
    aggregation: Option<Box<PendingAggregation>>,
    /// How often somebody was asked.
    aggregations: u64,
    rate: Option<RateAllowance>,
    /// The newest message, where what changes is sent.
    newest: Option<Before>,
    /// Users and how often each is there.
    pub(super) present: BTreeMap<Box<str>, u32>,
}

/// Data that waits, and the places in the order of the first and the last that it was made of.
#[derive(Debug)]
struct HeldData {
    data: Pending,
    first: u64,
    last: u64,
}

/// What somebody else was asked to make one message of.
#[derive(Debug)]
struct PendingAggregation {
    /// What tells it from others of the channel.
    ticket: u64,
    first: u64,
    last: u64,
    /// What goes out if there is no answer by then.
    newest: String,
    until_ms: u64,
}

/// What is due.
pub(super) enum DueAction {
    Nothing,
    /// This goes out, with its place in the order.
    Send(String, u64),
    /// Somebody is to make one of these, and is waited for until then.
    Aggregate {
        ticket: u64,
        items: String,
        until_ms: u64,
    },
}

/// What becomes of data under conflation.
pub(super) enum Conflated {
    /// It goes out.
    Now,
    /// It waits, and with it nothing else did before if `due` is said.
    Held { due: Option<u64> },
    /// What waited goes out, for the two would be too long together, and its place in the order.
    Overflown(String, u64),
    /// There is no room.
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

    /// Whether data waits.
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

    /// What waited long enough, with which the next interval begins.
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

    /// When what waits is due, if nothing else is waited for.
    pub(super) fn pending_due(&self) -> Option<u64> {
        let extras = self.extras.as_ref()?;
        let is_due = extras.pending.is_some() && extras.aggregation.is_none();
        is_due.then_some(extras.next_ms)
    }

    /// What was made of data with this ticket, if it is still waited for: the newest of that data, and its place in
    /// the order.
    pub(super) fn take_aggregation(&mut self, ticket: u64) -> Option<(String, u64)> {
        let extras = self.extras.as_mut()?;
        let asked = extras.aggregation.take_if(|asked| asked.ticket == ticket)?;
        let PendingAggregation { newest, last, .. } = *asked;
        Some((newest, last))
    }

    /// Up to where a new subscriber knows everything that it is not given.
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

    /// Forgets all that was, for a part of it was missed: it begins anew at an offset.
    pub(super) fn begin_anew(&mut self, offset: u64) {
        self.offset = offset;
        self.history = None;
        if let Some(extras) = &mut self.extras {
            extras.pending = None;
            extras.aggregation = None;
            extras.newest = None;
        }
    }

    /// The message before one that is about to be sent.
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

    /// What a new subscriber is given, and whether it then knows everything since it was there last.
    pub(super) fn missed(
        &mut self,
        now_ms: u64,
        rule: &ChannelRule,
        since: Option<Position>,
        order: Option<&SharedOrder>,
    ) -> (Vec<Arc<HubMessage>>, Option<bool>) {
        let history = self.history.as_mut().map(|history| {
            history.prune(now_ms, &rule.history);
            &**history
        });
        let Some(since) = since else {
            let replayed = history.map(|history| history.newest(rule.replayed));
            return (replayed.unwrap_or_default(), None);
        };
        let (epoch, newest) = match order {
            // Another hub may have told it of more than is known here.
            Some(order) => (order.epoch, super::shared::OFFSET_MAX),
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
    /// Lets data wait for its interval, with all that comes meanwhile.
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
        // What is waited for says when it is there.
        let due = self.aggregation.is_none().then(|| now_ms.max(self.next_ms));
        Conflated::Held { due }
    }

    /// Somebody is asked to make one of what waited.
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
