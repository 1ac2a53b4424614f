//! The objects of workers.

use plimsoll_model::event::Event;
use plimsoll_model::window::Window;
use plimsoll_model::worker::{HostUse, WorkerRecord};
use plimsoll_report::Report;
use plimsoll_report::json::{Files, run_object};
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
}
