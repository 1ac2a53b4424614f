//! Access rules: by address, by country, by rate.

use std::io::Write as _;
use std::net::{IpAddr, SocketAddr};

use plimsoll_config::edge::{
    Countries, EdgeConfig, IpFilterConfig, Network, PathMatch, Rate, RouteConfig,
};
use plimsoll_testkit::countries::countries;

use crate::support::{
    Afloat, Scripted, connect, plain, pool, read_until, send_request, start, status_and_body,
};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

fn as_client(edge: &Afloat, client: &str, path: &str) -> u16 {
    let response = send_request(
        edge.address,
        format!(
            "GET {path} HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: {client}\r\nConnection: close\r\n\r\n"
        ),
    );
    let status = status_and_body(&response).0;
    assert_eq!(
        status == 403,
        response.contains("X-Plimsoll: blocked\r\n"),
        "{response}"
    );
    status
}

fn trusting(server: SocketAddr) -> EdgeConfig {
    let mut edge = plain(pool(&[server]));
    edge.trusted = vec![Network::parse("127.0.0.1").unwrap()];
    edge
}

fn networks(texts: &[&str]) -> Vec<Network> {
    texts
        .iter()
        .map(|text| Network::parse(text).unwrap())
        .collect()
}

fn by_country(allows: bool, listed: &[&str]) -> IpFilterConfig {
    let address = |text: &str| text.parse::<IpAddr>().unwrap();
    let database = countries(&[
        (address("192.0.2.0"), 24, "DE"),
        (address("198.51.100.0"), 25, "US"),
        (address("2001:db8::"), 32, "FR"),
    ]);
    IpFilterConfig {
        countries: Some(Countries {
            name: "test.mmdb".to_owned(),
            database: database.into(),
            allows,
            listed: listed.iter().map(|&entry| entry.to_owned()).collect(),
        }),
        ..IpFilterConfig::default()
    }
}

#[test]
fn blocked_addresses_are_refused_before_anything_else() {
    let server = Scripted::always(OK);
    let mut edge = trusting(server.address);
    edge.access = Some(IpFilterConfig {
        allow: networks(&["203.0.113.7"]),
        deny: networks(&["203.0.113.0/24", "2001:db8::/32"]),
        countries: None,
    });
    let mut office = RouteConfig::everything(0);
    office.matches.path = PathMatch::Prefix("/admin/".to_owned());
    office.access = Some(IpFilterConfig {
        allow: networks(&["10.0.0.0/8"]),
        deny: Network::all().to_vec(),
        countries: None,
    });
    edge.routes.insert(0, office);
    let edge = start(&edge);
    for (client, path, status) in [
        ("203.0.113.7", "/", 200),
        ("203.0.113.8", "/", 403),
        ("::ffff:203.0.113.8", "/", 403),
        ("2001:db8::1", "/", 403),
        ("198.51.100.1", "/", 200),
        ("198.51.100.1", "/admin/x", 403),
        ("10.1.2.3", "/admin/x", 200),
        ("203.0.113.8", "/admin/x", 403),
    ] {
        assert_eq!(as_client(&edge, client, path), status, "{client} {path}");
    }
    assert_eq!(
        server.requests().len(),
        3,
        "the others never reach the server"
    );
    // A rejection keeps the connection of a client that sends several requests.
    let mut stream = connect(edge.address);
    for _ in 0..2 {
        stream
            .write_all(b"GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 203.0.113.9\r\n\r\n")
            .unwrap();
        read_until(&mut stream, "403 Forbidden: blocked\n");
    }
}

#[test]
fn countries_are_told_by_a_database() {
    let server = Scripted::always(OK);
    let mut edge = trusting(server.address);
    edge.access = Some(by_country(true, &["DE", "FR"]));
    let only = start(&edge);
    edge.access = Some(by_country(false, &["US", ""]));
    let but = start(&edge);
    for (client, of_only, of_but) in [
        ("192.0.2.9", 200, 200),
        ("2001:db8::9", 200, 200),
        ("198.51.100.9", 403, 403),
        ("198.51.100.200", 403, 403),
        ("203.0.113.1", 403, 403),
    ] {
        assert_eq!(as_client(&only, client, "/"), of_only, "{client}");
        assert_eq!(as_client(&but, client, "/"), of_but, "{client}");
    }
    edge.access = Some(by_country(false, &["US"]));
    let unknown_too = start(&edge);
    assert_eq!(as_client(&unknown_too, "203.0.113.1", "/"), 200);
}

#[test]
fn a_reload_takes_up_new_lists() {
    let server = Scripted::always(OK);
    let mut edge = trusting(server.address);
    edge.access = Some(IpFilterConfig {
        deny: networks(&["203.0.113.0/24"]),
        ..IpFilterConfig::default()
    });
    let mut new = edge.clone();
    new.access = Some(IpFilterConfig {
        deny: networks(&["198.51.100.0/24"]),
        ..IpFilterConfig::default()
    });
    let hooks = plimsoll_edge::Hooks {
        read_again: std::sync::Arc::new(move || Ok(new.clone())),
        ..plimsoll_edge::Hooks::none()
    };
    let edge = Afloat::start(&edge, hooks);
    let mut kept = connect(edge.address);
    let mut on_kept = |client: &str| {
        let request = format!("GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: {client}\r\n\r\n");
        kept.write_all(request.as_bytes()).unwrap();
        let head = read_until(&mut kept, "\r\n\r\n");
        let rest = if head.contains("200 OK") {
            "ok"
        } else {
            "blocked\n"
        };
        read_until(&mut kept, rest);
        head.contains("200 OK")
    };
    assert!(!on_kept("203.0.113.1") && on_kept("198.51.100.1"));
    edge.reload().unwrap();
    edge.wait_until("the loop follows", || on_kept("203.0.113.1"));
    assert!(!on_kept("198.51.100.1"));
}

#[test]
fn a_clients_rate_holds_over_all_loops_and_reloads() {
    let server = Scripted::always(OK);
    let mut edge = trusting(server.address);
    edge.cores = Some(4);
    edge.routes[0].rate = Some(Rate {
        per_second: 0.001,
        burst: 10,
    });
    let again = edge.clone();
    let hooks = plimsoll_edge::Hooks {
        read_again: std::sync::Arc::new(move || Ok(again.clone())),
        ..plimsoll_edge::Hooks::none()
    };
    let edge = Afloat::start(&edge, hooks);
    let accepted = |client: &str, times: usize| {
        let answers = (0..times).map(|_| as_client(&edge, client, "/"));
        answers.filter(|status| *status == 200).count()
    };
    assert_eq!(accepted("203.0.113.1", 20), 10);
    assert_eq!(accepted("203.0.113.2", 5), 5);
    edge.reload().unwrap();
    assert_eq!(
        accepted("203.0.113.1", 5),
        0,
        "a reload gives nobody a new burst"
    );
    assert_eq!(accepted("203.0.113.2", 20), 5);
}
