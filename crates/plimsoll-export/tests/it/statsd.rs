//! `StatsD` over UDP, received by `StatsD` itself.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

use plimsoll_testkit::port;
use plimsoll_testkit::program::packages;
use serde_json::Value;

use crate::run::{FAST_US, GOOD, SECONDS, SLOW_US, export};

/// Longest payload in a packet of Ethernet with a tunnel around it, bytes.
const PACKET_MAX: usize = 1_432;

/// What an export sends.
fn datagrams(tags: &str) -> Vec<Vec<u8>> {
    let socket = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
    let destination = format!("statsd={}{tags}", socket.local_addr().unwrap());
    assert_eq!(export(&[&destination], &[]), [""; 0]);
    // All were sent before `export` returned: they wait in the socket.
    socket.set_nonblocking(true).unwrap();
    let mut datagrams = Vec::new();
    let mut buffer = vec![0; 65_536];
    while let Ok(len) = socket.recv(&mut buffer) {
        assert!(len <= PACKET_MAX, "{len} bytes");
        datagrams.push(buffer[..len].to_vec());
    }
    datagrams
}

/// `StatsD`, which flushes when it is told; ends with its standard input.
struct Statsd {
    child: Child,
    orders: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
    socket: UdpSocket,
    /// It watches this file, and ends when it goes away.
    _configuration: tempfile::NamedTempFile,
}

impl Drop for Statsd {
    fn drop(&mut self) {
        drop(self.orders.take());
        let _ = self.child.wait();
    }
}

impl Statsd {
    fn start() -> Self {
        let folder = installed();
        let configuration = tempfile::NamedTempFile::new().unwrap();
        let (data, management) = (port::unused(), port::unused());
        let settings = serde_json::json!({
            "address": "127.0.0.1", "port": data.port(),
            "mgmt_address": "127.0.0.1", "mgmt_port": management.port(),
            "backends": [folder.join("beside.js")],
            "percentThreshold": [50, 90, 95],
        });
        std::fs::write(configuration.path(), settings.to_string()).unwrap();
        let mut child = Command::new("node")
            .arg("--require")
            .arg(folder.join("beside.js"))
            .arg(folder.join("node_modules/statsd/stats.js"))
            .arg(configuration.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let orders = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        let socket = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
        let mut statsd = Self {
            child,
            orders,
            output,
            socket,
            _configuration: configuration,
        };
        let port = statsd.next()["port"].as_u64().unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], port.try_into().unwrap()));
        statsd.socket.connect(address).unwrap();
        statsd
    }

    /// What it says next, besides its log.
    fn next(&mut self) -> Value {
        let mut log = String::new();
        for line in self.output.by_ref().map_while(Result::ok) {
            if let Ok(message) = serde_json::from_str(&line) {
                return message;
            }
            log = log + &line + "\n";
        }
        panic!("it has ended:\n{log}");
    }

    /// Its metrics after these datagrams, of which it has received one before the next is sent.
    fn metrics(&mut self, datagrams: &[Vec<u8>]) -> Value {
        for datagram in datagrams {
            self.socket.send(datagram).unwrap();
            assert_eq!(self.next()["packet"], true);
        }
        self.orders.as_mut().unwrap().write_all(b"flush\n").unwrap();
        self.next()
    }
}

/// The folder of the program, installed once from its lock file.
fn installed() -> &'static Path {
    static FOLDER: OnceLock<()> = OnceLock::new();
    let folder = Path::new(concat!(env!("CARGO_TARGET_TMPDIR"), "/statsd"));
    FOLDER.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/statsd");
        packages::install(&source, folder, "beside.js");
    });
    folder
}

#[test]
fn statsd_has_the_numbers_and_the_percentiles_of_the_run() {
    let total = (GOOD * u64::from(SECONDS)) as f64;
    let (fast, slow) = (FAST_US as f64 / 1e3, SLOW_US as f64 / 1e3);
    let mean = 0.9 * fast + 0.1 * slow;
    let mut statsd = Statsd::start();
    for (tags, ok, shared, depth) in [
        (
            "",
            "plimsoll.requests.ok",
            "",
            "plimsoll.queue_depth.7.a_b_c__d_",
        ),
        (
            "?tags",
            "plimsoll.requests;run=the-run;outcome=ok",
            ";run=the-run",
            "plimsoll.queue_depth;run=the-run;exported_run=7;queue.name=a_b_c__d_",
        ),
    ] {
        let metrics = statsd.metrics(&datagrams(tags));
        let is = |value: &Value, expected: f64, error: f64| {
            let found = value.as_f64().unwrap_or_else(|| panic!("{metrics:#}"));
            let off = (found - expected).abs();
            assert!(off <= error * expected.abs(), "{found}, not {expected}");
        };
        assert_eq!(metrics["counters"]["statsd.bad_lines_seen"], 0);
        is(&metrics["counters"][ok], total, 1e-9);
        let in_flight = format!("plimsoll.requests_in_flight{shared}");
        is(&metrics["gauges"][in_flight], 7.0, 0.0);
        is(&metrics["gauges"][depth], -5.0, 0.0);
        let times = &metrics["timer_data"][format!("plimsoll.response{shared}")];
        is(&times["count"], total, 1e-9);
        for (name, expected) in [
            ("median", fast),
            ("upper_50", fast),
            ("upper_90", fast),
            ("upper_95", slow),
            ("upper", slow),
            ("lower", fast),
            ("mean", mean),
        ] {
            is(&times[name], expected, 2e-3);
        }
    }
}

#[test]
fn a_server_that_is_away_loses_seconds_and_nothing_else() {
    let away = port::unused();
    let losses = export(&[&format!("statsd={away}")], &[]);
    assert_eq!(losses.len(), 1, "{losses:?}");
    assert!(losses[0].contains("refused"), "{losses:?}");
}
