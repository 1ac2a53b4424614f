//! The workers of a run as rows, and what those of each region did together. Terminal and page show the same cells.

use plimsoll_analysis::regions;
use plimsoll_model::worker::WorkerRecord;

use crate::number::{count, micros, percent, short};
use crate::printable::printable;

/// Names of the columns behind the worker's.
pub(crate) const COLUMNS: [&str; 7] = [
    "region", "requests", "share", "lag p99", "clock", "CPU", "lost at",
];
/// Names of the columns behind the region's.
pub(crate) const REGION_COLUMNS: [&str; 6] = ["workers", "requests", "failed", "p50", "p95", "p99"];

/// What stands where nothing is known.
const UNKNOWN: &str = "–";

/// A line of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WorkerRow<const N: usize> {
    pub(crate) name: String,
    pub(crate) cells: [String; N],
}

/// A line for each worker; empty for a load of this machine.
pub(crate) fn rows(workers: &[WorkerRecord]) -> Vec<WorkerRow<7>> {
    let offered: u64 = workers.iter().map(|worker| worker.offered).sum();
    let row = |worker: &WorkerRecord| WorkerRow {
        name: printable(&worker.name),
        cells: [
            shown(worker.region.as_deref().map(printable)),
            count(worker.requests()),
            shown(share(worker.offered, offered)),
            shown(worker.judged.lag.quantile(0.99).map(micros)),
            clock(worker),
            cpu(worker),
            shown(worker.lost_at.map(|second| format!("{second} s"))),
        ],
    };
    workers.iter().map(row).collect()
}

/// A line for each region; empty where no worker has one.
pub(crate) fn region_rows(workers: &[WorkerRecord]) -> Vec<WorkerRow<6>> {
    let rows = regions::of(workers).into_iter().map(|region| {
        let requests = region.outcomes.total();
        let times = region.response_us;
        WorkerRow {
            name: region
                .region
                .map_or_else(|| "without a region".to_owned(), |name| printable(&name)),
            cells: [
                count(u64::from(region.workers)),
                count(requests),
                shown(share(region.outcomes.failed(), requests)),
                shown(times.map(|times| micros(times.p50))),
                shown(times.map(|times| micros(times.p95))),
                shown(times.map(|times| micros(times.p99))),
            ],
        }
    });
    rows.collect()
}

fn shown(text: Option<String>) -> String {
    text.unwrap_or_else(|| UNKNOWN.to_owned())
}

fn share(part: u64, whole: u64) -> Option<String> {
    (whole > 0).then(|| percent(part as f64 / whole as f64))
}

/// `-250.5 ± 1.25 ms`: its time of day less that of this machine, and by how much its start may have been off.
fn clock(worker: &WorkerRecord) -> String {
    let offset_ms = worker.clock_offset_us as f64 / 1e3;
    let error_ms = worker.clock_error_us as f64 / 1e3;
    format!("{offset_ms:+.1} ± {} ms", short(error_ms))
}

/// `37 % of 2`: of its event loops, over the judged seconds that it delivered.
fn cpu(worker: &WorkerRecord) -> String {
    let judged = &worker.judged;
    let known = (judged.count > 0).then(|| percent(judged.loop_cpu(worker.loops)));
    shown(known.map(|share| format!("{share} of {}", worker.loops)))
}

#[cfg(test)]
mod tests {
    use plimsoll_model::outcome::Outcome;
    use plimsoll_model::window::Window;
    use plimsoll_model::worker::HostUse;

    use super::*;

    fn worker(name: &str, region: Option<&str>, response_us: u64) -> WorkerRecord {
        let mut window = Window::new(0);
        window.offered = 500;
        window.outcomes.add_many(Outcome::Ok, 400);
        window.outcomes.add_many(Outcome::Reset, 100);
        window.response.record(response_us, 400);
        window.lag.record(90, 500);
        window.generator.loop_cpu_us = 740_000;
        let mut record = WorkerRecord {
            name: name.to_owned(),
            region: region.map(str::to_owned),
            loops: 2,
            clock_offset_us: -250_500,
            clock_error_us: 1_250,
            ..WorkerRecord::default()
        };
        record.add(&window, HostUse::default(), true);
        record
    }

    fn texts<const N: usize>(rows: &[WorkerRow<N>]) -> Vec<String> {
        let text = |row: &WorkerRow<N>| format!("{}: {}", row.name, row.cells.join(", "));
        rows.iter().map(text).collect()
    }

    #[test]
    fn a_worker_has_its_own_numbers() {
        let silent = WorkerRecord {
            name: "c".to_owned(),
            loops: 1,
            lost_at: Some(0),
            ..WorkerRecord::default()
        };
        let workers = [
            worker("a", Some("far"), 1_000),
            worker("b\u{1b}", None, 1_000),
            silent,
        ];
        let right = [
            "a: far, 500, 50 %, 90 µs, -250.5 ± 1.25 ms, 37 % of 2, –",
            "b\u{fffd}: –, 500, 50 %, 90 µs, -250.5 ± 1.25 ms, 37 % of 2, –",
            "c: –, 0, 0 %, –, +0.0 ± 0 ms, –, 0 s",
        ];
        assert_eq!(texts(&rows(&workers)), right);
    }

    #[test]
    fn a_region_has_what_its_workers_have_together() {
        let workers = [
            worker("a", Some("far"), 200_000),
            worker("b", None, 1_000),
            worker("c", Some("far"), 1_000),
        ];
        let right = [
            "far: 2, 1,000, 20 %, 1 ms, 200 ms, 200 ms",
            "without a region: 1, 500, 20 %, 1 ms, 1 ms, 1 ms",
        ];
        assert_eq!(texts(&region_rows(&workers)), right);
        assert!(region_rows(&workers[1..2]).is_empty());
        assert!(rows(&[]).is_empty());
    }
}
