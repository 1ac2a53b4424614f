//! A service as a whole, over synthetic windows and series.

use plimsoll_model::broadcast::BroadcastWindow;
use plimsoll_model::browser::PageWeight;
use plimsoll_model::finding::{Certainty, Finding};
use plimsoll_model::metric::{self, series};
use plimsoll_model::outcome::Outcome;
use plimsoll_model::reading::SeriesTable;
use plimsoll_model::websocket::WebSocketWindow;
use plimsoll_model::window::{StepWindow, Window};

use crate::content::{PageRow, WeighedPage};
use crate::diagnosis::rule_id::RuleId;
use crate::diagnosis::stretch::Stretch3;
use crate::diagnosis::{Context, Stretches};
use crate::findings::score;
use crate::machines::tables;
use crate::rules::checks;
use crate::rules::tests::two_stretch_run::{TwoStretchRun, answered, expect_of_run, nothing};
use crate::rules::tests::{AT, found_in, rules_and_causes};

/// A queue in HAProxy before a full server: a cause for what follows.
fn full_server(failing: bool) -> Vec<(String, f64)> {
    let of = |metric, server| series(metric, &[("at", AT), ("proxy", "app"), ("server", server)]);
    vec![
        (of(metric::HAPROXY_SESSIONS, "s1"), 10.0),
        (of(metric::HAPROXY_SESSIONS_LIMIT, "s1"), 10.0),
        (
            of(metric::HAPROXY_QUEUE, "BACKEND"),
            if failing { 40.0 } else { 0.0 },
        ),
        (of(metric::HAPROXY_QUEUE, "s1"), 0.0),
    ]
}

#[test]
fn as_many_answers_as_before_are_no_shape() {
    let more = TwoStretchRun::new(|_, window| answered(window, 150, 100, 400), nothing);
    assert_eq!(more.find(), []);
}

#[test]
fn less_is_done_beyond_the_line_because_of_something() {
    let fewer = |_: u32, window: &mut Window| answered(window, 150, 60, 400);
    let run = TwoStretchRun::new(fewer, |failing, _| full_server(failing));
    let found = run.find();
    assert_eq!(
        rules_and_causes(&found),
        [(RuleId::H1, None), (RuleId::S1, Some(RuleId::H1))],
        "{found:#?}"
    );
    let expected =
        "of 150 requests a second only 60 succeeded; at the load that passed, 100 of 100 did";
    assert!(found[1].sentence.contains(expected), "{found:#?}");
    // Without a cause it did not set the line: the limit is unknown.
    assert_eq!(TwoStretchRun::new(fewer, nothing).find(), []);
}

#[test]
fn answers_that_come_too_late() {
    let late = |_: u32, window: &mut Window| {
        answered(window, 150, 10, 400);
        window.outcomes.add_many(Outcome::Ok, 90);
        window.response.record(900_000, 90);
        window.outcomes.add_many(Outcome::Timeout, 40);
    };
    let found = TwoStretchRun::new(late, |failing, _| full_server(failing)).find();
    assert_eq!(
        rules_and_causes(&found),
        [(RuleId::H1, None), (RuleId::S3, Some(RuleId::H1))],
        "{found:#?}"
    );
    let expected = "only 10 of them within 500 ms, and 40 more were abandoned by the client";
    assert!(found[1].sentence.contains(expected), "{found:#?}");
}

#[test]
fn connections_that_are_tried_again_and_again() {
    let of = |metric| series(metric, &[("at", AT), ("proxy", "app"), ("server", "s1")]);
    let healthy = vec![
        (metric::TARGET_IS_LOCAL.to_owned(), 0.0),
        (of(metric::HAPROXY_RETRIES), 0.5),
        (of(metric::HAPROXY_SESSIONS_BEGUN), 100.0),
    ];
    assert_eq!(found_in(&healthy, &[]), []);
    let found = found_in(&healthy, &[(of(metric::HAPROXY_RETRIES), 60.0)]);
    assert_eq!(rules_and_causes(&found), [(RuleId::S2, None)], "{found:#?}");
    assert_eq!(found[0].certainty, Certainty::Explicit);
    let expected = "HAProxy retried 60 connections a second to s1, for 100 sessions";
    assert!(found[0].sentence.contains(expected), "{found:#?}");
    // A server that refuses is the cause.
    let refused = (of(metric::HAPROXY_CONNECT_ERRORS), 20.0);
    let found = found_in(&healthy, &[(of(metric::HAPROXY_RETRIES), 60.0), refused]);
    assert_eq!(
        rules_and_causes(&found),
        [(RuleId::H2, None), (RuleId::S2, Some(RuleId::H2))],
        "{found:#?}"
    );
}

#[test]
fn something_that_runs_in_a_rhythm() {
    let disk = series(metric::DISK_UTILIZATION, &[("system.device", "vda")]);
    let peak = |nth: u32| nth % 6 == 5;
    let run = TwoStretchRun::new(
        |nth, window| answered(window, 120, 100, if peak(nth) { 600 } else { 40 }),
        |_, nth| vec![(disk.clone(), if peak(nth) { 0.8 } else { 0.1 })],
    );
    let expected = [
        "response times rose every 6 s, from 40 ms to",
        "plimsoll.disk.utilization{system.device=vda} rises with them",
    ];
    expect_of_run(&run, RuleId::S6, &expected);
    // A service stalled for a whole second answers no request in it.
    let still = TwoStretchRun::new(
        |nth, window| match nth % 6 {
            3 | 4 => window.offered = 120,
            5 => answered(window, 120, 340, 1200),
            _ => answered(window, 120, 120, 40),
        },
        nothing,
    );
    expect_of_run(&still, RuleId::S6, &["response times rose every 6 s"]);
    // Slower and slower, as before every full queue, is no rhythm.
    let growing = TwoStretchRun::new(
        |nth, window| answered(window, 120, 100, 20 + 40 * u64::from(nth)),
        nothing,
    );
    assert_eq!(growing.find(), []);
    let noisy = TwoStretchRun::new(
        |nth, window| answered(window, 120, 100, 20 + u64::from(nth * nth * 7919 % 97)),
        nothing,
    );
    assert_eq!(noisy.find(), []);
}

#[test]
fn one_step_that_takes_most_of_the_time() {
    let steps = |dear_ms: u64, dear: u64| {
        move |_: u32, window: &mut Window| {
            answered(window, 120, 100, 30);
            for (id, count, ms) in [(0, 100 - dear, 10), (1, dear, dear_ms)] {
                let mut step = StepWindow::default();
                step.outcomes.add_many(Outcome::Ok, count);
                step.response.record(ms * 1000, count);
                window.steps.insert(id, step);
            }
        }
    };
    let run = TwoStretchRun::new(steps(300, 10), nothing);
    expect_of_run(
        &run,
        RuleId::S8,
        &["POST /report is 10 % of the requests and takes 77 % of their total time"],
    );
    assert_eq!(TwoStretchRun::new(steps(40, 10), nothing).find(), []);
    // Half of all requests may take most of the time.
    assert_eq!(TwoStretchRun::new(steps(300, 50), nothing).find(), []);
}

/// Pages of so many nodes, and windows of three stretches in which each takes so many µs for a node.
fn found_of_pages(nodes: [u64; 5], us_per_node: [u64; 5]) -> Vec<Finding> {
    let pages: Vec<WeighedPage> = (0_u32..)
        .zip(nodes)
        .map(|(row, nodes)| WeighedPage {
            page: format!("/article/{row}"),
            row: PageRow::Url(row),
            weight: PageWeight {
                document_nodes: nodes,
                document_bytes: 1000,
                ..PageWeight::default()
            },
        })
        .collect();
    let mut windows = sized([10; 3], [1500; 3]);
    for window in &mut windows {
        // In the failing stretch all wait in a queue.
        let wait_us = if window.second >= 200 { 800_000 } else { 0 };
        for ((row, nodes), each) in (0_u32..).zip(nodes).zip(us_per_node) {
            let mut results = StepWindow::default();
            results.outcomes.add_many(Outcome::Ok, 20);
            results.response.record(nodes * each + wait_us, 20);
            window.urls.insert(row, results);
        }
    }
    let stretches = Stretches {
        base: vec![(0, 30)],
        passing: Some((100, 130)),
        failing: Some((200, 230)),
    };
    let context = Context {
        target: "127.0.0.1:80".to_owned(),
        bound_us: None,
        open: false,
        robbed: false,
    };
    let readings = SeriesTable::default();
    let machines = tables(&readings);
    let all = Stretch3::on_each(&machines, &windows, &stretches, &context).into_iter();
    let all: Vec<Stretch3<'_>> = all.map(|over| over.weighing(&pages)).collect();
    score::findings(checks(), &all)
}

#[test]
fn pages_that_take_time_for_each_node() {
    let nodes = [362, 450, 520, 600, 670];
    let found = found_of_pages(nodes, [45; 5]);
    assert_eq!(
        rules_and_causes(&found),
        [(RuleId::S11, None)],
        "{found:#?}"
    );
    assert!(found[0].limit.ends_with("their nodes"), "{found:#?}");
    let expected = "for 362 nodes (/article/0)";
    assert!(found[0].sentence.contains(expected), "{found:#?}");
    let heaviest = found[0].evidence.last().unwrap();
    assert_eq!(heaviest.label, "median time of /article/4, 670 nodes");
    assert!((heaviest.base.unwrap() - 0.030).abs() < 0.001, "{found:#?}");
    assert!(heaviest.failing.unwrap() > 0.8, "{found:#?}");
    // A heavy page that is as quick as a light one.
    assert_eq!(found_of_pages(nodes, [45, 80, 20, 70, 22]), []);
}

/// Windows of three stretches with these users and bytes for each answer.
fn sized(users: [u64; 3], bytes: [u64; 3]) -> Vec<Window> {
    let mut windows = Vec::new();
    for (stretch, from) in [0, 100, 200].into_iter().enumerate() {
        for second in from..from + 30 {
            let mut window = Window::new(second);
            answered(&mut window, 100, 100, 20);
            window.users = users[stretch];
            window.bytes_in = 100 * bytes[stretch] + u64::from(second % 7);
            windows.push(window);
        }
    }
    windows
}

fn found_in_windows(windows: &[Window], identifies_messages: bool) -> Vec<Finding> {
    let stretches = Stretches {
        base: vec![(0, 30)],
        passing: Some((100, 130)),
        failing: Some((200, 230)),
    };
    let context = Context {
        target: "127.0.0.1:80".to_owned(),
        bound_us: None,
        open: false,
        robbed: false,
    };
    let readings = SeriesTable::default();
    let machines = tables(&readings);
    let all = Stretch3::on_each(&machines, windows, &stretches, &context).into_iter();
    let all: Vec<Stretch3<'_>> = all
        .map(|over| over.identifying_messages(identifies_messages))
        .collect();
    score::findings(checks(), &all)
}

#[test]
fn answers_that_grow_with_users() {
    // The load fell in between: users and time did not rise together.
    let found = found_in_windows(&sized([10, 100, 30], [1500, 6000, 2500]), false);
    assert_eq!(rules_and_causes(&found), [(RuleId::S9, None)], "{found:#?}");
    let expected = "the answers grew by 50 bytes with each user (95 % interval 50 bytes to 50 bytes), from 1.5 kB at 10 to 6.0 kB \
        at 100 users";
    assert_eq!(found[0].sentence, expected);
    assert!(found[0].remedy.contains("pages with a limit"), "{found:#?}");
    let failing = found[0].evidence[0].failing.unwrap();
    assert!((failing - 2500.0).abs() < 1.0, "{found:#?}");
    assert_eq!(
        found_in_windows(&sized([10, 100, 30], [1500; 3]), false),
        []
    );
}

#[test]
fn messages_that_are_sent_several_times() {
    let mut windows = sized([10; 3], [1500; 3]);
    for window in &mut windows {
        let broadcast = BroadcastWindow {
            duplicates: 30,
            ..BroadcastWindow::default()
        };
        window.websocket = Some(Box::new(WebSocketWindow {
            messages_in: 60,
            bytes_in: 6000,
            channels: [(0, broadcast)].into(),
            ..WebSocketWindow::default()
        }));
    }
    let found = found_in_windows(&windows, true);
    assert_eq!(
        rules_and_causes(&found),
        [(RuleId::S10, None)],
        "{found:#?}"
    );
    assert!(
        found[0].sentence.contains("50 % of the messages"),
        "{found:#?}"
    );
    // Without a number or a time in each, equal messages may be different ones.
    assert_eq!(found_in_windows(&windows, false), []);
}
