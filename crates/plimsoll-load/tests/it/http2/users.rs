//! Users of journeys over HTTP/2: one connection each, with all resources of a page on it.

use plimsoll_model::journey::{Expectation, Resources, Step, TextMatch, TextPiece};
use plimsoll_model::outcome::Outcome;
use plimsoll_model::plan::{Http2, Plan, STREAMS_MAX};
use plimsoll_model::window::Window;
use plimsoll_testkit::origin::http2::{self, Http2Origin, Setup};
use plimsoll_testkit::origin::site;

use super::clear;
use crate::journeys::scenario_builder::{
    ScenarioBuilder, capture, contains, ends, finish, iterations, literal, request_step, status,
    step, text,
};
use crate::trial::{assert_all, ms, plan};

fn http2_plan(origin: &Http2Origin) -> Plan {
    let mut plan = plan(origin.address());
    plan.transport.http2 = Some(Http2 {
        prior_knowledge: true,
        streams: STREAMS_MAX,
    });
    plan
}

fn run(written: ScenarioBuilder, plan: Plan, load: plimsoll_model::plan::Load) -> Window {
    finish(&mut written.try_begin(plan, load).unwrap())
}

#[test]
fn a_login_its_cookie_and_what_follows() {
    let origin = clear();
    let mut written = ScenarioBuilder::default();
    let mut login = written.get("/login");
    login.expectations = vec![status(302)];
    let mut home = written.get("/home");
    home.expectations = vec![contains(text(vec![literal("Hello")]))];
    let steps = vec![request_step(home)];
    written.journey(vec![request_step(login)], steps);
    let total = run(written, http2_plan(&origin), iterations(3.0, 9));
    assert_all(&total, Outcome::Ok);
    assert_eq!((ends(&total, 0), ends(&total, 1)), ((3, 3), (9, 9)));
    assert_eq!(
        total.http2, 9,
        "what is done once is counted as a step only"
    );
    assert_eq!(origin.accepted(), 3, "one connection for each user");
}

#[test]
fn redirects_are_followed_and_headers_and_bodies_captured() {
    let origin = clear();
    let mut written = ScenarioBuilder::default();
    let slot = written.slot("agent");
    let mut login = written.get("/login");
    login.follow = 5;
    let cookie = TextMatch::Contains(text(vec![literal("sid=7")]));
    login.expectations = vec![Expectation::Header("set-cookie".to_owned(), cookie)];
    let mut post = written.request("POST", "/echo?q=1");
    post.headers = vec![("X-Agent".to_owned(), text(vec![literal("seven")]))];
    post.captures = vec![capture(slot, "x-agent: (.*)\n")];
    let mut again = written.get(text(vec![literal("/echo/"), TextPiece::Slot(slot)]));
    again.expectations = vec![status(200)];
    let steps = vec![request_step(login), request_step(post), request_step(again)];
    written.journey(Vec::new(), steps);
    let total = run(written, http2_plan(&origin), iterations(1.0, 4));
    assert_all(&total, Outcome::Ok);
    assert_eq!(
        (total.redirects, total.retries, origin.accepted()),
        (4, 0, 1)
    );
    assert_eq!(total.http2, 12);
}

/// A journey of one page.
fn page() -> ScenarioBuilder {
    let mut written = ScenarioBuilder::default();
    let page = Box::new(written.get("/page"));
    let found = written.step("images");
    let resources = Resources {
        listed: Vec::new(),
        found: Some(found),
        connections: 6,
    };
    let steps = vec![Step::Page { page, resources }];
    written.journey(Vec::new(), steps).connections = 6;
    written
}

#[test]
fn a_page_comes_with_all_it_needs_on_one_connection() {
    let origin = clear();
    let total = run(page(), http2_plan(&origin), iterations(1.0, 3));
    assert_all(&total, Outcome::Ok);
    assert_eq!((ends(&total, 0), ends(&total, 1)), ((3, 3), (36, 36)));
    assert_eq!((origin.accepted(), origin.under_way_max()), (1, 12));
    let fastest = step(&total, 0).response.quantile(0.0).unwrap();
    assert!(
        fastest >= 20_000,
        "a page's time is that of its last image: {fastest} us"
    );
}

#[test]
fn a_page_waits_where_the_target_allows_one_request_at_a_time() {
    let origin = http2::start(Setup {
        streams_max: Some(1),
        tls: false,
    })
    .unwrap();
    let total = run(page(), http2_plan(&origin), iterations(1.0, 2));
    assert_all(&total, Outcome::Ok);
    assert_eq!(ends(&total, 1), (24, 24));
    assert_eq!((origin.accepted(), origin.under_way_max()), (1, 1));
    assert_eq!(total.retries, 0);
}

#[test]
fn a_page_of_a_site_that_speaks_http1_is_loaded_as_ever() {
    let site = site::start().unwrap();
    let mut written = ScenarioBuilder::default();
    let page = Box::new(written.get("/page"));
    let found = written.step("resources");
    let resources = Resources {
        listed: Vec::new(),
        found: Some(found),
        connections: 6,
    };
    let steps = vec![Step::Page { page, resources }];
    written.journey(Vec::new(), steps).connections = 6;
    let mut plan = plan(site.address());
    plan.transport.http2 = Some(Http2 {
        prior_knowledge: false,
        streams: STREAMS_MAX,
    });
    let total = run(written, plan, iterations(1.0, 2));
    assert_eq!((ends(&total, 0), total.http2), ((2, 2), 0));
    assert!(site.accepted() >= 2, "{}", site.accepted());
}

#[test]
fn a_target_that_leaves_or_refuses_is_asked_again() {
    let origin = clear();
    let mut written = ScenarioBuilder::default();
    let steps = ["/body/10", "/leave", "/refused", "/body/20"];
    let steps = steps.map(|path| request_step(written.get(path)));
    written.journey(Vec::new(), steps.into());
    let total = run(written, http2_plan(&origin), iterations(1.0, 6));
    assert_all(&total, Outcome::Ok);
    assert!(origin.accepted() >= 6, "{}", origin.accepted());
}

#[test]
fn a_step_that_takes_too_long_ends_its_iteration_and_not_its_connection() {
    let origin = clear();
    let mut written = ScenarioBuilder::default();
    let mut slow = written.get("/never");
    slow.timeout = Some(ms(50));
    let steps = vec![request_step(written.get("/body/10")), request_step(slow)];
    written.journey(Vec::new(), steps);
    let total = run(written, http2_plan(&origin), iterations(1.0, 3));
    assert_eq!(step(&total, 0).outcomes.get(Outcome::Timeout), 3);
    assert_eq!(ends(&total, 1), (3, 3));
    assert_eq!(origin.reset(), 3);
}

#[test]
fn a_failure_says_what_the_target_did() {
    let origin = clear();
    let mut written = ScenarioBuilder::default();
    let steps = vec![request_step(written.get("/reset/11"))];
    written.journey(Vec::new(), steps);
    let total = run(written, http2_plan(&origin), iterations(1.0, 1));
    assert_eq!(step(&total, 0).outcomes.get(Outcome::Reset), 1);
    let reason = &total.failures[0].reason;
    assert!(
        reason.contains("reset the stream") && reason.contains("ENHANCE_YOUR_CALM"),
        "{reason}"
    );
}

#[test]
fn users_beyond_the_connections_take_turns() {
    let origin = clear();
    let mut written = ScenarioBuilder::default();
    let steps = vec![request_step(written.get("/slow/2"))];
    written.journey(Vec::new(), steps);
    let mut plan = http2_plan(&origin);
    plan.transport.connections_max = 2;
    let total = run(written, plan, iterations(4.0, 40));
    assert_all(&total, Outcome::Ok);
    assert!(origin.accepted() > 4, "connections pass from user to user");
    assert!(origin.under_way_max() <= 2);
}

#[test]
fn a_connection_serves_no_more_requests_than_it_may() {
    let origin = clear();
    let mut plan = http2_plan(&origin);
    plan.transport.requests_per_connection = 5;
    let total = run(page(), plan, iterations(1.0, 2));
    assert_all(&total, Outcome::Ok);
    // Two pages with twelve images each.
    assert_eq!((total.offered, origin.requests()), (26, 26));
    assert!(origin.accepted() >= 6, "{}", origin.accepted());
}
