//! Counts of WebSockets in one second, in the form that the hot path writes.

use std::collections::BTreeMap;

use plimsoll_model::broadcast::BroadcastWindow;
use plimsoll_model::websocket::{SocketCut, WebSocketWindow};

use super::cut_window::CutWindowBuilder;
use super::duration_tally::DurationTally;

/// Counts of the WebSockets of one loop in one second.
#[derive(Debug, Default)]
pub(crate) struct WebSocketWindowBuilder {
    /// The plain counts; its histograms stay empty until the second is over.
    window: WebSocketWindow,
    handshake: DurationTally,
    request: DurationTally,
    reconnect: DurationTally,
    cuts: BTreeMap<SocketCut, CutWindowBuilder>,
}

impl WebSocketWindowBuilder {
    /// A lost WebSocket is ready again after this time.
    pub(crate) fn reconnected(&mut self, duration_ns: u64) {
        self.window.reconnected += 1;
        self.reconnect.add(duration_ns / 1000);
    }

    /// The counts of those that were cut in this way.
    pub(crate) fn of_cut(&mut self, cut: SocketCut) -> &mut CutWindowBuilder {
        self.cuts.entry(cut).or_default()
    }

    /// A handshake opened a WebSocket.
    pub(crate) fn connected(&mut self, duration_ns: u64) {
        self.window.connected += 1;
        self.handshake.add(duration_ns / 1000);
    }

    /// A response to a message arrived.
    #[inline]
    pub(crate) fn answered(&mut self, duration_ns: u64) {
        self.request.add(duration_ns / 1000);
    }

    /// An attempt to reopen a WebSocket failed.
    pub(crate) fn reconnect_failed(&mut self) {
        self.window.reconnects_failed += 1;
    }

    /// A handshake failed for this cause.
    pub(crate) fn handshake_failed(&mut self, cause: String) {
        *self.window.failed.entry(cause).or_default() += 1;
    }

    /// A WebSocket was closed with this code.
    pub(crate) fn closed(&mut self, code: u16) {
        *self.window.closed.entry(code).or_default() += 1;
    }

    /// The target broke the protocol.
    pub(crate) fn protocol_error(&mut self, error: String) {
        *self.window.protocol_errors.entry(error).or_default() += 1;
    }

    /// A message of this length was sent.
    #[inline]
    pub(crate) fn sent(&mut self, len: u64) {
        self.window.messages_out += 1;
        self.window.bytes_out += len;
    }

    /// A message of this length arrived.
    #[inline]
    pub(crate) fn received(&mut self, len: u64) {
        self.window.messages_in += 1;
        self.window.bytes_in += len;
    }

    /// A broadcast carries a timestamp so far ahead of this machine's clock.
    pub(crate) fn ahead(&mut self, ahead_us: u64) {
        self.window.ahead += 1;
        self.window.ahead_us_max = self.window.ahead_us_max.max(ahead_us);
    }

    /// A message was due and could not be sent.
    pub(crate) fn unsent(&mut self) {
        self.window.unsent += 1;
    }

    /// A message has no response in time.
    pub(crate) fn unanswered(&mut self) {
        self.window.unanswered += 1;
    }

    /// The name of a channel that this loop uses from now on.
    pub(crate) fn name_channel(&mut self, channel: u32, name: String) {
        self.window.channel_names.insert(channel, name);
    }

    /// The broadcasts received on a channel.
    pub(crate) fn add_channel(&mut self, channel: u32, broadcasts: &BroadcastWindow) {
        let known = self.window.channels.entry(channel).or_default();
        known.merge(broadcasts);
    }

    /// All counts, for tests of who makes them.
    #[cfg(test)]
    pub(crate) fn close_for_test(self) -> WebSocketWindow {
        self.close()
    }

    pub(super) fn close(mut self) -> WebSocketWindow {
        self.window.handshake = self.handshake.take();
        self.window.request = self.request.take();
        self.window.reconnect = self.reconnect.take();
        for (cut, counts) in self.cuts {
            match cut {
                SocketCut::Dropped => self.window.dropped = Some(Box::new(counts.close())),
                SocketCut::Disconnected(at_ms) => {
                    self.window.disconnects.insert(at_ms, counts.close());
                }
            }
        }
        self.window
    }
}
