//! The retry budget of a pool: retries are limited to a share of its requests, so that they never double an overload.

use std::sync::Mutex;

use plimsoll_net::clock::Nanoseconds;
use plimsoll_net::lock::lock;

/// Retries that are free in each window, so that a service with little traffic has some.
const RETRIES_FREE: u64 = 10;
/// Window over which retries are limited relative to requests, ns.
const WINDOW_NS: Nanoseconds = 10_000_000_000;

/// What the current window has used.
#[derive(Debug, Default)]
pub(super) struct RetryBudget {
    window: Mutex<RetryWindow>,
}

#[derive(Debug, Default)]
struct RetryWindow {
    since: Nanoseconds,
    arrivals_before: u64,
    retries: u64,
}

impl RetryBudget {
    /// Takes a retry, if the budget has one. `share` is the limit relative to requests, and `arrivals` is the number of
    /// requests that the pool has had so far.
    pub(super) fn take(&self, share: f64, arrivals: u64, now: Nanoseconds) -> bool {
        let mut window = lock(&self.window);
        if now.saturating_sub(window.since) > WINDOW_NS {
            *window = RetryWindow {
                since: now,
                arrivals_before: arrivals,
                retries: 0,
            };
        }
        // Another loop may have begun the window with a later count.
        let since = arrivals.saturating_sub(window.arrivals_before) as f64;
        let allowed = since * share + RETRIES_FREE as f64;
        let may = share > 0.0 && (window.retries as f64) < allowed;
        window.retries += u64::from(may);
        may
    }
}
