//! Rules about components over synthetic series: what triggers each, its text, and what does not trigger it.

use std::collections::BTreeMap;

use plimsoll_model::finding::{Certainty, Finding, Tier};
use plimsoll_model::metric::{self, series};
use plimsoll_model::reading::{Readings, SeriesTable};

use super::tests::{rule_of, rules_and_causes, rules_of};
use super::{Context, Stretches, find_in};
use crate::diagnosis::rule_id::RuleId;

/// Seconds of each stretch; P and F begin at 100 and 200.
const SECONDS: u32 = 10;
pub(crate) const AT: &str = "10.0.0.7:1";

pub(crate) fn at(metric: &str) -> String {
    series(metric, &[("at", AT)])
}

fn of(metric: &str, proxy: &str, server: &str) -> String {
    series(metric, &[("at", AT), ("proxy", proxy), ("server", server)])
}

pub(crate) fn setting(name: &str, file: &str) -> String {
    let labels = [("at", AT), ("setting", name), ("file", file)];
    series(
        metric::SETTING,
        &labels[..if file.is_empty() { 2 } else { 3 }],
    )
}

fn active() -> String {
    series(
        metric::NGINX_CONNECTIONS,
        &[("at", AT), ("state", "active")],
    )
}

/// Parts that have room, on another machine: nothing of the target's own is read.
fn healthy() -> BTreeMap<String, f64> {
    BTreeMap::from([
        (metric::TARGET_IS_LOCAL.to_owned(), 0.0),
        (active(), 20.0),
        (at(metric::NGINX_DROPPED), 0.0),
        (
            setting("worker_connections", "/etc/nginx/nginx.conf:3"),
            64.0,
        ),
        (setting("worker_processes", ""), 2.0),
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
        (at(metric::REDIS_MAIN_THREAD), 0.5),
        (at(metric::REDIS_EVICTED), 0.0),
        (at(metric::REDIS_OUT_OF_MEMORY), 0.0),
        (at(metric::REDIS_REJECTED), 0.0),
        (at(metric::REDIS_FSYNC_DELAYED), 0.0),
        (at(metric::REDIS_HITS), 90.0),
        (at(metric::REDIS_MISSES), 10.0),
        (setting("maxclients", "/etc/redis.conf"), 500.0),
        (at(metric::MEMCACHED_REFUSED), 0.0),
        (at(metric::MEMCACHED_EVICTIONS), 0.0),
        (at(metric::MEMCACHED_HITS), 90.0),
        (at(metric::MEMCACHED_MISSES), 10.0),
    ])
}

/// Findings when these values come with the failing load.
fn found(failing: &[(String, f64)]) -> Vec<Finding> {
    let healthy: Vec<(String, f64)> = healthy().into_iter().collect();
    found_in(&healthy, failing)
}

/// The same where these values are those of the passing load.
pub(crate) fn found_in(healthy: &[(String, f64)], failing: &[(String, f64)]) -> Vec<Finding> {
    found_over(healthy, |_| failing.to_vec())
}

/// The only finding, with fragments of its limit, its sentence and its remedy.
#[track_caller]
pub(crate) fn only(found: Vec<Finding>, rule: RuleId, expected: [&str; 3]) -> Finding {
    assert_eq!(rules_of(&found), [rule], "{found:#?}");
    let finding = found.into_iter().next().unwrap();
    for (text, expected) in [&finding.limit, &finding.sentence, &finding.remedy]
        .into_iter()
        .zip(expected)
    {
        assert!(text.contains(expected), "`{expected}` is not in `{text}`");
    }
    finding
}

/// The same where these series were not read while it failed.
pub(crate) fn found_over_gaps(
    healthy: &[(String, f64)],
    failing: &[(String, f64)],
    gaps: &[String],
) -> Vec<Finding> {
    found_over(healthy, |_| {
        let gaps = gaps.iter().map(|series| (series.clone(), f64::NAN));
        failing.iter().cloned().chain(gaps).collect()
    })
}

/// The same with a failing stretch that differs from second to second.
pub(crate) fn found_over(
    healthy: &[(String, f64)],
    failing: impl Fn(u32) -> Vec<(String, f64)>,
) -> Vec<Finding> {
    let mut table = SeriesTable::default();
    for (start, is_failing) in [(100, false), (200, true)] {
        for nth in 0..SECONDS {
            let mut values: BTreeMap<String, f64> = healthy.iter().cloned().collect();
            if is_failing {
                values.extend(failing(nth));
            }
            table.push(&Readings {
                second: start + nth,
                values,
                new_series: BTreeMap::new(),
            });
        }
    }
    let stretches = Stretches {
        base: Vec::new(),
        passing: Some((100, 100 + SECONDS)),
        failing: Some((200, 200 + SECONDS)),
    };
    let context = Context {
        target: "10.0.0.7:80".to_owned(),
        bound_us: None,
        open: true,
        robbed: false,
    };
    find_in(&table, &[], &stretches, &context)
}

/// One finding that follows from no other, of this rule, with these fragments in limit, sentence and remedy.
#[track_caller]
fn expect_only(failing: &[(String, f64)], rule: RuleId, expected: [&str; 3]) -> Finding {
    let found = found(failing);
    let causes = found.iter().filter(|found| found.consequence_of.is_none());
    let rules: Vec<RuleId> = causes.map(rule_of).collect();
    assert_eq!(rules, [rule], "{found:#?}");
    let texts = [&found[0].limit, &found[0].sentence, &found[0].remedy];
    for (text, word) in texts.into_iter().zip(expected) {
        assert!(text.contains(word), "`{word}` is not in `{text}`");
    }
    found[0].clone()
}

#[test]
fn parts_with_room_are_silent() {
    assert_eq!(found(&[]), []);
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
    assert_eq!(found(&[&queue[..], &[with_room]].concat()), []);
}

#[test]
fn a_full_frontend_behind_a_full_server_is_its_consequence() {
    let found = found(&[
        (of(metric::HAPROXY_QUEUE, "app", "BACKEND"), 5.0),
        (of(metric::HAPROXY_SESSIONS, "web", "FRONTEND"), 100.0),
    ]);
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

#[test]
fn redis_at_its_limits() {
    expect_only(
        &[(at(metric::REDIS_MAIN_THREAD), 0.99)],
        RuleId::K1,
        ["the one thread of Redis", "99 % of a CPU", "pipelines"],
    );
    expect_only(
        &[(at(metric::REDIS_OUT_OF_MEMORY), 3.0)],
        RuleId::K2,
        [
            "maxmemory of Redis",
            "refused 3 commands a second",
            "allkeys-lru",
        ],
    );
    expect_only(
        &[(at(metric::REDIS_REJECTED), 3.0)],
        RuleId::K4,
        [
            "maxclients of Redis",
            "its limit of 500 clients was reached",
            "(now 500) in /etc/redis.conf",
        ],
    );
    expect_only(
        &[(at(metric::REDIS_FSYNC_DELAYED), 0.1)],
        RuleId::K5,
        ["append-only file", "6 times a minute", "appendfsync no"],
    );
}

#[test]
fn throwing_away_what_nobody_asks_for_is_no_sure_limit() {
    for (evictions, misses, rule) in [
        (metric::REDIS_EVICTED, metric::REDIS_MISSES, RuleId::K2),
        (
            metric::MEMCACHED_EVICTIONS,
            metric::MEMCACHED_MISSES,
            RuleId::K6,
        ),
    ] {
        let evicted = (at(evictions), 50.0);
        let words = ["memory of", "90 % of the lookups were hits", "memory"];
        let found = expect_only(
            std::slice::from_ref(&evicted),
            rule,
            ["mem", words[1], words[2]],
        );
        assert_eq!(found.certainty, Certainty::Possible);
        let missed = (at(misses), 90.0);
        let found = expect_only(
            &[evicted, missed],
            rule,
            ["mem", "50 % of the lookups were hits", "mem"],
        );
        assert_eq!(found.certainty, Certainty::Explicit);
    }
}

#[test]
fn memcached_without_connections() {
    expect_only(
        &[(at(metric::MEMCACHED_REFUSED), 1.0)],
        RuleId::K6,
        [
            "connections of memcached",
            "refused 60 connections a minute",
            "option -c",
        ],
    );
}
