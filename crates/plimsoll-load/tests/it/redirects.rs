//! Redirects: on the same origin only, and within a limit.

use plimsoll_model::outcome::Outcome;
use plimsoll_model::window::Window;
use plimsoll_testkit::origin::fault::{self, OriginFault};

use crate::trial::{assert_all, even, ms, plan, run};

fn check(fault: OriginFault, redirects_max: u32, outcome: Outcome) -> (Window, u64) {
    let origin = fault::start(fault).unwrap();
    let mut plan = plan(origin.address());
    plan.request.redirects_max = redirects_max;
    let total = run(plan, even(100.0, ms(100)));
    assert_all(&total, outcome);
    (total, origin.requests())
}

#[test]
fn a_loop_ends_after_so_many() {
    let (total, requests) = check(OriginFault::RedirectLoop, 3, Outcome::WrongStatus);
    assert_eq!((total.offered, total.redirects, requests), (10, 30, 40));
    assert_eq!(total.sent, 40);
}

#[test]
fn none_are_followed_unasked() {
    let (total, requests) = check(OriginFault::RedirectLoop, 0, Outcome::Ok);
    assert_eq!((total.redirects, requests), (0, 10));
}

#[test]
fn another_host_is_not_spoken_to() {
    let (total, requests) = check(
        OriginFault::RedirectTo("http://other.example/".to_owned()),
        5,
        Outcome::Ok,
    );
    assert_eq!((total.redirects, requests), (0, 10));
}

#[test]
fn another_scheme_or_port_is_another_origin() {
    for location in [
        "https://127.0.0.1/",
        "http://127.0.0.1:1/",
        "//127.0.0.1:1/x",
        "ftp://127.0.0.1/",
    ] {
        let (total, _) = check(OriginFault::RedirectTo(location.to_owned()), 5, Outcome::Ok);
        assert_eq!(total.redirects, 0, "{location}");
    }
}

#[test]
fn a_relative_location_is_followed() {
    let (total, requests) = check(
        OriginFault::RedirectTo("../b?c=d#e".to_owned()),
        1,
        Outcome::WrongStatus,
    );
    assert_eq!((total.redirects, requests), (10, 20));
}
