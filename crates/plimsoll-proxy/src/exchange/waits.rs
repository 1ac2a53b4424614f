//! What an exchange waits for, and its deadline.

use plimsoll_net::clock::Nanoseconds;
use plimsoll_net::deadline::TICK_MS;
use plimsoll_net::deadline::ticks;

use super::{Exchange, ExchangeEnd, SLOWEST, Side, UpstreamFailure};
use crate::event_loop::EventLoop;

/// Deadline for one piece when the memory budget of connections is exhausted.
const HURRY_TICKS: u64 = 1000 / TICK_MS;

/// What a pending exchange waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ExchangeWait {
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

/// What an exchange waits for, and how long it has waited for its client in all.
#[derive(Debug, Default)]
pub(super) struct ExchangeWaits {
    current: ExchangeWait,
    /// Since when the client is waited for, and the total before that.
    since: Nanoseconds,
    waited: Nanoseconds,
}

impl ExchangeWaits {
    /// The next deadline counts from now.
    pub(super) fn restart(&mut self) {
        self.current = ExchangeWait::Nothing;
    }

    /// Waits for this from now on.
    fn begin(&mut self, wait: ExchangeWait, event_loop: &EventLoop) {
        if self.current.are_for_client() || wait.are_for_client() {
            let now = event_loop.clock.now();
            if self.current.are_for_client() {
                self.waited += now.saturating_sub(self.since);
            }
            self.since = now;
        }
        self.current = wait;
    }

    /// Remaining time for a client that has moved this many bytes, with the given timeout for one piece.
    fn patience(&self, piece: u64, moved: u64, event_loop: &EventLoop) -> u64 {
        // When memory is short, slow clients are dropped soon.
        let piece = if event_loop.memory.is_full() {
            piece.min(HURRY_TICKS)
        } else {
            piece
        };
        let earned = moved * 1000 / (SLOWEST * TICK_MS);
        let spent = self.waited / (TICK_MS * 1_000_000);
        piece.min((piece + earned).saturating_sub(spent)).max(1)
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
        if waits == self.waits.current && !moved {
            return;
        }
        self.waits.begin(waits, side.event_loop);
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
        let moved = self.upload.body_len() + self.record.bytes_out();
        self.waits.patience(piece, moved, event_loop)
    }

    /// The deadline has passed.
    pub(crate) fn expired(&mut self, side: &mut Side<'_>) -> Result<(), ExchangeEnd> {
        let waits = std::mem::take(&mut self.waits.current);
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
