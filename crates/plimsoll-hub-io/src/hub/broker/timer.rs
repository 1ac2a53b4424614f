//! The timer: messages held until the end of an interval, and aggregates, go out when they are due.

use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::Duration;

use plimsoll_hub::channels::{Channels, Published};
use plimsoll_net::lock::lock;

use super::Broker;

/// Longest time between two checks for due work, ms.
const POLL_MS: u64 = 1000;

impl Broker {
    /// Schedules an item; notifies the timer if it would wake too late.
    pub(super) fn expect(&self, due_ms: u64) {
        if due_ms < self.due.fetch_min(due_ms, Ordering::Relaxed) {
            self.sooner.notify_one();
        }
    }

    /// Handles due items; returns the time until the next.
    pub(crate) fn do_what_is_due(&self) -> Duration {
        // Items published meanwhile are scheduled from here on.
        self.due.store(u64::MAX, Ordering::Relaxed);
        let now_ms = self.now_ms();
        let due = self
            .shards
            .iter()
            .filter_map(|shard| self.tick(shard, now_ms));
        let due = due.min().unwrap_or(u64::MAX);
        self.due.fetch_min(due, Ordering::Relaxed);
        let wait_ms = due.saturating_sub(self.now_ms()).clamp(1, POLL_MS);
        Duration::from_millis(wait_ms)
    }

    /// Waits this long, or until an item is due sooner.
    pub(crate) async fn wait(&self, time: Duration) {
        tokio::select! {
            () = tokio::time::sleep(time) => {}
            () = self.sooner.notified() => {}
        }
    }

    /// Handles due items of a shard; returns when the next is due, ms.
    fn tick(&self, shard: &Mutex<Channels>, now_ms: u64) -> Option<u64> {
        let mut woken = 0;
        if let Some(offsets) = &self.offsets {
            // Held messages are positioned when sent: readers of other channels are already past their time of
            // publishing.
            while !self.is_behind() && is_due(shard, now_ms) {
                woken |= offsets.next(|place| self.tick_at(&mut lock(shard), now_ms, Some(place)));
            }
        }
        let mut channels = lock(shard);
        while self.offsets.is_none() && !self.is_behind() {
            let Some(published) = channels.tick(now_ms) else {
                break;
            };
            woken |= self.route_published(published);
        }
        let due = channels.next_due();
        drop(channels);
        self.wake(woken);
        due
    }

    /// Handles one due item; returns the loops to wake.
    fn tick_at(&self, channels: &mut Channels, now_ms: u64, place: Option<u64>) -> u64 {
        let published = channels.tick_at(now_ms, place);
        published.map_or(0, |published| self.route_published(published))
    }

    /// Distributes outgoing messages and keeps pending aggregates; returns the loops to wake.
    fn route_published(&self, published: Published) -> u64 {
        match published {
            Published::Gathered(gathered) => {
                lock(&self.gathered).push(*gathered);
                0
            }
            published => self.push_to_inboxes(&published),
        }
    }
}

fn is_due(shard: &Mutex<Channels>, now_ms: u64) -> bool {
    let due = lock(shard).next_due();
    due.is_some_and(|due| due <= now_ms)
}
