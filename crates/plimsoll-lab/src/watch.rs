//! Readings without load: what the probes see while others use the service.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use plimsoll_model::reading::Readings;
use plimsoll_probe::{Probe, ProbePlan};

use crate::clock::RunClock;
use crate::progress::StopFlag;

/// How soon a request to stop is seen.
const GLANCE: Duration = Duration::from_millis(100);

/// Reads the probes at the end of each of so many seconds, or until somebody asks to stop. `each` is handed the readings
/// of a second, and what was said of parts of the service since the last. Returns all notes.
pub fn watch(
    plan: ProbePlan,
    seconds: u32,
    stop: &StopFlag,
    each: &mut dyn FnMut(&Readings, &[String]),
) -> Vec<String> {
    let mut probe = Probe::open(plan);
    let clock = RunClock::start();
    // Counters have nothing to compare with yet; what this defines comes with the first second.
    let mut defined = probe.read(0).new_series;
    let mut second = 0;
    while second < seconds {
        wait_until(clock, second + 1, stop);
        if stop.is_raised() {
            break;
        }
        let mut readings = probe.read(second);
        readings.new_series.append(&mut defined);
        each(&readings, &probe.take_told());
        // Seconds missed while the machine was too busy stay missing.
        let now = u32::try_from(clock.elapsed().as_secs()).unwrap_or(u32::MAX);
        second = (second + 1).max(now);
    }
    probe.notes()
}

fn wait_until(clock: RunClock, second: u32, stop: &StopFlag) {
    let nobody = (Mutex::new(()), Condvar::new());
    let mut guard = nobody.0.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let left = clock.until(second);
        if left.is_zero() || stop.is_raised() {
            return;
        }
        let waited = nobody.1.wait_timeout(guard, left.min(GLANCE));
        guard = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}
