//! Streams and connections that end early.

use plimsoll_model::outcome::Outcome;
use plimsoll_testkit::origin::fault::{self, OriginFault};

use super::{assert_all_by_http2, clear, http2_plan};
use crate::trial::{assert_all, closed, even, ms, run};

/// Error codes of RFC 9113, 7.
const INTERNAL_ERROR: u32 = 2;

#[test]
fn a_stream_that_is_reset_costs_its_own_request_only() {
    let origin = clear();
    let mut plan = http2_plan(&origin, &format!("/reset/{INTERNAL_ERROR}"), 4);
    plan.request.paths.push("/body/10".to_owned());
    plan.transport.connections_max = 1;
    let total = run(plan, even(100.0, ms(200)));
    assert_eq!(
        total.outcomes.get(Outcome::Reset),
        10,
        "{:?}",
        total.outcomes
    );
    assert_eq!(total.outcomes.get(Outcome::Ok), 10);
    assert_eq!((origin.accepted(), total.retries), (1, 0));
}

#[test]
fn an_answer_that_is_reset_half_way_has_failed() {
    let origin = clear();
    let plan = http2_plan(&origin, &format!("/cut/{INTERNAL_ERROR}"), 4);
    let total = run(plan, even(50.0, ms(200)));
    assert_all(&total, Outcome::Reset);
    assert_eq!((total.retries, total.http2), (0, 0));
}

#[test]
fn an_answer_before_the_whole_request_is_an_answer() {
    let origin = clear();
    let mut plan = http2_plan(&origin, "/early", 1);
    plan.request.method = "POST".to_owned();
    plan.request.body = vec![b'x'; 500_000];
    let total = run(plan, even(50.0, ms(200)));
    assert_all(&total, Outcome::WrongStatus);
    assert_eq!(total.status[&413], 10);
}

#[test]
fn a_refused_stream_is_sent_once_more() {
    let origin = clear();
    let mut plan = http2_plan(&origin, "/refused", 1);
    plan.request.method = "POST".to_owned();
    let total = run(plan, even(50.0, ms(200)));
    assert_all_by_http2(&total);
    assert_eq!((total.retries, total.sent, origin.requests()), (10, 20, 20));
}

#[test]
fn a_target_that_leaves_gets_a_new_connection() {
    let origin = clear();
    let mut plan = http2_plan(&origin, "/body/10", 4);
    plan.request.paths = vec!["/body/10".to_owned(); 4];
    plan.request.paths.push("/leave".to_owned());
    plan.transport.connections_max = 2;
    // Six requests to leave, of which a connection can have no more than two.
    let total = run(plan, even(100.0, ms(300)));
    assert_all_by_http2(&total);
    assert!(origin.accepted() > 2, "{}", origin.accepted());
}

#[test]
fn what_is_under_way_when_a_connection_ends_has_failed() {
    let origin = clear();
    let total = run(http2_plan(&origin, "/gone", 1), even(50.0, ms(200)));
    assert_all(&total, Outcome::Reset);
    assert_eq!((total.retries, origin.accepted()), (0, 10));
}

#[test]
fn a_kept_connection_that_ends_costs_an_idempotent_request_a_second_sending() {
    let origin = clear();
    let mut plan = http2_plan(&origin, "/body/10", 1);
    plan.request.paths.push("/gone".to_owned());
    plan.transport.connections_max = 1;
    // One request at a time: a second one that is due may take the new connection before the retry.
    let total = run(plan, closed(1, ms(0), ms(50)));
    // Every second one uses an existing connection; its second attempt ends it for good.
    let (answered, gone) = (total.offered.div_ceil(2), total.offered / 2);
    let ends = [Outcome::Ok, Outcome::Reset].map(|outcome| total.outcomes.get(outcome));
    assert_eq!(ends, [answered, gone], "{:?}", total.outcomes);
    assert_eq!(total.retries, gone);
}

#[test]
fn a_stream_that_takes_too_long_is_reset_and_the_connection_goes_on() {
    let origin = clear();
    let mut plan = http2_plan(&origin, "/never", 20);
    plan.request.paths.push("/body/10".to_owned());
    plan.transport.connections_max = 1;
    // Half of them are to be answered within it, however busy the machine is.
    plan.transport.timeout = ms(6000);
    let total = run(plan, even(50.0, ms(400)));
    assert_eq!(
        total.outcomes.get(Outcome::Timeout),
        10,
        "{:?}",
        total.outcomes
    );
    assert_eq!(total.outcomes.get(Outcome::Ok), 10);
    assert_eq!(origin.accepted(), 1);
    assert!(origin.reset() >= 8, "{} were told", origin.reset());
}

#[test]
fn a_connection_on_which_nothing_is_said_any_more_is_left() {
    let origin = clear();
    let mut plan = http2_plan(&origin, "/never", 1);
    plan.transport.timeout = ms(1000);
    plan.transport.connections_max = 1;
    // One after the other, each as soon as the one before has timed out.
    let total = run(plan, closed(1, ms(0), ms(2500)));
    assert_all(&total, Outcome::Timeout);
    // The first request of a connection is followed by the target's settings, the second by nothing.
    assert_eq!(origin.accepted(), total.offered.div_ceil(2));
}

#[test]
fn answers_have_the_limits_that_http1_has() {
    let origin = clear();
    let mut plan = http2_plan(&origin, "/body/5001", 2);
    plan.transport.body_len_max = 5000;
    assert_all(&run(plan, even(50.0, ms(200))), Outcome::Protocol);
    for count in [150, 300, 990] {
        let plan = http2_plan(&origin, &format!("/headers/{count}"), 2);
        assert_all_by_http2(&run(plan, even(50.0, ms(200))));
    }
    let plan = http2_plan(&origin, "/headers/1001", 2);
    assert_all(&run(plan, even(50.0, ms(200))), Outcome::TooManyHeaders);
    let mut plan = http2_plan(&origin, "/headers/300", 2);
    plan.transport.head_len_max = 2000;
    assert_all(&run(plan, even(50.0, ms(200))), Outcome::HeadTooLong);
    // Beyond what h2 takes apart at all.
    let mut plan = http2_plan(&origin, "/headers/9000", 2);
    plan.transport.headers_max = 50;
    plan.transport.head_len_max = 2000;
    assert_all(&run(plan, even(20.0, ms(200))), Outcome::HeadTooLong);
}

#[test]
fn what_cannot_be_connected_to_is_told_as_ever() {
    let closed = fault::start(OriginFault::Refuses).unwrap();
    let origin = clear();
    let mut plan = http2_plan(&origin, "/", 3);
    plan.target.addresses = vec![closed.address()];
    assert_all(&run(plan, even(50.0, ms(200))), Outcome::ConnectRefused);
}
