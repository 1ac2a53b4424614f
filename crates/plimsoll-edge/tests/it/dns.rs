//! Servers by name: a real name server with changing records.

use std::net::SocketAddr;

use plimsoll_config::edge::{BalancingPolicy, EdgeConfig, PoolConfig, ServerConfig};
use plimsoll_testkit::dns::Dns;

use crate::support::{ObservedEdge, Scripted, get, plain, pool, status_and_body};

/// Two servers at the same port of two addresses.
fn two() -> (Scripted, Scripted, u16) {
    let first = Scripted::named_at(SocketAddr::from(([127, 0, 0, 2], 0)), "two");
    let port = first.address.port();
    let second = Scripted::named_at(SocketAddr::from(([127, 0, 0, 3], port)), "three");
    (first, second, port)
}

fn before_name(dns: &Dns, name: &str, port: u16) -> EdgeConfig {
    let server = ServerConfig::parse(&format!("http://{name}:{port}")).unwrap();
    let addresses = plimsoll_edge::resolve_server(&server, &[dns.address]).unwrap();
    let pool = PoolConfig {
        servers: vec![ServerConfig {
            addresses,
            ..server
        }],
        load_balancer: BalancingPolicy::RoundRobin,
        ..pool(&[])
    };
    EdgeConfig {
        resolvers: vec![dns.address],
        ..plain(pool)
    }
}

#[test]
fn servers_follow_their_name() {
    let (_first, _second, port) = two();
    let mut dns = Dns::start("127.0.0.2 app.test\n");
    let observed = ObservedEdge::start(&before_name(&dns, "app.test", port));
    assert_eq!(
        status_and_body(&get(observed.edge.address, "/")),
        (200, "two")
    );
    dns.set_hosts("127.0.0.2 app.test\n127.0.0.3 app.test\n");
    observed.wait_for_message("app.test has moved from 127.0.0.2 to 127.0.0.2, 127.0.0.3");
    observed.answers("three");
    observed.answers("two");
    dns.set_hosts("127.0.0.3 app.test\n");
    observed.wait_for_message("app.test has moved from 127.0.0.2, 127.0.0.3 to 127.0.0.3");
    observed.answers("three");
    observed.answers("three");
    assert_eq!(
        status_and_body(&get(observed.edge.address, "/")),
        (200, "three")
    );
    dns.set_hosts("");
    observed.wait_for_message("cannot resolve the name app.test");
    assert_eq!(
        status_and_body(&get(observed.edge.address, "/")),
        (200, "three")
    );
    dns.set_hosts("127.0.0.2 app.test\n");
    observed.wait_for_message("app.test resolves again");
    observed.wait_for_message("app.test has moved from 127.0.0.3 to 127.0.0.2");
    observed.answers("two");
}

#[test]
fn a_name_that_nobody_knows_is_told() {
    let dns = Dns::start("127.0.0.2 app.test\n");
    let server = |name: &str| ServerConfig::parse(&format!("http://{name}")).unwrap();
    let error = plimsoll_edge::resolve_server(&server("gone.test"), &[dns.address]).unwrap_err();
    assert!(
        error.starts_with("cannot resolve the host `gone.test`: "),
        "{error}"
    );
    // /etc/hosts is honored, also by edges with configured name servers.
    let here = plimsoll_edge::resolve_server(&server("localhost"), &[]).unwrap();
    assert!(
        !here.is_empty() && here.iter().all(|address| address.ip().is_loopback()),
        "{here:?}"
    );
}

#[test]
fn names_of_a_new_configuration_are_followed_and_old_ones_left() {
    let (_first, _second, port) = two();
    let mut dns = Dns::start("127.0.0.2 one.test\n127.0.0.2 other.test\n");
    let observed = ObservedEdge::start(&before_name(&dns, "one.test", port));
    observed.answers("two");
    observed
        .reload(&before_name(&dns, "other.test", port))
        .unwrap();
    dns.set_hosts("127.0.0.3 one.test\n127.0.0.3 other.test\n");
    let message = observed.wait_for_message("has moved");
    assert!(message.contains("other.test"), "{message}");
    observed.answers("three");
}
