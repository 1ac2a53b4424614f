//! Snapshot of the hub: plain data for metrics and overview.

use std::sync::atomic::Ordering;

use plimsoll_hub::channels::ChannelStats;
use plimsoll_net::lock::lock;
use plimsoll_net::loop_metrics::{LoopMetrics, TimesSum};

use super::ActiveHub;
use crate::access::hooks;

/// Number of channels that are listed individually.
const LARGEST: usize = 10;

/// The hub at one moment. Counts are since the start.
#[derive(Clone, Debug, Default)]
pub struct HubView {
    /// WebSocket, Server-Sent Events and Mercure clients connected.
    pub sockets: u64,
    /// See `sockets`.
    pub events: u64,
    /// See `sockets`.
    pub mercure: u64,
    /// Channels in use.
    pub channels: u64,
    /// Bytes of all histories.
    pub history_bytes: u64,
    /// Accepted publications.
    pub published: u64,
    /// Publications held until the end of an interval.
    pub held: u64,
    /// Messages sent.
    pub messages: u64,
    /// Messages delivered to clients.
    pub delivered: u64,
    /// Messages dropped because clients were too slow.
    pub dropped: u64,
    /// Clients disconnected because they were too slow.
    pub disconnected: u64,
    /// Subscriptions that recovered all missed messages, and those that could not.
    pub recovered: u64,
    /// See `recovered`.
    pub unrecovered: u64,
    /// Time from sending a message until an event loop has written it to its clients.
    pub lag: TimesSum,
    /// Hook requests by hook and outcome, and how many are pending.
    pub hooks: Option<(hooks::HookCountRows, u64)>,
    /// The stream shared with other edges.
    pub shared: Option<SharedView>,
    /// Message sources.
    pub sources: Vec<SourceView>,
    /// Active subscriptions of Mercure readers that are listed, the bytes that they take, and events about them that
    /// were not published.
    pub active: (u64, u64, u64),
    /// The channels with most subscribers.
    pub largest: Vec<ChannelStats>,
}

/// A message source.
#[derive(Clone, Debug, Default)]
pub struct SourceView {
    /// Its name in the configuration.
    pub name: String,
    /// Whether it is connected.
    pub is_there: bool,
    /// Messages published, and messages rejected.
    pub messages: u64,
    /// See `messages`.
    pub refused: u64,
    /// Connection losses.
    pub losses: u64,
}

/// The shared stream.
#[derive(Clone, Copy, Debug, Default)]
pub struct SharedView {
    /// Whether its Redis or NATS is connected.
    pub is_joined: bool,
    /// Messages of this edge that received an offset, and those that were rejected.
    pub posted: u64,
    /// See `posted`.
    pub refused: u64,
    /// Messages read, of all edges.
    pub read: u64,
    /// How often messages were missed.
    pub lost: u64,
}

impl ActiveHub {
    /// Collects the snapshot over these loops.
    pub fn view(&self, loops: &[std::sync::Arc<LoopMetrics>]) -> HubView {
        HubView {
            largest: self.largest(),
            ..self.totals(loops)
        }
    }

    /// The channels with most subscribers.
    pub fn largest(&self) -> Vec<ChannelStats> {
        self.broker.largest(LARGEST)
    }

    /// The same without the largest channels, which takes a walk over all channels.
    pub fn totals(&self, loops: &[std::sync::Arc<LoopMetrics>]) -> HubView {
        let (channels, history_bytes) = self.broker.held();
        let counts = &self.broker.counts;
        let mut view = HubView {
            channels: channels as u64,
            history_bytes: history_bytes as u64,
            published: counts.published.load(Ordering::Relaxed),
            active: self.broker.active.figures(),
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
