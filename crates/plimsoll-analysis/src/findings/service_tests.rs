//! Rules about a service as a whole over synthetic windows and series: what triggers each, its text, and what does
//! not trigger it.

use std::collections::BTreeMap;

use plimsoll_model::finding::{Certainty, Finding};
use plimsoll_model::journey::StepInfo;
use plimsoll_model::metric::{self, series};
use plimsoll_model::outcome::Outcome;
use plimsoll_model::reading::{Readings, SeriesTable};
use plimsoll_model::window::{StepWindow, Window};

use super::components_tests::{AT, at, found_in, found_over_gaps};
use super::tests::{rule_of, rules_and_causes};
use super::{Context, Stretches, score};
use crate::diagnosis::rule_id::RuleId;
use crate::diagnosis::stretch::Stretch3;
use crate::rules::checks;

const SECONDS: u32 = 24;

/// P and F of a run: windows and readings, second by second from 0 in each.
#[derive(Default)]
struct TwoStretchRun {
    windows: Vec<Window>,
    readings: SeriesTable,
}

impl TwoStretchRun {
    /// 100 requests a second, served in 20 ms each, in P; `failing` gives the difference in F.
    fn new(
        failing: impl Fn(u32, &mut Window),
        values: impl Fn(bool, u32) -> Vec<(String, f64)>,
    ) -> Self {
        let mut run = Self::default();
        for (is_failing, start) in [(false, 0), (true, 100)] {
            for nth in 0..SECONDS {
                let mut window = Window::new(start + nth);
                if is_failing {
                    failing(nth, &mut window);
                } else {
                    answered(&mut window, 100, 100, 20);
                }
                run.windows.push(window);
                run.readings.push(&Readings {
                    second: start + nth,
                    values: values(is_failing, nth).into_iter().collect(),
                    new_series: BTreeMap::new(),
                });
            }
        }
        run
    }

    fn find(&self) -> Vec<Finding> {
        let stretches = Stretches {
            base: Vec::new(),
            passing: Some((0, SECONDS)),
            failing: Some((100, 100 + SECONDS)),
        };
        let context = Context {
            target: "127.0.0.1:80".to_owned(),
            bound_us: Some(500_000),
            open: false,
            robbed: false,
        };
        let steps = ["GET /", "POST /report"].map(|label| StepInfo {
            label: label.to_owned(),
            journey: 0,
            groups: Vec::new(),
            once: false,
        });
        let over = Stretch3::new(&self.readings, &self.windows, &stretches, &context);
        score::findings(checks(), &over.naming(&steps))
    }
}

/// So many requests were due and so many were answered well, after so many ms.
fn answered(window: &mut Window, due: u64, good: u64, ms: u64) {
    window.offered = due;
    window.sent = due;
    window.outcomes.add_many(Outcome::Ok, good);
    window.response.record(ms * 1000, good);
    window.service.record(ms * 1000, good);
}

fn nothing(_: bool, _: u32) -> Vec<(String, f64)> {
    Vec::new()
}

#[track_caller]
fn expect_only(run: &TwoStretchRun, rule: RuleId, expected: &[&str]) -> Finding {
    let found = run.find();
    assert_eq!(rules_and_causes(&found), [(rule, None)], "{found:#?}");
    for expected in expected {
        let text = format!(
            "{} {} {}",
            found[0].limit, found[0].sentence, found[0].remedy
        );
        assert!(text.contains(expected), "`{expected}` is not in {text}");
    }
    assert!(!found[0].evidence.is_empty());
    found[0].clone()
}

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

fn cache(hits: f64, misses: f64) -> Vec<(String, f64)> {
    vec![
        (at(metric::REDIS_HITS), hits),
        (at(metric::REDIS_MISSES), misses),
    ]
}

#[test]
fn copies_that_end_all_at_once() {
    let bursts = |nth: u32| nth % 8 == 7;
    let run = TwoStretchRun::new(
        |nth, window| answered(window, 120, 100, if bursts(nth) { 90 } else { 30 }),
        |failing, nth| cache(400.0, if failing && bursts(nth) { 150.0 } else { 4.0 }),
    );
    let found = run.find();
    assert_eq!(rule_of(&found[0]), RuleId::S4, "{found:#?}");
    let expected = "in 3 seconds up to 150 lookups a second missed in Redis (10.0.0.7:1), and 4 in the others; answers \
        then took 3.0";
    assert!(found[0].sentence.contains(expected), "{found:#?}");
    // The same bursts, without an effect on response times.
    let unfelt = TwoStretchRun::new(
        |_, window| answered(window, 120, 100, 30),
        |failing, nth| cache(400.0, if failing && bursts(nth) { 150.0 } else { 4.0 }),
    );
    assert_eq!(unfelt.find(), []);
}

#[test]
fn a_cache_without_room() {
    let varnish = |thrown: f64| {
        TwoStretchRun::new(
            |_, window| answered(window, 120, 100, 30),
            move |failing, _| {
                vec![
                    (at(metric::VARNISH_HITS), 80.0),
                    (at(metric::VARNISH_MISSES), 20.0),
                    (
                        at(metric::VARNISH_NUKED),
                        if failing { thrown } else { 0.0 },
                    ),
                ]
            },
        )
    };
    expect_only(
        &varnish(20.0),
        RuleId::S5,
        &["80 % of the lookups in Varnish were hits; it evicted 20 responses a second"],
    );
    assert_eq!(varnish(0.0).find(), []);
}

#[test]
fn sessions_begun_in_each_request() {
    let beginning = |count: f64, each_s: f64| {
        TwoStretchRun::new(
            |_, window| answered(window, 120, 100, 30),
            move |failing, _| {
                vec![
                    (metric::CPU_COUNT.to_owned(), 2.0),
                    (at(metric::DATABASE_SESSION_START), each_s),
                    (
                        at(metric::DATABASE_SESSIONS_BEGUN),
                        if failing { count } else { 100.0 },
                    ),
                ]
            },
        )
    };
    expect_only(
        &beginning(120.0, 0.006),
        RuleId::J11,
        &[
            "each request opened 1.0 sessions at 10.0.0.7:1, 120 a second in all; at 6.0 ms each, opening them takes \
             36 % of all CPUs",
        ],
    );
    assert_eq!(beginning(120.0, 0.0003).find(), [], "they cost little");
    assert_eq!(beginning(40.0, 0.03).find(), [], "most requests have one");
}

#[test]
fn a_cache_that_finds_less() {
    let run = TwoStretchRun::new(
        |_, window| answered(window, 120, 100, 30),
        |failing, _| {
            if failing {
                cache(60.0, 40.0)
            } else {
                cache(90.0, 10.0)
            }
        },
    );
    expect_only(
        &run,
        RuleId::S5,
        &["60 % of the lookups in Redis (10.0.0.7:1) were hits, and 90 % at"],
    );
    let few = TwoStretchRun::new(
        |_, window| answered(window, 120, 100, 30),
        |failing, _| {
            if failing {
                cache(0.0, 2.0)
            } else {
                cache(90.0, 10.0)
            }
        },
    );
    assert_eq!(few.find(), [], "two look-ups a second tell nothing");
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
    expect_only(&run, RuleId::S6, &expected);
    // A service stalled for a whole second answers no request in it.
    let still = TwoStretchRun::new(
        |nth, window| match nth % 6 {
            3 | 4 => window.offered = 120,
            5 => answered(window, 120, 340, 1200),
            _ => answered(window, 120, 120, 40),
        },
        nothing,
    );
    expect_only(&still, RuleId::S6, &["response times rose every 6 s"]);
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
    expect_only(
        &run,
        RuleId::S8,
        &["POST /report is 10 % of the requests and takes 77 % of their total time"],
    );
    assert_eq!(TwoStretchRun::new(steps(40, 10), nothing).find(), []);
    // Half of all requests may take most of the time.
    assert_eq!(TwoStretchRun::new(steps(300, 50), nothing).find(), []);
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

#[test]
fn a_command_that_holds_redis() {
    let of = |metric| series(metric, &[("at", AT), ("command", "keys")]);
    let healthy = vec![
        (metric::TARGET_IS_LOCAL.to_owned(), 0.0),
        (of(metric::REDIS_COMMAND_CALLS), 0.1),
        (of(metric::REDIS_COMMAND_TIME), 0.001),
    ];
    // One call in ten seconds may be slow.
    assert_eq!(found_in(&healthy, &[]), []);
    let often = [
        (of(metric::REDIS_COMMAND_CALLS), 50.0),
        (of(metric::REDIS_COMMAND_TIME), 0.7),
    ];
    let found = found_in(&healthy, &often);
    assert_eq!(rules_and_causes(&found), [(RuleId::K3, None)], "{found:#?}");
    let expected = "KEYS took 14.0 ms on average and occupied Redis's one thread 70 % of the time";
    assert!(found[0].sentence.contains(expected), "{found:#?}");
    assert!(found[0].remedy.contains("use SCAN instead"), "{found:#?}");
    // Saturated by it, Redis answers no INFO: its cost at the load below is used.
    let swamped = found_over_gaps(
        &healthy,
        &[(at(metric::REDIS_MAIN_THREAD), 1.0)],
        &[
            of(metric::REDIS_COMMAND_CALLS),
            of(metric::REDIS_COMMAND_TIME),
        ],
    );
    assert_eq!(
        rules_and_causes(&swamped),
        [(RuleId::K3, None), (RuleId::K1, Some(RuleId::K3))],
        "{swamped:#?}"
    );
    let expected = "KEYS took 10.0 ms on average at the load below";
    assert!(swamped[0].sentence.contains(expected), "{swamped:#?}");
    // Many calls that are quick each are K1's concern.
    let quick = [
        (of(metric::REDIS_COMMAND_CALLS), 5000.0),
        (of(metric::REDIS_COMMAND_TIME), 0.7),
    ];
    assert_eq!(found_in(&healthy, &quick), []);
}
