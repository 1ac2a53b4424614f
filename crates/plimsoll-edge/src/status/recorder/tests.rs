//! Held against given figures: an hour, an overload, a server that goes.

use serde_json::Value;

use super::*;
use crate::overview::{RouteView, ServerView};

/// 2026-11-27 14:00 UTC.
const START: f64 = 1_795_788_000.0;

/// An edge of one pool, by the second.
struct Played {
    recorder: Recorder,
    overview: Overview,
    second: u64,
}

impl Played {
    fn start() -> Self {
        let server = |name: &str| ServerView {
            name: name.to_owned(),
            is_in: true,
            limit: 10,
            ..ServerView::default()
        };
        let pool = PoolView {
            name: "app".to_owned(),
            waiting: 0,
            servers: vec![server("a"), server("b")],
        };
        let route = RouteView {
            name: "/".to_owned(),
            ..RouteView::default()
        };
        let mut played = Self {
            recorder: Recorder::default(),
            overview: Overview {
                pools: vec![pool],
                routes: vec![route],
                ..Overview::default()
            },
            second: 0,
        };
        played.pass(0, 0, 0);
        played
    }

    /// A second with so many responses of servers, fallbacks for a full queue, and requests in the queue.
    fn pass(&mut self, served: u64, fallbacks: u64, waiting: u64) {
        let overview = &mut self.overview;
        overview.requests += served + fallbacks;
        overview.statuses[1] += served + fallbacks;
        overview.own[Reason::Fallback as usize] += fallbacks;
        overview.fallback_causes[Reason::QueueFull as usize] += fallbacks;
        overview.routes[0].requests += served + fallbacks;
        let pool = &mut overview.pools[0];
        pool.waiting = waiting;
        for server in &mut pool.servers {
            server.answers += served / 2;
            server.in_flight = if waiting > 0 { 10 } else { 3 };
        }
        let wall = SystemTime::UNIX_EPOCH + Duration::from_secs_f64(START);
        let passed = Duration::from_secs(self.second);
        let moment = Moment {
            at: passed.as_secs() * 1_000_000_000,
            wall: wall + passed,
        };
        let overview = self.overview.clone();
        self.recorder
            .observe(moment, overview, &Surroundings::default());
        self.second += 1;
    }

    fn status(&self) -> Value {
        serde_json::from_str(&self.recorder.status().unwrap()).unwrap()
    }
}

#[test]
fn an_overload_is_told_with_what_the_servers_carry() {
    let mut played = Played::start();
    assert!(
        played.recorder.status().is_none(),
        "one snapshot has no rate"
    );
    for _ in 1..120 {
        played.pass(600, 0, 0);
    }
    let status = played.status();
    assert_eq!(status["sentence"], "Carrying 600 req/s.");
    assert_eq!(
        status["capacity"],
        serde_json::json!([]),
        "nothing was saturated"
    );
    // From 14:02 on.
    for _ in 0..180 {
        played.pass(776, 24, 30);
    }
    let status = played.status();
    assert_eq!(
        status["sentence"],
        "Carrying 776 of about 780 req/s; 3 % get the fallback because the queue is full since 14:02 UTC."
    );
    assert_eq!(status["wrong"][0]["kind"], "queue_full");
    assert_eq!(status["wrong"][0]["since"], START + 120.0);
    assert_eq!(status["now"]["limit"], 20);
    for _ in 0..120 {
        played.pass(500, 0, 0);
    }
    let status = played.status();
    assert_eq!(status["sentence"], "Carrying 500 of about 780 req/s.");
    assert_eq!(status["wrong"], serde_json::json!([]));
    assert_eq!(status["past"][0]["kind"], "queue_full");
}

#[test]
fn a_server_that_goes_is_told_until_it_is_back() {
    let mut played = Played::start();
    (0..60).for_each(|_| played.pass(100, 0, 0));
    played.overview.pools[0].servers[1].state = ServerState::FailsChecks;
    (0..30).for_each(|_| played.pass(100, 0, 0));
    let status = played.status();
    assert_eq!(
        status["sentence"],
        "Carrying 100 req/s; server b of pool app fails its health checks since 14:01 UTC."
    );
    assert_eq!(status["wrong"][0]["subject"], "app b");
    assert_eq!(status["now"]["limit"], 10, "the limit of what is in");
    played.overview.pools[0].servers[1].state = ServerState::Drained;
    played.pass(100, 0, 0);
    assert_eq!(
        played.status()["wrong"],
        serde_json::json!([]),
        "a drain is wanted"
    );
    played.overview.pools[0].servers[0].state = ServerState::Ejected;
    played.pass(100, 0, 0);
    let kinds = played.status()["wrong"].as_array().unwrap().clone();
    let kinds: Vec<&Value> = kinds.iter().map(|wrong| &wrong["kind"]).collect();
    assert_eq!(kinds, ["pool_down", "server_ejected"]);
}

#[test]
fn the_page_gets_the_whole_hour_at_once_and_then_seconds() {
    let mut played = Played::start();
    for second in 1..=5_000 {
        played.pass(second % 7 * 100, 0, 0);
    }
    let full = played.recorder.full();
    assert!(full.len() < 1_500_000, "{}", full.len());
    let full: Value = serde_json::from_str(&full).unwrap();
    let hour = &full["hour"];
    assert_eq!(
        (&hour["from"], &hour["rows"]),
        (&1_401.into(), &5_001.into())
    );
    let offered = hour["columns"]["offered"].as_array().unwrap();
    assert_eq!(offered.len(), 3_600);
    assert_eq!(offered[3_599], 5_000 % 7 * 100);
    assert_eq!(full["started"], START);
    let spark = &full["sparks"]["columns"]["route 0 /"];
    assert_eq!(spark.as_array().unwrap().len(), 240);
    played.pass(4_200, 0, 0);
    let change: Value = serde_json::from_str(&played.recorder.change()).unwrap();
    assert_eq!(change["hour"]["from"], 5_001);
    assert_eq!(
        change["hour"]["columns"]["offered"],
        serde_json::json!([4_200])
    );
    assert_eq!(change["routes"]["rows"][0]["name"], "/");
    assert_eq!(change["servers"]["rows"][1]["limit"], 10);
}

#[test]
fn expired_certificates_and_full_limits_are_told() {
    let wall = SystemTime::UNIX_EPOCH + Duration::from_secs_f64(START);
    let mut overview = Overview {
        connections: 99,
        ..Overview::default()
    };
    let mut snapshots = Snapshots::default();
    snapshots.push(0, overview.clone());
    overview.memory_full = 50;
    overview.rejected_connections = 5;
    overview.own[Reason::Shed as usize] = 50;
    snapshots.push(10_000_000_000, overview);
    let day = Duration::from_hours(24);
    let surroundings = Surroundings {
        connections_max: 100,
        certificates: vec![
            ("old.pem".to_owned(), wall - day),
            ("soon.pem".to_owned(), wall + 3 * day),
            ("good.pem".to_owned(), wall + 60 * day),
        ],
        ..Surroundings::default()
    };
    let found = rules::examine(&snapshots.now().unwrap(), &surroundings, wall);
    let texts: Vec<&str> = found
        .iter()
        .map(|condition| condition.text.as_str())
        .collect();
    assert_eq!(
        texts,
        [
            "Connections hold as much memory as `limits.memory` permits: 5 requests/s are turned away",
            "99 of 100 client connections are open, more are rejected",
            "The certificate old.pem has expired",
            "The certificate soon.pem expires in 3 days",
        ]
    );
    assert!(found.iter().all(|condition| !condition.remedy.is_empty()));
}
