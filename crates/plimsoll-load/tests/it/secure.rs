//! TLS.

use std::fs;

use plimsoll_load::{Job, LoadError, start};
use plimsoll_model::outcome::Outcome;
use plimsoll_model::plan::Plan;
use plimsoll_testkit::origin::fault::{self, FaultOrigin, OriginFault};

use crate::trial::{assert_all, closed, even, ms, plan, run};

fn origin(name: &str) -> FaultOrigin {
    fault::start(OriginFault::Tls(vec![name.to_owned()])).unwrap()
}

fn secure(origin: &FaultOrigin) -> Plan {
    let mut plan = plan(origin.address());
    plan.target.tls = true;
    "localhost".clone_into(&mut plan.target.host);
    plan
}

fn trusting(origin: &FaultOrigin, folder: &tempfile::TempDir) -> Plan {
    let path = folder.path().join("ca.pem");
    fs::write(&path, origin.certificate_pem().unwrap()).unwrap();
    let mut plan = secure(origin);
    plan.transport.ca_file = Some(path);
    plan
}

#[test]
fn a_trusted_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let origin = origin("localhost");
    let total = run(trusting(&origin, &folder), closed(4, ms(0), ms(300)));
    assert_all(&total, Outcome::Ok);
    assert_eq!((total.handshakes, total.connections_opened), (4, 4));
}

#[test]
fn a_new_handshake_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let origin = origin("localhost");
    let mut plan = trusting(&origin, &folder);
    plan.transport.requests_per_connection = 1;
    let total = run(plan, even(50.0, ms(200)));
    assert_all(&total, Outcome::Ok);
    assert_eq!(total.handshakes, 10);
}

#[test]
fn a_large_body_goes_through() {
    let folder = tempfile::tempdir().unwrap();
    let origin = origin("localhost");
    let mut plan = trusting(&origin, &folder);
    plan.request.method = "POST".to_owned();
    plan.request.body = vec![b'x'; 60_000];
    let total = run(plan, even(20.0, ms(200)));
    assert_all(&total, Outcome::Ok);
    assert!(total.bytes_out > 4 * 60_000);
}

#[test]
fn an_unknown_authority() {
    // Trusts another origin's certificate.
    let folder = tempfile::tempdir().unwrap();
    let other = origin("localhost");
    let mut plan = trusting(&other, &folder);
    let origin = origin("localhost");
    plan.target.addresses = vec![origin.address()];
    let total = run(plan, even(50.0, ms(200)));
    assert_all(&total, Outcome::Tls);
    assert_eq!(total.handshakes, 0);
}

#[test]
fn another_name() {
    let folder = tempfile::tempdir().unwrap();
    let origin = origin("other.example");
    assert_all(
        &run(trusting(&origin, &folder), even(50.0, ms(100))),
        Outcome::Tls,
    );
}

#[test]
fn any_certificate_when_asked() {
    let origin = origin("other.example");
    let mut plan = secure(&origin);
    plan.transport.insecure = true;
    assert_all(&run(plan, even(50.0, ms(100))), Outcome::Ok);
}

#[test]
fn a_server_without_tls() {
    let origin = fault::start(OriginFault::Garbage).unwrap();
    let mut plan = secure(&origin);
    plan.transport.insecure = true;
    plan.transport.timeout = ms(500);
    let total = run(plan, even(50.0, ms(100)));
    assert_eq!(total.handshakes, 0);
    // Those are dropped that the loop takes up too late.
    let unsecured = [Outcome::Tls, Outcome::ConnectTimeout, Outcome::Dropped]
        .map(|outcome| total.outcomes.get(outcome));
    assert_eq!(
        unsecured.iter().sum::<u64>(),
        total.offered,
        "{:?}",
        total.outcomes
    );
}

#[test]
fn a_bad_ca_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ca.pem");
    fs::write(&path, "no certificate\n").unwrap();
    let origin = origin("localhost");
    let mut plan = secure(&origin);
    plan.transport.ca_file = Some(path.clone());
    #[expect(clippy::disallowed_methods, reason = "a job needs a start")]
    let epoch = std::time::Instant::now();
    let error = start(Job {
        load: plan.load.clone(),
        seed: plan.seed,
        plan: plan.into(),
        epoch,
        start_second: 0,
        inputs: std::sync::Arc::default(),
    })
    .unwrap_err();
    assert!(
        matches!(&error, LoadError::CaFile { path: named, .. } if *named == path),
        "{error}"
    );
}
