//! A run whose numbers are known.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_export::{ExportHeader, Exporter};
use plimsoll_model::event::{Event, FORMAT_MAJOR, FORMAT_MINOR, Header};
use plimsoll_model::labels;
use plimsoll_model::outcome::Outcome;
use plimsoll_model::plan::{Facts, Load};
use plimsoll_model::reading::{Readings, SeriesInfo, SeriesKind};
use plimsoll_model::verdict::Verdict;
use plimsoll_model::window::Window;
use plimsoll_testkit::plan::get_root;

/// Seconds of the run.
pub(crate) const SECONDS: u32 = 5;
/// Good answers in each, and failures.
pub(crate) const GOOD: u64 = 990;
pub(crate) const FAILED: u64 = 10;
/// Response time of the fastest nine in ten, and of the others, µs.
pub(crate) const FAST_US: u64 = 20_000;
pub(crate) const SLOW_US: u64 = 400_000;
/// A label with the separators of all protocols.
pub(crate) const ODD_LABEL: &str = "a b,c=\"d\\";

/// The first event.
pub(crate) fn start() -> Event {
    let mut plan = get_root(([127, 0, 0, 1], 80).into());
    plan.load = Load::Closed {
        connections: 1,
        think: Duration::ZERO,
        lasting: Duration::from_secs(u64::from(SECONDS)),
    };
    Event::RunStarted(Box::new(Header {
        format_major: FORMAT_MAJOR,
        format_minor: FORMAT_MINOR,
        command: "run".to_owned(),
        started_at: "2026-11-27T12:00:00Z".to_owned(),
        plan,
        host: Facts::new(),
        versions: Facts::new(),
    }))
}

/// One second of results.
pub(crate) fn window(second: u32) -> Event {
    let mut window = Window::new(second);
    window.offered = GOOD + FAILED;
    window.outcomes.add_many(Outcome::Ok, GOOD);
    window.outcomes.add_many(Outcome::Timeout, FAILED);
    window.status.insert(200, GOOD);
    window.response.record(FAST_US, GOOD * 9 / 10);
    window.response.record(SLOW_US, GOOD / 10);
    window.service = window.response.clone();
    window.in_flight = 7;
    window.lag.record(100, GOOD);
    Event::WindowClosed(Box::new(window))
}

/// One second of readings. One is below zero and has labels that need care: separators, and a name that all series of a run
/// have.
pub(crate) fn readings(second: u32) -> Event {
    let cpu = "system.cpu.utilization{cpu.mode=user}".to_owned();
    let busy = "plimsoll.cpu.busy".to_owned();
    let odd = labels::series("queue.depth", &[("run", "7"), ("queue.name", ODD_LABEL)]);
    let info = |unit: &str| SeriesInfo {
        kind: SeriesKind::Gauge,
        unit: unit.to_owned(),
    };
    let new_series = [
        (cpu.clone(), info("1")),
        (busy.clone(), info("1")),
        (odd.clone(), info("{message}")),
    ];
    Event::ReadingsTaken(Readings {
        second,
        values: BTreeMap::from([(cpu, 0.25), (busy, 0.5), (odd, -5.0)]),
        new_series: match second {
            0 => BTreeMap::from(new_series),
            _ => BTreeMap::new(),
        },
    })
}

/// All events of the run.
pub(crate) fn events() -> Vec<Event> {
    let seconds = (0..SECONDS).flat_map(|second| [window(second), readings(second)]);
    // At one moment, as notes at the start of a run are.
    let notes = ["a \"note\", with\nseparators", "another"].map(|text| Event::NoteMade {
        second: 2,
        text: text.to_owned(),
    });
    let end = Event::RunEnded {
        verdict: Verdict::Met,
        void: Vec::new(),
        process_cpu_us: 1,
        rss_bytes_max: 1,
    };
    std::iter::once(start())
        .chain(seconds)
        .chain(notes)
        .chain([end])
        .collect()
}

/// Longest wait for a destination: a real one may stand still for seconds.
const PATIENCE: Duration = Duration::from_mins(1);

/// An exporter to these destinations.
pub(crate) fn exporter(destinations: &[&str], headers: &[&str]) -> Exporter {
    let requests: Vec<_> = destinations
        .iter()
        .map(|text| text.parse().unwrap())
        .collect();
    let headers: Vec<ExportHeader> = headers.iter().map(|text| text.parse().unwrap()).collect();
    Exporter::start(&requests, &headers, "the-run", "run")
        .unwrap()
        .with_patience(PATIENCE)
}

/// Exports the whole run; what was lost.
pub(crate) fn export(destinations: &[&str], headers: &[&str]) -> Vec<String> {
    let exporter = exporter(destinations, headers);
    for event in events() {
        exporter.observe(&event);
    }
    let mut losses = exporter.flush();
    losses.extend(exporter.finish());
    losses
}

/// Shared by clones.
pub(crate) type Shared<T> = Arc<std::sync::Mutex<T>>;
