//! Events about active subscriptions: updates of the hub's own, for readers with a token only.

use plimsoll_hub::channels::{HubRefusal, Position};
use plimsoll_hub::subscriptions::{EVENTS, PATH, SubscriptionEvent};

use super::update::Update;
use super::{Broker, Inbox};
use crate::hub::offset_sequence::OffsetSequence;

impl Broker {
    /// Publishes an event about a subscription. Publishers that are too fast do not keep it from those who need it.
    ///
    /// # Errors
    /// When too much is in flight, or the shared stream is unavailable.
    pub(crate) fn announce(&self, event: &SubscriptionEvent) -> Result<(), HubRefusal> {
        let SubscriptionEvent { topic, document } = event;
        if let Some(shared) = &self.shared {
            // It is delivered when it comes back in the stream.
            return shared.post(topic, document).map(drop);
        }
        if self.inboxes.iter().any(Inbox::is_overfull) {
            return Err(HubRefusal::Behind);
        }
        let update = Update {
            now_ms: self.now_ms(),
            names: &[topic],
            data: document,
        };
        if let Some(offsets) = &self.offsets {
            offsets.next(|place| self.spread_event(update, place));
        }
        Ok(())
    }

    /// Puts an event at an offset into the templates that match it, but for those that everybody may read. Nothing is
    /// kept for its own topic: a reader of that has a template, too.
    pub(super) fn spread_event(&self, update: Update<'_>, place: u64) {
        let Update {
            now_ms,
            names,
            data,
        } = update;
        // Kept for readers that come with the id of a list.
        self.want(EVENTS, false);
        for topic in names {
            for name in &self.templates.of_private(topic) {
                // A template that cannot have it counts it as missed.
                let _ = self.put(name, |channels| {
                    channels.take_copy(now_ms, name, data, place)
                });
            }
        }
    }

    /// Whether an update of the shared stream is an event.
    pub(super) fn is_event(names: &[&str]) -> bool {
        let rest = names.first().and_then(|name| name.strip_prefix(PATH));
        rest.is_some_and(|rest| rest.starts_with('/'))
    }

    /// The position of the last update, of whatever channel.
    pub(crate) fn last_position(&self) -> Option<Position> {
        let shared = self.shared.as_ref().map(|shared| shared.position());
        let own = || {
            let offset = self.offsets.as_ref().map(OffsetSequence::at)?;
            let epoch = self.first_epoch;
            Some(Position { epoch, offset })
        };
        shared.or_else(own)
    }
}
