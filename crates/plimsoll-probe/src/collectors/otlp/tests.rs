//! Messages of spans over real connections: good ones, broken ones, and too much of them.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use flate2::Compression;
use flate2::write::GzEncoder;
use plimsoll_model::component::{Component, ComponentAddress, ComponentKind, GaugeLimit, Selector};
use plimsoll_model::metric::{self, series};
use plimsoll_testkit::port;

use super::super::ComponentMetadata;
use super::super::tests::{CollectorFixture, LONG};

/// A request of shop: twice the same statement, and a call side by side with the second.
const MESSAGE: &str = r#"{"resourceSpans":[{
    "resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}}]},
    "scopeSpans":[{"spans":[
        {"traceId":"000102030405060708090a0b0c0d0e0f","spanId":"0000000000000002","parentSpanId":"0000000000000001","kind":3,
         "name":"SELECT","startTimeUnixNano":"1000000000","endTimeUnixNano":"1200000000","attributes":[
            {"key":"db.system","value":{"stringValue":"postgresql"}},
            {"key":"db.statement","value":{"stringValue":"SELECT n FROM t WHERE id = 1"}}]},
        {"traceId":"000102030405060708090a0b0c0d0e0f","spanId":"0000000000000003","parentSpanId":"0000000000000001","kind":3,
         "name":"SELECT","startTimeUnixNano":"1200000000","endTimeUnixNano":"1400000000","attributes":[
            {"key":"db.system","value":{"stringValue":"postgresql"}},
            {"key":"db.statement","value":{"stringValue":"SELECT n FROM t WHERE id = 2"}}]},
        {"traceId":"000102030405060708090a0b0c0d0e0f","spanId":"0000000000000004","parentSpanId":"0000000000000001","kind":3,
         "name":"GET","startTimeUnixNano":"1300000000","endTimeUnixNano":"1500000000","attributes":[
            {"key":"http.request.method","value":{"stringValue":"GET"}},
            {"key":"server.address","value":{"stringValue":"rates"}},
            {"key":"http.response.status_code","value":{"intValue":"429"}}]},
        {"traceId":"000102030405060708090a0b0c0d0e0f","spanId":"0000000000000001","kind":2,
         "name":"GET","startTimeUnixNano":"1000000000","endTimeUnixNano":"2000000000","attributes":[
            {"key":"http.request.method","value":{"stringValue":"GET"}},
            {"key":"http.route","value":{"stringValue":"/orders/:id"}}]}
    ]}]}]}"#;

/// A meter of each kind, of which the counter is at DONE after TIME seconds.
const METRICS: &str = r#"{"resourceMetrics":[{
    "resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}}]},
    "scopeMetrics":[{"metrics":[
        {"name":"jobs.waiting","unit":"{job}","gauge":{"dataPoints":[
            {"timeUnixNano":"TIME000000000","asInt":"7",
             "attributes":[{"key":"queue","value":{"stringValue":"mail"}}]}]}},
        {"name":"jobs.done","sum":{"isMonotonic":true,"aggregationTemporality":2,"dataPoints":[
            {"startTimeUnixNano":"1","timeUnixNano":"TIME000000000","asDouble":DONE}]}},
        {"name":"took","histogram":{"aggregationTemporality":1,"dataPoints":[
            {"startTimeUnixNano":"1","timeUnixNano":"TIME000000000","count":"4","sum":10,"max":4.5}]}}
    ]}]}]}"#;

fn watched(address: SocketAddr) -> CollectorFixture {
    comparing(address, Vec::new())
}

/// The same with limits of gauges.
fn comparing(address: SocketAddr, limits: Vec<GaugeLimit>) -> CollectorFixture {
    let component = Component {
        kind: ComponentKind::Otlp,
        place: ComponentAddress::Tcp {
            host: address.ip().to_string(),
            port: address.port(),
        },
        login: None,
    };
    let components = vec![(component, ComponentMetadata::default())];
    CollectorFixture::comparing(components, limits, LONG)
}

/// Sends bytes and reads the answer to the end of the connection.
fn send(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(bytes).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn post(headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST /v1/traces HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\n{headers}\r\n"
    );
    [head.as_bytes(), body].concat()
}

fn sized(body: &str) -> Vec<u8> {
    let header = format!("Content-Length: {}\r\n", body.len());
    post(&header, body.as_bytes())
}

fn packed(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn what_a_request_did_is_told() {
    let address = port::unused();
    let mut watched = watched(address);
    watched.scrape();
    // Packed and in pieces, as Node sends it.
    let packed = packed(MESSAGE.as_bytes());
    let (first, second) = packed.split_at(100);
    let mut body = format!("{:x}\r\n", first.len()).into_bytes();
    body.extend(first);
    body.extend(format!("\r\n{:x}\r\n", second.len()).bytes());
    body.extend(second);
    body.extend(b"\r\n0\r\n\r\n");
    let headers = "Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n";
    let answer = send(address, &post(headers, &body));
    assert!(
        answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\n{}"),
        "{answer}"
    );

    let at = address.to_string();
    let route = [
        ("at", at.as_str()),
        ("service", "shop"),
        ("route", "GET /orders/:id"),
    ];
    let of = |metric: &str, more: &[(&str, &str)]| series(metric, &[&route[..], more].concat());
    let requests = of(metric::TRACE_REQUESTS, &[]);
    let values = std::iter::repeat_with(|| watched.scrape().values)
        .find(|values| values.contains_key(&requests))
        .unwrap();
    let each = |name: &str| values[name] / values[&requests];
    let near = |name: &str, right: f64| {
        let value = each(name);
        assert!((value - right).abs() < 1e-6, "{name} {value}");
    };
    let database = [("kind", "database"), ("component", "postgresql")];
    let rates = [("kind", "http"), ("component", "rates")];
    let itself = [("kind", "itself")];
    let refused = [&rates[..], &[("status", "429")]].concat();
    let form = [("statement", "SELECT n FROM t WHERE id = ?")];
    near(&of(metric::TRACE_TIME, &[]), 1.0);
    near(&of(metric::TRACE_QUERIES, &[]), 2.0);
    near(&of(metric::TRACE_QUERY_FORMS, &[]), 1.0);
    near(&of(metric::TRACE_REPEATED, &form), 2.0);
    near(&of(metric::TRACE_CALLS, &database), 2.0);
    near(&of(metric::TRACE_OWN_TIME, &database), 0.4);
    near(&of(metric::TRACE_SHARED_TIME, &database), 0.35);
    near(&of(metric::TRACE_OWN_TIME, &rates), 0.2);
    near(&of(metric::TRACE_SHARED_TIME, &rates), 0.15);
    near(&of(metric::TRACE_REFUSED, &refused), 1.0);
    near(&of(metric::TRACE_SHARED_TIME, &itself), 0.5);
}

#[test]
fn metrics_become_readings() {
    let address = port::unused();
    let gauge = Selector::of_meter("jobs.waiting{service.name=shop}").unwrap();
    let mut watched = comparing(address, vec![GaugeLimit::new(gauge, 100.0).unwrap()]);
    watched.scrape();
    let post = |body: &str| {
        let head = "POST /v1/metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\n";
        let message = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
        send(address, message.as_bytes())
    };
    let at = address.to_string();
    let of = |metric: &str, name: &str, of: &str| {
        series(metric, &[("at", &at), ("name", name), ("of", of)])
    };
    let waiting = "queue:mail service.name:shop";
    let level = of(metric::FIGURES_LEVEL, "jobs.waiting", waiting);
    let answer = post(&METRICS.replace("TIME", "10").replace("DONE", "40"));
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    // It has arrived before it was answered.
    let values = watched.scrape().values;
    for (series, right) in [
        (level.clone(), 7.0),
        (of(metric::FIGURES_LIMIT, "jobs.waiting", waiting), 100.0),
        (
            of(metric::FIGURES_LEVEL, "took.mean", "service.name:shop"),
            2.5,
        ),
        (
            of(metric::FIGURES_LEVEL, "took.max", "service.name:shop"),
            4.5,
        ),
    ] {
        assert_eq!(values.get(&series), Some(&right), "{series}: {values:#?}");
    }
    let done = of(metric::FIGURES_INCREASE, "jobs.done", "service.name:shop");
    assert_eq!(values.get(&done), None);
    post(&METRICS.replace("TIME", "20").replace("DONE", "70"));
    let values = watched.scrape().values;
    assert_eq!(values.get(&done), Some(&3.0), "{values:#?}");
    // A level stays until the next export, a rate is that of one sample.
    let values = watched.scrape().values;
    assert_eq!((values.get(&level), values.get(&done)), (Some(&7.0), None));
    assert_eq!(watched.notes(), "");
    let answer = post("[]");
    assert!(
        answer.starts_with("HTTP/1.1 400 ") && answer.contains("must hold `resourceMetrics`"),
        "{answer}"
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of messages")]
fn what_is_wrong_is_said() {
    let address = port::unused();
    let mut watched = watched(address);
    watched.scrape();
    let long = "x".repeat(5 << 20);
    let bomb = packed(&vec![b' '; 5 << 20]);
    let bomb_headers = format!(
        "Content-Encoding: gzip\r\nContent-Length: {}\r\n",
        bomb.len()
    );
    let short = b"Content-Length: 3\r\n";
    let other = |line: &str| format!("{line}\r\nHost: a\r\nConnection: close\r\n\r\n").into_bytes();
    for (bytes, status, expected) in [
        (sized("{"), 400, "invalid JSON"),
        (
            sized(r#"{"resourceSpans":{}}"#),
            400,
            "`resourceSpans` is not a list",
        ),
        (
            post("Content-Encoding: gzip\r\nContent-Length: 3\r\n", b"abc"),
            400,
            "cannot be decompressed",
        ),
        (post(&bomb_headers, &bomb), 413, "longer than 4 MiB"),
        (sized(&long), 413, "longer than 4 MiB"),
        (
            post("Content-Encoding: zstd\r\nContent-Length: 3\r\n", b"abc"),
            415,
            "must be gzip or none",
        ),
        (
            other("POST /v1/logs HTTP/1.1"),
            404,
            "OTEL_LOGS_EXPORTER=none",
        ),
        (other("POST / HTTP/1.1"), 404, "/v1/traces"),
        (other("GET /v1/traces HTTP/1.1"), 405, "by POST"),
        (
            other("POST /v1/traces HTTP/1.1"),
            415,
            "application/x-protobuf",
        ),
        (other("POST /v1/traces HTTP/9"), 505, "version"),
        (
            [
                b"POST /v1/traces HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n",
                &short[..],
                b"\r\n",
            ]
            .concat(),
            400,
            "Content-Length",
        ),
        (
            b"\x16\x03\x01\x02\x00".to_vec(),
            400,
            "do not start an HTTP request",
        ),
    ] {
        let answer = answer_to(address, &bytes);
        let begin = format!("HTTP/1.1 {status} ");
        assert!(
            answer.starts_with(&begin) && answer.contains(expected),
            "{expected}: {answer}"
        );
    }
    watched.scrape();
    let notes = watched.notes();
    assert!(
        notes.contains("a message was refused (400): invalid JSON"),
        "{notes}"
    );
    // It keeps listening, and the listener is closed when the collector is dropped.
    assert!(send(address, &sized("{}")).starts_with("HTTP/1.1 200"));
    drop(watched);
    while TcpStream::connect(address).is_ok() {}
}

/// The same where the response may arrive before all was sent.
fn answer_to(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn a_door_that_is_taken_is_said() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut watched = watched(listener.local_addr().unwrap());
    watched.scrape();
    let notes = watched.notes();
    for expected in [
        "cannot listen there",
        "in use",
        "watch: { otlp: 127.0.0.1:4318 }",
    ] {
        assert!(notes.contains(expected), "{notes}");
    }
}
