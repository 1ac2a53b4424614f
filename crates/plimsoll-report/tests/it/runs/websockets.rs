//! A run of WebSockets: a thousand subscribers, a broadcast a second, two of a thousand receipts lost.

use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_model::broadcast::{BroadcastWindow, Sighting, Stay};
use plimsoll_model::histogram::Histogram;
use plimsoll_model::objective::Objective;
use plimsoll_model::outcome::{Outcome, OutcomeCounts};
use plimsoll_model::plan::Load;
use plimsoll_model::run::Run;
use plimsoll_model::verdict::Verdict;
use plimsoll_model::websocket::{WebSocketLoad, WebSocketMessage, WebSocketWindow};
use plimsoll_model::window::Window;

use super::{ending, header_only};

const SUBSCRIBERS: u64 = 1000;
const SECONDS: u32 = 12;

pub(crate) fn websockets() -> Run {
    let mut run = header_only("run");
    let plan = &mut run.header.plan;
    "ws://news.example:8080/live".clone_into(&mut plan.target.url);
    plan.request.paths = vec!["/live".to_owned()];
    plan.objective = None;
    plan.load = Load::WebSockets(WebSocketLoad {
        connections: 1010,
        per_second: 1010.0,
        hold: Duration::from_secs(10),
        message: Some(WebSocketMessage {
            text: "[redacted]".to_owned(),
            every: Some(Duration::from_secs(10)),
        }),
        timestamp: Some("$.time".to_owned()),
        sequence: Some("$.seq".to_owned()),
        compress: false,
        is_stream: false,
        reconnect: None,
    });
    for second in 0..SECONDS {
        run.windows.push(window(second));
    }
    run.ending = Some(ending(Verdict::Met, &run));
    run
}

/// The same without messages, and with a warm-up that has all handshakes: no request ends in a judged second.
pub(crate) fn websockets_behind_their_warmup(objective: Objective) -> Run {
    let mut run = websockets();
    let plan = &mut run.header.plan;
    plan.warmup = Duration::from_secs(1);
    plan.objective = Some(objective);
    if let Load::WebSockets(load) = &mut plan.load {
        load.message = None;
    }
    for window in &mut run.windows[1..] {
        window.outcomes = OutcomeCounts::default();
        window.response = Histogram::new();
        window.service = Histogram::new();
        window.failed = Histogram::new();
    }
    run
}

fn window(second: u32) -> Window {
    let mut window = Window::new(second);
    let mut websocket = WebSocketWindow::default();
    let mut broadcasts = BroadcastWindow::default();
    window.connections = SUBSCRIBERS;
    match second {
        0 => {
            window.offered = SUBSCRIBERS + 10;
            window.outcomes.add_many(Outcome::Ok, SUBSCRIBERS);
            window.outcomes.add_many(Outcome::WrongStatus, 10);
            window.status = BTreeMap::from([(101, SUBSCRIBERS), (403, 10)]);
            window.response.record(900, SUBSCRIBERS);
            window.service.record(800, SUBSCRIBERS);
            window.failed.record(900, 10);
            websocket.connected = SUBSCRIBERS;
            websocket.failed.insert("status 403".to_owned(), 10);
            websocket.handshake.record(900, SUBSCRIBERS);
        }
        11 => {
            for _ in 0..SUBSCRIBERS {
                broadcasts.stays.push(Stay {
                    open_us: 500_000,
                    close_us: 11_000_000,
                    received_any: true,
                });
            }
            websocket.closed.insert(1006, 3);
            broadcasts.gaps = 18;
        }
        _ => {
            broadcasts.sightings.push(Sighting {
                id: u64::from(second),
                first_us: u64::from(second) * 1_000_000 - 100_000,
                // The first came within a second of the beginning.
                received: if second == 1 { 0 } else { SUBSCRIBERS - 2 },
            });
            broadcasts.latency.record(12_000, SUBSCRIBERS / 2);
            broadcasts.latency.record(85_000, SUBSCRIBERS / 2 - 2);
            websocket.messages_in = SUBSCRIBERS + 98;
            websocket.bytes_in = 200 * websocket.messages_in;
            websocket.messages_out = 100;
            websocket.bytes_out = 400;
            websocket.request.record(4_000, 98);
            websocket.unanswered = 2;
            window.offered = 100;
            window.outcomes.add_many(Outcome::Ok, 98);
            window.outcomes.add_many(Outcome::Timeout, 2);
            window.response.record(4_000, 98);
            window.service.record(4_000, 98);
            window.failed.record(10_000_000, 2);
        }
    }
    websocket.channels.insert(0, broadcasts);
    window.websocket = Some(Box::new(websocket));
    window
}
