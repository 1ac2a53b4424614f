//! Workers in every format.

use plimsoll_model::event::Event;
use plimsoll_model::plan::LoadUnit;
use plimsoll_model::run::Run;
use plimsoll_model::trial::{TrialKind, TrialSpec};
use plimsoll_model::window::Window;
use plimsoll_model::worker::{HostUse, WorkerRecord};
use plimsoll_report::json::{Files, run_object};
use plimsoll_report::number::{count, micros};
use plimsoll_report::{Report, html, text};
use serde_json::{Value, json};

use crate::json::assert_valid;
use crate::runs;

fn worker(name: &str, windows: impl IntoIterator<Item = Window>) -> WorkerRecord {
    let mut record = WorkerRecord {
        name: name.to_owned(),
        loops: 1,
        ..WorkerRecord::default()
    };
    for window in windows {
        record.add(&window, HostUse::default(), true);
    }
    record
}

#[test]
fn workers_have_the_promised_names_and_their_own_numbers() {
    let mut run = runs::plain(400.0, 10);
    let windows = run.windows.clone();
    let first = WorkerRecord {
        region: Some("japan-east".to_owned()),
        clock_offset_us: -250_500,
        clock_error_us: 1_250,
        lost_at: Some(5),
        ..worker("a", windows[..5].to_vec())
    };
    let second = worker("b", windows[5..].to_vec());
    run.apply(Event::WorkersEnded(vec![first.clone(), second]));
    let object = serde_json::to_value(run_object(&Report::of(&run), &Files::default())).unwrap();
    assert_valid("run.schema.json", &object);
    let workers = object["workers"].as_array().unwrap();
    assert_eq!(workers.len(), 2);
    let expected = [
        ("name", json!("a")),
        ("region", json!("japan-east")),
        ("requests", json!(first.requests())),
        ("offered", json!(first.offered)),
        ("clock_offset_ms", json!(-250.5)),
        ("clock_error_ms", json!(1.25)),
        ("lost_at", json!(5)),
    ];
    for (name, value) in expected {
        assert_eq!(workers[0][name], value, "{name}");
    }
    assert!(workers[0].get("lag_ms_p99").is_some());
    let regions = object["regions"].as_array().unwrap();
    assert_eq!(regions.len(), 2);
    assert_eq!(regions[0]["region"], "japan-east");
    assert_eq!(regions[0]["requests"], workers[0]["requests"]);
    assert_eq!(
        regions[0]["response_time_ms"],
        workers[0]["response_time_ms"]
    );
    assert!(regions[0]["outcomes"]["ok"].is_u64());
    assert_eq!(regions[1]["region"], Value::Null);
    let shares = regions
        .iter()
        .map(|region| region["share"].as_f64().unwrap());
    assert!((shares.sum::<f64>() - 1.0).abs() < 1e-9);
    let requests = |worker: &Value| worker["requests"].as_u64().unwrap();
    let whole: u64 = windows.iter().map(Window::completed).sum();
    assert_eq!(workers.iter().map(requests).sum::<u64>(), whole);
    assert_eq!(
        (&workers[1]["region"], &workers[1]["lost_at"]),
        (&Value::Null, &Value::Null)
    );
    let alone = runs::plain(400.0, 10);
    let alone = serde_json::to_value(run_object(&Report::of(&alone), &Files::default())).unwrap();
    assert_eq!(alone["workers"], json!([]));
    assert_eq!(alone["regions"], json!([]));
}

#[test]
fn workers_of_a_search_are_those_of_all_trials_but_self_tests() {
    let mut run = runs::plain(400.0, 10);
    let windows = run.windows.clone();
    let (first, second) = windows.split_at(4);
    for (kind, windows) in [
        (TrialKind::SelfTest, &windows[..]),
        (TrialKind::Bracket, first),
        (TrialKind::Refine, second),
    ] {
        run.apply(Event::TrialStarted {
            index: 0,
            second: 0,
            spec: TrialSpec {
                kind,
                rate: 400.0,
                unit: LoadUnit::RequestsPerSecond,
                per_unit: 1.0,
                ramp_s: 0,
                warmup_s: 0,
                measure_s: 4,
                stop_early: false,
                in_flight_cap: 100,
            },
        });
        run.apply(Event::WorkersEnded(vec![worker("a", windows.to_vec())]));
    }
    assert_eq!(run.workers, [worker("a", windows)]);
}

/// A run of two workers in one region, and of one without.
fn carried() -> Run {
    let mut run = runs::plain(400.0, 12);
    let part = |from: usize| run.windows[from..from + 4].to_vec();
    let far = |from| WorkerRecord {
        region: Some("japan-east".to_owned()),
        ..worker(&format!("far-{from}"), part(from))
    };
    let workers = vec![
        far(0),
        WorkerRecord {
            lost_at: Some(8),
            ..far(4)
        },
        worker("near", part(8)),
    ];
    run.apply(Event::WorkersEnded(workers));
    run
}

#[test]
fn terminal_and_page_show_workers_and_their_regions() {
    let run = carried();
    let report = Report::of(&run);
    let mut far = run.workers[0].response.clone();
    far.merge(&run.workers[1].response);
    let p95 = micros(far.quantile(0.95).unwrap());
    let requests = count(run.workers[0].requests() + run.workers[1].requests());
    let screen = text::summary(&report, &Files::default(), false);
    let line = |start: &str| {
        let mut lines = screen.lines().filter(|line| line.starts_with(start));
        let line = lines.next().expect(start);
        assert_eq!(lines.next(), None, "{screen}");
        line.to_owned()
    };
    assert!(line("far-4").ends_with("8 s"), "{screen}");
    assert!(line("near").contains(&count(run.workers[2].requests())));
    let region = line("japan-east");
    assert!(
        region.contains(&p95) && region.contains(&requests),
        "{region}"
    );
    line("without a region");
    let page = html::render(&report);
    for expected in [
        "workers-heading",
        "regions-heading",
        "<th scope=\"row\">japan-east</th>",
        &format!("<td>{p95}</td>"),
        &format!("<td>{requests}</td>"),
    ] {
        assert!(page.contains(expected), "{expected}");
    }
}

#[test]
fn a_load_of_this_machine_has_no_such_tables() {
    let run = runs::plain(400.0, 10);
    let report = Report::of(&run);
    let screen = text::summary(&report, &Files::default(), false);
    assert!(!screen.contains("lost at"), "{screen}");
    assert!(!html::render(&report).contains("workers-heading"));
    let mut run = carried();
    for worker in &mut run.workers {
        worker.region = None;
    }
    let page = html::render(&Report::of(&run));
    assert!(page.contains("workers-heading") && !page.contains("regions-heading"));
}
