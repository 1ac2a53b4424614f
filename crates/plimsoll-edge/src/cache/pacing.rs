//! How fast the copies that a purge met are renewed: a purge of everything must not fall on the servers. Pure.
//!
//! What is usual is a moving average of what goes to the servers. Renewals after a purge come on top of it, at half of
//! that, so that a server never gets twice what it is used to; a few are always allowed at once, so that an editor who
//! purges a page sees the new one.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::clock::Nanoseconds;
use crate::lock::lock;

/// Over so many seconds it is reckoned what is usual.
const MEMORY_S: f64 = 10.0;
/// Renewals after a purge come on top of what is usual, so many times that.
const SHARE: f64 = 0.5;
/// So many a second are allowed in any case.
const LEAST: f64 = 32.0;
/// What was not used of so many seconds may be made up for.
const SAVED_S: f64 = 0.25;
/// The average is not looked at more often, nanoseconds.
const STEP_NS: Nanoseconds = 500_000_000;

/// What goes to the servers, and what of purges may.
#[derive(Debug, Default)]
pub(crate) struct Pacing {
    /// Requests that went to servers.
    sent: AtomicU64,
    state: Mutex<PacerState>,
}

#[derive(Debug, Default)]
struct PacerState {
    /// When the average was last reckoned, and what had been sent by then.
    at: Nanoseconds,
    sent: u64,
    usual_per_s: f64,
    /// When a renewal was last asked for, and how many are allowed at once since.
    requested_at: Option<Nanoseconds>,
    allowance: f64,
}

impl PacerState {
    fn per_s(&self) -> f64 {
        (self.usual_per_s * SHARE).max(LEAST)
    }
}

impl Pacing {
    /// A request goes to a server.
    #[inline]
    pub(crate) fn note(&self) {
        self.sent.fetch_add(1, Ordering::Relaxed);
    }

    /// A second has passed, or a part of one.
    pub(crate) fn tick(&self, now: Nanoseconds) {
        let mut state = lock(&self.state);
        let elapsed_ns = now.saturating_sub(state.at);
        if elapsed_ns < STEP_NS {
            return;
        }
        let sent = self.sent.load(Ordering::Relaxed);
        let seconds = elapsed_ns as f64 / 1e9;
        let per_s = sent.saturating_sub(state.sent) as f64 / seconds;
        state.usual_per_s += (per_s - state.usual_per_s) * (1.0 - (-seconds / MEMORY_S).exp());
        state.at = now;
        state.sent = sent;
    }

    /// Whether one more copy that was purged may be renewed now; whoever is told so renews it.
    pub(crate) fn lets(&self, now: Nanoseconds) -> bool {
        let mut state = lock(&self.state);
        let per_s = state.per_s();
        let most = (per_s * SAVED_S).max(LEAST);
        state.allowance = match state.requested_at {
            None => most,
            Some(before) => {
                let seconds = now.saturating_sub(before) as f64 / 1e9;
                (state.allowance + seconds * per_s).min(most)
            }
        };
        state.requested_at = Some(now);
        if state.allowance < 1.0 {
            return false;
        }
        state.allowance -= 1.0;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanoseconds = 1_000_000_000;

    /// Sends so many a second for so many seconds; what is asked for besides, each millisecond, and got each second.
    fn run(pacing: &Pacing, from_s: u64, seconds: u64, per_s: u64, is_renewing: bool) -> Vec<u64> {
        let asked = if is_renewing { 10 } else { 0 };
        (from_s..from_s + seconds)
            .map(|second| {
                let mut let_through = 0;
                for ms in 0..1000 {
                    let now = second * SECOND + ms * 1_000_000;
                    for _ in 0..per_s / 1000 {
                        pacing.note();
                    }
                    for _ in 0..asked {
                        if pacing.lets(now) {
                            pacing.note();
                            let_through += 1;
                        }
                    }
                }
                pacing.tick((second + 1) * SECOND);
                let_through
            })
            .collect()
    }

    #[test]
    fn a_purge_of_everything_stays_below_twice_what_is_usual() {
        let pacing = Pacing::default();
        run(&pacing, 0, 30, 1_000, false);
        let after = run(&pacing, 30, 10, 1_000, true);
        assert!(after.iter().all(|&count| count < 1_000), "{after:?}");
        // Ten thousand pages are through before their grace is over.
        let in_a_minute: u64 = run(&pacing, 40, 50, 1_000, true).iter().sum();
        assert!(in_a_minute + after.iter().sum::<u64>() > 10_000);
    }

    #[test]
    fn an_idle_site_renews_a_few_at_once() {
        let pacing = Pacing::default();
        run(&pacing, 0, 5, 0, false);
        let now = 5 * SECOND;
        let at_once = (0..1000).filter(|_| pacing.lets(now)).count();
        assert_eq!(at_once, 32);
        assert!(!pacing.lets(now + 1_000_000));
        assert!(pacing.lets(now + SECOND));
    }
}
