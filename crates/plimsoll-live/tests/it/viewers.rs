//! Events of a run: who comes late has all of it, who does not read is let go.

use std::sync::Arc;

use plimsoll_lab::controls::RunControls;
use plimsoll_lab::run_log::EventFollower;
use plimsoll_live::{LiveAddress, LivePage};
use plimsoll_model::event::{Event, FORMAT_MAJOR, FORMAT_MINOR, WatchHeader};
use plimsoll_model::outcome::Outcome;
use plimsoll_model::plan::Facts;
use plimsoll_model::window::Window;
use serde_json::Value;

use crate::client::Events;

fn started() -> Event {
    Event::WatchStarted(Box::new(WatchHeader {
        format_major: FORMAT_MAJOR,
        format_minor: FORMAT_MINOR,
        started_at: "2026-01-01T00:00:00Z".to_owned(),
        target: None,
        host: Facts::new(),
        versions: Facts::new(),
    }))
}

fn second(second: u32) -> Event {
    let mut window = Window::new(second);
    window.offered = 100;
    window.outcomes.add_many(Outcome::Ok, 98);
    window.outcomes.add_many(Outcome::Timeout, 2);
    window.response.record(u64::from(second) + 1_000, 98);
    Event::WindowClosed(Box::new(window))
}

fn note(text: String) -> Event {
    Event::NoteMade { second: 0, text }
}

struct Run {
    page: LivePage,
    follower: Box<dyn EventFollower>,
}

impl Run {
    fn begin() -> Self {
        let page = LivePage::start(LiveAddress::default(), RunControls::default()).unwrap();
        let follower = page.follower();
        let mut run = Self { page, follower };
        run.log(&started());
        run
    }

    fn log(&mut self, event: &Event) {
        self.follower.event_logged(event, &Arc::from(""));
    }
}

/// Reads until a document has this many rows; the number of documents.
fn read_rows(events: &mut Events, rows: u64) -> (usize, Value) {
    for count in 1.. {
        let document = events.next().unwrap();
        if document["rows"].as_u64() >= Some(rows) {
            return (count, document);
        }
    }
    unreachable!()
}

#[test]
fn who_comes_late_to_four_hours_has_all_of_it_in_one_document() {
    let mut run = Run::begin();
    let mut watching = Events::open(&run.page);
    for from in (0..14_400).step_by(400) {
        for at in from..from + 400 {
            run.log(&second(at));
        }
        // Events of a run come once a second; these must not come faster than they are taken in.
        read_rows(&mut watching, u64::from(from) + 400);
    }
    let (documents, all) = read_rows(&mut Events::open(&run.page), 14_400);
    assert_eq!(documents, 1);
    assert_eq!(all["full"], true);
    let column = |key: &str| all["columns"][key].as_array().unwrap();
    assert_eq!(column("offered").len(), 14_400);
    assert!(column("fail.timeout").iter().all(|count| count == 2));
    let [first, last] = [0, 14_399].map(|row| column("p99")[row].as_f64().unwrap());
    assert!((999.0..1_010.0).contains(&first) && (15_000.0..15_600.0).contains(&last));
    assert_eq!(all["page"]["dropped"], 0);
    run.log(&second(14_400));
    let (_, change) = read_rows(&mut watching, 14_401);
    assert_eq!(
        (&change["full"], &change["from"]),
        (&Value::from(false), &Value::from(14_400))
    );
    run.page.finish("the end");
    let last = std::iter::from_fn(|| watching.next()).last().unwrap();
    assert_eq!(last["result"], "the end");
    assert_eq!(run.follower.take_notes(), [""; 0]);
}

#[test]
fn a_viewer_that_does_not_read_is_let_go_and_the_others_see_all() {
    let mut run = Run::begin();
    // Notes that make each document long: socket buffers hold a few of them.
    for index in 0..400 {
        run.log(&note(format!("{index} {}", "x".repeat(490))));
    }
    let mut watching = Events::open(&run.page);
    while watching.next().unwrap()["notes"]
        .as_array()
        .is_none_or(|notes| notes.len() < 400)
    {}
    let stuck = Events::open(&run.page);
    let viewers = |document: &Value| document["page"]["viewers"].as_u64();
    let mut both = false;
    for index in 0.. {
        run.log(&note(format!("more {index} {}", "x".repeat(480))));
        let document = watching.next().unwrap();
        both |= viewers(&document) == Some(2);
        if both && viewers(&document) == Some(1) {
            break;
        }
    }
    drop(stuck);
    run.page.finish("");
}

#[test]
fn more_events_than_fit_are_counted_and_noted() {
    let mut run = Run::begin();
    // The page's thread takes a thousand in and gathers for a moment. These cost so little that they fill its queue
    // meanwhile, however little of the machine this thread gets.
    for _ in 0..100_000 {
        run.log(&note(String::new()));
    }
    run.page.finish("");
    let notes = run.follower.take_notes();
    assert!(
        notes[0].contains("the live page could not take"),
        "{notes:?}"
    );
}
