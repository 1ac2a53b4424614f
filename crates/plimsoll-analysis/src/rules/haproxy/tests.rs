//! HAProxy, over synthetic series.

use plimsoll_model::finding::Finding;
use plimsoll_model::metric::{self, series};

use crate::diagnosis::rule_id::RuleId;
use crate::rules::tests::two_stretch_run::{TwoStretchRun, answered};
use crate::rules::tests::{AT, at, found_in, only_cause, rule_of, rules_and_causes};

fn of(metric: &str, proxy: &str, server: &str) -> String {
    series(metric, &[("at", AT), ("proxy", proxy), ("server", server)])
}

/// A HAProxy with room, on another machine.
fn healthy() -> Vec<(String, f64)> {
    vec![
        (metric::TARGET_IS_LOCAL.to_owned(), 0.0),
        (at(metric::HAPROXY_CONNECTIONS), 20.0),
        (at(metric::HAPROXY_CONNECTIONS_LIMIT), 100.0),
        (at(metric::HAPROXY_IDLE), 0.9),
        (of(metric::HAPROXY_SESSIONS, "web", "FRONTEND"), 20.0),
        (of(metric::HAPROXY_SESSIONS_LIMIT, "web", "FRONTEND"), 100.0),
        (of(metric::HAPROXY_SESSIONS, "app", "s1"), 10.0),
        (of(metric::HAPROXY_SESSIONS_LIMIT, "app", "s1"), 10.0),
        (of(metric::HAPROXY_QUEUE, "app", "s1"), 0.0),
        (of(metric::HAPROXY_QUEUE, "app", "BACKEND"), 0.0),
        (of(metric::HAPROXY_CONNECT_ERRORS, "app", "s1"), 0.0),
        (of(metric::HAPROXY_CONNECT_ERRORS, "app", "BACKEND"), 0.0),
    ]
}

/// One finding that follows from no other, of this rule, with these fragments in limit, sentence and remedy.
#[track_caller]
fn expect_only(failing: &[(String, f64)], rule: RuleId, expected: [&str; 3]) -> Finding {
    only_cause(found_in(&healthy(), failing), rule, expected)
}

#[test]
fn a_haproxy_with_room_is_silent() {
    assert_eq!(found_in(&healthy(), &[]), []);
}

#[test]
fn a_queue_in_haproxy_needs_a_full_server() {
    let queue = [
        (of(metric::HAPROXY_QUEUE, "app", "s1"), 2.0),
        (of(metric::HAPROXY_QUEUE, "app", "BACKEND"), 5.0),
    ];
    expect_only(
        &queue,
        RuleId::H1,
        [
            "server s1 in HAProxy's app",
            "7 requests waited",
            "(now 10), then reload",
        ],
    );
    let with_room = (of(metric::HAPROXY_SESSIONS, "app", "s1"), 9.0);
    assert_eq!(
        found_in(&healthy(), &[&queue[..], &[with_room]].concat()),
        []
    );
}

#[test]
fn a_full_frontend_behind_a_full_server_is_its_consequence() {
    let found = found_in(
        &healthy(),
        &[
            (of(metric::HAPROXY_QUEUE, "app", "BACKEND"), 5.0),
            (of(metric::HAPROXY_SESSIONS, "web", "FRONTEND"), 100.0),
        ],
    );
    let rules = rules_and_causes(&found);
    assert_eq!(rules, [(RuleId::H1, None), (RuleId::H7, Some(RuleId::H1))]);
    expect_only(
        &[(at(metric::HAPROXY_CONNECTIONS), 100.0)],
        RuleId::H7,
        [
            "maxconn of HAProxy (10.0.0.7:1)",
            "all its 100 client connections",
            "(now 100)",
        ],
    );
}

#[test]
fn servers_that_refuse_and_a_busy_haproxy() {
    let errors = [
        (of(metric::HAPROXY_CONNECT_ERRORS, "app", "s1"), 0.5),
        (of(metric::HAPROXY_CONNECT_ERRORS, "app", "BACKEND"), 0.5),
    ];
    expect_only(
        &errors,
        RuleId::H2,
        [
            "server s1 of HAProxy's app",
            "30 connections a minute",
            "accepts no connections",
        ],
    );
    expect_only(
        &[(at(metric::HAPROXY_IDLE), 0.1)],
        RuleId::H10,
        ["CPU of HAProxy", "idle 10 % of the time", "nbthread"],
    );
}

fn servers(times: [f64; 3], begun: [f64; 3]) -> Vec<(String, f64)> {
    let mut values = Vec::new();
    for (server, (time_s, begun)) in ["s1", "s2", "s3"]
        .into_iter()
        .zip(times.into_iter().zip(begun))
    {
        let of = [("at", AT), ("proxy", "app"), ("server", server)];
        let answer = [of[0], of[1], of[2], ("phase", "answer")];
        values.push((series(metric::HAPROXY_SESSIONS_BEGUN, &of), begun));
        values.push((series(metric::HAPROXY_TIME, &answer), time_s));
        values.push((series(metric::HAPROXY_WEIGHT, &of), 1.0));
    }
    values
}

#[test]
fn servers_that_are_unequal() {
    let healthy = servers([0.03; 3], [40.0, 42.0, 41.0]);
    assert_eq!(found_in(&healthy, &[]), []);
    let found = found_in(&healthy, &servers([0.03; 3], [80.0, 20.0, 23.0]));
    assert_eq!(
        rules_and_causes(&found),
        [(RuleId::H11, None)],
        "{found:#?}"
    );
    let expected =
        "server s1 of app received 2.0 times as many requests as the average of the 3 servers";
    assert!(found[0].sentence.contains(expected), "{found:#?}");
    let found = found_in(&healthy, &servers([0.03, 0.2, 0.04], [40.0, 42.0, 41.0]));
    let expected = "server s2 of app took 5.7 times as long to answer";
    assert!(found[0].sentence.contains(expected), "{found:#?}");
    // A server with twice the weight is to have twice as much.
    let mut weighed = servers([0.03; 3], [80.0, 41.0, 40.0]);
    let heavy = series(
        metric::HAPROXY_WEIGHT,
        &[("at", AT), ("proxy", "app"), ("server", "s1")],
    );
    weighed.retain(|value| value.0 != heavy);
    weighed.push((heavy, 2.0));
    assert_eq!(found_in(&weighed, &[]), []);
}

#[test]
fn a_server_that_is_new_and_slow() {
    let values = |warm: f64| {
        move |failing: bool, nth: u32| {
            let is_there = failing && nth >= 4;
            let time_s = if nth < 14 { warm } else { 0.03 };
            let begun = if is_there { 40.0 } else { 0.0 };
            servers([0.03, 0.03, time_s], [40.0, 40.0, begun])
        }
    };
    let run = |warm| TwoStretchRun::new(|_, window| answered(window, 120, 100, 30), values(warm));
    let found = run(0.9).find();
    assert_eq!(rule_of(&found[0]), RuleId::S7, "{found:#?}");
    let expected = "server s3 had just started and took 900 ms per answer in 10 of its first seconds, 30.0 times as long";
    assert!(found[0].sentence.contains(expected), "{found:#?}");
    assert!(
        !run(0.03)
            .find()
            .iter()
            .any(|found| rule_of(found) == RuleId::S7)
    );
}

#[test]
fn a_proxy_without_sockets_of_its_own() {
    let of = |class| series(metric::LOG_FAILURES, &[("at", AT), ("class", class)]);
    let healthy = vec![
        (metric::TARGET_IS_LOCAL.to_owned(), 0.0),
        (of("PC"), 0.0),
        (of("RC"), 0.0),
    ];
    assert_eq!(found_in(&healthy, &[]), []);
    let found = found_in(&healthy, &[(of("PC"), 2.0)]);
    assert_eq!(rules_and_causes(&found), [(RuleId::H8, None)], "{found:#?}");
    let expected = "HAProxy had no socket, port or memory left (PC, RC), 120 times a minute";
    assert!(found[0].sentence.contains(expected), "{found:#?}");
}
