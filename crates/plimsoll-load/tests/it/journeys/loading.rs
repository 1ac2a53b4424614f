//! Pages and their resources.

use plimsoll_model::journey::{Resources, Step};
use plimsoll_model::outcome::Outcome;
use plimsoll_testkit::origin::site;

use super::scenario_builder::{ScenarioBuilder, ends, iterations, request_step, step};
use crate::trial::assert_all;

#[test]
fn a_page_is_done_when_all_it_needs_is() {
    let site = site::start().unwrap();
    let mut written = ScenarioBuilder::default();
    let page = written.get("/page");
    let slow = written.get("/slow/250");
    let found = written.step("resources");
    let after = written.get("/items");
    let resources = Resources {
        listed: vec![slow],
        found: Some(found),
        connections: 6,
    };
    let page = Box::new(page);
    let steps = vec![Step::Page { page, resources }, request_step(after)];
    written.journey(Vec::new(), steps).connections = 6;
    let total = written.run(site.address(), iterations(1.0, 5));
    // The page, one listed and four found resources (one of them missing), and the step after it.
    assert_eq!(total.offered, 5 * 7);
    assert_eq!(ends(&total, 0), (5, 5));
    assert_eq!(ends(&total, 1), (5, 5));
    assert_eq!(ends(&total, found), (15, 20));
    assert_eq!(step(&total, found).outcomes.get(Outcome::WrongStatus), 5);
    assert_eq!((ends(&total, 3), total.iterations), ((5, 5), 5));
    // Resources on another host are ignored.
    assert_eq!(site.count("GET /d.png"), 0);
    let fastest = step(&total, 0).response.quantile(0.0).unwrap();
    assert!(
        fastest >= 250_000,
        "the page's time is that of its last resource: {fastest} us"
    );
    let slowest = step(&total, found).response.quantile(0.5).unwrap();
    assert!(
        slowest < 250_000,
        "resources are loaded side by side: {slowest} us"
    );
    assert!((2..=6).contains(&site.accepted()), "{}", site.accepted());
}

#[test]
fn a_page_that_fails_needs_nothing() {
    let site = site::start().unwrap();
    let mut written = ScenarioBuilder::default();
    let page = Box::new(written.get("/status/500"));
    let found = written.step("resources");
    let listed = vec![written.get("/items")];
    let resources = Resources {
        listed,
        found: Some(found),
        connections: 6,
    };
    written.journey(Vec::new(), vec![Step::Page { page, resources }]);
    let total = written.run(site.address(), iterations(1.0, 2));
    assert_eq!((total.offered, site.count("GET /items")), (2, 0));
    assert_eq!((ends(&total, 0), total.iterations), ((0, 2), 2));
}

#[test]
fn a_browsers_cache_asks_for_nothing_fresh_and_by_validators_for_what_is_stale() {
    let site = site::start().unwrap();
    let mut written = ScenarioBuilder::default();
    let fresh = written.get("/asset/a?age=60");
    let stale = written.get("/asset/b?age=0");
    let steps = vec![request_step(fresh), request_step(stale)];
    written.journey(Vec::new(), steps).cache = true;
    let total = written.run(site.address(), iterations(2.0, 10));
    assert_all(&total, Outcome::Ok);
    assert_eq!((ends(&total, 0), ends(&total, 1)), ((2, 2), (10, 10)));
    assert_eq!((total.status[&200], total.status[&304]), (4, 8));
    assert_eq!((total.iterations, total.offered), (10, 12));
}
