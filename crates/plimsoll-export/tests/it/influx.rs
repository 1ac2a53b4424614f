//! Real `InfluxDB`, with users: what it has after a run, and what it refuses. No registry has version 2; what it checks of a
//! request that writes is checked here.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::receiver::{HttpReceiver, Received};
use crate::run::{FAILED, FAST_US, GOOD, ODD_LABEL, SECONDS, SLOW_US, export};

/// What it asks for beside its folders: ports that are free, users, and nothing of its own in its data.
const SETTINGS: &str = r#"
reporting-disabled = true
bind-address = "127.0.0.1:0"
[http]
bind-address = "127.0.0.1:0"
auth-enabled = true
[monitor]
store-enabled = false
"#;

/// An `InfluxDB` with the database `load` and the user `me`; killed at the end of the test.
struct Influx {
    child: Child,
    address: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Drop for Influx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Influx {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let (meta, data, wal) = (path("meta"), path("data"), path("wal"));
        let folders =
            format!("[meta]\ndir = \"{meta}\"\n[data]\ndir = \"{data}\"\nwal-dir = \"{wal}\"\n");
        let file = path("influxdb.conf");
        std::fs::write(&file, SETTINGS.to_owned() + &folders).unwrap();
        let mut child = Command::new("influxd")
            .args(["-config", &file])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut log = String::new();
        let address = lines.by_ref().map_while(Result::ok).find_map(|line| {
            log = std::mem::take(&mut log) + &line + "\n";
            let (_, rest) = line.split_once("Listening on HTTP")?;
            rest.split_once("addr=")?.1.split(' ').next()?.parse().ok()
        });
        // What it says from now on must be read: a full pipe would stop it.
        std::thread::spawn(move || lines.for_each(drop));
        let address = address.unwrap_or_else(|| panic!("it is not ready:\n{log}"));
        let influx = Self {
            child,
            address,
            _folder: folder,
        };
        influx.query("CREATE USER me WITH PASSWORD 'hidden-word' WITH ALL PRIVILEGES");
        influx.query("CREATE DATABASE load");
        influx
    }

    /// The rows of the only series in the answer to a query, by the names of their columns.
    fn query(&self, query: &str) -> Vec<Value> {
        let query_of = |pairs: &[(&str, &str)]| {
            let mut text = url::form_urlencoded::Serializer::new(String::new());
            text.extend_pairs(pairs).finish()
        };
        let login = query_of(&[("u", "me"), ("p", "hidden-word"), ("db", "load")]);
        let form = query_of(&[("q", query)]);
        let len = form.len();
        let mut stream = TcpStream::connect(self.address).unwrap();
        write!(
            stream,
            "POST /query?{login} HTTP/1.0\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: {len}\r\n\r\n{form}",
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        let body: Value = serde_json::from_str(body).unwrap();
        let result = &body["results"][0];
        assert!(
            result.is_object() && result["error"].is_null(),
            "{query}: {body}"
        );
        let series = &result["series"][0];
        let array = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let columns = array(&series["columns"]);
        let rows = array(&series["values"]).into_iter().map(|row| {
            let names = columns.iter().map(|name| name.as_str().unwrap().to_owned());
            names.zip(array(&row)).collect()
        });
        rows.collect()
    }

    /// Where an export goes.
    fn destination(&self, user: &str, more: &str) -> String {
        format!("influx=http://{user}@{}{more}", self.address)
    }
}

#[test]
fn influxdb_has_the_numbers_labels_and_notes_of_the_run() {
    let influx = Influx::start();
    let destination = influx.destination("me:hidden-word", "/write?db=load");
    assert_eq!(export(&[&destination], &[]), [""; 0]);
    let good = (GOOD * u64::from(SECONDS)) as f64;
    let failed = (FAILED * u64::from(SECONDS)) as f64;
    let (fast, slow) = (FAST_US as f64 / 1e6, SLOW_US as f64 / 1e6);
    for (field, rest, expected) in [
        (
            "last(total)",
            "plimsoll_requests_total WHERE outcome = 'ok'",
            good,
        ),
        (
            "sum(increase)",
            "plimsoll_requests_total WHERE outcome = 'ok'",
            good,
        ),
        (
            "last(total)",
            "plimsoll_requests_total WHERE outcome = 'timeout'",
            failed,
        ),
        (
            "last(value)",
            "plimsoll_requests_in_flight WHERE run = 'the-run'",
            7.0,
        ),
        ("sum(count)", "plimsoll_response_seconds", good),
        ("last(total)", "plimsoll_response_seconds", good),
        ("mean(p50)", "plimsoll_response_seconds", fast),
        ("max(max)", "plimsoll_response_seconds", slow),
        ("last(count)", "plimsoll_failed_seconds", 0.0),
        (
            "last(value)",
            "system_cpu_utilization_ratio WHERE \"cpu.mode\" = 'user'",
            0.25,
        ),
    ] {
        let query = format!("SELECT {field} AS it FROM {rest}");
        let rows = influx.query(&query);
        assert_eq!(rows.len(), 1, "{query}");
        let found = rows[0]["it"].as_f64().unwrap();
        let off = (found - expected).abs();
        assert!(off <= 1e-3 * expected, "{query}: {found}, not {expected}");
    }
    let odd = influx.query("SELECT * FROM queue_depth");
    assert_eq!(odd.len() as u64, u64::from(SECONDS), "{odd:?}");
    // A backslash at its end would take in what follows.
    assert_eq!(odd[0]["queue.name"], ODD_LABEL.trim_end_matches('\\'));
    assert_eq!(
        (&odd[0]["run"], &odd[0]["exported_run"]),
        (&"the-run".into(), &"7".into())
    );
    assert_eq!(odd[0]["value"], -5.0);
    let seconds = influx.query("SELECT total FROM plimsoll_sent_bytes_total");
    assert_eq!(seconds.len() as u64, u64::from(SECONDS));
    let notes = influx.query("SELECT text FROM plimsoll_event WHERE kind = 'note'");
    let mut notes: Vec<&str> = notes
        .iter()
        .map(|it| it["text"].as_str().unwrap())
        .collect();
    notes.sort_unstable();
    assert_eq!(notes, ["a \"note\", with separators", "another"]);
}

#[test]
fn what_influxdb_refuses_is_named_with_its_reason() {
    let influx = Influx::start();
    for (user, target, expected) in [
        (
            "me:hidden-word",
            "/write?db=elsewhere",
            "status 404: {\"error\":\"database not found: \\\"elsewhere\\\"\"}",
        ),
        (
            "me:wrong-word",
            "/write?db=load",
            "status 401: {\"error\":\"authorization failed\"}",
        ),
        (
            "me:hidden-word",
            "/nothing",
            "status 404: 404 page not found",
        ),
    ] {
        let losses = export(&[&influx.destination(user, target)], &[]);
        assert_eq!(losses.len(), 1, "{losses:?}");
        assert!(losses[0].contains(expected), "{losses:?}");
        assert!(!losses[0].contains("-word"), "{losses:?}");
    }
}

/// The only token of the version 2 below.
const TOKEN: &str = "Token iN2-secret==";

/// What version 2 answers to a request that writes: path, token, organisation and bucket, in its order.
fn version_2(request: &Received) -> &'static str {
    let (path, query) = request
        .target
        .split_once('?')
        .unwrap_or((&request.target, ""));
    let query: Vec<_> = url::form_urlencoded::parse(query.as_bytes()).collect();
    let of = |name: &str| {
        let pair = query.iter().find(|pair| pair.0 == name);
        pair.map(|pair| &*pair.1)
    };
    if path != "/api/v2/write" {
        return "404 Not Found";
    }
    if request.header("authorization") != Some(TOKEN) {
        return "401 Unauthorized";
    }
    if (of("org"), of("bucket")) != (Some("our org"), Some("load")) {
        return "404 Not Found";
    }
    // Ours are nanoseconds, its default.
    match of("precision") {
        None | Some("ns") => "204 No Content",
        Some(_) => "400 Bad Request",
    }
}

#[test]
fn version_2_takes_a_token_an_organisation_and_a_bucket() {
    let influx = HttpReceiver::start(version_2);
    let to = |query: &str| format!("influx=http://{}/api/v2/write?{query}", influx.address);
    let header = format!("influx=Authorization: {TOKEN}");
    let good = to("org=our%20org&bucket=load");
    // A header is for its kind alone.
    let headers = [&*header, "otlp=X-Elsewhere: secret"];
    assert_eq!(export(&[&good], &headers), [""; 0]);
    let received = influx.received();
    let texts = received
        .iter()
        .map(|it| std::str::from_utf8(&it.body).unwrap());
    let lines: Vec<&str> = texts.flat_map(str::lines).collect();
    let ok = lines.iter().filter(|line| line.contains("outcome=ok "));
    assert_eq!(ok.count(), usize::try_from(SECONDS).unwrap());
    for line in lines {
        let at_ns = line.rsplit(' ').next().unwrap();
        assert!(at_ns.len() == 19 && at_ns.parse::<u64>().is_ok(), "{line}");
    }
    assert!(
        received
            .iter()
            .all(|request| request.header("x-elsewhere").is_none())
    );
    for (destination, header, status) in [
        (&good, "influx=Authorization: Token other-secret", 401),
        (&good, "otlp=Authorization: Token other-secret", 401),
        (&to("org=our%20org&bucket=none"), &*header, 404),
    ] {
        let losses = export(&[destination], &[header]);
        assert_eq!(losses.len(), 1, "{losses:?}");
        let expected = format!("status {status}");
        assert!(losses[0].contains(&expected), "{losses:?}");
        assert!(!losses[0].contains("secret"), "{losses:?}");
    }
}
