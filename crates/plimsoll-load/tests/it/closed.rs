//! Users that wait for their responses.

use plimsoll_model::outcome::Outcome;
use plimsoll_testkit::origin::fault::{self, OriginFault};

use crate::trial::{UNTIL_STOPPED, assert_all, begin, closed, ms, plan, run, stop_when, total};

#[test]
fn each_user_has_a_connection() {
    let server = plimsoll_load::null_server().unwrap();
    let mut running = begin(plan(server.address()), closed(16, ms(0), UNTIL_STOPPED));
    let total = total(&stop_when(&mut running, |total| total.offered > 16));
    assert_all(&total, Outcome::Ok);
    assert_eq!(total.connections_opened, 16);
    assert!(total.offered > 16, "{}", total.offered);
    assert!(total.lag.is_empty());
}

#[test]
fn users_think() {
    let server = plimsoll_load::null_server().unwrap();
    let mut running = begin(plan(server.address()), closed(10, ms(150), UNTIL_STOPPED));
    let windows = stop_when(&mut running, |total| total.offered >= 40);
    let total = total(&windows);
    assert_all(&total, Outcome::Ok);
    assert_eq!(total.connections_opened, 10);
    // Ten users, each at once and then at most once per think time.
    let most = 10 * (1 + windows.len() as u64 * 1000 / 150);
    assert!((40..=most).contains(&total.offered), "{}", total.offered);
}

#[test]
fn users_are_split_over_loops() {
    let server = plimsoll_load::null_server().unwrap();
    let mut plan = plan(server.address());
    plan.cores = 2;
    let total = run(plan, closed(7, ms(0), ms(300)));
    assert_all(&total, Outcome::Ok);
    assert_eq!(total.connections_opened, 7);
}

#[test]
fn a_user_that_is_refused_pauses() {
    let origin = fault::start(OriginFault::Refuses).unwrap();
    let total = run(plan(origin.address()), closed(2, ms(0), ms(300)));
    assert_all(&total, Outcome::ConnectRefused);
    assert!(
        total.offered <= 2 * 31,
        "{} in 300 ms with pauses of 10 ms",
        total.offered
    );
}

#[test]
fn a_user_goes_on_after_a_reset() {
    let origin = fault::start(OriginFault::Resets).unwrap();
    let mut running = begin(plan(origin.address()), closed(2, ms(0), UNTIL_STOPPED));
    let total = total(&stop_when(&mut running, |total| total.offered > 4));
    assert_all(&total, Outcome::Reset);
    assert!(total.offered > 4, "{}", total.offered);
    assert_eq!(total.connections_opened, total.offered);
}
