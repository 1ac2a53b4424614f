//! The answers a trial is judged on.

use plimsoll_model::histogram::Histogram;
use plimsoll_model::objective::{Answers, LatencyBound};
use plimsoll_model::window::Window;

use crate::stats::order::quantile_ranks;

/// Answers to the requests that were due at or after a second.
#[derive(Clone, Debug, Default)]
pub struct DueAnswers {
    /// Response times of good answers, µs.
    pub good: Histogram,
    /// Requests that failed, unfinished ones included.
    pub failed: u64,
}

/// Answers to the requests due at or after second `from`, out of windows that hold requests by their end.
///
/// A request that ended at k + U (U uniform within its window) after a response time r was due at or after `from`
/// when U ≥ from + r − k, that is with probability clamp(k + 1 − from − r, 0, 1). Counting by that weight is exact
/// but for the second in which `from` falls into a response, and it is right in every state: completions of judged
/// seconds alone lag behind arrivals under overload and miss what a stall holds back, while completions plus drain
/// would count what the warm-up left behind. Requests still in flight at the end of the last window have failed.
pub fn due_since(windows: &[Window], from: u32) -> DueAnswers {
    let mut answers = DueAnswers::default();
    for window in windows.iter().filter(|window| window.second >= from) {
        let reach = f64::from(window.second - from) + 1.0;
        attribute(&window.response, reach, |value, count| {
            answers.good.record(value, count);
        });
        attribute(&window.failed, reach, |_, count| answers.failed += count);
    }
    answers.failed += windows.last().map_or(0, |window| window.in_flight);
    answers
}

/// Passes on the share of each bucket whose requests were due within `reach` seconds before the window's end; parts
/// of a request are carried to the next bucket, so that none is lost to rounding.
fn attribute(histogram: &Histogram, reach: f64, mut take: impl FnMut(u64, u64)) {
    let mut carried = 0.0;
    for &(value, count) in histogram.buckets() {
        let weight = (reach - value as f64 / 1e6).clamp(0.0, 1.0);
        if weight >= 1.0 {
            take(value, count);
            continue;
        }
        carried += weight * count as f64;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a part of a count"
        )]
        let whole = (carried + 0.5).floor().max(0.0) as u64;
        let whole = whole.min(count);
        carried -= whole as f64;
        take(value, whole);
    }
}

/// The judged seconds of a trial with its objectives.
#[derive(Debug)]
pub struct MeasuredSeconds<'a> {
    /// Seconds of run time, half-open.
    pub seconds: (u32, u32),
    /// Windows of those seconds.
    pub windows: &'a [Window],
    answers: DueAnswers,
}

impl<'a> MeasuredSeconds<'a> {
    /// The judged `seconds` of a trial whose windows are all given, drain included.
    pub fn of(all: &'a [Window], seconds: (u32, u32)) -> Self {
        let start = all.partition_point(|window| window.second < seconds.0);
        let end = all.partition_point(|window| window.second < seconds.1);
        Self {
            seconds,
            windows: &all[start..end.max(start)],
            answers: due_since(all, seconds.0),
        }
    }

    /// The answers as input of an objective.
    pub fn answers(&self) -> Answers<'_> {
        Answers {
            good: &self.answers.good,
            failed: self.answers.failed,
        }
    }

    fn length_s(&self) -> f64 {
        f64::from(self.seconds.1 - self.seconds.0).max(1.0)
    }

    /// Completions per second, good and failed.
    pub fn throughput(&self) -> f64 {
        let completed: u64 = self.windows.iter().map(Window::completed).sum();
        completed as f64 / self.length_s()
    }

    /// The bound's quantile with failures as infinitely slow, µs; `None` when it is a failure.
    pub fn quantile_us(&self, bound: LatencyBound) -> Option<u64> {
        let good = self.answers.good.count();
        let rank = (bound.quantile * self.answers().total() as f64).ceil();
        (good > 0 && rank <= good as f64)
            .then(|| self.answers.good.quantile(rank / good as f64))
            .flatten()
    }

    /// Requests in flight, averaged over the judged seconds.
    pub fn in_flight_mean(&self) -> f64 {
        let sum: f64 = self
            .windows
            .iter()
            .map(|window| window.in_flight_mean)
            .sum();
        sum / (self.windows.len() as f64).max(1.0)
    }

    /// A quantile of the generator's lag, µs; 0 when none was recorded.
    pub fn lag_us(&self, quantile: f64) -> u64 {
        self.lag().quantile(quantile).unwrap_or(0)
    }

    /// The lag that its 99th percentile exceeds with 95 % confidence, µs: one hiccup among few arrivals is chance.
    pub fn lag_us_p99_low(&self) -> u64 {
        let lag = self.lag();
        let (low, _) = quantile_ranks(lag.count(), 0.99, 1.645);
        lag.quantile(low as f64 / lag.count().max(1) as f64)
            .unwrap_or(0)
    }

    fn lag(&self) -> Histogram {
        let mut lag = Histogram::new();
        for window in self.windows {
            lag.merge(&window.lag);
        }
        lag
    }

    /// Share of `cores` event loops' CPU that the generator used, 0 to 1.
    pub fn generator_cpu(&self, cores: u32) -> f64 {
        let used: u64 = self
            .windows
            .iter()
            .map(|window| window.generator.loop_cpu_us)
            .sum();
        used as f64 / 1e6 / f64::from(cores.max(1)) / (self.windows.len() as f64).max(1.0)
    }
}
