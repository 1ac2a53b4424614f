//! The channels of the hub with most subscribers. They cost a walk over all channels, so they are looked at rarely, and only
//! while somebody watches.

use plimsoll_hub_io::hub::ChannelStats;
use plimsoll_net::clock::Nanoseconds;
use serde_json::{Value, json};

/// The largest channels at a moment, with their rates since the moment before.
#[derive(Debug, Default)]
pub(super) struct LargestChannels {
    at: Nanoseconds,
    stats: Vec<ChannelStats>,
    rows: Value,
}

impl LargestChannels {
    pub(super) fn observe(&mut self, at: Nanoseconds, stats: Vec<ChannelStats>) {
        let seconds = at.saturating_sub(self.at) as f64 / 1e9;
        let rows = stats.iter().map(|channel| {
            let before = self.stats.iter().find(|before| before.name == channel.name);
            let rate = |count: fn(&ChannelStats) -> u64| {
                let before = before.filter(|_| seconds > 0.0)?;
                Some(count(channel).saturating_sub(count(before)) as f64 / seconds)
            };
            json!({
                "channel": channel.name, "subscribers": channel.subscribers, "history_bytes": channel.history_bytes,
                "messages": rate(|stats| stats.messages), "deliveries": rate(|stats| stats.deliveries),
            })
        });
        self.rows = rows.collect();
        self.at = at;
        self.stats = stats;
    }

    pub(super) fn rows(&self) -> &Value {
        &self.rows
    }
}
