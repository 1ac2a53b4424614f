//! What there is to see of the hub. Plain data for whoever shows it.

use std::sync::atomic::Ordering;

use plimsoll_hub::channels::ChannelStats;

use super::{ActiveHub, hooks};
use crate::lock::lock;
use crate::loop_metrics::{LoopMetrics, TimesSum};

/// Channels that are told of one by one.
const LARGEST: usize = 10;

/// The hub at one moment. Counts are since the start.
#[derive(Clone, Debug, Default)]
pub(crate) struct HubView {
    /// WebSockets, readers of Server-Sent Events, and of Mercure, now.
    pub(crate) sockets: u64,
    pub(crate) events: u64,
    pub(crate) mercure: u64,
    pub(crate) channels: u64,
    /// Bytes of all histories.
    pub(crate) history_bytes: u64,
    /// Publications that were taken.
    pub(crate) published: u64,
    /// Publications that were held until an interval was over.
    pub(crate) held: u64,
    /// Messages that went out.
    pub(crate) messages: u64,
    /// Messages given to clients.
    pub(crate) delivered: u64,
    /// Messages that clients did not get, for they were slow.
    pub(crate) dropped: u64,
    /// Clients disconnected, for they were slow.
    pub(crate) disconnected: u64,
    /// Subscriptions that got all that they had missed, and those that could not.
    pub(crate) recovered: u64,
    pub(crate) unrecovered: u64,
    /// From when a message goes out until a loop has written it to its clients.
    pub(crate) lag: TimesSum,
    /// Questions to an application by hook and answer, and how many wait for theirs now.
    pub(crate) hooks: Option<(hooks::HookCountRows, u64)>,
    /// What it shares with other edges.
    pub(crate) shared: Option<SharedView>,
    /// What it listens to.
    pub(crate) sources: Vec<SourceView>,
    /// The channels with most subscribers.
    pub(crate) largest: Vec<ChannelStats>,
}

/// A program whose messages go to the hub.
#[derive(Clone, Debug, Default)]
pub(crate) struct SourceView {
    pub(crate) name: String,
    pub(crate) is_there: bool,
    /// Messages that were published, and those that were not.
    pub(crate) messages: u64,
    pub(crate) refused: u64,
    /// How often it was gone.
    pub(crate) losses: u64,
}

/// What a hub shares with those of other edges.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SharedView {
    /// Whether the Redis or NATS is there that it shares.
    pub(crate) is_joined: bool,
    /// Messages that were given their place for this edge, and those that were refused.
    pub(crate) posted: u64,
    pub(crate) refused: u64,
    /// Messages read, of all edges.
    pub(crate) read: u64,
    /// How often messages were missed.
    pub(crate) lost: u64,
}

impl ActiveHub {
    /// What there is to see of it, in these loops.
    pub(crate) fn view(&self, loops: &[std::sync::Arc<LoopMetrics>]) -> HubView {
        let (channels, history_bytes) = self.broker.held();
        let counts = &self.broker.counts;
        let mut view = HubView {
            channels: channels as u64,
            history_bytes: history_bytes as u64,
            published: counts.published.load(Ordering::Relaxed),
            largest: self.broker.largest(LARGEST),
            held: counts.held.load(Ordering::Relaxed),
            messages: counts.messages.load(Ordering::Relaxed),
            ..HubView::default()
        };
        let hooks = self.hooks.as_ref();
        view.hooks =
            hooks.map(|hooks| (self.broker.hook_counts.snapshot(), hooks.waiting() as u64));
        view.shared = self.broker.shared.as_ref().map(|shared| SharedView {
            is_joined: shared.is_joined(),
            posted: shared.counts.posted.load(Ordering::Relaxed),
            refused: shared.counts.refused.load(Ordering::Relaxed),
            read: shared.counts.read.load(Ordering::Relaxed),
            lost: shared.counts.lost.load(Ordering::Relaxed),
        });
        let sources = lock(&self.broker.sources);
        view.sources = sources.iter().map(|source| source.view()).collect();
        drop(sources);
        for figures in loops {
            view.sockets += figures.hub_sockets.get();
            view.events += figures.hub_events.get();
            view.mercure += figures.hub_mercure.get();
            view.delivered += figures.hub_delivered.get();
            view.dropped += figures.hub_dropped.get();
            view.disconnected += figures.hub_disconnected.get();
            view.recovered += figures.hub_recovered.get();
            view.unrecovered += figures.hub_unrecovered.get();
            figures.hub_lag.add_to(&mut view.lag);
        }
        view
    }
}
