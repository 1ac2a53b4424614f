//! CPU that the browser of a run uses: it may be missing to the generator, and to a target on this machine.

use std::time::Duration;

use plimsoll_model::metric;
use plimsoll_model::reading::Readings;
use plimsoll_probe::series;

use crate::clock::RunClock;

/// Reads the CPU time of a browser once a second.
#[derive(Debug)]
pub(super) struct BrowserCpu {
    /// The process whose descendants are the browser.
    process: u32,
    clock: RunClock,
    /// When it was read last, and the CPU time up to then, s.
    last: Option<(Duration, f64)>,
    is_defined: bool,
}

impl BrowserCpu {
    pub(super) fn new(process: u32, clock: RunClock) -> Self {
        Self {
            process,
            clock,
            last: None,
            is_defined: false,
        }
    }

    /// Adds its share of all CPUs since the last reading.
    pub(super) fn add_to(&mut self, readings: &mut Readings) {
        let Some(used_s) = plimsoll_browser::cpu_s(self.process) else {
            return;
        };
        let now = self.clock.elapsed();
        let last = self.last.replace((now, used_s));
        let cpus = readings.values.get(metric::CPU_COUNT).copied();
        let Some((last, cpus)) = last.zip(cpus.filter(|cpus| *cpus >= 1.0)) else {
            return;
        };
        let passed_s = now.saturating_sub(last.0).as_secs_f64();
        if passed_s <= 0.0 {
            return;
        }
        let share = (used_s - last.1).max(0.0) / passed_s / cpus;
        readings
            .values
            .insert(metric::BROWSER_CPU.to_owned(), share);
        if !self.is_defined
            && let Some(definition) = series::definition(metric::BROWSER_CPU)
        {
            let info = definition.info();
            readings
                .new_series
                .insert(metric::BROWSER_CPU.to_owned(), info);
            self.is_defined = true;
        }
    }
}
