//! Whether a load that goes on is beyond its line for good.

use std::collections::VecDeque;
use std::fmt;

use plimsoll_model::objective::Objective;
use plimsoll_model::window::Window;

use super::shares::SharesWatch;
use super::{BAD_SHARE, SecondAnswers, bound_us, lateness_s, whole};

/// Seconds over which a rising load is judged while it goes on.
const TRAILING_S: usize = 3;
/// Seconds for which it must be beyond the line before it may end.
const BEYOND_S: u32 = 3;

/// The last [`TRAILING_S`] seconds of a load.
#[derive(Clone, Debug, Default)]
pub(super) struct Trailing(VecDeque<SecondAnswers>);

impl Trailing {
    pub(super) fn push(&mut self, second: SecondAnswers) {
        if self.is_full() {
            self.0.pop_front();
        }
        self.0.push_back(second);
    }

    fn is_full(&self) -> bool {
        self.0.len() == TRAILING_S
    }

    pub(super) fn all(&self) -> f64 {
        self.0.iter().map(|second| second.all).sum()
    }

    pub(super) fn bad(&self) -> f64 {
        self.0.iter().map(|second| second.bad).sum()
    }

    fn is_silent(&self) -> bool {
        self.0.iter().all(|second| second.is_silent)
    }
}

/// Notices while a load rises that it is clearly beyond the line: more than half of the answers of three seconds are bad, for
/// three seconds, or more than a share of the objective allows, for good.
#[derive(Clone, Debug)]
pub struct BeyondLine {
    within_us: Option<u64>,
    /// Seconds that are not judged.
    lead_s: u32,
    /// Seconds in which no answer need have come.
    patience_s: u32,
    closed: u32,
    trailing: Trailing,
    beyond: u32,
    shares: SharesWatch,
}

/// Why a load may end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// Half of the answers are bad.
    Half,
    /// More than the objective allows are bad.
    Share,
}

impl fmt::Display for Beyond {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Half => "more than half of the answers were bad for three seconds",
            Self::Share => {
                "more answers were failed or late than the objective allows, for twenty seconds"
            }
        })
    }
}

impl BeyondLine {
    /// Of a load that rises after `lead_s` seconds.
    pub fn new(objective: &Objective, lead_s: u32) -> Self {
        let patience_s = whole(lateness_s(objective).ceil()).unwrap_or(u32::MAX);
        Self {
            within_us: bound_us(objective),
            lead_s,
            patience_s: patience_s.max(1),
            closed: 0,
            trailing: Trailing::default(),
            beyond: 0,
            shares: SharesWatch::new(objective),
        }
    }

    /// Takes the next second; whether the load is beyond the line, and how.
    pub fn closes(&mut self, window: &Window) -> Option<Beyond> {
        self.closed = self.closed.saturating_add(1);
        if self.closed <= self.lead_s {
            return None;
        }
        self.trailing
            .push(SecondAnswers::of(window, self.within_us));
        let is_beyond = self.trailing.is_full() && self.is_bad();
        self.beyond = if is_beyond { self.beyond + 1 } else { 0 };
        let is_beyond_share = self.shares.closes(window);
        if self.beyond >= BEYOND_S {
            Some(Beyond::Half)
        } else {
            is_beyond_share.then_some(Beyond::Share)
        }
    }

    fn is_bad(&self) -> bool {
        let all = self.trailing.all();
        if all > 0.0 {
            return self.trailing.bad() > BAD_SHARE * all;
        }
        let is_late = self.closed > self.patience_s.saturating_add(self.lead_s);
        is_late && self.trailing.is_silent()
    }
}
