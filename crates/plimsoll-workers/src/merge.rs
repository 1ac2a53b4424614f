//! Adds up the same second of all workers.
//!
//! Counts and histograms are added, so the sum does not depend on how the load was divided. A second is complete when each
//! worker has delivered it, a later one, or its end.

use std::collections::VecDeque;

use plimsoll_model::window::Window;

/// Seconds by which a worker may be ahead of the slowest one.
pub(crate) const AHEAD_MAX: usize = 64;

/// Windows of one worker that were not merged yet.
#[derive(Debug, Default)]
struct WorkerQueue {
    windows: VecDeque<Window>,
    /// The first second that it may still deliver.
    next_second: u32,
    has_ended: bool,
}

/// A window that cannot be merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MergeError {
    /// Its second was merged or delivered already.
    OutOfOrder,
    /// Too many seconds wait for another worker.
    TooFarAhead,
}

/// The windows of all workers, by part.
#[derive(Debug)]
pub(crate) struct WindowMerge {
    queues: Vec<WorkerQueue>,
}

impl WindowMerge {
    /// For parts 0 to `workers`.
    pub(crate) fn new(workers: u32) -> Self {
        let queues = (0..workers).map(|_| WorkerQueue::default());
        Self {
            queues: queues.collect(),
        }
    }

    /// Whether a worker may deliver this second now.
    pub(crate) fn check(&self, part: u32, second: u32) -> Result<(), MergeError> {
        let queue = &self.queues[part as usize];
        if queue.has_ended || second < queue.next_second {
            return Err(MergeError::OutOfOrder);
        }
        if queue.windows.len() >= AHEAD_MAX {
            return Err(MergeError::TooFarAhead);
        }
        Ok(())
    }

    /// A worker delivered a second.
    pub(crate) fn push(&mut self, part: u32, window: Window) -> Result<(), MergeError> {
        self.check(part, window.second)?;
        let queue = &mut self.queues[part as usize];
        queue.next_second = window.second.saturating_add(1);
        queue.windows.push_back(window);
        Ok(())
    }

    /// A worker delivers no more.
    pub(crate) fn end(&mut self, part: u32) {
        self.queues[part as usize].has_ended = true;
    }

    /// The worker that the others wait for the longest: one without a second while another has many.
    pub(crate) fn slowest(&self) -> Option<u32> {
        let queues = (0..).zip(&self.queues);
        let waited_for = queues.filter(|(_, queue)| !queue.has_ended && queue.windows.is_empty());
        waited_for
            .min_by_key(|(_, queue)| queue.next_second)
            .map(|(part, _)| part)
    }

    /// The next second that is complete, in ascending order.
    pub(crate) fn next(&mut self) -> Option<Window> {
        let is_awaited = |queue: &WorkerQueue| !queue.has_ended && queue.windows.is_empty();
        if self.queues.iter().any(is_awaited) {
            return None;
        }
        let heads = self.queues.iter().filter_map(|queue| queue.windows.front());
        let second = heads.map(|window| window.second).min()?;
        let mut merged = Window::new(second);
        for queue in &mut self.queues {
            if let Some(window) = queue.windows.pop_front_if(|window| window.second == second) {
                merged.merge(&window);
            }
        }
        Some(merged)
    }

    /// Whether all have ended, and everything was merged.
    pub(crate) fn is_over(&self) -> bool {
        self.queues
            .iter()
            .all(|queue| queue.has_ended && queue.windows.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::histogram::Histogram;
    use plimsoll_model::outcome::Outcome;
    use proptest::prelude::*;

    use super::*;

    fn second(second: u32, offered: u64) -> Window {
        let mut window = Window::new(second);
        window.offered = offered;
        window
    }

    /// A request of a load, as a loop records it.
    #[derive(Clone, Copy, Debug)]
    struct Sample {
        second: u32,
        response_us: u64,
        status: u16,
        is_ok: bool,
        step: u32,
    }

    fn record(window: &mut Window, sample: Sample) {
        window.offered += 1;
        window.sent += 1;
        window.bytes_in += sample.response_us;
        *window.status.entry(sample.status).or_default() += 1;
        let outcome = if sample.is_ok {
            Outcome::Ok
        } else {
            Outcome::WrongStatus
        };
        window.outcomes.add(outcome);
        let histogram: &mut Histogram = if sample.is_ok {
            &mut window.response
        } else {
            &mut window.failed
        };
        histogram.record(sample.response_us, 1);
        window.lag.record(sample.response_us % 97, 1);
        // A multiple of a power of two: sums of such means are exact in any order, as counts are.
        window.in_flight_mean += (sample.response_us % 8) as f64 / 8.0;
        let step = window.steps.entry(sample.step).or_default();
        step.outcomes.add(outcome);
        step.response.record(sample.response_us, 1);
        window.generator.loop_cpu_us += 3;
        window.generator.loop_cpu_us_max = window.generator.loop_cpu_us_max.max(sample.response_us);
    }

    const SECONDS: u32 = 5;

    /// The windows of a process that recorded these samples.
    fn windows<'a>(samples: impl Iterator<Item = &'a Sample>) -> Vec<Window> {
        let mut windows: Vec<Window> = (0..SECONDS).map(Window::new).collect();
        for sample in samples {
            record(&mut windows[sample.second as usize], *sample);
        }
        windows
    }

    /// The merged windows of these parts, which arrive in an order of any kind: the next of part `order[0]` first.
    fn merged(parts: Vec<Vec<Window>>, order: &[usize]) -> Vec<Window> {
        let mut merge = WindowMerge::new(u32::try_from(parts.len()).unwrap());
        let mut parts: Vec<VecDeque<Window>> = parts.into_iter().map(VecDeque::from).collect();
        let mut merged = Vec::new();
        for &at in order {
            if let Some(window) = parts[at].pop_front() {
                merge.push(u32::try_from(at).unwrap(), window).unwrap();
            }
            merged.extend(std::iter::from_fn(|| merge.next()));
        }
        for (part, rest) in (0..).zip(parts) {
            for window in rest {
                merge.push(part, window).unwrap();
            }
            merge.end(part);
        }
        merged.extend(std::iter::from_fn(|| merge.next()));
        assert!(merge.is_over());
        merged
    }

    fn samples() -> impl Strategy<Value = Vec<Sample>> {
        let sample = (
            0..SECONDS,
            1_u64..5_000_000,
            200_u16..210,
            any::<bool>(),
            0_u32..3,
        );
        prop::collection::vec(
            sample.prop_map(|(second, response_us, status, is_ok, step)| Sample {
                second,
                response_us,
                status,
                is_ok,
                step,
            }),
            0..300,
        )
    }

    proptest! {
        #[test]
        fn four_workers_are_one_process_bit_for_bit(
            samples in samples(),
            order in prop::collection::vec(0_usize..4, 0..30),
        ) {
            let whole = windows(samples.iter());
            let part = |worker: usize| windows(samples.iter().skip(worker).step_by(4));
            let sum = merged((0..4).map(part).collect(), &order);
            prop_assert_eq!(&sum, &whole);
            // The log, and everything after it, has the same bytes.
            let text = |windows: &[Window]| serde_json::to_string(windows).unwrap();
            prop_assert_eq!(text(&sum), text(&whole));
        }
    }

    #[test]
    fn a_second_waits_for_all_and_for_none_that_has_ended() {
        let mut merge = WindowMerge::new(3);
        for part in [0, 1] {
            merge.push(part, second(7, 10)).unwrap();
        }
        assert_eq!(merge.next(), None);
        assert_eq!(merge.slowest(), Some(2));
        merge.push(2, second(8, 1)).unwrap();
        // The third began later: it has no second 7.
        let first = merge.next().unwrap();
        assert_eq!((first.second, first.offered), (7, 20));
        assert_eq!(merge.next(), None);
        merge.end(0);
        merge.end(1);
        assert_eq!(merge.next().unwrap().offered, 1);
        assert!(!merge.is_over());
        merge.end(2);
        assert!(merge.is_over());
        assert_eq!(merge.next(), None);
    }

    #[test]
    fn seconds_come_once_in_order_and_within_bounds() {
        let mut merge = WindowMerge::new(2);
        merge.push(0, second(3, 1)).unwrap();
        assert_eq!(merge.push(0, second(3, 1)), Err(MergeError::OutOfOrder));
        for at in 4..3 + u32::try_from(AHEAD_MAX).unwrap() {
            merge.push(0, second(at, 1)).unwrap();
        }
        assert_eq!(merge.push(0, second(900, 1)), Err(MergeError::TooFarAhead));
        assert_eq!(merge.slowest(), Some(1));
        merge.end(0);
        assert_eq!(merge.push(0, second(901, 1)), Err(MergeError::OutOfOrder));
    }
}
