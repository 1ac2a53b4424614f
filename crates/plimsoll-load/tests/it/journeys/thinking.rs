//! Time: think times, due times, arrivals and departures.

use std::time::Duration;

use plimsoll_model::journey::UserPhase;
use plimsoll_model::outcome::Outcome;
use plimsoll_model::plan::Load;
use plimsoll_model::schedule::{LoadPhase, Spacing};
use plimsoll_testkit::origin::site;

use super::scenario_builder::{ScenarioBuilder, ends, iterations, request_step, think, users};
use crate::trial::{UNTIL_STOPPED, assert_all, ms, stood_still, stop_when, total, windows};

fn browsing(pause: Duration) -> ScenarioBuilder {
    let mut written = ScenarioBuilder::default();
    let step = written.get("/items");
    written.journey(Vec::new(), vec![request_step(step), think(pause)]);
    written
}

#[test]
fn users_ask_when_they_have_thought() {
    let site = site::start().unwrap();
    let mut running = browsing(ms(150)).begin(site.address(), users(10.0, UNTIL_STOPPED));
    let windows = stop_when(&mut running, |total| total.offered >= 40);
    let total = total(&windows);
    assert_all(&total, Outcome::Ok);
    // Ten users, each at once and then at most once per think time.
    let most = 10 * (1 + windows.len() as u64 * 1000 / 150);
    assert!((40..=most).contains(&total.offered), "{}", total.offered);
    // All requests except first ones follow a pause, and new users arrive by the clock, too.
    assert_eq!(total.lag.count(), total.offered);
}

#[test]
fn what_follows_an_answer_at_once_is_no_matter_of_the_generator() {
    let site = site::start().unwrap();
    let total = browsing(ms(0)).run(site.address(), iterations(3.0, 30));
    assert_all(&total, Outcome::Ok);
    assert_eq!((total.offered, total.lag.count()), (30, 3));
}

#[test]
fn users_leave_at_the_end_of_their_iteration_when_fewer_are_wanted() {
    let site = site::start().unwrap();
    let phase = |from, to, lasting| UserPhase {
        from,
        to,
        lasting: ms(lasting),
        mix: Vec::new(),
    };
    let load = Load::Users {
        phases: vec![phase(8.0, 8.0, 1200), phase(2.0, 2.0, 1900)],
        iterations: None,
    };
    let mut running = browsing(ms(50)).begin(site.address(), load);
    let windows = windows(&mut running);
    let seconds: Vec<u64> = windows.iter().map(|window| window.users).collect();
    if !stood_still(&total(&windows), ms(500)) {
        assert_eq!(seconds[..3], [8, 2, 2]);
    }
}

#[test]
fn sessions_come_at_their_rate_go_through_and_leave() {
    let site = site::start().unwrap();
    let mut written = ScenarioBuilder::default();
    let (first, second) = (written.get("/items"), written.get("/items"));
    written
        .journey(vec![request_step(first)], vec![request_step(second)])
        .iterations = Some(2);
    written.scenario.steps[0].once = true;
    // At the end of a load users leave after the iteration in which they are: the last ones get as long as they need.
    let load = Load::Sessions {
        phases: vec![
            LoadPhase::constant(50.0, ms(1000)),
            LoadPhase::constant(0.0, UNTIL_STOPPED),
        ],
        spacing: Spacing::Even,
        mixes: Vec::new(),
    };
    let mut running = written.begin(site.address(), load);
    let windows = stop_when(&mut running, |total| total.iterations >= 100);
    let total = total(&windows);
    assert_all(&total, Outcome::Ok);
    assert_eq!((ends(&total, 0), ends(&total, 1)), ((50, 50), (100, 100)));
    assert_eq!((total.iterations, total.lag.count()), (100, 50));
    assert_eq!(site.accepted(), 50);
    assert_eq!(windows.last().map(|window| window.users), Some(0));
}
