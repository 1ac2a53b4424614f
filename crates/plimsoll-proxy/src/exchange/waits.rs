//! What an exchange waits for, and its deadline.

use plimsoll_net::deadline::TICK_MS;
use plimsoll_net::deadline::ticks;

use super::{Exchange, ExchangeEnd, SLOWEST, Side, UpstreamFailure};
use crate::event_loop::EventLoop;

/// Deadline for one piece when the memory budget of connections is exhausted.
const HURRY_TICKS: u64 = 1000 / TICK_MS;

/// What a pending exchange waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ExchangeWait {
    #[default]
    Nothing,
    Connection,
    /// The client's request body.
    Body,
    /// The client, to read its response.
    Client,
    /// The first byte of the response.
    FirstByte,
    /// More of the response.
    More,
}

impl ExchangeWait {
    fn are_for_client(self) -> bool {
        matches!(self, Self::Body | Self::Client)
    }
}

impl Exchange {
    /// The deadline counts from the last progress, as long as the exchange waits for the same thing.
    pub(super) fn keep_deadline(&mut self, side: &Side<'_>, moved: bool) {
        let waits = if self.link.is_connecting() {
            ExchangeWait::Connection
        } else if !self.to_client.is_empty() || self.answer.is_complete() {
            ExchangeWait::Client
        } else if self.upload.wants_body() {
            ExchangeWait::Body
        } else if self.answer.has_begun() {
            ExchangeWait::More
        } else {
            ExchangeWait::FirstByte
        };
        if waits == self.waits && !moved {
            return;
        }
        if self.waits.are_for_client() || waits.are_for_client() {
            let now = side.event_loop.clock.now();
            if self.waits.are_for_client() {
                self.waited += now.saturating_sub(self.waits_since);
            }
            self.waits_since = now;
        }
        self.waits = waits;
        let Some(settings) = &self.settings else {
            return;
        };
        let timeouts = self.link.timeouts();
        let mut wait = match waits {
            ExchangeWait::Connection => ticks(timeouts.connect),
            ExchangeWait::Client => self.patience(settings.ticks.write, side.event_loop),
            ExchangeWait::Body => self.patience(settings.ticks.body, side.event_loop),
            ExchangeWait::FirstByte => ticks(timeouts.first_byte),
            ExchangeWait::More | ExchangeWait::Nothing => ticks(timeouts.idle),
        };
        if let Some(total) = timeouts.total {
            let now = side.event_loop.clock.now();
            let spent = std::time::Duration::from_nanos(now - self.record.began());
            wait = wait.min(ticks(total.saturating_sub(spent)));
        }
        side.event_loop.set_deadline(side.deadline, wait);
    }

    /// Remaining time for a client with the given timeout for one piece.
    fn patience(&self, piece: u64, event_loop: &EventLoop) -> u64 {
        // When memory is short, slow clients are dropped soon.
        let piece = if event_loop.memory.is_full() {
            piece.min(HURRY_TICKS)
        } else {
            piece
        };
        let earned =
            (self.upload.body_len() + self.record.bytes_out()) * 1000 / (SLOWEST * TICK_MS);
        let spent = self.waited / (TICK_MS * 1_000_000);
        piece.min((piece + earned).saturating_sub(spent)).max(1)
    }

    /// The deadline has passed.
    pub(crate) fn expired(&mut self, side: &mut Side<'_>) -> Result<(), ExchangeEnd> {
        let waits = std::mem::take(&mut self.waits);
        match waits {
            ExchangeWait::Connection => self.connection_failed(side, UpstreamFailure::Timeout),
            ExchangeWait::FirstByte => {
                self.blame(side);
                Err(self.failure(UpstreamFailure::Timeout))
            }
            ExchangeWait::Body => Err(self.refusal(408)),
            ExchangeWait::Client => Err(ExchangeEnd::ClientGone),
            ExchangeWait::More | ExchangeWait::Nothing => Err(ExchangeEnd::Broken),
        }
    }
}
