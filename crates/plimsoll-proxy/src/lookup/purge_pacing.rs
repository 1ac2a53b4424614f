//! Limits how fast purged responses are revalidated: a purge of everything must not overload the upstream. Pure.
//!
//! The baseline is a moving average of upstream requests. Revalidations after a purge are added at half of that rate,
//! so an upstream never gets twice its usual load. A few are always allowed immediately, so that an editor who purges a
//! page sees the new one.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use plimsoll_net::clock::Nanoseconds;
use plimsoll_net::lock::lock;

/// Time constant of the baseline, seconds.
const MEMORY_S: f64 = 10.0;
/// Revalidations after a purge, relative to the baseline.
const SHARE: f64 = 0.5;
/// Minimum rate, per second.
const LEAST: f64 = 32.0;
/// Burst: unused allowance is kept for this long, seconds.
const SAVED_S: f64 = 0.25;
/// Shortest interval between updates of the average, nanoseconds.
const STEP_NS: Nanoseconds = 500_000_000;

/// Upstream requests, and the allowance of revalidations.
#[derive(Debug, Default)]
pub(crate) struct Pacing {
    /// Upstream requests so far.
    sent: AtomicU64,
    state: Mutex<PacerState>,
}

#[derive(Debug, Default)]
struct PacerState {
    /// Time of the last update of the average, and the count at that time.
    at: Nanoseconds,
    sent: u64,
    usual_per_s: f64,
    /// Time of the last request for a revalidation, and the allowance since then.
    requested_at: Option<Nanoseconds>,
    allowance: f64,
}

impl PacerState {
    fn per_s(&self) -> f64 {
        (self.usual_per_s * SHARE).max(LEAST)
    }
}

impl Pacing {
    /// Counts an upstream request.
    #[inline]
    pub(crate) fn note(&self) {
        self.sent.fetch_add(1, Ordering::Relaxed);
    }

    /// Updates the average; to be called about once a second.
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

    /// Whether one more purged response may be revalidated now; the caller must then do so.
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

    /// Sends requests at a rate; requests a revalidation each millisecond, and returns how many were granted each
    /// second.
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
        // Ten thousand pages are revalidated before their grace period ends.
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
