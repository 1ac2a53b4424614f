//! Updates of several channels: one offset, a copy in each channel and in each template that matches one of them.

use std::sync::atomic::Ordering;

use plimsoll_hub::channels::{Channels, HubRefusal, Published};
use plimsoll_hub::command_handler::Offer;
use plimsoll_net::lock::lock;

use super::{Begun, Broker, OffsetSequence};

/// Most channels of one update.
pub(crate) const UPDATE_CHANNELS_MAX: usize = 10;
/// Separates the channels of an update in the shared stream; a name has no control characters.
const SEPARATOR: &str = "\n";

/// A rejected update: the index of the channel, and why.
pub(crate) type UpdateRejection = (usize, HubRefusal);

/// The time, the channels, and the data of an update.
#[derive(Clone, Copy)]
pub(super) struct Update<'a> {
    pub(super) now_ms: u64,
    pub(super) names: &'a [&'a str],
    /// JSON.
    pub(super) data: &'a str,
}

impl Broker {
    /// Publishes JSON to several channels as one update, or requests its offset where edges share one stream. Either
    /// all channels get it or none, except those that hold messages for an aggregation and can hold no more.
    ///
    /// # Errors
    /// When a channel rejects it.
    pub(crate) fn begin_update(
        &self,
        names: &[&str],
        data: &str,
    ) -> Result<Begun, UpdateRejection> {
        let now_ms = self.now_ms();
        let examine = |channels: &mut Channels, name: &str| channels.examine(now_ms, name, data);
        if let Some(shared) = &self.shared {
            self.check_each(names, examine)?;
            let posted = shared.post(&names.join(SEPARATOR), data);
            return posted.map(Begun::Pending).map_err(|refusal| (0, refusal));
        }
        let update = Update {
            now_ms,
            names,
            data,
        };
        let published = match &self.offsets {
            Some(offsets) => self.publish_next(offsets, update, examine),
            None => self.publish_apart(update),
        };
        published.map(Begun::Done)
    }

    /// Publishes JSON to a channel of an edge that assigns the offsets itself.
    ///
    /// # Errors
    /// When it is not published.
    pub(crate) fn publish(&self, name: &str, data: &str) -> Result<Published, HubRefusal> {
        let now_ms = self.now_ms();
        let Some(offsets) = &self.offsets else {
            return self.publish_with(name, |channels| channels.publish(now_ms, name, data));
        };
        let update = Update {
            now_ms,
            names: &[name],
            data,
        };
        let examine = |channels: &mut Channels, name: &str| channels.examine(now_ms, name, data);
        let published = self.publish_next(offsets, update, examine);
        published.map_err(|(_, refusal)| refusal)
    }

    /// Publishes on behalf of a client.
    pub(super) fn publish_offer(&self, offer: &Offer<'_>) -> Result<Published, HubRefusal> {
        let Some(offsets) = &self.offsets else {
            return self.publish_with(offer.channel, |channels| offer.publish(channels));
        };
        let update = Update {
            now_ms: offer.now_ms,
            names: &[offer.channel],
            data: offer.data,
        };
        let examine = |channels: &mut Channels, _: &str| offer.examine(channels);
        let published = self.publish_next(offsets, update, examine);
        published.map_err(|(_, refusal)| refusal)
    }

    /// Publishes an update at the next offset, if all its channels pass a check.
    fn publish_next(
        &self,
        offsets: &OffsetSequence,
        update: Update<'_>,
        check: impl Fn(&mut Channels, &str) -> Result<(), HubRefusal>,
    ) -> Result<Published, UpdateRejection> {
        offsets.next(|place| {
            if self.is_behind() {
                return Err((0, HubRefusal::Behind));
            }
            self.check_each(update.names, check)?;
            self.spread(update, place)
        })
    }

    /// Every channel has offsets of its own: an update is a message for each.
    fn publish_apart(&self, update: Update<'_>) -> Result<Published, UpdateRejection> {
        let Update {
            now_ms,
            names,
            data,
        } = update;
        let mut outcome = Published::Unheard;
        for (index, name) in names.iter().enumerate() {
            let published =
                self.publish_with(name, |channels| channels.publish(now_ms, name, data));
            outcome = better(outcome, published.map_err(|refusal| (index, refusal))?);
        }
        Ok(outcome)
    }

    /// Checks all channels before any of them gets the update.
    fn check_each(
        &self,
        names: &[&str],
        check: impl Fn(&mut Channels, &str) -> Result<(), HubRefusal>,
    ) -> Result<(), UpdateRejection> {
        for (index, name) in names.iter().enumerate() {
            let mut channels = lock(self.shard(name));
            let checked = check(&mut channels, name);
            let reserved = checked.and_then(|()| {
                if names.len() > 1 {
                    channels.reserve(name)
                } else {
                    Ok(())
                }
            });
            reserved.map_err(|refusal| (index, refusal))?;
        }
        Ok(())
    }

    /// Puts an update at an offset into its channels, and into the templates that match one of them. Its copies follow
    /// one another in every inbox, so a loop needs to remember only the last one that it gave to a client.
    ///
    /// # Errors
    /// When a channel rejects it. If it is not the first, the others have it.
    pub(super) fn spread(
        &self,
        update: Update<'_>,
        place: u64,
    ) -> Result<Published, UpdateRejection> {
        let Update {
            now_ms,
            names,
            data,
        } = update;
        if self.is_behind() {
            return Err((0, HubRefusal::Behind));
        }
        let templates = self.templates.of(names);
        let has_copies = names.len() + templates.len() > 1;
        let take = |channels: &mut Channels, name: &str| {
            if has_copies {
                channels.take_copy(now_ms, name, data, place)
            } else {
                channels.take(now_ms, name, data, place)
            }
        };
        let (mut outcome, mut rejection) = (Published::Unheard, None);
        for (index, name) in names.iter().enumerate() {
            match self.put(name, |channels| take(channels, name)) {
                Ok(published) => {
                    self.count_held(&published);
                    outcome = better(outcome, published);
                }
                Err(refusal) if index == 0 => return Err((0, refusal)),
                // It cannot be tried again: the others have it.
                Err(HubRefusal::Behind) => rejection = Some((index, HubRefusal::TooManyHeld)),
                Err(refusal) => rejection = Some((index, refusal)),
            }
        }
        for name in &templates {
            // A template that cannot have it counts it as missed.
            let _ = self.put(name, |channels| take(channels, name));
        }
        self.counts.published.fetch_add(1, Ordering::Relaxed);
        rejection.map_or(Ok(outcome), Err)
    }

    /// Uses the shard of a name, whose message is in the inboxes before the shard is unlocked.
    pub(super) fn put(
        &self,
        name: &str,
        act: impl FnOnce(&mut Channels) -> Result<Published, HubRefusal>,
    ) -> Result<Published, HubRefusal> {
        let mut shard = lock(self.shard(name));
        let published = act(&mut shard)?;
        let woken = self.push_to_inboxes(&published);
        let due = shard.next_due();
        drop(shard);
        self.wake(woken);
        if matches!(published, Published::Held) {
            self.expect(due.unwrap_or(u64::MAX));
        }
        Ok(published)
    }

    fn count_held(&self, published: &Published) {
        if matches!(published, Published::Held) {
            self.counts.held.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Publishes to the channel of a name.
    ///
    /// # Errors
    /// When it is not published, or too much is in flight.
    fn publish_with(
        &self,
        name: &str,
        act: impl FnOnce(&mut Channels) -> Result<Published, HubRefusal>,
    ) -> Result<Published, HubRefusal> {
        if self.is_behind() {
            return Err(HubRefusal::Behind);
        }
        let published = self.put(name, act)?;
        self.count_held(&published);
        self.counts.published.fetch_add(1, Ordering::Relaxed);
        Ok(published)
    }

    /// Applies an update that was read from the shared stream.
    ///
    /// # Errors
    /// When a channel rejects it; with [`HubRefusal::Behind`] no channel has it.
    pub(crate) fn take(
        &self,
        now_ms: u64,
        channels: &str,
        data: &str,
        place: u64,
    ) -> Result<(), HubRefusal> {
        let names: Vec<&str> = channels
            .split(SEPARATOR)
            .take(UPDATE_CHANNELS_MAX)
            .collect();
        let update = Update {
            now_ms,
            names: &names,
            data,
        };
        let taken = self.at_one_moment(|| {
            if !Self::is_event(&names) {
                return self.spread(update, place).map(drop);
            }
            if self.is_behind() {
                return Err((0, HubRefusal::Behind));
            }
            self.spread_event(update, place);
            Ok(())
        });
        taken.map_err(|(_, refusal)| refusal)
    }
}

/// The outcome that says most: a message that was sent has a position.
fn better(outcome: Published, other: Published) -> Published {
    match (&outcome, &other) {
        (Published::Sent(..), _) | (_, Published::Unheard) => outcome,
        _ => other,
    }
}
