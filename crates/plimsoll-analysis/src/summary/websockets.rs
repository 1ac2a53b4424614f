//! Outcome of WebSockets: opened, kept open, and whether every subscriber received every message.

use std::collections::BTreeMap;

use plimsoll_model::broadcast::{BroadcastReach, BroadcastWindow, Reached};
use plimsoll_model::histogram::Histogram;
use plimsoll_model::plan::Plan;
use plimsoll_model::run::Run;
use plimsoll_model::trial::Percentiles;
use plimsoll_model::websocket::WebSocketWindow;

use super::cuts::CutSummary;
use super::{MeasuredSpan, percentiles};

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
    /// Open connections that were abandoned, by the target's fault.
    pub protocol_errors: BTreeMap<String, u64>,
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
    /// Those that were cut from this side, by users who dropped and by each mass disconnect.
    pub cuts: Vec<CutSummary>,
}

/// Delivery of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BroadcastSummary {
    /// Different messages that anybody got.
    pub messages: u64,
    /// Expected and received.
    pub reached: Reached,
    /// Sequence numbers left out, over all subscribers.
    pub gaps: u64,
    /// Duplicate receipts of a subscriber.
    pub duplicates: u64,
    /// Receipts after a message with a higher sequence number.
    pub reordered: u64,
}

/// One channel.
#[derive(Clone, Debug, PartialEq)]
pub struct ChannelSummary {
    /// Path and query of its URL.
    pub name: String,
    /// Delivery of messages.
    pub broadcasts: BroadcastSummary,
    /// From a broadcast's stamp to its receipt, µs.
    pub broadcast_us: Option<Percentiles>,
}

impl WebSocketSummary {
    /// `None` for another kind of load.
    pub(super) fn of(run: &Run, spans: &[MeasuredSpan]) -> Option<Self> {
        let plan = &run.header.plan;
        if !plan.receives_broadcasts() {
            return None;
        }
        let mut reaches = BTreeMap::<u32, BroadcastReach>::new();
        let mut total = WebSocketWindow::default();
        for websocket in run
            .windows
            .iter()
            .filter_map(|window| window.websocket.as_deref())
        {
            for (&channel, broadcast) in &websocket.channels {
                reaches.entry(channel).or_default().add(broadcast);
            }
            total.merge(&counts(websocket));
        }
        let mut measured = WebSocketWindow::default();
        let windows = spans.iter().flat_map(|span| span.windows(run));
        for websocket in windows.filter_map(|window| window.websocket.as_deref()) {
            measured.merge(&times(websocket));
        }
        let (mut all, mut channels) = (BroadcastSummary::default(), Vec::new());
        let mut latency = Histogram::new();
        for (channel, reach) in &reaches {
            let broadcast = total.channels.get(channel);
            let broadcasts = BroadcastSummary::of(reach, broadcast);
            all.add(&broadcasts);
            let own = measured
                .channels
                .get(channel)
                .map(|broadcast| &broadcast.latency);
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
            protocol_errors: total.protocol_errors,
            handshake_us: percentiles(&measured.handshake),
            request_us: percentiles(&measured.request),
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
            cuts: CutSummary::all(run),
        })
    }

    /// Handshakes that opened nothing.
    pub fn failed(&self) -> u64 {
        self.failures.values().sum()
    }

    /// Whether handshakes ended and none opened anything: nothing of what is held was measured.
    pub fn opened_nothing(&self) -> bool {
        self.connected == 0 && self.failed() > 0
    }

    /// Open ones that the target ended.
    pub fn closed(&self) -> u64 {
        self.close_codes.values().sum()
    }
}

impl BroadcastSummary {
    fn of(reach: &BroadcastReach, broadcast: Option<&BroadcastWindow>) -> Self {
        Self {
            messages: reach.messages(),
            reached: reach.result(),
            gaps: broadcast.map_or(0, |broadcast| broadcast.gaps),
            duplicates: broadcast.map_or(0, |broadcast| broadcast.duplicates),
            reordered: broadcast.map_or(0, |broadcast| broadcast.reordered),
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

/// A window without the fields that [`Reach`] records, to avoid copying them.
fn counts(window: &WebSocketWindow) -> WebSocketWindow {
    let channels = window.channels.iter().map(|(&channel, broadcast)| {
        let counted = BroadcastWindow {
            duplicates: broadcast.duplicates,
            reordered: broadcast.reordered,
            gaps: broadcast.gaps,
            ..BroadcastWindow::default()
        };
        (channel, counted)
    });
    WebSocketWindow {
        connected: window.connected,
        failed: window.failed.clone(),
        closed: window.closed.clone(),
        protocol_errors: window.protocol_errors.clone(),
        request: window.request.clone(),
        unanswered: window.unanswered,
        messages_in: window.messages_in,
        messages_out: window.messages_out,
        bytes_in: window.bytes_in,
        bytes_out: window.bytes_out,
        ahead: window.ahead,
        ahead_us_max: window.ahead_us_max,
        channels: channels.collect(),
        channel_names: window.channel_names.clone(),
        reconnected: window.reconnected,
        reconnects_failed: window.reconnects_failed,
        reconnect: window.reconnect.clone(),
        unsent: window.unsent,
        ..WebSocketWindow::default()
    }
}

/// The name of a channel: from users' steps, or the path of its URL.
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
fn times(window: &WebSocketWindow) -> WebSocketWindow {
    let channels = window.channels.iter().map(|(&channel, broadcast)| {
        let timed = BroadcastWindow {
            latency: broadcast.latency.clone(),
            ..BroadcastWindow::default()
        };
        (channel, timed)
    });
    WebSocketWindow {
        handshake: window.handshake.clone(),
        request: window.request.clone(),
        channels: channels.collect(),
        ..WebSocketWindow::default()
    }
}
