//! Presence, and statistics of channels.

use super::channel::Channel;
use super::{ChannelRef, Channels};

/// The subscribers of a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presence {
    /// Their number.
    pub subscribers: u32,
    /// Users in order, with the number of subscriptions of each, where presence is on; anonymous subscribers are not
    /// included.
    pub users: Option<Vec<(String, u32)>>,
    /// Whether the list of users is complete.
    pub is_whole: bool,
}

/// Statistics of a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelStats {
    /// Its name.
    pub name: String,
    /// Number of subscribers.
    pub subscribers: u32,
    /// Messages since it was created.
    pub messages: u64,
    /// Deliveries, by the number of subscribers when each message was sent.
    pub deliveries: u64,
    /// Bytes of its history.
    pub history_bytes: usize,
}

impl Channel {
    pub(super) fn stats(&self) -> ChannelStats {
        ChannelStats {
            name: self.name.to_string(),
            subscribers: self.subscribers,
            messages: self.messages,
            deliveries: self.deliveries,
            history_bytes: self.history_bytes(),
        }
    }
}

impl Channels {
    /// Users in order, with the number of subscriptions of each, where presence is on.
    pub fn present(&self, channel: ChannelRef) -> impl Iterator<Item = (&str, u32)> {
        let extras = self
            .get(channel)
            .and_then(|channel| channel.extras.as_ref());
        extras
            .into_iter()
            .flat_map(|extras| extras.present.iter().map(|(user, &count)| (&**user, count)))
    }

    /// The subscribers of a channel, with at most `users_max` users; none if it does not exist.
    pub fn presence(&self, name: &str, users_max: usize) -> Presence {
        let rule = self.rules.of(name);
        let channel = self.find(name);
        let users = channel
            .into_iter()
            .flat_map(|channel| self.present(channel));
        let mut users: Vec<(String, u32)> = users
            .take(users_max.saturating_add(1))
            .map(|(user, count)| (user.to_owned(), count))
            .collect();
        let is_whole = users.len() <= users_max;
        users.truncate(users_max);
        Presence {
            subscribers: channel.map_or(0, |channel| self.subscribers(channel)),
            users: rule.has_presence.then_some(users),
            is_whole,
        }
    }

    /// The `count` channels with the most subscribers, in descending order.
    pub fn largest(&self, count: usize) -> Vec<ChannelStats> {
        let mut all: Vec<(u32, usize)> = self
            .slots
            .iter()
            .map(|(slot, channel)| (channel.subscribers, slot))
            .collect();
        let count = count.min(all.len());
        if count > 0 && count < all.len() {
            all.select_nth_unstable_by(count - 1, |entry, other| other.cmp(entry));
        }
        all.truncate(count);
        all.sort_unstable_by(|entry, other| other.cmp(entry));
        let stats = all.into_iter().map(|(_, slot)| self.slots[slot].stats());
        stats.collect()
    }
}
