//! A log-normal distribution from gaps, in one pass.

/// Shortest gap that counts as a think time, milliseconds: shorter ones are the browser's.
pub(super) const THINK_MIN_MS: i64 = 1_000;

/// Mean and spread of logarithms (Welford's method).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct LogNormal {
    count: u64,
    mean: f64,
    squares: f64,
}

impl LogNormal {
    pub(super) fn add(&mut self, ms: i64) {
        if ms < THINK_MIN_MS {
            return;
        }
        let value = (ms as f64).ln();
        self.count += 1;
        let before = value - self.mean;
        self.mean += before / self.count as f64;
        self.squares += before * (value - self.mean);
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Median in seconds, and standard deviation of the logarithm.
    pub(super) fn fit(&self) -> Option<(f64, f64)> {
        if self.count < 2 {
            return None;
        }
        let sigma = (self.squares / (self.count - 1) as f64).sqrt();
        Some((self.mean.exp() / 1e3, sigma))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_and_spread_come_back() {
        // Quantiles of a log-normal with median 8 s and sigma 0.5, by the normal quantiles of ±1 and 0.
        let mut fit = LogNormal::default();
        for z in [-1.0_f64, 0.0, 1.0] {
            #[expect(clippy::cast_possible_truncation, reason = "a few thousand")]
            fit.add((8000.0 * (0.5 * z).exp()).round() as i64);
        }
        let (median, sigma) = fit.fit().unwrap();
        assert!(
            (median - 8.0).abs() < 0.01 && (sigma - 0.5).abs() < 0.01,
            "{median} {sigma}"
        );
    }
}
