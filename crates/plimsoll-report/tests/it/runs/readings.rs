//! Probe samples beside a window.

use plimsoll_model::metric;
use plimsoll_model::reading::{Readings, SeriesInfo, SeriesKind};
use plimsoll_model::window::Window;

/// CPU, memory and run queue of a machine whose server can do `capacity` requests a second.
pub(super) fn readings(window: &Window, second: u32, capacity: f64) -> Readings {
    let load = (window.completed() as f64 / capacity).min(1.0);
    // A little noise, the same in every run.
    let unrest = f64::from(second * 7919 % 13) / 1300.0;
    let used = &[("system.memory.state", "used")][..];
    let target = &[("process", metric::TARGET)][..];
    let generator = &[("process", metric::GENERATOR)][..];
    let cpu_mode = |mode| metric::series(metric::CPU_UTILIZATION, &[("cpu.mode", mode)]);
    let memory = 1.1e9 + 2e8 * load + f64::from(second) * 2e5;
    let values = [
        (cpu_mode("user"), "1", 0.02 + 0.72 * load + unrest),
        (cpu_mode("system"), "1", 0.01 + 0.16 * load + unrest / 2.0),
        (
            metric::CPU_BUSY.to_owned(),
            "1",
            0.03 + 0.88 * load + unrest * 1.5,
        ),
        (
            metric::series(metric::PROCESS_CPU, target),
            "1",
            0.82 * load + unrest,
        ),
        (
            metric::series(metric::PROCESS_CPU, generator),
            "1",
            0.03 * load + 0.01,
        ),
        (metric::series(metric::MEMORY_USAGE, used), "By", memory),
        (
            metric::series(metric::PROCESS_MEMORY, target),
            "By",
            memory / 4.0,
        ),
        (
            metric::series(metric::THREAD_BUSIEST, target),
            "1",
            (1.05 * load).min(0.99),
        ),
        (
            metric::RUN_QUEUE.to_owned(),
            "{thread}",
            1.0 + 9.0 * load * load,
        ),
        (
            metric::LISTEN_OVERFLOWS.to_owned(),
            "{connection}",
            if load >= 1.0 { 37.0 } else { 0.0 },
        ),
    ];
    let mut readings = Readings {
        second,
        ..Readings::default()
    };
    for (name, unit, value) in values {
        readings.values.insert(name.clone(), value);
        let info = SeriesInfo {
            kind: SeriesKind::Gauge,
            unit: unit.to_owned(),
        };
        readings.new_series.insert(name, info);
    }
    readings
}
