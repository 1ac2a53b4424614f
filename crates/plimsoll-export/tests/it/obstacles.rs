//! Receivers that refuse, are slow or do not exist: reported, and never in the way.

use std::net::TcpListener;

use serde_json::Value;

use crate::receiver::HttpReceiver;
use crate::run::{SECONDS, events, export, exporter, window};

#[test]
fn a_receiver_that_never_answers_holds_up_nobody_and_what_it_misses_is_counted() {
    // The kernel accepts connections for it, and nobody reads.
    let silent = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let destination = format!("otlp=http://{}", silent.local_addr().unwrap());
    let exporter = exporter(&[&destination], &[]);
    for second in 0..1_000 {
        exporter.observe(&window(second));
    }
    // All were handed over although nothing was sent, and the queue holds 64.
    let report = &exporter.reports()[0];
    assert_eq!((report.sent, report.dropped), (0, 1_000));
    let loss = report.loss().unwrap();
    assert!(
        loss.contains("1000 of 1000 records were not accepted"),
        "{loss}"
    );
}

#[test]
fn a_receiver_that_refuses_is_named_with_its_reason_and_without_secrets() {
    let refusing = HttpReceiver::start(|_| "401 Unauthorized");
    let address = refusing.address;
    let destination = format!("influx=http://me:hidden-word@{address}");
    let losses = export(&[&destination], &["influx=X-Token: hidden-word"]);
    assert_eq!(losses.len(), 1, "{losses:?}");
    assert!(
        losses[0].contains("were not accepted: status 401"),
        "{losses:?}"
    );
    assert!(!losses[0].contains("hidden-word"), "{losses:?}");
    let first = &refusing.received()[0];
    assert_eq!(
        first.header("authorization"),
        Some("Basic bWU6aGlkZGVuLXdvcmQ=")
    );
    assert_eq!(first.header("x-token"), Some("hidden-word"));
    assert_eq!(first.target, "/write?db=plimsoll");
}

#[test]
fn what_a_receiver_refuses_for_a_while_it_gets_later() {
    let failures = std::sync::atomic::AtomicU32::new(2);
    let order = std::sync::atomic::Ordering::Relaxed;
    let receiver = HttpReceiver::start(move |_| {
        let left = failures.try_update(order, order, |left| left.checked_sub(1));
        if left.is_ok() {
            "503 Service Unavailable"
        } else {
            "204 No Content"
        }
    });
    let exporter = exporter(&[&format!("influx=http://{}", receiver.address)], &[]);
    for event in events() {
        exporter.observe(&event);
        exporter.flush();
    }
    let report = &exporter.reports()[0];
    assert_eq!(report.dropped, 0, "{report:?}");
    let accepted: Vec<_> = receiver.received().into_iter().skip(2).collect();
    let text: Vec<u8> = accepted
        .into_iter()
        .flat_map(|request| request.body)
        .collect();
    let text = String::from_utf8(text).unwrap();
    let ok = text.lines().filter(|line| line.contains("outcome=ok "));
    assert_eq!(ok.count(), usize::try_from(SECONDS).unwrap());
}

#[test]
fn a_port_that_is_taken_and_a_file_that_exists_are_told_at_the_start() {
    let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    let scrape = format!("scrape={}", taken.local_addr().unwrap());
    let jsonl = format!("jsonl={}", file.path().display());
    let nowhere = "hlog=/nowhere/run.hlog".to_owned();
    let exporter = exporter(&[&scrape, &jsonl, &nowhere, "jsonl=/dev/null"], &[]);
    let messages = exporter.unavailable();
    for (text, expected) in messages.iter().zip([
        "cannot listen on",
        "never overwritten",
        "No such file",
        "never overwritten",
    ]) {
        assert!(text.contains(expected), "{messages:?}");
    }
    assert_eq!(messages.len(), 4);
    for event in events() {
        exporter.observe(&event);
    }
    assert_eq!(exporter.flush().len(), 4);
    assert_eq!(exporter.finish(), [""; 0]);
    assert_eq!(std::fs::read(file.path()).unwrap(), b"");
}

#[test]
fn grafana_gets_the_begin_the_notes_and_the_whole_run() {
    let grafana = HttpReceiver::start(|_| "200 OK");
    let destination = format!("grafana=http://{}/sub", grafana.address);
    assert_eq!(
        export(&[&destination], &["grafana=Authorization: Bearer t"]),
        [""; 0]
    );
    let received = grafana.received();
    let bodies: Vec<Value> = received
        .iter()
        .map(|it| serde_json::from_slice(&it.body).unwrap())
        .collect();
    let kinds: Vec<&str> = bodies
        .iter()
        .map(|body| body["tags"][1].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["start", "note", "note", "end"]);
    assert_eq!(bodies[0]["time"], bodies[3]["time"]);
    assert!(bodies[3]["timeEnd"].as_u64() >= bodies[0]["time"].as_u64());
    for request in &received {
        assert_eq!(request.target, "/sub/api/annotations");
        assert_eq!(request.header("authorization"), Some("Bearer t"));
    }
}
