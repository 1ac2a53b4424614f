//! The load line by simulation against the line by the law, and what limits it.

use plimsoll_model::seed::Seed;
use plimsoll_simulate::{LimitKind, LoadLine, load_line};
use plimsoll_testkit::queueing;

use crate::support::{near, world};

fn line(text: &str) -> LoadLine {
    load_line(&world(text), Seed(31)).unwrap()
}

#[test]
fn the_line_is_that_of_the_law() {
    for servers in [1, 4] {
        let text = format!(
            "tiers: {{ web: {{ service: exponential 8ms, servers: {servers} }} }}\nload: {{ rate: 10/s }}\nobjective: p95 < 50ms\n"
        );
        let found = line(&text);
        let expected = queueing::load_line(servers, 0.008, 0.95, 0.05).unwrap();
        near(found.load.unwrap(), expected, 0.02, "line");
        assert!(found.load < found.broken_at);
        let limit = found.first_limit.unwrap();
        assert_eq!(
            (limit.tier.as_deref(), limit.kind),
            (Some("web"), LimitKind::Servers)
        );
    }
}

#[test]
fn the_line_in_users_is_that_of_the_law() {
    let found = line(
        "tiers: { web: { service: exponential 20ms } }\nload: { users: 3, think: exponential 400ms }\nobjective: p95 < 200ms\n",
    );
    let expected = queueing::closed::load_line(0.02, 0.4, 0.95, 0.2);
    assert!(found.is_users);
    assert!(
        (found.load.unwrap() - f64::from(expected)).abs() <= 1.0,
        "{found:?}, not {expected}"
    );
}

#[test]
fn what_is_not_steady_does_not_hold() {
    // Nothing is ever refused, and a queue that grows for ever has no errors.
    let found = line(
        "tiers: { web: { service: exponential 10ms } }\nload: { rate: 10/s }\nobjective: errors < 1%\n",
    );
    let (load, broken_at) = (found.load.unwrap(), found.broken_at.unwrap());
    assert!(load <= 100.0 && broken_at <= 101.0, "{load}, {broken_at}");
}

#[test]
fn the_first_limit_is_named() {
    let store = "tiers:\n  web: { service: exponential 1ms, servers: 50, calls: db }\n  db: { service: exponential 10ms, servers: 2 }\n\
                 load: { rate: 10/s }\n";
    let limit = line(store).first_limit.unwrap();
    assert_eq!(
        (limit.tier.as_deref(), limit.kind),
        (Some("db"), LimitKind::Servers)
    );
    let far = "tiers:\n  web: { service: 5ms, servers: 4, calls: { to: db, times: 3 } }\n  db: { service: 1ms, servers: 8 }\n\
               load: { rate: 1/s }\nlinks: [{ between: [web, db], round_trip: 50ms }]\n";
    let limit = line(far).first_limit.unwrap();
    assert_eq!(
        (limit.tier.as_deref(), limit.kind),
        (Some("web"), LimitKind::BlockedServers)
    );
    let threads = "tiers:\n  web: { service: exponential 1ms, servers: 4, threads: 8, calls: db }\n  db: { service: exponential 50ms, servers: 1000 }\n\
                   load: { rate: 1/s }\n";
    let limit = line(threads).first_limit.unwrap();
    assert_eq!(
        (limit.tier.as_deref(), limit.kind),
        (Some("web"), LimitKind::Threads)
    );
}

#[test]
fn an_objective_that_time_alone_breaks_has_no_line() {
    let found = line(
        "tiers:\n  web: { service: 5ms, servers: 4, calls: { to: db, times: 14 } }\n  db: { service: 1ms, servers: 8 }\n\
         load: { rate: 1/s }\nlinks: [{ between: [web, db], round_trip: 85ms }]\n",
    );
    assert_eq!(found.load, None);
    assert_eq!(found.first_limit.unwrap().kind, LimitKind::Time);
}
