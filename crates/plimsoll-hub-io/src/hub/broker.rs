//! All channels, shared by all loops: shards under short locks, an inbox for each loop, and the timer.

mod announcement;
mod loop_shards;
mod template;
mod timer;
mod update;

use std::cmp::Reverse;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use plimsoll_config::edge;
use plimsoll_hub::channels::{
    ChannelLimits, ChannelStats, Channels, Gathered, HubRefusal, Made, Position, Published,
};
use plimsoll_net::clock::{self, EdgeClock};
use plimsoll_net::lock::lock;
use tokio::sync::{Notify, oneshot};

use super::active::ActiveList;
use super::inbox::Inbox;
use super::offset_sequence::OffsetSequence;
use super::redis::CATCHING_UP;
use super::shared::SharedHub;
use super::sources::SourceState;
use super::templates::Templates;
use super::{rules, size};
use crate::access::connection_quota::ConnectionQuota;
use crate::access::hooks;

pub(crate) use self::loop_shards::FromLoop;
pub(crate) use self::update::UPDATE_CHANNELS_MAX;

/// Shards: more than there are threads that publish concurrently.
const SHARDS: u32 = 16;
/// Time of the start, ms, so that entries older than this edge have a time too.
const START_MS: u64 = 30 * 24 * 3600 * 1000;

/// All channels.
#[derive(Debug)]
pub(crate) struct Broker {
    clock: EdgeClock,
    shards: Box<[Mutex<Channels>]>,
    /// Selects the shard of a name.
    spread: RandomState,
    first_epoch: u64,
    inboxes: Box<[Inbox]>,
    /// When the next item known to the timer is due, ms.
    due: AtomicU64,
    /// Notified when an item is due sooner.
    sooner: Notify,
    /// Pending aggregates: at most one per channel.
    gathered: Mutex<Vec<Gathered>>,
    /// Stream shared with other edges.
    pub(super) shared: Option<Arc<SharedHub>>,
    /// Offsets of all messages, where this edge assigns them itself.
    offsets: Option<OffsetSequence>,
    /// Held while a shared message is applied.
    moment: Mutex<()>,
    templates: Templates,
    /// Active subscriptions of Mercure readers.
    pub(super) active: ActiveList,
    /// Message sources.
    pub(super) sources: Mutex<Vec<Arc<SourceState>>>,
    pub(crate) counts: BrokerCounts,
    /// Outcomes of hook requests.
    pub(crate) hook_counts: Arc<hooks::HookCounts>,
    /// Connections by user and token.
    pub(crate) quota: Arc<ConnectionQuota>,
}

/// Totals over all loops.
#[derive(Debug, Default)]
pub(crate) struct BrokerCounts {
    /// Accepted publications.
    pub(crate) published: AtomicU64,
    /// Sent messages.
    pub(crate) messages: AtomicU64,
    /// Publications held until the end of an interval.
    pub(crate) held: AtomicU64,
}

impl Broker {
    pub(crate) fn new(config: &edge::HubConfig, loops: usize, clock: EdgeClock) -> Self {
        let spread = RandomState::new();
        // `RandomState` is randomly keyed, so the seed is unpredictable.
        let seed = (spread.hash_one("first"), spread.hash_one("second"));
        // Below 2^53 for centuries, and above all epochs of former runs that made fewer than a thousand each millisecond.
        let first_epoch = clock::unix_ms() * 1000;
        let shards = (0..SHARDS).map(|index| {
            let shard = (index, SHARDS);
            let channels = Channels::new(rules(config), limits(config), seed, first_epoch, shard);
            Mutex::new(channels)
        });
        let broker = Self {
            clock,
            shards: shards.collect(),
            spread,
            first_epoch,
            inboxes: (0..loops).map(|_| Inbox::default()).collect(),
            due: AtomicU64::new(u64::MAX),
            sooner: Notify::new(),
            gathered: Mutex::default(),
            shared: config
                .shared
                .clone()
                .map(|shared| Arc::new(SharedHub::new(shared))),
            offsets: (config.mercure && config.shared.is_none()).then(OffsetSequence::default),
            moment: Mutex::default(),
            templates: Templates::default(),
            active: ActiveList::default(),
            sources: Mutex::default(),
            counts: BrokerCounts::default(),
            hook_counts: Arc::default(),
            quota: Arc::default(),
        };
        if broker.offsets.is_some() {
            broker.begin_anew(Position {
                epoch: first_epoch,
                offset: 0,
            });
        }
        broker
    }

    /// An epoch that no other run of an edge has, unless both started in the same millisecond.
    pub(crate) fn life(&self) -> u64 {
        self.first_epoch
    }

    /// Applies other rules to all channels.
    pub(crate) fn follow(&self, config: &edge::HubConfig) {
        for shard in &self.shards {
            lock(shard).follow(rules(config), limits(config));
        }
    }

    pub(crate) fn inbox(&self, number: usize) -> &Inbox {
        &self.inboxes[number]
    }

    pub(crate) fn now_ms(&self) -> u64 {
        START_MS + self.clock.now() / 1_000_000
    }

    /// Channels and bytes of histories.
    pub(crate) fn held(&self) -> (usize, usize) {
        self.shards.iter().fold((0, 0), |(count, bytes), shard| {
            let shard = lock(shard);
            (count + shard.len(), bytes + shard.history_bytes())
        })
    }

    /// The channels with most subscribers, at most `count`.
    pub(crate) fn largest(&self, count: usize) -> Vec<ChannelStats> {
        let shards = self.shards.iter();
        let mut all: Vec<ChannelStats> = shards
            .flat_map(|shard| lock(shard).largest(count))
            .collect();
        all.sort_by(|channel, other| {
            let order_key = (Reverse(channel.subscribers), &channel.name);
            order_key.cmp(&(Reverse(other.subscribers), &other.name))
        });
        all.truncate(count);
        all
    }

    fn shard(&self, name: &str) -> &Mutex<Channels> {
        let index = self.spread.hash_one(name) % u64::from(SHARDS);
        &self.shards[usize::try_from(index).unwrap_or_default()]
    }

    fn is_behind(&self) -> bool {
        self.inboxes.iter().any(Inbox::is_full)
    }

    /// Publishes JSON to a channel, or requests its offset where edges share one stream.
    ///
    /// # Errors
    /// When it is not published.
    pub(crate) fn begin_publishing(&self, name: &str, data: &str) -> Result<Begun, HubRefusal> {
        let begun = self.begin_update(&[name], data);
        begun.map_err(|(_, refusal)| refusal)
    }

    /// Runs an action while no offset is assigned and no shared message is applied: all channels are then at the same
    /// offset. Channels with offsets of their own need no such moment.
    pub(super) fn at_one_moment<T>(&self, act: impl FnOnce() -> T) -> T {
        let shared = || self.shared.as_ref().map(|_| lock(&self.moment));
        let moment = match &self.offsets {
            Some(offsets) => Some(offsets.hold()),
            None => shared(),
        };
        let done = act();
        drop(moment);
        done
    }

    /// Continues at another offset of the shared stream, or in another stream.
    pub(crate) fn begin_anew(&self, position: Position) {
        // Clients of other edges know at most as much more as the stream stores.
        let shared = self.shared.as_ref();
        let ahead_max = shared.map_or(0, |shared| shared.messages_max());
        for shard in &self.shards {
            lock(shard).begin_anew(position, ahead_max);
        }
    }

    /// Notifies all clients that have not yet been notified that messages were missed.
    pub(crate) async fn report_losses(&self) {
        for shard in &self.shards {
            while self.report_next_loss(shard) {
                while self.is_behind() {
                    tokio::time::sleep(CATCHING_UP).await;
                }
            }
        }
    }

    /// Notifies the clients of one more channel that messages were missed; whether there may be others.
    fn report_next_loss(&self, shard: &Mutex<Channels>) -> bool {
        let mut channels = lock(shard);
        let notice = channels.next_notice();
        let woken = notice.as_ref().map(|notice| self.push_to_inboxes(notice));
        drop(channels);
        self.wake(woken.unwrap_or_default());
        woken.is_some()
    }

    /// Offset up to which all messages of a shard have been applied, where offsets are shared.
    fn read_up_to(&self) -> Option<u64> {
        let shared = self.shared.as_ref().map(|shared| shared.at());
        shared.or_else(|| self.offsets.as_ref().map(OffsetSequence::at))
    }

    /// Puts outgoing messages into the inboxes of the subscribed loops; returns the loops to wake, one bit each.
    fn push_to_inboxes(&self, published: &Published) -> u64 {
        let Published::Sent(message, loops) = published else {
            return 0;
        };
        self.counts.messages.fetch_add(1, Ordering::Relaxed);
        let at = self.clock.now();
        let mut woken = 0;
        for (number, inbox) in self.inboxes.iter().enumerate() {
            let bit = 1 << number;
            if loops & bit != 0 && inbox.push(at, message) {
                woken |= bit;
            }
        }
        woken
    }

    fn wake(&self, loops: u64) {
        for (number, inbox) in self.inboxes.iter().enumerate() {
            if loops & 1 << number != 0 {
                inbox.ready.notify_one();
            }
        }
    }

    /// Takes the pending aggregates.
    pub(crate) fn take_gathered(&self) -> Vec<Gathered> {
        std::mem::take(&mut *lock(&self.gathered))
    }

    /// Sends the aggregate of gathered data.
    pub(crate) fn release(&self, gathered: &Gathered, made: Made<'_>) {
        let shard = self.shard(&gathered.name);
        let release = |place| {
            let mut channels = lock(shard);
            let released = channels.release(self.now_ms(), gathered, made, place);
            released.map_or(0, |published| self.push_to_inboxes(&published))
        };
        // As with held messages: the offset is that of sending.
        let woken = match &self.offsets {
            Some(offsets) => offsets.next(|place| release(Some(place))),
            None => release(None),
        };
        let due = lock(shard).next_due();
        self.wake(woken);
        self.expect(due.unwrap_or(u64::MAX));
    }
}

/// Outcome of a publication.
#[derive(Debug)]
pub(crate) enum Begun {
    Done(Published),
    Pending(oneshot::Receiver<Result<Position, HubRefusal>>),
}

/// The shard's contribution.
fn limits(config: &edge::HubConfig) -> ChannelLimits {
    ChannelLimits {
        channels_max: config.channels_max.div_ceil(SHARDS) as usize,
        history_bytes_max: size(config.history_bytes_max.div_ceil(u64::from(SHARDS))),
    }
}
