//! Users who give up waiting, and leave.

use plimsoll_model::distribution::DurationDistribution;
use plimsoll_model::journey::{Resources, Step};
use plimsoll_model::outcome::Outcome;
use plimsoll_model::plan::Load;
use plimsoll_model::schedule::{LoadPhase, Spacing};
use plimsoll_testkit::origin::site;

use super::scenario_builder::{ScenarioBuilder, ends, finish, request_step, step, users};
use crate::trial::{UNTIL_STOPPED, ms, stop_when, total};

#[test]
fn whoever_waits_too_long_leaves_and_another_comes() {
    let site = site::start().unwrap();
    let mut written = ScenarioBuilder::default();
    let slow = written.get("/slow/60000");
    let journey = written.journey(Vec::new(), vec![request_step(slow)]);
    journey.gives_up = Some(DurationDistribution::Fixed(ms(50)));
    let mut running = written.begin(site.address(), users(2.0, UNTIL_STOPPED));
    let windows = stop_when(&mut running, |total| total.users_lost >= 6);
    let total = total(&windows);
    let slow = step(&total, 0);
    assert_eq!(total.users_given_up(), total.users_lost);
    assert_eq!(slow.given_up.count(), total.users_lost);
    assert_eq!(
        (slow.outcomes.failed(), total.iterations),
        (total.users_lost, total.users_lost)
    );
    let soonest = slow.given_up.quantile(0.0).unwrap();
    assert!(soonest >= 50_000, "{soonest} us");
    assert!(
        total.failures[0].reason.contains("gave up after 50 ms"),
        "{:?}",
        total.failures[0]
    );
}

#[test]
fn each_user_has_its_own_patience() {
    let site = site::start().unwrap();
    let mut written = ScenarioBuilder::default();
    let slow = written.get("/slow/300");
    let journey = written.journey(Vec::new(), vec![request_step(slow)]);
    journey.gives_up = Some(DurationDistribution::Exponential(ms(1000)));
    let load = Load::Sessions {
        phases: vec![LoadPhase::constant(100.0, ms(1000))],
        spacing: Spacing::Even,
        mixes: Vec::new(),
    };
    let total = finish(&mut written.begin(site.address(), load));
    // 1 − e^−0.3 of 100 users do not wait for 300 ms; more where the machine is busy.
    assert!(
        (12..100).contains(&total.users_lost),
        "{}",
        total.users_lost
    );
    assert_eq!(total.users_given_up(), total.users_lost);
    assert_eq!(ends(&total, 0), (100 - total.users_lost, 100));
}

#[test]
fn a_page_is_waited_for_as_a_whole() {
    let site = site::start().unwrap();
    let mut written = ScenarioBuilder::default();
    let page = Box::new(written.get("/items"));
    let listed = (0..3).map(|_| written.get("/slow/60000")).collect();
    let resources = Resources {
        listed,
        found: None,
        connections: 2,
    };
    let journey = written.journey(Vec::new(), vec![Step::Page { page, resources }]);
    journey.connections = 2;
    journey.gives_up = Some(DurationDistribution::Fixed(ms(150)));
    let mut running = written.begin(site.address(), users(1.0, UNTIL_STOPPED));
    let windows = stop_when(&mut running, |total| total.users_lost >= 2);
    let total = total(&windows);
    let page = step(&total, 0);
    assert_eq!(page.given_up.count(), total.users_lost);
    assert_eq!(page.outcomes.failed(), total.users_lost);
    // Two at a time: the third is not requested when the others are given up, nor are users counted there.
    assert_eq!(ends(&total, 3), (0, 0));
    assert!(step(&total, 1).given_up.is_empty());
    assert_eq!(step(&total, 1).outcomes.get(Outcome::Ok), 0);
}

#[test]
fn a_login_that_takes_too_long_is_tried_by_others() {
    let site = site::start().unwrap();
    let mut written = ScenarioBuilder::default();
    let slow = written.get("/slow/60000");
    let after = written.get("/items");
    let journey = written.journey(vec![request_step(slow)], vec![request_step(after)]);
    journey.gives_up = Some(DurationDistribution::Fixed(ms(50)));
    written.scenario.steps[0].once = true;
    let mut running = written.begin(site.address(), users(1.0, UNTIL_STOPPED));
    let windows = stop_when(&mut running, |total| total.users_lost >= 3);
    let total = total(&windows);
    assert_eq!(step(&total, 0).given_up.count(), total.users_lost);
    assert_eq!((total.offered, total.iterations), (0, 0));
}

#[test]
fn whoever_is_answered_in_time_stays() {
    let site = site::start().unwrap();
    let mut written = ScenarioBuilder::default();
    let quick = written.get("/items");
    let journey = written.journey(Vec::new(), vec![request_step(quick)]);
    journey.gives_up = Some(DurationDistribution::Fixed(ms(60_000)));
    let mut running = written.begin(site.address(), users(2.0, UNTIL_STOPPED));
    let windows = stop_when(&mut running, |total| total.iterations >= 50);
    let total = total(&windows);
    assert_eq!((total.users_lost, total.users_given_up()), (0, 0));
    crate::trial::assert_all(&total, Outcome::Ok);
}
