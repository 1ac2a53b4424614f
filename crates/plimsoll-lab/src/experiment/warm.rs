//! Load before a trial that is not measured: for a time, or until the response time is steady.

use plimsoll_analysis::stats::order::median;

use crate::progress::{Progress, StopFlag, Watcher};

/// Seconds that are compared with as many before them.
const STRETCH: usize = 10;
/// Largest difference of two stretches that are alike, as a share.
const DIFFERENCE_MAX: f64 = 0.05;

/// Passes progress on, and ends the load when the response time is steady or the user requests a stop.
pub(super) struct WarmWatcher<'w> {
    watcher: &'w mut dyn Watcher,
    /// Stop of the user.
    stop: StopFlag,
    /// Stop of the warm-up.
    own_stop: StopFlag,
    until_steady: bool,
    medians: Vec<f64>,
}

impl<'w> WarmWatcher<'w> {
    pub(super) fn new(
        watcher: &'w mut dyn Watcher,
        stop: StopFlag,
        own_stop: StopFlag,
        until_steady: bool,
    ) -> Self {
        Self {
            watcher,
            stop,
            own_stop,
            until_steady,
            medians: Vec::new(),
        }
    }
}

impl Watcher for WarmWatcher<'_> {
    fn window_closed(&mut self, progress: &Progress<'_>) {
        self.watcher.window_closed(&Progress {
            stage: "warm-up",
            ..*progress
        });
        if let Some(median_us) = progress.window.response.quantile(0.5) {
            self.medians.push(median_us as f64);
        }
        if self.stop.is_raised() || (self.until_steady && is_steady(&self.medians)) {
            self.own_stop.raise();
        }
    }

    fn noted(&mut self, text: &str) {
        self.watcher.noted(text);
    }
}

/// Whether the medians of the last seconds are those of as many seconds before.
fn is_steady(medians: &[f64]) -> bool {
    let Some(before) = medians.len().checked_sub(2 * STRETCH) else {
        return false;
    };
    let (earlier, later) = medians[before..].split_at(STRETCH);
    match (median(earlier), median(later)) {
        (Some(earlier), Some(later)) if earlier > 0.0 => {
            (later / earlier - 1.0).abs() <= DIFFERENCE_MAX
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_time_that_falls_is_not_steady() {
        let falling = |seconds: u32| -> Vec<f64> {
            (0..seconds)
                .map(|second| 1000.0 + 9000.0 * (-f64::from(second) / 8.0).exp())
                .collect()
        };
        assert!(!is_steady(&falling(19)), "too few seconds");
        assert!(!is_steady(&falling(25)));
        assert!(is_steady(&falling(60)));
        assert!(!is_steady(&[0.0; 40]));
    }
}
