//! Telemetry: spans to a collector, rate alerts to a webhook, lines to a rotated log.

use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::Span;
use plimsoll_config::edge::{
    AccessLog, Ceiling, Endpoint, LogFormat, Parents, PoolConfig, RateAlert, Traces,
};
use plimsoll_edge::HandedClock;
use plimsoll_testkit::folder_watch::FolderWatch;

use crate::concurrent_clients::{ConcurrentClients, Ends};
use crate::support::{
    Afloat, ObservedEdge, PATIENCE, Scripted, endpoint, get, metric, open_admin, plain, pool,
    send_request, start, status_and_body, wait_for,
};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const PARENT: &str = "0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331";

/// Accepts POST requests and responds as configured; each head and body is sent to the channel.
fn receiver(answer: &'static str) -> (SocketAddr, Receiver<(String, String)>) {
    let (sender, taken) = channel();
    let sender = Mutex::new(sender);
    let server = Scripted::start(move |mut connection| {
        while let Some(head) = connection.head() {
            let body = String::from_utf8(connection.body(&head).unwrap()).unwrap();
            let _ = sender.lock().unwrap().send((head, body));
            connection.send(answer);
        }
    });
    (server.address, taken)
}

fn with_key(address: SocketAddr, target: &str) -> Endpoint {
    Endpoint {
        headers: vec![("X-Key".to_owned(), "abc".to_owned())],
        ..endpoint(address, target)
    }
}

fn traces(collector: SocketAddr, share: f64, parents: Parents) -> Traces {
    Traces {
        to: with_key(collector, "/v1/traces"),
        share,
        parents,
        service: "shop".to_owned(),
    }
}

/// Decoded spans, until there are this many.
fn spans(taken: &Receiver<(String, String)>, count: usize) -> Vec<Span> {
    let mut spans = Vec::new();
    while spans.len() < count {
        let (head, body) = taken.recv_timeout(PATIENCE).unwrap();
        assert!(head.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{head}");
        let head = head.to_ascii_lowercase();
        assert!(head.contains("content-type: application/json") && head.contains("x-key: abc"));
        let decoded: ExportTraceServiceRequest = serde_json::from_str(&body).unwrap();
        for resource in decoded.resource_spans {
            spans.extend(
                resource
                    .scope_spans
                    .into_iter()
                    .flat_map(|scope| scope.spans),
            );
        }
    }
    spans
}

fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines()
        .find_map(|line| {
            line.split_once(": ")
                .filter(|(field, _)| field.eq_ignore_ascii_case(name))
        })
        .map(|(_, value)| value)
}

#[test]
fn a_trace_goes_through_and_its_spans_reach_the_collector() {
    let server = Scripted::always(OK);
    let (collector, taken) = receiver("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
    let mut edge = plain(pool(&[server.address]));
    edge.traces = Some(traces(collector, 0.0, Parents::All));
    let edge = start(&edge);
    let fetch = |headers: &str| {
        send_request(
            edge.address,
            format!("GET /a?b HTTP/1.1\r\nHost: a.example\r\n{headers}Connection: close\r\n\r\n"),
        )
    };
    fetch(&format!(
        "traceparent: 00-{PARENT}-01\r\ntracestate: v=1\r\ntracestate: w=2\r\n"
    ));
    let requests = server.requests();
    let passed = header(&requests[0], "traceparent").unwrap().to_owned();
    let (trace, parent) = PARENT.split_once('-').unwrap();
    assert!(
        passed.starts_with(&format!("00-{trace}-")) && passed.ends_with("-01"),
        "{passed}"
    );
    assert!(!passed.contains(parent), "a span of its own");
    assert_eq!(requests[0].matches("traceparent").count(), 1);
    assert!(
        requests[0].contains("tracestate: v=1\r\n") && requests[0].contains("tracestate: w=2\r\n")
    );
    // Not sampled by its parent; not sampled by chance; malformed.
    fetch(&format!("traceparent: 00-{PARENT}-00\r\n"));
    fetch("");
    fetch("traceparent: 00-zz-01\r\ntracestate: v=1\r\n");
    let requests = server.requests();
    assert!(
        header(&requests[1], "traceparent")
            .unwrap()
            .ends_with("-00")
    );
    assert!(
        header(&requests[2], "traceparent")
            .unwrap()
            .ends_with("-00")
    );
    assert!(
        header(&requests[3], "tracestate").is_none(),
        "a state without its trace means nothing"
    );
    assert!(!header(&requests[3], "traceparent").unwrap().contains(trace));
    let spans = spans(&taken, 2);
    assert_eq!(spans.len(), 2, "one request was sampled");
    let (of_request, of_exchange) = (&spans[0], &spans[1]);
    assert_eq!(hex(&of_request.trace_id), trace);
    assert_eq!(hex(&of_request.parent_span_id), parent);
    assert_eq!(of_exchange.parent_span_id, of_request.span_id);
    assert!(
        passed.contains(&hex(&of_exchange.span_id)),
        "the server's parent"
    );
    assert!(of_request.start_time_unix_nano <= of_exchange.start_time_unix_nano);
    assert!(of_exchange.end_time_unix_nano <= of_request.end_time_unix_nano);
    assert!(
        of_request
            .attributes
            .iter()
            .any(|attribute| attribute.key == "http.response.status_code")
    );
}

#[test]
fn refused_requests_are_traced_and_nothing_is_lost_at_the_end() {
    let (collector, taken) = receiver("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    let mut edge = plain(PoolConfig {
        ceiling: Ceiling::Fixed(1),
        ..pool(&["127.0.0.1:1".parse().unwrap()])
    });
    edge.traces = Some(traces(collector, 1.0, Parents::None));
    let edge = start(&edge);
    assert_eq!(status_and_body(&get(edge.address, "/")).0, 502);
    edge.drain(PATIENCE).join().unwrap();
    let spans = spans(&taken, 2);
    let server = spans.iter().find(|span| span.kind == 2).unwrap();
    assert_eq!(server.status.as_ref().unwrap().code, 2);
    assert!(
        server
            .attributes
            .iter()
            .any(|attribute| attribute.key == "plimsoll.reason")
    );
}

#[test]
fn a_collector_that_fails_costs_spans_and_is_counted() {
    let server = Scripted::always(OK);
    let (collector, taken) = receiver("HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n");
    let mut edge = plain(pool(&[server.address]));
    edge.traces = Some(traces(collector, 1.0, Parents::All));
    edge.admin = Some(open_admin());
    let edge = start(&edge);
    assert_eq!(status_and_body(&get(edge.address, "/")).0, 200);
    taken.recv_timeout(PATIENCE).unwrap();
    wait_for(&edge, "plimsoll_edge_spans_lost_total", 1.0);
    assert_eq!(metric(&edge, "plimsoll_edge_spans_sent_total"), Some(0.0));
}

/// How often rates are counted, by the clock that is handed in.
const EVERY: Duration = Duration::from_secs(10);
/// Counts that the usual range of the route is computed from so far.
const HISTORY: &str = "plimsoll_edge_rate_alarm_history{kind=\"route\",name=\"/*\"}";

fn watching(webhook: Endpoint) -> RateAlert {
    RateAlert {
        webhook: Some(webhook),
        every: EVERY,
        history: 30,
        factor: 4.0,
        least_per_second: 50.0,
    }
}

/// Periods of an edge whose clock the test lets go on.
struct Periods<'e> {
    edge: &'e Afloat,
    clock: HandedClock,
    counted: f64,
}

impl<'e> Periods<'e> {
    /// From the first look at the totals on, which counts nothing yet.
    #[track_caller]
    fn begin(edge: &'e Afloat, clock: HandedClock) -> Self {
        wait_for(edge, HISTORY, 0.0);
        Self {
            edge,
            clock,
            counted: 0.0,
        }
    }

    /// Ends one, and waits until what came in it is counted.
    #[track_caller]
    fn end(&mut self) {
        self.clock.advance(EVERY);
        self.counted += 1.0;
        wait_for(self.edge, HISTORY, self.counted);
    }

    /// No traffic until there is a usual range, then a surge for as long as it takes to be told. The alert.
    #[track_caller]
    fn surge(&mut self, taken: &Receiver<(String, String)>) -> (String, String) {
        for _ in 0..9 {
            self.end();
        }
        assert!(taken.try_recv().is_err(), "quiet is usual");
        // 60 requests a second in each of two periods.
        let clients = ConcurrentClients {
            clients: 30,
            pause: Duration::ZERO,
            ends: Ends::After(20),
        };
        for _ in 0..2 {
            clients.run(self.edge.address);
            self.end();
        }
        taken.recv_timeout(PATIENCE).expect("the surge is told")
    }
}

#[test]
fn a_surge_is_told_to_a_webhook_once_and_its_end_too() {
    let server = Scripted::always(OK);
    let (webhook, taken) = receiver("HTTP/1.1 204 No Content\r\n\r\n");
    let mut edge = plain(pool(&[server.address]));
    edge.admin = Some(open_admin());
    edge.rate_alert = Some(watching(with_key(webhook, "/hook?a=b")));
    let (ObservedEdge { edge, messages, .. }, clock) = ObservedEdge::start_with_clock(&edge);
    let mut periods = Periods::begin(&edge, clock);
    let alarm = "plimsoll_edge_rate_alarm{kind=\"route\",name=\"/*\"}";
    assert_eq!(metric(&edge, alarm), Some(0.0));
    let raised = periods.surge(&taken);
    assert_eq!(metric(&edge, alarm), Some(1.0));
    assert!(raised.0.starts_with("POST /hook?a=b HTTP/1.1\r\n"));
    let read = |(head, body): (String, String)| {
        assert!(
            head.to_ascii_lowercase().contains("x-key: abc\r\n"),
            "{head}"
        );
        let event: serde_json::Value = serde_json::from_str(&body).unwrap();
        assert!(event["usual_per_second"]["high"].is_number() && event["at"].is_string());
        event
    };
    let raised = read(raised);
    assert_eq!(raised["direction"], "above");
    assert!(raised["rate_per_second"].as_f64().unwrap() > 50.0);
    let name = |event: &serde_json::Value| format!("{} {}", event["subject"], event["event"]);
    // It ends with the second quiet count.
    periods.end();
    periods.end();
    assert_eq!(metric(&edge, alarm), Some(0.0));
    let mut names = vec![name(&raised)];
    names.extend((0..3).map(|_| name(&read(taken.recv_timeout(PATIENCE).unwrap()))));
    assert!(names[0].contains("raised"), "{names:?}");
    // Delivered independently, so they may overtake one another.
    names.sort();
    let expected = [
        "\"pool\" \"ended\"",
        "\"pool\" \"raised\"",
        "\"route\" \"ended\"",
        "\"route\" \"raised\"",
    ];
    assert_eq!(names, expected);
    assert!(
        messages
            .try_iter()
            .any(|line| line.contains("out of its usual range"))
    );
    assert_eq!(
        metric(
            &edge,
            "plimsoll_edge_rate_alarms_total{kind=\"pool\",name=\"app\"}"
        ),
        Some(1.0)
    );
    wait_for(&edge, "plimsoll_edge_webhooks_sent_total", 4.0);
}

#[test]
fn a_webhook_that_redirects_is_not_followed() {
    let server = Scripted::always(OK);
    let (elsewhere, nobody) = receiver("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    let location =
        format!("HTTP/1.1 307 Away\r\nLocation: http://{elsewhere}/\r\nContent-Length: 0\r\n\r\n");
    let (webhook, taken) = receiver(Box::leak(location.into_boxed_str()));
    let mut edge = plain(pool(&[server.address]));
    edge.rate_alert = Some(watching(with_key(webhook, "/")));
    let (observed, clock) = ObservedEdge::start_with_clock(&edge);
    Periods::begin(&observed.edge, clock).surge(&taken);
    let line = observed.wait_for_message("did not accept");
    assert!(line.contains("307"), "{line}");
    assert!(nobody.try_recv().is_err(), "nobody else is told");
}

#[test]
fn a_log_that_was_moved_away_begins_anew() {
    let server = Scripted::always(OK);
    let folder = tempfile::tempdir().unwrap();
    let (path, moved) = (
        folder.path().join("access.log"),
        folder.path().join("access.log.1"),
    );
    let mut edge = plain(pool(&[server.address]));
    edge.access_log = Some(AccessLog {
        path: Some(path.clone()),
        format: LogFormat::Combined,
    });
    let watch = FolderWatch::new(folder.path());
    let edge = start(&edge);
    get(edge.address, "/before");
    let read = |path: &std::path::Path| std::fs::read_to_string(path).unwrap_or_default();
    watch.wait_until("the first line", || read(&path).contains("GET /before "));
    std::fs::rename(&path, &moved).unwrap();
    edge.reopen_log();
    watch.wait_until("a new file", || path.exists());
    get(edge.address, "/after");
    send_request(edge.address, "nonsense\r\n\r\n");
    watch.wait_until("the later lines", || {
        read(&path).contains("reason=bad-request")
    });
    assert!(read(&path).contains("GET /after ") && !read(&path).contains("/before"));
    assert!(!read(&moved).contains("/after"));
}
