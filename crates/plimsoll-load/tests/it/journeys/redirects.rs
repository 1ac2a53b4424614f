//! Redirects in journeys.

use plimsoll_model::journey::{Expectation, TextMatch, TextPiece, TextTemplate};
use plimsoll_model::outcome::Outcome;
use plimsoll_testkit::origin::site;

use super::scenario_builder::{ScenarioBuilder, capture, iterations, request_step, status, text};
use crate::trial::assert_all;

#[test]
fn cookies_are_taken_along_and_captures_come_from_the_last_answer() {
    let site = site::start().unwrap();
    let mut written = ScenarioBuilder::default();
    let slot = written.slot("name");
    let fields = vec![
        ("username", TextTemplate::literal("ada")),
        ("password", TextTemplate::literal("secret")),
        ("csrf", TextTemplate::literal("t0k&n")),
    ];
    let mut login = written.post("/login", fields);
    login.follow = 3;
    login.expectations = vec![status(302)];
    login.captures = vec![capture(slot, "Hello ([a-z]+)")];
    let echo = written.get(text(vec![
        TextPiece::Literal("/status/204?".to_owned()),
        TextPiece::Slot(slot),
    ]));
    written.journey(Vec::new(), vec![request_step(login), request_step(echo)]);
    let total = written.run(site.address(), iterations(1.0, 1));
    assert_all(&total, Outcome::Ok);
    assert_eq!((total.offered, total.redirects, total.sent), (2, 1, 3));
    assert_eq!(
        site.log(),
        ["POST /login", "GET /home", "GET /status/204?ada"]
    );
}

#[test]
fn expectations_judge_the_first_answer() {
    let site = site::start().unwrap();
    let mut written = ScenarioBuilder::default();
    let mut home = written.get("/home");
    home.follow = 3;
    home.expectations = vec![Expectation::Header(
        "location".to_owned(),
        TextMatch::Equals(TextTemplate::literal("/home")),
    )];
    written.journey(Vec::new(), vec![request_step(home)]);
    let total = written.run(site.address(), iterations(1.0, 2));
    assert_all(&total, Outcome::Expectation);
    assert_eq!((total.redirects, site.count("GET /login")), (0, 0));
}

#[test]
fn the_last_answer_must_be_good_whatever_status_the_first_one_had_to_have() {
    let site = site::start().unwrap();
    let mut written = ScenarioBuilder::default();
    let mut step = written.get("/failing");
    step.follow = 3;
    step.expectations = vec![status(302)];
    written.journey(Vec::new(), vec![request_step(step)]);
    let total = written.run(site.address(), iterations(1.0, 2));
    assert_all(&total, Outcome::WrongStatus);
    assert_eq!((total.redirects, site.count("GET /status/500")), (2, 2));
}

#[test]
fn an_endless_redirect_is_a_failure() {
    let site = site::start().unwrap();
    let mut written = ScenarioBuilder::default();
    let mut step = written.get("/loop");
    step.follow = 3;
    written.journey(Vec::new(), vec![request_step(step)]);
    let total = written.run(site.address(), iterations(1.0, 2));
    assert_all(&total, Outcome::WrongStatus);
    assert_eq!((total.redirects, site.count("GET /loop")), (6, 8));
    assert_eq!(total.failures[0].reason, "more than 3 redirects");
}

#[test]
fn nothing_is_sent_to_an_origin_that_the_plan_does_not_name() {
    let site = site::start().unwrap();
    let mut written = ScenarioBuilder::default();
    let mut step = written.get("/away");
    step.follow = 3;
    let slot = written.slot("link");
    let mut page = written.get("/page");
    page.captures = vec![capture(slot, "src=\"(http:[^\"]+)\"")];
    let link = written.get(text(vec![TextPiece::Slot(slot)]));
    written.journey(
        Vec::new(),
        vec![request_step(step), request_step(page), request_step(link)],
    );
    let total = written.run(site.address(), iterations(1.0, 1));
    assert_eq!((total.offered, total.sent, total.redirects), (3, 2, 0));
    assert_eq!(total.outcomes.get(Outcome::Dropped), 1);
    assert_eq!(
        total.failures[0].reason,
        "http://other.example/d.png is not on an origin of the plan; add the origin to the targets"
    );
}

#[test]
fn another_origin_that_the_plan_names_is_spoken_to() {
    let (site, other) = (site::start().unwrap(), site::start().unwrap());
    let mut written = ScenarioBuilder::default();
    let url = format!("http://{}/items", other.address());
    let (first, second) = (written.get("/items"), written.get(url.as_str()));
    let mut target = crate::trial::plan(other.address()).target;
    target.url = format!("http://{}/", other.address());
    written.scenario.targets.push(target);
    written.journey(Vec::new(), vec![request_step(first), request_step(second)]);
    let total = written.run(site.address(), iterations(1.0, 3));
    assert_all(&total, Outcome::Ok);
    assert_eq!(
        (site.count("GET /items"), other.count("GET /items")),
        (3, 3)
    );
    assert_eq!((site.accepted(), other.accepted()), (1, 1));
}
