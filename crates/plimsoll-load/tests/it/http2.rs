//! HTTP/2.

mod ending;
mod frames;
mod users;

use std::fs;

use plimsoll_load::{Job, LoadError, start};
use plimsoll_model::outcome::Outcome;
use plimsoll_model::plan::{Http2, Plan};
use plimsoll_model::window::Window;
use plimsoll_testkit::origin::fault::{self, OriginFault};
use plimsoll_testkit::origin::http2::{self, Http2Origin, Setup};

use crate::trial::{assert_all, closed, even, ms, plan, run};

/// A cleartext server of HTTP/2.
fn clear() -> Http2Origin {
    http2::start(Setup::default()).unwrap()
}

/// Requests `path` with this many concurrent requests per connection.
fn http2_plan(origin: &Http2Origin, path: &str, streams: u32) -> Plan {
    let mut plan = plan(origin.address());
    plan.request.paths = vec![path.to_owned()];
    plan.transport.http2 = Some(Http2 {
        prior_knowledge: true,
        streams,
    });
    plan
}

fn assert_all_by_http2(total: &Window) {
    assert_all(total, Outcome::Ok);
    assert_eq!(total.http2, total.offered);
}

#[test]
fn an_open_load_is_sent_and_answered() {
    let origin = clear();
    let mut plan = http2_plan(&origin, "/body/1000", 1);
    // Each further one would send a whole head.
    plan.transport.connections_max = 1;
    let total = run(plan, even(200.0, ms(500)));
    assert_all_by_http2(&total);
    assert_eq!((total.offered, total.sent, total.retries), (100, 100, 0));
    assert_eq!(total.status[&200], 100);
    assert_eq!((total.connections_opened, origin.accepted()), (1, 1));
    assert!(total.bytes_in > 100 * 1000, "{}", total.bytes_in);
    // Heads are compressed: the second one costs a few bytes.
    assert!(
        (2000..10_000).contains(&total.bytes_out),
        "{}",
        total.bytes_out
    );
}

#[test]
fn the_server_that_does_nothing_answers() {
    let server = plimsoll_load::null_server().unwrap();
    let mut plan = plan(server.address());
    plan.transport.http2 = Some(Http2 {
        prior_knowledge: true,
        streams: 20,
    });
    let total = run(plan.clone(), closed(3, ms(0), ms(300)));
    assert_all_by_http2(&total);
    plan.request.method = "POST".to_owned();
    plan.request.body = vec![b'x'; 200_000];
    assert_all_by_http2(&run(plan, closed(2, ms(0), ms(200))));
}

#[test]
fn streams_share_a_connection() {
    let origin = clear();
    let mut plan = http2_plan(&origin, "/slow/20", 10);
    plan.transport.connections_max = 1;
    let total = run(plan, even(200.0, ms(500)));
    assert_all_by_http2(&total);
    assert_eq!((total.connections_opened, origin.accepted()), (1, 1));
    // Four are under way on average; one after another they would take two seconds.
    assert!(
        (2..=10).contains(&origin.under_way_max()),
        "{}",
        origin.under_way_max()
    );
}

#[test]
fn a_closed_load_has_so_many_users_on_each_connection() {
    let origin = clear();
    let total = run(
        http2_plan(&origin, "/slow/10", 5),
        closed(3, ms(0), ms(400)),
    );
    assert_all_by_http2(&total);
    assert_eq!((total.connections_opened, origin.accepted()), (3, 3));
    assert_eq!(origin.under_way_max(), 15);
}

#[test]
fn the_targets_limit_of_streams_is_kept() {
    let origin = http2::start(Setup {
        streams_max: Some(1),
        tls: false,
    })
    .unwrap();
    let mut plan = http2_plan(&origin, "/slow/2", 10);
    plan.transport.connections_max = 1;
    let total = run(plan, even(100.0, ms(500)));
    assert_all_by_http2(&total);
    assert_eq!((origin.under_way_max(), origin.accepted()), (1, 1));
    assert_eq!(total.retries, 0, "nothing was sent that had to be refused");
}

#[test]
fn it_is_chosen_within_tls() {
    let origin = http2::start(Setup {
        streams_max: None,
        tls: true,
    })
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ca.pem");
    fs::write(&path, origin.certificate_pem().unwrap()).unwrap();
    let mut plan = http2_plan(&origin, "/body/50000", 2);
    plan.target.tls = true;
    "localhost".clone_into(&mut plan.target.host);
    plan.transport.ca_file = Some(path);
    plan.transport.http2 = Some(Http2 {
        prior_knowledge: false,
        streams: 2,
    });
    let total = run(plan, closed(2, ms(0), ms(300)));
    assert_all_by_http2(&total);
    assert_eq!((total.handshakes, total.connections_opened), (2, 2));
    assert!(total.bytes_in > total.offered * 50_000);
}

#[test]
fn a_target_that_does_not_choose_it_is_spoken_to_by_http1() {
    let origin = fault::start(OriginFault::Tls(vec!["localhost".to_owned()])).unwrap();
    let mut plan = plan(origin.address());
    plan.target.tls = true;
    plan.transport.insecure = true;
    plan.transport.http2 = Some(Http2 {
        prior_knowledge: true,
        streams: 1,
    });
    let total = run(plan, closed(3, ms(0), ms(300)));
    assert_all(&total, Outcome::Ok);
    assert_eq!((total.http2, total.handshakes), (0, 3));
}

#[test]
fn a_body_is_sent_within_the_targets_window_and_comes_whole() {
    let origin = clear();
    let mut plan = http2_plan(&origin, "/echo", 3);
    plan.request.method = "POST".to_owned();
    plan.request.body = vec![b'x'; 300_000];
    let total = run(plan, closed(2, ms(0), ms(300)));
    assert_all_by_http2(&total);
    assert!(total.bytes_in > total.offered * 300_000);
    assert!(total.bytes_out > total.offered * 300_000);
}

#[test]
fn windows_are_given_back() {
    let origin = clear();
    // Together more than a connection's window of 15 MiB.
    let mut plan = http2_plan(&origin, "/body/4000000", 4);
    plan.transport.body_len_max = 4_000_000;
    plan.transport.connections_max = 1;
    plan.transport.timeout = ms(60_000);
    let total = run(plan, even(10.0, ms(500)));
    assert_all_by_http2(&total);
    assert!(total.bytes_in > 15 << 20, "{}", total.bytes_in);
    assert_eq!(origin.accepted(), 1);
}

#[test]
fn a_new_connection_for_each_request() {
    let origin = clear();
    let mut plan = http2_plan(&origin, "/body/10", 1);
    plan.transport.requests_per_connection = 1;
    let total = run(plan, even(50.0, ms(200)));
    assert_all_by_http2(&total);
    assert_eq!((total.connections_opened, origin.accepted()), (10, 10));
}

#[test]
fn redirects_and_codings_are_counted_as_ever() {
    let origin = clear();
    let mut plan = http2_plan(&origin, "/moved", 2);
    plan.request.redirects_max = 5;
    let total = run(plan, even(50.0, ms(200)));
    assert_all_by_http2(&total);
    assert_eq!(
        (total.redirects, total.sent, total.status[&200]),
        (10, 20, 10)
    );
    let total = run(http2_plan(&origin, "/gzip", 2), even(50.0, ms(200)));
    assert_eq!(total.gzip, 10);
    let total = run(http2_plan(&origin, "/status/500", 2), even(50.0, ms(200)));
    assert_all(&total, Outcome::WrongStatus);
}

#[test]
fn a_head_request_waits_for_no_body() {
    let origin = clear();
    let mut plan = http2_plan(&origin, "/status/204", 2);
    plan.request.method = "HEAD".to_owned();
    assert_all_by_http2(&run(plan, even(50.0, ms(200))));
}

/// The error of a rejected plan.
fn refused(plan: Plan) -> LoadError {
    #[expect(clippy::disallowed_methods, reason = "a job needs a start")]
    let epoch = std::time::Instant::now();
    crate::trial::share();
    start(Job {
        load: plan.load.clone(),
        seed: plan.seed,
        plan: plan.into(),
        epoch,
        start_second: 0,
        inputs: std::sync::Arc::default(),
    })
    .unwrap_err()
}

#[test]
fn what_cannot_be_carried_out_is_refused() {
    let origin = clear();
    let error = refused(http2_plan(&origin, "/", 101));
    let place = "number of streams";
    assert!(
        matches!(&error, LoadError::Plan { place: named, .. } if *named == place),
        "{error}"
    );
    let mut plan = http2_plan(&origin, "/", 1);
    plan.request.headers.clear();
    let error = refused(plan);
    assert!(error.to_string().contains("head of the request"), "{error}");
}
