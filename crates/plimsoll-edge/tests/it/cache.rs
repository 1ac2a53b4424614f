//! The cache in the request path: which requests it answers, and which are forwarded.

mod abuse;
mod clients;
mod collapse;
mod disk;
mod fragments;
mod keyed;
mod plain;
mod purge;
mod stale;
mod truth;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use plimsoll_config::edge::{CACHE_LEN, EdgeConfig};
use plimsoll_edge::{AgeAhead, Hooks};
use serde_json::Value;

use crate::support::{
    Afloat, Scripted, open_admin, plain, pool, send_request, start, status_and_body,
};

/// A server that responds with the request's target and how often it was requested before.
fn origin(answer: impl Fn(&str, usize) -> String + Send + Sync + 'static) -> Scripted {
    let asked = Arc::new(AtomicUsize::new(0));
    Scripted::start(move |mut connection| {
        while let Some(head) = connection.head() {
            let number = asked.fetch_add(1, Ordering::SeqCst);
            connection.send(answer(&head, number));
        }
    })
}

/// A response with these header lines.
fn page(lines: &str, body: &str) -> String {
    let lines = lines.replace('\n', "\r\n");
    format!(
        "HTTP/1.1 200 OK\r\n{lines}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Everything to one server, with a cache.
fn cached(server: SocketAddr) -> EdgeConfig {
    EdgeConfig {
        cache: Some(CACHE_LEN),
        // Loops share the cache.
        cores: Some(2),
        ..plain(pool(&[server]))
    }
}

/// An edge with all defaults before one server.
fn before(server: SocketAddr) -> Afloat {
    start(&cached(server))
}

/// An edge whose cached responses a test lets age.
fn ageing(config: &EdgeConfig) -> (Afloat, AgeAhead) {
    let hooks = Hooks::none();
    let age = hooks.age_ahead.clone();
    (Afloat::start(config, hooks), age)
}

/// The same with an admin address.
fn open(server: SocketAddr) -> EdgeConfig {
    EdgeConfig {
        admin: Some(open_admin()),
        ..cached(server)
    }
}

/// An edge with an admin address before one server.
fn with_admin(server: SocketAddr) -> Afloat {
    start(&open(server))
}

/// The output of the admin address.
fn shown(edge: &Afloat, path: &str) -> Value {
    let admin = edge.admin();
    let answer = send_request(
        admin,
        format!("GET {path} HTTP/1.1\r\nHost: {admin}\r\nConnection: close\r\n\r\n"),
    );
    serde_json::from_str(status_and_body(&answer).1).unwrap_or_default()
}

/// A request on a connection of its own.
fn request(address: SocketAddr, line: &str, headers: &str) -> String {
    let headers = headers.replace('\n', "\r\n");
    let end = if headers.is_empty() { "" } else { "\r\n" };
    let bytes =
        format!("{line} HTTP/1.1\r\nHost: a.example\r\n{headers}{end}Connection: close\r\n\r\n");
    send_request(address, bytes)
}

/// The value of a header; empty when it is not there.
fn value<'a>(answer: &'a str, name: &str) -> &'a str {
    let head = answer
        .split_once("\r\n\r\n")
        .map_or(answer, |(head, _)| head);
    head.lines()
        .filter_map(|line| line.split_once(": "))
        .find(|(field, _)| field.eq_ignore_ascii_case(name))
        .map_or("", |(_, value)| value)
}

/// The `Cache-Status` of a response, without its ttl.
fn status(answer: &str) -> String {
    let status = value(answer, "cache-status").split("; ");
    let parameters: Vec<&str> = status
        .filter(|parameter| !parameter.starts_with("ttl="))
        .collect();
    parameters.join("; ")
}

#[track_caller]
fn check(answer: &str, expected: (u16, &str), of_cache: &str) {
    assert_eq!(status_and_body(answer), expected, "{answer}");
    assert_eq!(status(answer), of_cache, "{answer}");
}
