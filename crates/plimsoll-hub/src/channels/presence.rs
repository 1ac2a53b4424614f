//! Who is there.

use super::channel::Channel;
use super::{ChannelRef, Channels};

/// Who subscribes to a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presence {
    /// How many.
    pub subscribers: u32,
    /// Users and how often each, in order, where that is kept; subscribers without a name are none of them.
    pub users: Option<Vec<(String, u32)>>,
    /// Whether those are all users.
    pub is_whole: bool,
}

/// What there is to see of a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelStats {
    /// Its name.
    pub name: String,
    /// How many subscribe to it.
    pub subscribers: u32,
    /// Messages since it began.
    pub messages: u64,
    /// Deliveries of them, counted by who subscribed when each went out.
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
    /// Who is there, where that is kept: users and how often, in order.
    pub fn present(&self, channel: ChannelRef) -> impl Iterator<Item = (&str, u32)> {
        let extras = self
            .get(channel)
            .and_then(|channel| channel.extras.as_ref());
        extras
            .into_iter()
            .flat_map(|extras| extras.present.iter().map(|(user, &count)| (&**user, count)))
    }

    /// Who subscribes to a channel of this name, of whom at most so many users are told; nobody to one that does not live.
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

    /// The channels with most subscribers, at most so many, those first that have more; with how many, and the offset of
    /// the newest message.
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
