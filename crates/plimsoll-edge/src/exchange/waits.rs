//! What an exchange waits for, and for how long.

use super::{End, Exchange, Failure, SLOWEST, Side};
use crate::deadline::TICK_MS;
use crate::deadline::ticks;
use crate::event_loop::EventLoop;

/// Time for one piece when connections hold as much as they may.
const HURRY_TICKS: u64 = 1000 / TICK_MS;

/// What an exchange waits for, when it waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Waits {
    #[default]
    Nothing,
    Connection,
    /// The client's body.
    Body,
    /// The client, to take its answer.
    Client,
    /// The first byte of the answer.
    FirstByte,
    /// More of the answer.
    More,
}

impl Waits {
    fn are_for_client(self) -> bool {
        matches!(self, Self::Body | Self::Client)
    }
}

impl Exchange {
    /// The deadline stands where the last movement put it, as long as the same is waited for.
    pub(super) fn keep_deadline(&mut self, side: &Side<'_>, moved: bool) {
        let waits = if self.link.is_connecting() {
            Waits::Connection
        } else if !self.to_client.is_empty() || self.answer.is_complete() {
            Waits::Client
        } else if !self.body_done && self.to_server.is_empty() && !self.deaf {
            Waits::Body
        } else if self.answer.has_begun() {
            Waits::More
        } else {
            Waits::FirstByte
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
        let timeouts = self
            .permit
            .as_ref()
            .map(|permit| permit.pool.config.timeouts);
        let timeouts = timeouts.unwrap_or_default();
        let mut wait = match waits {
            Waits::Connection => ticks(timeouts.connect),
            Waits::Client => self.patience(settings.ticks.write, side.event_loop),
            Waits::Body => self.patience(settings.ticks.body, side.event_loop),
            Waits::FirstByte => ticks(timeouts.first_byte),
            Waits::More | Waits::Nothing => ticks(timeouts.idle),
        };
        if let Some(total) = timeouts.total {
            let now = side.event_loop.clock.now();
            let spent = std::time::Duration::from_nanos(now - self.moments.began);
            wait = wait.min(ticks(total.saturating_sub(spent)));
        }
        side.event_loop.set_deadline(side.deadline, wait);
    }

    /// How much longer a client may take that has the given time for one piece.
    fn patience(&self, piece: u64, event_loop: &EventLoop) -> u64 {
        // Who is slow while others find no room makes room soon.
        let piece = if event_loop.memory.is_full() {
            piece.min(HURRY_TICKS)
        } else {
            piece
        };
        let earned = (self.body.content_len() + self.bytes_out) * 1000 / (SLOWEST * TICK_MS);
        let spent = self.waited / (TICK_MS * 1_000_000);
        piece.min((piece + earned).saturating_sub(spent)).max(1)
    }

    /// The deadline has passed.
    pub(crate) fn expired(&mut self, side: &mut Side<'_>) -> Result<(), End> {
        let waits = std::mem::take(&mut self.waits);
        match waits {
            Waits::Connection => self.connection_failed(side, Failure::Timeout),
            Waits::FirstByte => {
                self.blame(side);
                Err(self.failure(Failure::Timeout))
            }
            Waits::Body => Err(self.refusal(408)),
            Waits::Client => Err(End::ClientGone),
            Waits::More | Waits::Nothing => Err(End::Broken),
        }
    }
}
