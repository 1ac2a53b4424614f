//! Ends of runs with users, and rejected plans.

use std::time::Duration;

use plimsoll_model::journey::{RepeatRange, Step, TextTemplate};
use plimsoll_model::outcome::Outcome;
use plimsoll_testkit::origin::site;

use super::scenario_builder::{ScenarioBuilder, finish, iterations, request_step, users};
use crate::trial::{assert_all, even, ms, plan, windows_until};

fn get_scenario(url: &str) -> ScenarioBuilder {
    let mut written = ScenarioBuilder::default();
    let step = written.get(url);
    written.journey(Vec::new(), vec![request_step(step)]);
    written
}

#[test]
fn what_is_under_way_at_the_end_drains() {
    let site = site::start().unwrap();
    let total = get_scenario("/slow/300").run(site.address(), users(3.0, ms(100)));
    assert_all(&total, Outcome::Ok);
    assert_eq!(total.offered, 3);
}

#[test]
fn an_abort_ends_what_is_under_way() {
    let site = site::start().unwrap();
    let mut running = get_scenario("/slow/60000").begin(site.address(), users(3.0, ms(60_000)));
    let first = windows_until(&mut running, |total| total.offered == 3);
    let last = first.last().unwrap();
    assert_eq!((last.in_flight, last.users), (3, 3));
    running.abort();
    let rest = super::scenario_builder::finish_rest(&mut running);
    assert_eq!(rest.offered, 0);
    assert_eq!(rest.outcomes.get(Outcome::Timeout), 3);
}

#[test]
fn the_load_ends_with_its_iterations() {
    let site = site::start().unwrap();
    let total = get_scenario("/items").run(site.address(), iterations(7.0, 50));
    assert_all(&total, Outcome::Ok);
    assert_eq!(
        (total.offered, total.iterations, total.users_lost),
        (50, 50, 0)
    );
}

#[test]
fn a_journey_may_end_by_itself() {
    let site = site::start().unwrap();
    let mut written = get_scenario("/items");
    written.scenario.journeys[0].iterations = Some(4);
    let total = written.run(site.address(), users(3.0, Duration::from_secs(30)));
    assert_eq!(
        (total.offered, total.iterations, total.users_lost),
        (12, 12, 0)
    );
}

#[test]
fn an_iteration_without_a_request_does_not_spin() {
    let site = site::start().unwrap();
    let mut written = ScenarioBuilder::default();
    let slot = written.slot("n");
    written.journey(
        Vec::new(),
        vec![Step::Set(slot, TextTemplate::literal("1"))],
    );
    let total = written.run(site.address(), users(1.0, ms(200)));
    assert!(
        (1..=21).contains(&total.iterations),
        "{} with pauses of 10 ms",
        total.iterations
    );
    let mut written = ScenarioBuilder::default();
    let slot = written.slot("n");
    written.journey(
        Vec::new(),
        vec![Step::Repeat {
            times: RepeatRange {
                min: u32::MAX,
                max: u32::MAX,
            },
            steps: vec![Step::Set(slot, TextTemplate::literal("1"))],
        }],
    );
    let total = written.run(site.address(), users(1.0, ms(200)));
    assert!((1..=21).contains(&total.iterations), "{}", total.iterations);
    assert!(
        total.failures[0]
            .reason
            .contains("10000 steps without a request")
    );
}

#[test]
fn more_users_than_connections_take_turns() {
    let site = site::start().unwrap();
    let mut plan = plan(site.address());
    plan.transport.connections_max = 2;
    let total = finish(
        &mut get_scenario("/items")
            .try_begin(plan, iterations(6.0, 60))
            .unwrap(),
    );
    assert_all(&total, Outcome::Ok);
    assert_eq!(total.offered, 60);
}

#[test]
fn what_cannot_be_carried_out_is_said_before_the_start() {
    let site = site::start().unwrap();
    let check = |written: ScenarioBuilder, load, message: &str| {
        let error = written.try_begin(plan(site.address()), load).unwrap_err();
        assert_eq!(error.to_string(), message);
    };
    let load = || users(1.0, ms(100));
    check(
        ScenarioBuilder::default(),
        load(),
        "number of journeys is 0, must be at least 1",
    );
    check(
        get_scenario("http://other.example/x"),
        load(),
        "cannot run the step GET: http://other.example/x is not on an origin of the plan; add the origin to the targets",
    );
    check(
        get_scenario("/"),
        even(1.0, ms(1)),
        "load is requests in a plan with journeys, must be users or sessions",
    );
    let mut weightless = get_scenario("/");
    weightless.scenario.journeys[0].weight = 0.0;
    check(
        weightless,
        load(),
        "weights of the journeys is all 0, or negative, must be numbers from 0, at least one above 0",
    );
}

#[test]
fn fewer_users_than_loops_do_all_iterations() {
    let site = site::start().unwrap();
    let mut plan = plan(site.address());
    plan.cores = 2;
    let running = get_scenario("/items").try_begin(plan, iterations(1.0, 21));
    let total = finish(&mut running.unwrap());
    assert_all(&total, Outcome::Ok);
    assert_eq!((total.offered, total.iterations), (21, 21));
}
