//! nginx, over synthetic series.

use plimsoll_model::finding::{Certainty, Finding, Tier};
use plimsoll_model::metric::{self, series};

use crate::diagnosis::rule_id::RuleId;
use crate::rules::tests::{AT, at, found_in, only, setting};

fn active() -> String {
    series(
        metric::NGINX_CONNECTIONS,
        &[("at", AT), ("state", "active")],
    )
}

fn time(phase: &str) -> String {
    series(metric::NGINX_TIME, &[("at", AT), ("phase", phase)])
}

/// An nginx with room, on another machine.
fn healthy() -> Vec<(String, f64)> {
    vec![
        (metric::TARGET_IS_LOCAL.to_owned(), 0.0),
        (active(), 20.0),
        (at(metric::NGINX_DROPPED), 0.0),
        (
            setting("worker_connections", "/etc/nginx/nginx.conf:3"),
            64.0,
        ),
        (setting("worker_processes", ""), 2.0),
        (time("request"), 0.040),
        (time("connect"), 0.001),
        (time("header"), 0.030),
    ]
}

#[track_caller]
fn expect_only(failing: &[(String, f64)], rule: RuleId, expected: [&str; 3]) -> Finding {
    only(found_in(&healthy(), failing), rule, expected)
}

#[test]
fn an_nginx_with_room_is_silent() {
    assert_eq!(found_in(&healthy(), &[]), []);
    // Three times as slow, and still quick.
    let near = [(time("header"), 0.045), (time("connect"), 0.008)];
    assert_eq!(found_in(&healthy(), &near), []);
}

#[test]
fn nginx_without_a_place() {
    let found = expect_only(
        &[(at(metric::NGINX_DROPPED), 7.0)],
        RuleId::X1,
        [
            "nginx (10.0.0.7:1)",
            "closed 7 connections a second",
            "(now 64) in /etc/nginx/nginx.conf:3",
        ],
    );
    assert_eq!(
        (found.tier, found.certainty),
        (Some(Tier::Proxy), Certainty::Explicit)
    );
    expect_only(
        &[(active(), 125.0)],
        RuleId::X2,
        [
            "worker_connections",
            "up to 125 client connections and slots for 128",
            "1024 or more",
        ],
    );
}

#[test]
fn servers_that_are_slow() {
    let answers = [(time("header"), 0.900), (time("request"), 0.950)];
    let expected = "took 900 ms to the first byte (95th percentile), 30 ms at low load, and accepted connections \
        within 1 ms";
    expect_only(
        &answers,
        RuleId::X7,
        [
            "servers behind nginx are slow",
            expected,
            "watch the application behind nginx",
        ],
    );
    let connects = [(time("header"), 0.300), (time("connect"), 0.250)];
    let expected = [
        "accepts no connections",
        "nginx took 250 ms to connect to a server (95th percentile), and 1 ms at low load",
        "backlog",
    ];
    expect_only(&connects, RuleId::X3, expected);
}
