//! A sweep over several URLs with everything that a plain load can have.

use std::time::Duration;

use plimsoll_model::bodies::BodyBytes;
use plimsoll_model::metric;
use plimsoll_model::outcome::Outcome;
use plimsoll_model::patience::PatienceBand;
use plimsoll_model::plan::Load;
use plimsoll_model::reading::Readings;
use plimsoll_model::run::Run;
use plimsoll_model::schedule::{LoadPhase, Spacing};
use plimsoll_model::seed::Seed;
use plimsoll_model::verdict::Verdict;
use plimsoll_model::window::{PartialReads, StepWindow, Window};

use super::readings::readings;
use super::server::QueueServer;
use super::visits::add_visits;
use super::{ending, header_only};

/// The URLs of the plan; the second is one that would be markup if it were not text.
pub(crate) const URLS: [&str; 4] = ["/", "/?q=<b>&token=abc", "/articles/1", "/api/list?page=1"];

/// Seconds of each of its rates.
const STEP_S: u32 = 90;

/// Nine rates of 90 s, the last above the capacity; so long that a point of the time series is 2 s.
pub(crate) fn detailed() -> Run {
    let mut run = header_only("run");
    let rates = [
        100.0, 200.0, 300.0, 400.0, 500.0, 600.0, 700.0, 780.0, 900.0,
    ];
    let step = Duration::from_secs(u64::from(STEP_S));
    let plan = &mut run.header.plan;
    plan.load = Load::Open {
        phases: rates
            .iter()
            .map(|&rate| LoadPhase::constant(rate, step))
            .collect(),
        spacing: Spacing::Poisson,
    };
    plan.request.paths = URLS.map(str::to_owned).into();
    plan.patience = [
        ("instant", 2_500),
        ("<i>fluent</i>", 10_000),
        ("waits", 1_000_000),
    ]
    .map(|(name, within_us)| PatienceBand {
        name: name.to_owned(),
        within_us,
    })
    .into();
    let mut server = QueueServer::new(800.0, Seed(13));
    let rate_of = rates.iter().flat_map(|&rate| [rate; STEP_S as usize]);
    for (second, rate) in (0..).zip(rate_of) {
        let mut window = server.second(second, rate);
        if second % 50 == 7 {
            window.outcomes.add_many(Outcome::Timeout, 3);
            window.failed.record(30_000_000, 3);
        }
        add_details(&mut window);
        let mut readings = readings(&window, second, 800.0);
        add_readings(&mut readings, &window);
        run.readings.push(&readings);
        run.windows.push(window);
    }
    add_visits(&mut run);
    run.ending = Some(ending(Verdict::Missed, &run));
    run
}

fn add_details(window: &mut Window) {
    let good = window.outcomes.get(Outcome::Ok);
    let mut partial = PartialReads::default();
    for &(top, count) in window.service.buckets() {
        // Every answer above 2 ms takes a second read.
        if top > 2000 {
            partial.service.record(top, count);
            partial.first_byte.record(top - 900, count);
            partial.transfer.record(900, count);
        }
    }
    window.partial = Some(Box::new(partial));
    window.connections_opened = 4;
    window.connect.record(180, 3);
    window.connect.record(1_050_000, 1);
    window.handshakes = 4;
    window.tls.record(2_400, 4);
    for (row, share) in [(0, 2), (1, 4), (2, 8)] {
        window.urls.insert(row, results(window, good / share, row));
    }
    window.bodies.gzip = BodyBytes {
        answers: good / 2,
        bytes: good / 2 * 3_000,
        decoded_from: good / 4 * 3_000,
        decoded: good / 4 * 18_000,
    };
    window.bodies.other = BodyBytes {
        answers: good - good / 2,
        bytes: (good - good / 2) * 500,
        ..BodyBytes::default()
    };
}

fn results(window: &Window, number: u64, row: u32) -> StepWindow {
    let mut results = StepWindow::default();
    results.outcomes.add_many(Outcome::Ok, number);
    let us = window.response.quantile(0.5).unwrap_or(1000);
    results.response.record(us * u64::from(row + 1), number);
    results.bytes_in = number * 1_000;
    if row == 2 {
        results.outcomes.add_many(Outcome::WrongStatus, number);
        results.failed.record(us, number);
    }
    results
}

fn add_readings(readings: &mut Readings, window: &Window) {
    let load = (window.completed() as f64 / 800.0).min(1.0);
    // A peak of one second.
    let peak = if window.second == 301 { 0.2 } else { 0.0 };
    let program = |process, comm| {
        metric::series(metric::PROCESS_CPU, &[("process", process), ("comm", comm)])
    };
    let state = |state| {
        metric::series(
            metric::TCP_CONNECTIONS,
            &[("network.connection.state", state)],
        )
    };
    let values = [
        (program(metric::TARGET, "nginx"), 0.1 * load),
        (program(metric::TARGET, "php-fpm<8>"), 0.5 * load),
        (program(metric::BEHIND, "postgres"), 0.2 * load + peak),
        (
            metric::series(metric::PROCESS_CPU, &[("process", metric::BEHIND)]),
            0.2 * load + peak,
        ),
        (state("established"), 20.0 + 80.0 * load),
        (state("time_wait"), f64::from(window.second.min(120)) * 4.0),
        (
            state("close_wait"),
            if window.second > 500 { 3.0 } else { 0.0 },
        ),
        (state("listen"), 7.0),
    ];
    readings.values.extend(values);
}
