//! `--export`: the binary with destinations that take, refuse and do not exist.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpStream, UdpSocket};
use std::num::NonZeroU32;
use std::time::Duration;

use flate2::read::MultiGzDecoder;
use plimsoll_testkit::origin::known_law::{KnownLaw, KnownLawPlan};
use serde_json::Value;

use crate::edge::RunningEdge;
use crate::support::{Sandbox, count};

fn origin() -> KnownLaw {
    KnownLaw::start(KnownLawPlan {
        servers: NonZeroU32::new(100).unwrap(),
        ..KnownLawPlan::default()
    })
    .unwrap()
}

/// Nobody listens at port 1: the run is the same, and what was lost is in a warning and in the log.
#[test]
fn a_run_is_exported_while_it_goes_on_and_a_receiver_that_is_not_there_changes_nothing() {
    let (origin, place) = (origin(), Sandbox::new());
    let output = place.run(&[
        "run",
        &origin.url(),
        "--rate",
        "50/s",
        "--for",
        "1s",
        "--json",
        "--export",
        "jsonl=run.jsonl",
        "--export",
        "remote-write=http://me:hidden-word@127.0.0.1:1",
        "--export-header",
        "remote-write=X-Scope: hidden-word",
    ]);
    let json = output.json();
    assert!([0, 6].contains(&output.code), "{output:?}");
    assert!(
        output.stderr.contains("records were not accepted: "),
        "{output:?}"
    );
    let text = fs::read_to_string(place.path().join("run.jsonl")).unwrap();
    let run = fs::File::open(place.path().join(json["run_file"].as_str().unwrap())).unwrap();
    let mut log = String::new();
    MultiGzDecoder::new(run).read_to_string(&mut log).unwrap();
    assert!(log.contains("records were not accepted"), "{log}");
    let shown = format!("{}{log}{text}", output.stderr);
    assert!(!shown.contains("hidden-word"), "{shown}");
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let counted: f64 = lines
        .iter()
        .flat_map(|line| line["metrics"].as_array().into_iter().flatten())
        .filter(|metric| metric["name"] == "plimsoll_requests_total")
        .map(|metric| metric["increase"].as_f64().unwrap())
        .sum();
    assert!(
        (counted - count(&json, "requests") as f64).abs() < 1e-9,
        "{counted} {json:#}"
    );
    assert_eq!(lines.last().unwrap()["kind"], "end");
}

#[test]
fn readings_of_watch_are_exported() {
    let place = Sandbox::new();
    let output = place.run(&[
        "watch",
        "--for",
        "1s",
        "--watch",
        "none",
        "--export",
        "jsonl=w.jsonl",
    ]);
    assert_eq!(output.code, 0, "{output:?}");
    let text = fs::read_to_string(place.path().join("w.jsonl")).unwrap();
    assert!(
        text.contains("\"name\":\"plimsoll_cpu_busy_ratio\""),
        "{text}"
    );
}

/// Its admin address needs a token, which the export does not.
#[test]
fn metrics_of_an_edge_are_exported() {
    let (origin, place) = (origin(), Sandbox::new());
    let statsd = UdpSocket::bind("127.0.0.1:0").unwrap();
    statsd
        .set_read_timeout(Some(Duration::from_mins(1)))
        .unwrap();
    fs::write(
        place.path().join("token"),
        "a-long-enough-token-of-the-admin",
    )
    .unwrap();
    let edge = RunningEdge::start(
        &place,
        &[
            "--to",
            &origin.url(),
            "--cache",
            "off",
            "--admin-token-file",
            "token",
            "--export",
            &format!("statsd={}", statsd.local_addr().unwrap()),
        ],
    );
    // A counter rises from its first reading on, with which the gauges come.
    value_of("edge_connections", &statsd);
    let mut stream = TcpStream::connect(edge.address).unwrap();
    let head = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    stream.read_to_end(&mut Vec::new()).unwrap();
    assert!(value_of("edge_requests", &statsd) > 0.0);
}

/// The next value of a metric that arrives.
fn value_of(metric: &str, statsd: &UdpSocket) -> f64 {
    let mut datagram = [0; 2048];
    loop {
        let len = statsd.recv(&mut datagram).unwrap();
        let text = String::from_utf8_lossy(&datagram[..len]);
        let mut values = text.lines().filter_map(|line| line.split_once(':'));
        if let Some((_, value)) = values.find(|(name, _)| name.ends_with(metric)) {
            return value.split('|').next().unwrap().parse().unwrap();
        }
    }
}

#[test]
fn an_unknown_kind_is_refused_before_anything_is_sent() {
    let output = Sandbox::new().run(&["run", "http://127.0.0.1:1/", "--export", "kafka=x"]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(
        output
            .stderr
            .contains("unknown kind `kafka`; valid: remote-write, scrape"),
        "{output:?}"
    );
}
