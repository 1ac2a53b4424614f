//! What became of WebSockets: were they opened, did they stay, and did everybody who listened get every message?

use std::collections::BTreeMap;

use plimsoll_model::broadcast::{BroadcastWindow, Reach, Reached};
use plimsoll_model::histogram::Histogram;
use plimsoll_model::plan::Plan;
use plimsoll_model::run::Run;
use plimsoll_model::trial::Percentiles;
use plimsoll_model::websocket::WebSocketWindow;

use super::{Span, percentiles};

/// The WebSockets of a run. Times are of the judged seconds, all else is of the whole run: whether a message reached
/// everybody is not known before the last has ceased to listen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WebSocketSummary {
    /// Handshakes that opened one.
    pub connected: u64,
    /// Handshakes that did not, by cause.
    pub failures: BTreeMap<String, u64>,
    /// Open ones that the target ended, by close code.
    pub close_codes: BTreeMap<u16, u64>,
    /// Open ones that were given up, by what the target did wrong.
    pub faults: BTreeMap<String, u64>,
    /// From being due until a handshake was answered, µs.
    pub handshake_us: Option<Percentiles>,
    /// From a message's being due to its answer, µs.
    pub request_us: Option<Percentiles>,
    /// From a broadcast's stamp to its receipt, µs.
    pub broadcast_us: Option<Percentiles>,
    /// The same, as it was counted.
    pub broadcast_latency: Histogram,
    /// Lost ones that were opened again.
    pub reconnected: u64,
    /// Tries to do so that failed.
    pub reconnects_failed: u64,
    /// From being lost until one was ready again, µs; over the whole run.
    pub reconnect_us: Option<Percentiles>,
    /// Messages that were to be sent and were not.
    pub unsent: u64,
    /// Messages that were answered.
    pub answered: u64,
    /// Messages that were not.
    pub unanswered: u64,
    /// Messages that came.
    pub messages_in: u64,
    /// Messages that were sent.
    pub messages_out: u64,
    /// Bytes of content that came.
    pub bytes_in: u64,
    /// Bytes of content that were sent.
    pub bytes_out: u64,
    /// Broadcasts that came before they were published, by their stamp.
    pub ahead: u64,
    /// The most by which one was, µs.
    pub ahead_us_max: u64,
    /// Broadcasts of all channels.
    pub broadcasts: BroadcastSummary,
    /// The same by channel.
    pub channels: Vec<ChannelSummary>,
}

/// Who got what.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BroadcastSummary {
    /// Different messages that anybody got.
    pub messages: u64,
    /// Expected and received.
    pub reached: Reached,
    /// Sequence numbers left out, over all subscribers.
    pub gaps: u64,
    /// Receipts of what a subscriber had already.
    pub duplicates: u64,
    /// Receipts after a message with a higher sequence number.
    pub reordered: u64,
}

/// One channel.
#[derive(Clone, Debug, PartialEq)]
pub struct ChannelSummary {
    /// Path and query of its URL.
    pub name: String,
    /// Who got what.
    pub broadcasts: BroadcastSummary,
    /// From a broadcast's stamp to its receipt, µs.
    pub broadcast_us: Option<Percentiles>,
}

impl WebSocketSummary {
    /// `None` for another kind of load.
    pub(super) fn of(run: &Run, spans: &[Span]) -> Option<Self> {
        let plan = &run.header.plan;
        if !plan.opens_websockets() {
            return None;
        }
        let mut reaches = BTreeMap::<u32, Reach>::new();
        let mut total = WebSocketWindow::default();
        for seen in run
            .windows
            .iter()
            .filter_map(|window| window.websocket.as_deref())
        {
            for (&channel, heard) in &seen.channels {
                reaches.entry(channel).or_default().add(heard);
            }
            total.merge(&counts(seen));
        }
        let mut judged = WebSocketWindow::default();
        let windows = spans.iter().flat_map(|span| span.windows(run));
        for seen in windows.filter_map(|window| window.websocket.as_deref()) {
            judged.merge(&times(seen));
        }
        let (mut all, mut channels) = (BroadcastSummary::default(), Vec::new());
        let mut latency = Histogram::new();
        for (channel, reach) in &reaches {
            let heard = total.channels.get(channel);
            let broadcasts = BroadcastSummary::of(reach, heard);
            all.add(&broadcasts);
            let own = judged.channels.get(channel).map(|heard| &heard.latency);
            if let Some(own) = own {
                latency.merge(own);
            }
            channels.push(ChannelSummary {
                name: channel_name(plan, &total, *channel),
                broadcasts,
                broadcast_us: own.and_then(percentiles),
            });
        }
        Some(Self {
            connected: total.connected,
            failures: total.failed,
            close_codes: total.closed,
            faults: total.faults,
            handshake_us: percentiles(&judged.handshake),
            request_us: percentiles(&judged.request),
            broadcast_us: percentiles(&latency),
            broadcast_latency: latency,
            reconnected: total.reconnected,
            reconnects_failed: total.reconnects_failed,
            reconnect_us: percentiles(&total.reconnect),
            unsent: total.unsent,
            answered: total.request.count(),
            unanswered: total.unanswered,
            messages_in: total.messages_in,
            messages_out: total.messages_out,
            bytes_in: total.bytes_in,
            bytes_out: total.bytes_out,
            ahead: total.ahead,
            ahead_us_max: total.ahead_us_max,
            broadcasts: all,
            channels,
        })
    }

    /// Handshakes that opened nothing.
    pub fn failed(&self) -> u64 {
        self.failures.values().sum()
    }

    /// Open ones that the target ended.
    pub fn closed(&self) -> u64 {
        self.close_codes.values().sum()
    }
}

impl BroadcastSummary {
    fn of(reach: &Reach, heard: Option<&BroadcastWindow>) -> Self {
        Self {
            messages: reach.messages(),
            reached: reach.result(),
            gaps: heard.map_or(0, |heard| heard.gaps),
            duplicates: heard.map_or(0, |heard| heard.duplicates),
            reordered: heard.map_or(0, |heard| heard.reordered),
        }
    }

    fn add(&mut self, other: &Self) {
        self.messages += other.messages;
        self.reached.add(other.reached);
        self.gaps += other.gaps;
        self.duplicates += other.duplicates;
        self.reordered += other.reordered;
    }
}

/// A window without what [`Reach`] takes in, which would be copied in vain.
fn counts(seen: &WebSocketWindow) -> WebSocketWindow {
    let channels = seen.channels.iter().map(|(&channel, heard)| {
        let counted = BroadcastWindow {
            duplicates: heard.duplicates,
            reordered: heard.reordered,
            gaps: heard.gaps,
            ..BroadcastWindow::default()
        };
        (channel, counted)
    });
    WebSocketWindow {
        connected: seen.connected,
        failed: seen.failed.clone(),
        closed: seen.closed.clone(),
        faults: seen.faults.clone(),
        request: seen.request.clone(),
        unanswered: seen.unanswered,
        messages_in: seen.messages_in,
        messages_out: seen.messages_out,
        bytes_in: seen.bytes_in,
        bytes_out: seen.bytes_out,
        ahead: seen.ahead,
        ahead_us_max: seen.ahead_us_max,
        channels: channels.collect(),
        channel_names: seen.channel_names.clone(),
        reconnected: seen.reconnected,
        reconnects_failed: seen.reconnects_failed,
        reconnect: seen.reconnect.clone(),
        unsent: seen.unsent,
        ..WebSocketWindow::default()
    }
}

/// What a channel is called: as users' steps say, or by the path of its URL.
fn channel_name(plan: &Plan, total: &WebSocketWindow, channel: u32) -> String {
    if let Some(name) = total.channel_names.get(&channel) {
        return name.clone();
    }
    let path = plan.request.paths.get(channel as usize);
    path.filter(|_| plan.load.websockets().is_some())
        .cloned()
        .unwrap_or_default()
}

/// The histograms of a window.
fn times(seen: &WebSocketWindow) -> WebSocketWindow {
    let channels = seen.channels.iter().map(|(&channel, heard)| {
        let timed = BroadcastWindow {
            latency: heard.latency.clone(),
            ..BroadcastWindow::default()
        };
        (channel, timed)
    });
    WebSocketWindow {
        handshake: seen.handshake.clone(),
        request: seen.request.clone(),
        channels: channels.collect(),
        ..WebSocketWindow::default()
    }
}
