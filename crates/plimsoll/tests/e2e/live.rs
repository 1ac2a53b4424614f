//! `--live`: the page of a run in Chromium, by playwright-core, and its documents.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command};
use std::sync::OnceLock;
use std::time::Duration;

use plimsoll_testkit::origin::known_law::{KnownLaw, KnownLawPlan, Service};
use plimsoll_testkit::program::packages::install;
use serde_json::Value;

use crate::support::{Sandbox, interrupt};

pub(crate) fn origin() -> KnownLaw {
    KnownLaw::start(KnownLawPlan {
        service: Service::Deterministic(Duration::from_millis(2)),
        ..KnownLawPlan::default()
    })
    .unwrap()
}

pub(crate) fn url(origin: &KnownLaw) -> String {
    format!("http://{}/", origin.address())
}

/// The program that looks at a page, with its libraries.
fn browser() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/live");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("live-page");
        install(&source, &folder, "page.mjs");
        folder
    })
}

/// What Chromium found on a page that has at least so many rows.
pub(crate) fn look(url: &str, rows: u32, flags: &[&str]) -> Value {
    look_at(url, &rows.to_string(), flags)
}

/// The same of a page that does not change, for everybody: also by the keyboard, and on paper.
pub(crate) fn look_at_file(path: &Path) -> Value {
    look_at(
        &format!("file://{}", path.display()),
        "-1",
        &["--everybody"],
    )
}

fn look_at(url: &str, rows: &str, flags: &[&str]) -> Value {
    let output = Command::new("node")
        .args(["page.mjs", url, rows])
        .args(flags)
        .current_dir(browser())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    for list in ["axe", "errors", "unmarked"] {
        assert_eq!(found[list], Value::from(Vec::<Value>::new()), "{found:#}");
    }
    let requests = found["requests"].as_array().unwrap();
    let own = url.split('?').next().unwrap();
    assert!(
        requests
            .iter()
            .all(|request| request.as_str().unwrap().starts_with(own)),
        "{found:#}"
    );
    found
}

/// A command with its page.
pub(crate) struct Shown {
    child: Child,
    stderr: BufReader<ChildStderr>,
    url: String,
}

impl Shown {
    pub(crate) fn start(place: &Sandbox, arguments: &[&str]) -> Self {
        let mut child = place.start(arguments);
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.starts_with("live page: ") {
            line.clear();
            assert!(stderr.read_line(&mut line).unwrap() > 0, "it ended");
        }
        let url = line["live page: ".len()..].trim().to_owned();
        Self { child, stderr, url }
    }

    /// A connection with a request on it; the answer is a stream of documents.
    fn events(&self) -> BufReader<TcpStream> {
        let rest = self.url.strip_prefix("http://").unwrap();
        let (address, path) = rest.split_once('/').unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        write!(
            stream,
            "GET /{path}events HTTP/1.1\r\nHost: {address}\r\n\r\n"
        )
        .unwrap();
        BufReader::new(stream)
    }

    /// Status and body of an act of the page itself.
    pub(crate) fn act(&self, path: &str, body: &str) -> (u16, String) {
        let rest = self.url.strip_prefix("http://").unwrap();
        let (address, token) = rest.split_once('/').unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        write!(
            stream,
            "POST /{token}{path} HTTP/1.1\r\nHost: {address}\r\nOrigin: http://{address}\r\n\
             Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, body.to_owned())
    }

    /// The first document for which something holds.
    pub(crate) fn wait_for(&self, holds: impl Fn(&Value) -> bool) -> Value {
        for line in self.events().lines() {
            let line = line.unwrap();
            if let Some(json) = line.strip_prefix("data: ") {
                let document: Value = serde_json::from_str(json).unwrap();
                if holds(&document) {
                    return document;
                }
            }
        }
        panic!("the page ended before");
    }

    /// Exit code, standard output, and the rest of the messages.
    pub(crate) fn end(mut self) -> (i32, String, String) {
        let mut stderr = String::new();
        self.stderr.read_to_string(&mut stderr).unwrap();
        let output = self.child.wait_with_output().unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        (output.status.code().unwrap_or(-1), stdout, stderr)
    }
}

#[test]
fn a_run_is_seen_marked_and_stopped_in_a_browser() {
    let (place, origin) = (Sandbox::new(), origin());
    let shown = Shown::start(
        &place,
        &[
            "run",
            &url(&origin),
            "--rate",
            "50/s",
            "--for",
            "10m",
            "--live",
            "--json",
            "-q",
        ],
    );
    let found = look(&shown.url, 2, &["--act"]);
    let page = &found["pages"][0];
    assert_eq!(page["title"], "open load at 50/s", "{found:#}");
    assert_eq!(page["overflow"], 0, "{found:#}");
    let readout = found["readout"].as_str().unwrap();
    assert!(
        readout.contains("offered") && readout.contains("p95"),
        "{readout}"
    );
    assert!(
        found["cursors"].as_u64() >= Some(4),
        "one cursor in every chart: {found:#}"
    );
    assert_eq!(found["sure"], "Stop now, and keep the results so far");
    assert!(
        found["ended"]
            .as_str()
            .unwrap()
            .starts_with("Stopped early"),
        "{found:#}"
    );
    let (code, stdout, stderr) = shown.end();
    assert_eq!(code, 130, "{stderr}");
    let json: Value = serde_json::from_str(&stdout).unwrap();
    assert!(
        json["requests"].as_u64() > Some(50),
        "what was measured is kept: {json:#}"
    );
    let run = plimsoll_lab::run_log::read(&place.run_files()[0])
        .unwrap()
        .run;
    let notes: Vec<&str> = run.notes.iter().map(|(_, text)| text.as_str()).collect();
    assert!(
        notes.contains(&"marked: a mark <b>from</b> the page"),
        "{notes:?}"
    );
    assert!(notes.contains(&"stopped from the live page"), "{notes:?}");
    let changed = "load changed to 80 req/s from the live page";
    assert!(notes.contains(&changed), "{notes:?}");
}

#[test]
fn a_load_without_a_rate_and_those_of_a_search_cannot_be_changed() {
    let (place, origin) = (Sandbox::new(), origin());
    let target = url(&origin);
    let has_load = |document: &Value| document["columns"]["offered"].is_array();
    let has_trial = |document: &Value| document["trial"].is_object();
    for (arguments, has_begun, part) in [
        (
            &["run", &target, "-c", "2", "--for", "10m"][..],
            &has_load as &dyn Fn(&Value) -> bool,
            "closed loop cannot change",
        ),
        (
            &["limit", &target, "--quick"],
            &has_trial,
            "Only the load of `plimsoll run`",
        ),
    ] {
        let shown = Shown::start(&place, &[arguments, &["--live", "-q"]].concat());
        shown.wait_for(has_begun);
        let document = shown.wait_for(|document| document["full"] == true);
        assert_eq!(document["head"]["kind"], arguments[0]);
        assert!(document["head"]["changes"].is_null(), "{document:#}");
        let (status, text) = shown.act("load", "60");
        assert!(status == 409 && text.contains(part), "{status} {text}");
        assert_eq!(shown.act("stop", "").0, 200);
        assert_eq!(shown.end().0, 130);
    }
}

#[test]
fn a_page_fits_a_phone_paper_both_schemes_and_the_keyboard() {
    let (place, origin) = (Sandbox::new(), origin());
    let shown = Shown::start(
        &place,
        &[
            "run",
            &url(&origin),
            "--rate",
            "50/s",
            "--for",
            "10m",
            "--live",
            "-q",
        ],
    );
    let found = look(&shown.url, 2, &["--everybody"]);
    let pages = found["pages"].as_array().unwrap();
    assert_eq!(pages.len(), 4);
    assert!(pages.iter().all(|page| page["overflow"] == 0), "{found:#}");
    let tapped = found["tapped"].as_str().unwrap();
    assert!(tapped.contains("offered"), "{found:#}");
    // Without a mouse: everything is reached, the cursor comes and goes.
    let stops = found["stops"].as_array().unwrap();
    for stop in ["mark-text", "change-to", "stop", "charts"] {
        assert!(stops.iter().any(|found| found == stop), "{found:#}");
    }
    assert_eq!(found["isLetGo"], true, "{found:#}");
    let paper = &found["paper"];
    assert_eq!(
        (&paper["background"], &paper["ink"]),
        (
            &Value::from("rgb(255, 255, 255)"),
            &Value::from("rgb(21, 33, 44)")
        )
    );
    assert!(paper["canvases"].as_u64() >= Some(4), "{found:#}");
    for list in ["tooWide", "toPress"] {
        assert_eq!(paper[list], Value::from(Vec::<Value>::new()), "{found:#}");
    }
    let mut shown = shown;
    let _ = shown.child.kill();
    shown.end();
}

#[test]
fn a_search_shows_its_trials_and_its_progress() {
    let (place, origin) = (Sandbox::new(), origin());
    let shown = Shown::start(&place, &["limit", &url(&origin), "--quick", "--live", "-q"]);
    let document = shown.wait_for(|document| {
        document["trials"]
            .as_array()
            .is_some_and(|trials| !trials.is_empty())
    });
    assert_eq!(document["trials"][0]["kind"], "self_test", "{document:#}");
    let document = shown.wait_for(|document| document["progress"]["remaining_s"].is_u64());
    assert!(
        document["progress"]["stage"]
            .as_str()
            .unwrap()
            .contains(':'),
        "{document:#}"
    );
    let all = shown.wait_for(|document| document["full"] == true);
    assert_eq!(
        (&all["head"]["kind"], &all["head"]["unit"]),
        (&Value::from("limit"), &Value::from("req/s"))
    );
    assert_eq!(all["head"]["bound"]["us"], 500_000);
    interrupt(&shown.child);
    assert_eq!(shown.end().0, 130);
}

#[test]
fn readings_are_shown_without_load() {
    let place = Sandbox::new();
    let shown = Shown::start(
        &place,
        &["watch", "--watch", "none", "--for", "1h", "--live"],
    );
    let document = shown.wait_for(|document| {
        document["series"]
            .as_array()
            .is_some_and(|series| series.iter().any(|entry| entry["group"] == "CPU"))
    });
    assert!(document["columns"]["series.0"].is_array(), "{document:#}");
    interrupt(&shown.child);
    assert_eq!(shown.end().0, 130);
}

#[test]
fn a_port_that_is_taken_is_told_before_anything_is_measured() {
    let (place, origin) = (Sandbox::new(), origin());
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let flag = format!("--live={}", taken.local_addr().unwrap());
    let output = place.run(&["run", &url(&origin), "--rate", "5/s", "--for", "1s", &flag]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(
        output.stderr.contains("another program uses this port"),
        "{output:?}"
    );
    assert!(place.run_files().is_empty(), "{output:?}");
    let output = place.run(&["run", &url(&origin), "--live=evil.example:80"]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(
        output.stderr.contains("such as 127.0.0.1:9000"),
        "{output:?}"
    );
}
