//! A request is retried only when that is safe, and not on a server that has just failed it.

use std::time::Duration;

use plimsoll_config::edge::{BalancingPolicy, PoolConfig, Timeouts};
use plimsoll_testkit::port;

use crate::support::{
    Scripted, before, get, plain, pool, send_request, server, start, status_and_body,
};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Answers the first request of each connection, and closes it at the second.
fn closes_in_between() -> Scripted {
    Scripted::start(|mut connection| {
        connection.head();
        connection.send(OK);
        connection.head();
    })
}

#[test]
fn an_idle_connection_that_was_closed_costs_nobody_a_request() {
    let server = closes_in_between();
    let edge = before(server.address);
    for _ in 0..5 {
        assert_eq!(status_and_body(&get(edge.address, "/")), (200, "ok"));
    }
}

#[test]
fn a_post_is_never_sent_twice() {
    let server = closes_in_between();
    let edge = before(server.address);
    assert_eq!(status_and_body(&get(edge.address, "/")).0, 200);
    let post = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    assert_eq!(status_and_body(&send_request(edge.address, post)).0, 502);
    let posts = server.requests();
    let posts = posts.iter().filter(|head| head.starts_with("POST"));
    assert_eq!(posts.count(), 1);
}

#[test]
fn a_server_that_is_not_there_is_passed_by() {
    let good = Scripted::always(OK);
    let nobody = port::unused();
    let pool = PoolConfig {
        load_balancer: BalancingPolicy::RoundRobin,
        ..pool(&[nobody, good.address])
    };
    let edge = start(&plain(pool));
    for _ in 0..10 {
        let post = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        assert_eq!(status_and_body(&send_request(edge.address, post)).0, 200);
    }
}

#[test]
fn a_server_with_two_addresses_is_reached_by_either() {
    let good = Scripted::always(OK);
    let nobody = port::unused();
    let mut upstream = server(good.address);
    upstream.addresses.insert(0, nobody);
    let mut pool = pool(&[good.address]);
    pool.servers = vec![upstream];
    let edge = start(&plain(pool));
    assert_eq!(status_and_body(&get(edge.address, "/")).0, 200);
}

#[test]
fn a_server_that_resets_or_hangs_is_told_of() {
    let resets = Scripted::start(|mut connection| {
        connection.head();
    });
    let edge = before(resets.address);
    let response = get(edge.address, "/");
    assert_eq!(status_and_body(&response).0, 502);
    assert!(response.contains("X-Plimsoll: no-server"));

    let hangs = Scripted::start(|mut connection| {
        connection.head();
        connection.head();
    });
    let pool = PoolConfig {
        timeouts: Timeouts {
            first_byte: Duration::from_millis(100),
            ..Timeouts::default()
        },
        ..pool(&[hangs.address])
    };
    let edge = start(&plain(pool));
    assert_eq!(status_and_body(&get(edge.address, "/")).0, 504);
}
