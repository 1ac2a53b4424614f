//! Real Prometheus: Debian's for remote write 1.0 and scraping, its own code of version 3 for messages of remote write 2.0.
//!
//! `PLIMSOLL_TEST_PROMETHEUS` names another program, such as a Prometheus 3.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use plimsoll_export::Exporter;
use serde_json::Value;

use crate::receiver::{HttpReceiver, get};
use crate::run::{FAILED, FAST_US, GOOD, SECONDS, SLOW_US, events, export, exporter};

/// A Prometheus; killed at the end of the test.
struct Prometheus {
    child: Child,
    address: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Prometheus {
    /// Starts it with this configuration, and waits until it says that it is ready.
    fn start(configuration: &str) -> Self {
        let program = std::env::var_os("PLIMSOLL_TEST_PROMETHEUS");
        let program = program.map_or_else(|| PathBuf::from("prometheus"), PathBuf::from);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("prometheus.yml");
        std::fs::write(&file, configuration).unwrap();
        let mut child = Command::new(program)
            .arg(format!("--config.file={}", file.display()))
            .arg(format!(
                "--storage.tsdb.path={}",
                folder.path().join("data").display()
            ))
            .args([
                "--web.listen-address=127.0.0.1:0",
                "--web.enable-remote-write-receiver",
            ])
            .args(["--enable-feature=native-histograms", "--log.level=info"])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let (mut address, mut is_ready, mut log) = (None, false, String::new());
        for line in lines.by_ref().map_while(Result::ok) {
            if line.contains("Listening on") {
                let found = line.rsplit_once("address=").unwrap().1;
                address = found.split(' ').next().unwrap().parse().ok();
            }
            log += &line;
            log.push('\n');
            // Two of its threads say so, in any order.
            is_ready |= line.contains("Server is ready");
            if is_ready && address.is_some() {
                break;
            }
        }
        // What it says from now on must be read: a full pipe would stop it.
        std::thread::spawn(move || lines.for_each(drop));
        let address = address.unwrap_or_else(|| panic!("it is not ready:\n{log}"));
        Self {
            child,
            address,
            _folder: folder,
        }
    }

    /// The value of an instant query with one result, at a moment.
    fn query(&self, query: &str, at_s: f64) -> f64 {
        let answer = self.answer(query, at_s);
        let results = answer["data"]["result"]
            .as_array()
            .unwrap_or_else(|| panic!("{answer}"));
        assert_eq!(results.len(), 1, "{query}: {answer}");
        results[0]["value"][1].as_str().unwrap().parse().unwrap()
    }

    /// The answer to an instant query at a moment.
    fn answer(&self, query: &str, at_s: f64) -> Value {
        let query: String = url::form_urlencoded::byte_serialize(query.as_bytes()).collect();
        let target = format!("/api/v1/query?time={at_s}&query={query}");
        serde_json::from_str(&get(self.address, &target, "*/*")).unwrap()
    }

    /// Every query of the dashboard has an answer.
    fn check_dashboard(&self, at_s: f64) {
        let text = include_str!("../../../../integrations/grafana/plimsoll.json");
        let dashboard: Value = serde_json::from_str(text).unwrap();
        let panels = dashboard["panels"].as_array().unwrap();
        let targets = panels
            .iter()
            .flat_map(|panel| panel["targets"].as_array().unwrap());
        let mut queries = 0;
        for target in targets {
            let query = target["expr"].as_str().unwrap();
            let query = query
                .replace("$__rate_interval", "10s")
                .replace("$run", "the-.*");
            let answer = self.answer(&query, at_s);
            let results = answer["data"]["result"]
                .as_array()
                .unwrap_or_else(|| panic!("{query}: {answer}"));
            assert!(!results.is_empty(), "{query}: {answer}");
            queries += 1;
        }
        assert!(queries > 15, "{queries}");
    }

    /// The numbers of the whole run are there.
    fn check(&self, at_s: f64) {
        let total = (GOOD * u64::from(SECONDS)) as f64;
        for (query, expected) in [
            (
                r#"plimsoll_requests_total{outcome="ok",run="the-run"}"#,
                total,
            ),
            (
                r#"plimsoll_requests_total{outcome="timeout"}"#,
                (FAILED * u64::from(SECONDS)) as f64,
            ),
            ("plimsoll_requests_in_flight", 7.0),
            (r#"system_cpu_utilization_ratio{cpu_mode="user"}"#, 0.25),
            ("histogram_count(plimsoll_response_seconds)", total),
        ] {
            let found = self.query(query, at_s);
            assert!(
                (found - expected).abs() < 1e-9,
                "{query}: {found}, not {expected}"
            );
        }
        for (quantile, us) in [(0.5, FAST_US), (0.95, SLOW_US)] {
            let query = format!("histogram_quantile({quantile}, plimsoll_response_seconds)");
            let (found, expected) = (self.query(&query, at_s), us as f64 / 1e6);
            // A bucket is 4.4 % wide.
            assert!(
                (found / expected - 1.0).abs() < 0.045,
                "{query}: {found}, not {expected}"
            );
        }
    }
}

/// The moment of the last second in a JSON-lines export of the same run, s since 1970.
fn end_s(file: &Path) -> f64 {
    let text = std::fs::read_to_string(file).unwrap();
    let lines = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let seconds = lines.filter(|line| line["kind"] == "second");
    let last = seconds
        .map(|line| line["at_ms"].as_f64().unwrap())
        .fold(0.0, f64::max);
    last / 1_000.0
}

#[test]
fn prometheus_has_the_numbers_that_were_written_to_it() {
    let prometheus = Prometheus::start("global: {}\n");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.jsonl");
    let written = format!("remote-write=http://{}", prometheus.address);
    let losses = export(&[&written, &format!("jsonl={}", file.display())], &[]);
    assert_eq!(losses, [""; 0]);
    prometheus.check(end_s(&file));
    prometheus.check_dashboard(end_s(&file));
}

#[test]
fn messages_of_remote_write_2_are_what_prometheus_3_decodes() {
    let receiver =
        HttpReceiver::start(|_| "204 No Content\r\nX-Prometheus-Remote-Write-Samples-Written: 1");
    assert_eq!(
        export(
            &[&format!("remote-write=http://{}/w", receiver.address)],
            &[]
        ),
        [""; 0]
    );
    let (mut counts, mut total, mut ended) = (Vec::new(), 0.0, 0);
    for request in receiver.received() {
        assert_eq!(
            request.header("x-prometheus-remote-write-version"),
            Some("2.0.0")
        );
        assert_eq!(request.header("content-encoding"), Some("snappy"));
        let series = decode(&request.body);
        for entry in series.as_array().unwrap() {
            ended += usize::from(entry["ended"] == true);
            let labels = &entry["labels"];
            assert_eq!(
                (&labels["job"], &labels["run"]),
                (&"plimsoll".into(), &"the-run".into())
            );
            if labels["__name__"] == "plimsoll_response_seconds" {
                assert_eq!(
                    (&entry["type"], &entry["unit"]),
                    (&"histogram".into(), &"seconds".into())
                );
                counts.extend(
                    entry["counts"]
                        .as_array()
                        .into_iter()
                        .flatten()
                        .filter_map(Value::as_u64),
                );
            }
            if labels["__name__"] == "plimsoll_requests_total" && labels["outcome"] == "ok" {
                assert_eq!(entry["type"], "counter");
                let values = entry["values"].as_array().into_iter().flatten();
                total = values.filter_map(Value::as_f64).fold(total, f64::max);
            }
        }
    }
    let expected: Vec<u64> = (1..=u64::from(SECONDS))
        .map(|second| second * GOOD)
        .collect();
    assert_eq!(counts, expected);
    assert!((total - (GOOD * u64::from(SECONDS)) as f64).abs() < 1e-9);
    assert!(ended > 10, "{ended} series were marked as ended");
}

/// Decodes a message by the code of Prometheus.
fn decode(body: &[u8]) -> Value {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/remote-write-v2");
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(body).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn an_old_receiver_gets_version_1() {
    for refusal in ["415 Unsupported Media Type", "204 No Content"] {
        let receiver = HttpReceiver::start(move |request| {
            match request.header("x-prometheus-remote-write-version") {
                Some("2.0.0") => refusal,
                _ => "204 No Content",
            }
        });
        let losses = export(&[&format!("remote-write=http://{}", receiver.address)], &[]);
        assert_eq!(losses, [""; 0]);
        let versions: Vec<String> = receiver
            .received()
            .iter()
            .map(|it| {
                it.header("x-prometheus-remote-write-version")
                    .unwrap()
                    .to_owned()
            })
            .collect();
        assert_eq!(versions[0], "2.0.0");
        assert!(
            versions.len() > 1 && versions[1..].iter().all(|it| it == "0.1.0"),
            "{versions:?}"
        );
    }
}

/// Stands between Prometheus and the page, so that the test knows when a scrape was taken in: when the next begins.
#[test]
fn prometheus_scrapes_native_histograms_from_the_page() {
    let exporter = exporter(&["scrape=127.0.0.1:0"], &[]);
    for event in events() {
        exporter.observe(&event);
    }
    exporter.flush();
    let between = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = between.local_addr().unwrap();
    // The first scrape has so much time that this thread may stand still for seconds.
    let prometheus = Prometheus::start(&format!(
        "global: {{ scrape_interval: 10s, scrape_timeout: 10s }}\nscrape_configs:\n- job_name: plimsoll\n  static_configs: [{{ targets: ['{address}'] }}]\n"
    ));
    pass_on(&between, &exporter);
    let (next, _) = between.accept().unwrap();
    let now: Value = serde_json::from_str(&get(
        prometheus.address,
        "/api/v1/query?query=time()",
        "*/*",
    ))
    .unwrap();
    prometheus.check(now["data"]["result"][1].as_str().unwrap().parse().unwrap());
    drop(next);
}

/// Passes one scrape on to the page.
fn pass_on(between: &TcpListener, exporter: &Exporter) {
    let (mut prometheus, _) = between.accept().unwrap();
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        prometheus.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    let page = &exporter.pages()[0];
    let address = page
        .trim_start_matches("http://")
        .trim_end_matches("/metrics");
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(&head).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let text = String::from_utf8_lossy(&answer);
    assert!(text.contains("application/vnd.google.protobuf"), "{text}");
    prometheus.write_all(&answer).unwrap();
}

#[test]
fn the_page_as_text_has_nothing_that_promtool_complains_about() {
    let exporter = exporter(&["scrape=127.0.0.1:0"], &[]);
    for event in events() {
        exporter.observe(&event);
    }
    exporter.flush();
    let page = exporter.pages()[0].clone();
    let address: SocketAddr = page
        .trim_start_matches("http://")
        .trim_end_matches("/metrics")
        .parse()
        .unwrap();
    let text = get(address, "/metrics", "text/plain");
    assert!(
        text.contains("plimsoll_response_seconds_bucket{run=\"the-run\",le=\"0.025\"} 4455\n"),
        "{text}"
    );
    let mut promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    promtool
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let output = promtool.wait_with_output().unwrap();
    let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{complaints}\n{text}");
    assert!(get(address, "/", "*/*").contains("/metrics"));
}
