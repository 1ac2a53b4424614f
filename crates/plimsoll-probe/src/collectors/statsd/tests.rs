//! Meters over real sockets: of a real program, of every type, broken ones, and too many of them.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, UdpSocket};

use plimsoll_model::component::{Component, ComponentKind, GaugeLimit, Selector};
use plimsoll_model::metric::{self, series};
use plimsoll_model::reading::Readings;
use plimsoll_testkit::port;
use plimsoll_testkit::program::servers::Gunicorn;

use crate::collectors::ComponentMetadata;
use crate::collectors::fixture::{CollectorFixture, LONG, tcp};

fn watched(address: SocketAddr) -> CollectorFixture {
    comparing(address, Vec::new())
}

/// The same with limits of gauges.
fn comparing(address: SocketAddr, limits: Vec<GaugeLimit>) -> CollectorFixture {
    let component = Component {
        kind: ComponentKind::Statsd,
        place: tcp(address),
        login: None,
    };
    let components = vec![(component, ComponentMetadata::default())];
    CollectorFixture::comparing(components, limits, LONG)
}

fn send(address: SocketAddr, lines: &str) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.send_to(lines.as_bytes(), address).unwrap();
}

fn own(metric: &str, at: SocketAddr, name: &str, of: &str) -> String {
    let at = at.to_string();
    let labels = [("at", at.as_str()), ("name", name), ("of", of)];
    series(metric, &labels[..if of.is_empty() { 2 } else { 3 }])
}

/// The values of a series in several readings.
fn values_of(all: &[Readings], series: &str) -> impl Iterator<Item = f64> {
    let values = all.iter().map(move |readings| readings.values.get(series));
    values.flatten().copied()
}

#[test]
fn a_real_server_reports_its_workers_and_requests() {
    let address = port::unused();
    let mut watched = watched(address);
    let gunicorn = Gunicorn::start_reporting(2, "0.01", address);
    let workers = own(metric::FIGURES_LEVEL, address, "gunicorn.workers", "");
    watched.scrape_until(|readings| readings.values.get(&workers) == Some(&2.0));

    let mut stream = TcpStream::connect(gunicorn.address).unwrap();
    let request = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    stream.write_all(request).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let requests = own(metric::FIGURES_INCREASE, address, "gunicorn.requests", "");
    let slowest = own(
        metric::FIGURES_LEVEL,
        address,
        "gunicorn.request.duration.max",
        "",
    );
    // Its duration in ms arrives with its count, in a datagram of its own.
    let (mut was_counted, mut duration) = (false, None);
    while !was_counted || duration.is_none() {
        let values = watched.scrape().values;
        was_counted |= values.get(&requests).is_some_and(|&count| count > 0.0);
        duration = duration.or(values.get(&slowest).copied());
    }
    assert!(duration.is_some_and(|ms| ms >= 10.0), "{duration:?}");
    // It stays, although gunicorn reports it only when it changes.
    let last = watched.scrape().values;
    assert_eq!(last.get(&workers), Some(&2.0), "{last:#?}");
    assert!(!watched.notes().contains("left out"), "{}", watched.notes());
}

#[test]
fn meters_of_every_type_become_readings() {
    let address = port::unused();
    let mut watched = watched(address);
    send(
        address,
        "orders:3|c|#shop:eu\norders:1|c|@0.1|#shop:eu\nqueue:7|g\nqueue:-2|g\nqueue:+1|g\n\
         took:10:20:30|ms\ntook:40|ms|@0.5\nusers:ada|s\nusers:bob|s\nusers:ada|s\n",
    );
    let queue = own(metric::FIGURES_LEVEL, address, "queue", "");
    let mut first = watched.scrape();
    while !first.values.contains_key(&queue) {
        first = watched.scrape();
    }
    let value = |metric: &str, name: &str, of: &str| {
        let series = own(metric, address, name, of);
        let value = first.values.get(&series).copied();
        value.unwrap_or_else(|| panic!("no {series} in {:#?}", first.values))
    };
    let level = |name: &str| value(metric::FIGURES_LEVEL, name, "");
    let near = |value: f64, right: f64| (value - right).abs() < 1e-6 * right;
    assert!(near(level("queue"), 6.0));
    assert!(near(level("users"), 2.0));
    // 10, 20 and 30 once each, and 40 twice.
    assert!(near(level("took.mean"), 28.0));
    assert!(near(level("took.p95"), 40.0) && near(level("took.max"), 40.0));
    // All in the same second: the counts are in proportion.
    let orders = value(metric::FIGURES_INCREASE, "orders", "shop:eu");
    let took = value(metric::FIGURES_INCREASE, "took.count", "");
    assert!(near(orders / took, 13.0 / 5.0), "{orders} {took}");

    let next = watched.scrape().values;
    let counted = own(metric::FIGURES_INCREASE, address, "orders", "shop:eu");
    assert_eq!(next.get(&counted), Some(&0.0));
    assert_eq!(next.get(&queue), Some(&6.0));
    let slowest = own(metric::FIGURES_LEVEL, address, "took.max", "");
    assert_eq!(next.get(&slowest), None);
    assert!(!watched.notes().contains("left out"), "{}", watched.notes());
}

#[test]
fn a_gauge_has_the_limit_that_the_plan_gives_it() {
    let address = port::unused();
    let limits = [("jobs.waiting{queue=mail}", 100.0), ("took.p95", 50.0)];
    let limits = limits
        .map(|(name, limit)| GaugeLimit::new(Selector::of_meter(name).unwrap(), limit).unwrap());
    let mut watched = comparing(address, limits.into());
    send(
        address,
        "jobs.waiting:7|g|#queue:mail\njobs.waiting:9|g|#queue:images\ntook:10|ms\n",
    );
    let of = |metric: &str, name: &str, of: &str| own(metric, address, name, of);
    let waiting = of(metric::FIGURES_LEVEL, "jobs.waiting", "queue:mail");
    let mut values = watched.scrape().values;
    while !values.contains_key(&waiting) {
        values = watched.scrape().values;
    }
    for (name, labels, level, limit) in [
        ("jobs.waiting", "queue:mail", 7.0, Some(&100.0)),
        ("jobs.waiting", "queue:images", 9.0, None),
        ("took.p95", "", 10.0, Some(&50.0)),
        ("took.max", "", 10.0, None),
    ] {
        let found = [metric::FIGURES_LEVEL, metric::FIGURES_LIMIT]
            .map(|metric| values.get(&of(metric, name, labels)));
        assert_eq!(found, [Some(&level), limit], "{name} {labels}: {values:#?}");
    }
}

#[test]
fn broken_lines_and_too_many_meters_are_left_out_and_counted() {
    let address = port::unused();
    let mut watched = watched(address);
    let at = address.to_string();
    let (lines, lost) = (
        series(metric::STATSD_LINES, &[("at", &at)]),
        series(metric::STATSD_LINES_LOST, &[("at", &at)]),
    );
    // Ids in names: each request makes a meter.
    for hundred in 0..8 {
        let text: Vec<String> = (0..100)
            .map(|number| format!("order.{}:1|c", hundred * 100 + number))
            .collect();
        send(address, &text.join("\n"));
    }
    send(
        address,
        "\u{1b}[2J:1|c\nqueue:much|g\nqueue:1|g|#\u{7}\nlast",
    );
    let mut all = Vec::new();
    while !watched.notes().contains("a line was left out") {
        all.push(watched.scrape());
    }
    let notes = watched.notes();
    for expected in [
        "only 512 meters are recorded",
        "leave out tags that change with each request",
        "a name must have 1 to 200 bytes",
    ] {
        assert!(notes.contains(expected), "{notes}");
    }
    assert!(!notes.contains('\u{1b}'), "{notes:?}");
    for series in [&lines, &lost] {
        assert!(values_of(&all, series).any(|rate| rate > 0.0), "{series}");
    }
    let latest = watched.scrape().values;
    let kept = latest.keys().filter(|name| name.contains("order."));
    assert_eq!(kept.count(), 512);
}

#[test]
fn a_flood_is_left_to_the_kernel_and_reported() {
    let address = port::unused();
    let mut watched = watched(address);
    let dropped = series(metric::STATSD_DROPPED, &[("at", &address.to_string())]);
    if !watched.scrape().values.contains_key(&dropped) {
        plimsoll_testkit::not_tried::not_tried("the kernel lists no UDP sockets");
        return;
    }
    // More than are read in a second, and more than the kernel holds.
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let lines = "flood:1|c\n".repeat(100);
    for _ in 0..8000 {
        socket.send_to(lines.as_bytes(), address).unwrap();
    }
    let values = watched.scrape().values;
    assert!(values[&dropped] > 0.0, "{values:#?}");
    let notes = watched.notes();
    assert!(
        notes.contains("at most 20000 lines are read in a second"),
        "{notes}"
    );
}

#[test]
fn an_address_that_is_taken_is_reported_and_tried_again() {
    let address = port::unused();
    let taken = UdpSocket::bind(address).unwrap();
    let mut watched = watched(address);
    watched.scrape();
    let notes = watched.notes();
    for expected in [
        "cannot listen there",
        "in use",
        "watch: { statsd: 127.0.0.1:8125 }",
    ] {
        assert!(notes.contains(expected), "{notes}");
    }
    drop(taken);
    let lines = series(metric::STATSD_LINES, &[("at", &address.to_string())]);
    watched.scrape_until(|readings| readings.values.contains_key(&lines));
    // The address is free again when the collector is dropped.
    drop(watched);
    while UdpSocket::bind(address).is_err() {}
}

#[test]
fn silence_is_explained_once() {
    let address = port::unused();
    let mut watched = watched(address);
    for _ in 0..12 {
        watched.scrape();
    }
    let notes = watched.notes();
    assert!(
        notes.contains("no meters arrived at") && notes.contains("--statsd-host"),
        "{notes}"
    );
    assert_eq!(notes.lines().count(), 1, "{notes}");
}
