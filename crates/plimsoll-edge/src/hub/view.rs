//! Snapshot of the hub: plain data for metrics and overview.

use std::sync::atomic::Ordering;

use plimsoll_hub::channels::ChannelStats;
use plimsoll_net::lock::lock;
use plimsoll_net::loop_metrics::{LoopMetrics, TimesSum};

use super::{ActiveHub, hooks};

/// Number of channels that are listed individually.
const LARGEST: usize = 10;

/// The hub at one moment. Counts are since the start.
#[derive(Clone, Debug, Default)]
pub(crate) struct HubView {
    /// WebSocket, Server-Sent Events and Mercure clients connected.
    pub(crate) sockets: u64,
    pub(crate) events: u64,
    pub(crate) mercure: u64,
    pub(crate) channels: u64,
    /// Bytes of all histories.
    pub(crate) history_bytes: u64,
    /// Accepted publications.
    pub(crate) published: u64,
    /// Publications held until the end of an interval.
    pub(crate) held: u64,
    /// Messages sent.
    pub(crate) messages: u64,
    /// Messages delivered to clients.
    pub(crate) delivered: u64,
    /// Messages dropped because clients were too slow.
    pub(crate) dropped: u64,
    /// Clients disconnected because they were too slow.
    pub(crate) disconnected: u64,
    /// Subscriptions that recovered all missed messages, and those that could not.
    pub(crate) recovered: u64,
    pub(crate) unrecovered: u64,
    /// Time from sending a message until an event loop has written it to its clients.
    pub(crate) lag: TimesSum,
    /// Hook requests by hook and outcome, and how many are pending.
    pub(crate) hooks: Option<(hooks::HookCountRows, u64)>,
    /// The stream shared with other edges.
    pub(crate) shared: Option<SharedView>,
    /// Message sources.
    pub(crate) sources: Vec<SourceView>,
    /// The channels with most subscribers.
    pub(crate) largest: Vec<ChannelStats>,
}

/// A message source.
#[derive(Clone, Debug, Default)]
pub(crate) struct SourceView {
    pub(crate) name: String,
    pub(crate) is_there: bool,
    /// Messages published, and messages rejected.
    pub(crate) messages: u64,
    pub(crate) refused: u64,
    /// Connection losses.
    pub(crate) losses: u64,
}

/// The shared stream.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SharedView {
    /// Whether its Redis or NATS is connected.
    pub(crate) is_joined: bool,
    /// Messages of this edge that received an offset, and those that were rejected.
    pub(crate) posted: u64,
    pub(crate) refused: u64,
    /// Messages read, of all edges.
    pub(crate) read: u64,
    /// How often messages were missed.
    pub(crate) lost: u64,
}

impl ActiveHub {
    /// Collects the snapshot over these loops.
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
