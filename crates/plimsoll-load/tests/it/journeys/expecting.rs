//! Expectations, captures and their failures.

use plimsoll_model::journey::{Expectation, TextPiece, TextTemplate};
use plimsoll_model::outcome::Outcome;
use plimsoll_testkit::origin::{fault, site};

use super::scenario_builder::{
    ScenarioBuilder, capture, contains, ends, iterations, request_step, status, text,
};
use crate::trial::{assert_all, ms};

#[test]
fn what_is_not_expected_ends_the_iteration() {
    let site = site::start().unwrap();
    let mut written = ScenarioBuilder::default();
    let mut home = written.get("/items");
    home.expectations = vec![contains(TextTemplate::literal("pencil"))];
    let after = written.get("/items");
    written.journey(Vec::new(), vec![request_step(home), request_step(after)]);
    let total = written.run(site.address(), iterations(2.0, 10));
    assert_all(&total, Outcome::Expectation);
    assert_eq!((total.iterations, total.offered), (10, 10));
    assert_eq!((ends(&total, 0), ends(&total, 1)), ((0, 10), (0, 0)));
    let failure = &total.failures[0];
    assert!(
        failure.reason.starts_with("the body is "),
        "{}",
        failure.reason
    );
    assert!(failure.body.contains("pen"), "{}", failure.body);
}

#[test]
fn a_capture_that_finds_nothing_ends_the_iteration_unless_it_has_a_default() {
    let site = site::start().unwrap();
    for default in [None, Some(TextTemplate::literal("/status/204"))] {
        let mut written = ScenarioBuilder::default();
        let slot = written.slot("next");
        let mut first = written.get("/items");
        first.captures = vec![capture(slot, "nothing like this")];
        let has_default = default.is_some();
        first.captures[0].default = default;
        let second = written.get(text(vec![TextPiece::Slot(slot)]));
        written.journey(Vec::new(), vec![request_step(first), request_step(second)]);
        let total = written.run(site.address(), iterations(1.0, 3));
        if has_default {
            assert_all(&total, Outcome::Ok);
            assert_eq!((total.offered, total.status[&204]), (6, 3));
        } else {
            assert_all(&total, Outcome::Expectation);
            assert_eq!(total.offered, 3);
            assert_eq!(
                total.failures[0].reason,
                "/nothing like this/ matches nothing to capture"
            );
        }
    }
}

#[test]
fn a_status_is_judged_by_its_expectation_alone_or_by_the_plan() {
    let site = site::start().unwrap();
    let check = |url: &str, expected: Option<u16>, outcome| {
        let mut written = ScenarioBuilder::default();
        let mut step = written.get(url);
        step.expectations = expected.map(status).into_iter().collect();
        written.journey(Vec::new(), vec![request_step(step)]);
        assert_all(&written.run(site.address(), iterations(1.0, 2)), outcome);
    };
    check("/status/404", Some(404), Outcome::Ok);
    check("/status/404", None, Outcome::WrongStatus);
    check("/items", Some(404), Outcome::Expectation);
}

#[test]
fn an_answer_may_take_too_long() {
    let site = site::start().unwrap();
    let mut written = ScenarioBuilder::default();
    let mut step = written.get("/slow/30");
    step.expectations = vec![Expectation::Within(ms(5))];
    let mut late = written.get("/slow/5000");
    late.timeout = Some(ms(50));
    // Due when this one is answered, and never in the past: a loop that starts late drops what is expired.
    let before = written.get("/items");
    written.journey(Vec::new(), vec![request_step(step)]);
    written.journey(Vec::new(), vec![request_step(before), request_step(late)]);
    let total = written.run(site.address(), iterations(2.0, 4));
    let of = |id: u32, outcome| total.steps[&id].outcomes.get(outcome);
    assert!(of(0, Outcome::Expectation) > 0 && of(0, Outcome::Ok) == 0);
    assert!(of(1, Outcome::Timeout) > 0 && of(1, Outcome::Ok) == 0);
    assert_eq!(total.iterations, 4);
}

#[test]
fn a_refusing_target_does_not_make_users_spin() {
    let origin = fault::start(fault::OriginFault::Refuses).unwrap();
    let mut written = ScenarioBuilder::default();
    let step = written.get("/");
    written.journey(Vec::new(), vec![request_step(step)]);
    let total = written.run(origin.address(), iterations(2.0, 40));
    assert_all(&total, Outcome::ConnectRefused);
    assert_eq!((total.offered, total.failures.len()), (40, 20));
    let at_us = |number: usize| total.failures[number].at_us;
    let took_us = at_us(19) - at_us(0);
    assert!(
        took_us >= 90_000,
        "{took_us} µs for ten requests of each user, with pauses of 10 ms"
    );
}

#[test]
fn a_coded_body_is_read() {
    let site = site::start().unwrap();
    let mut written = ScenarioBuilder::default();
    let mut step = written.get("/gzip");
    step.expectations = vec![contains(TextTemplate::literal("Hello gzip"))];
    written.journey(Vec::new(), vec![request_step(step)]);
    let total = written.run(site.address(), iterations(1.0, 3));
    assert_all(&total, Outcome::Ok);
    // It was decoded to be read, and its lengths are known.
    let gzip = total.bodies.gzip;
    assert_eq!((gzip.answers, gzip.decoded), (3, 3 * 10));
    assert_eq!(gzip.decoded_from, gzip.bytes);
}
