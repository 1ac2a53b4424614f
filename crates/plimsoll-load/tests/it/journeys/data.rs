//! Data rows, and random choices.

use plimsoll_model::journey::{AtEnd, Feed, FeedOrder, TextPiece, TextTemplate};
use plimsoll_model::outcome::Outcome;
use plimsoll_testkit::origin::site;

use super::scenario_builder::{ScenarioBuilder, finish, iterations, literal, request_step, text};
use crate::trial::{assert_all, plan};

fn feed(order: FeedOrder, at_end: AtEnd, each_iteration: bool) -> Feed {
    Feed {
        name: "people".to_owned(),
        path: None,
        columns: Vec::new(),
        rows: 0,
        order,
        at_end,
        each_iteration,
    }
}

fn feed_scenario(feed: Feed, rows: &[&str]) -> ScenarioBuilder {
    let mut written = ScenarioBuilder::default();
    written.feed(feed, rows);
    let url = text(vec![literal("/status/204?"), TextPiece::Column(0, 0)]);
    let step = written.get(url);
    written.journey(Vec::new(), vec![request_step(step)]);
    written
}

fn requested_rows(site: &site::TestSite) -> Vec<String> {
    let mut log = site.log();
    log.sort_unstable();
    log.iter()
        .map(|line| line.rsplit('?').next().unwrap().to_owned())
        .collect()
}

#[test]
fn each_user_has_a_row_of_its_own_over_all_loops() {
    let site = site::start().unwrap();
    let mut plan = plan(site.address());
    plan.cores = 2;
    let written = feed_scenario(
        feed(FeedOrder::Unique, AtEnd::Stop, false),
        &["a", "b", "c", "d"],
    );
    let total = finish(&mut written.try_begin(plan, iterations(4.0, 8)).unwrap());
    assert_all(&total, Outcome::Ok);
    assert_eq!(requested_rows(&site).len(), 8);
    for name in ["a", "b", "c", "d"] {
        assert!(
            requested_rows(&site).contains(&name.to_owned()),
            "{:?}",
            requested_rows(&site)
        );
    }
}

#[test]
fn each_iteration_may_have_a_row_of_its_own() {
    let site = site::start().unwrap();
    let written = feed_scenario(
        feed(FeedOrder::InOrder, AtEnd::Stop, true),
        &["a b", "c&d", "e#f"],
    );
    let total = written.run(site.address(), iterations(1.0, 4));
    assert_all(&total, Outcome::Ok);
    // A fragment is never sent; the rest is encoded for the request line.
    assert_eq!(requested_rows(&site), ["a%20b", "a%20b", "c&d", "e"]);
}

#[test]
fn users_leave_when_unique_rows_run_out() {
    let site = site::start().unwrap();
    let written = feed_scenario(feed(FeedOrder::Unique, AtEnd::Stop, true), &["a", "b", "c"]);
    let total = written.run(site.address(), iterations(2.0, 100));
    assert_all(&total, Outcome::Ok);
    assert_eq!((total.iterations, total.users_lost), (3, 2));
    assert_eq!(requested_rows(&site), ["a", "b", "c"]);
}

#[test]
fn the_run_ends_when_rows_must_suffice_and_do_not() {
    let site = site::start().unwrap();
    let written = feed_scenario(
        feed(FeedOrder::Unique, AtEnd::Error, true),
        &["a", "b", "c"],
    );
    let mut running = written.begin(site.address(), iterations(1.0, 100));
    let total = finish(&mut running);
    assert_all(&total, Outcome::Ok);
    assert_eq!(total.iterations, 3);
    let error = running.plan_error().unwrap();
    assert!(
        error.starts_with("all 3 rows of the data people are used"),
        "{error}"
    );
}

#[test]
fn a_feed_without_rows_is_a_fault_of_the_plan() {
    let site = site::start().unwrap();
    let written = feed_scenario(feed(FeedOrder::InOrder, AtEnd::Stop, false), &[]);
    let error = written
        .try_begin(plan(site.address()), iterations(1.0, 1))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "number of rows of a feed is 0 for people, must be at least 1"
    );
}

#[test]
fn equal_seeds_make_equal_users() {
    let site = site::start().unwrap();
    let mut logs = Vec::new();
    for _ in 0..2 {
        let mut written = ScenarioBuilder::default();
        let drawn = TextPiece::Call(
            plimsoll_model::journey::Function::RandomInt,
            vec![TextTemplate::literal("1"), TextTemplate::literal("1000000")],
        );
        let step = written.get(text(vec![literal("/status/204?"), drawn]));
        written.journey(Vec::new(), vec![request_step(step)]);
        let before = site.log().len();
        written.run(site.address(), iterations(1.0, 5));
        logs.push(site.log().split_off(before));
    }
    assert_eq!(logs[0], logs[1]);
    assert_ne!(logs[0][0], logs[0][1]);
}
