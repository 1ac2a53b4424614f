//! `browser:` of a plan: Chromium visits pages beside the load.

use std::fs;
use std::io::{BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use plimsoll_lab::run_log;
use plimsoll_model::browser::{PageVisit, VisitFailure};
use plimsoll_testkit::folder_watch::FolderWatch;
use serde_json::Value;

use crate::received;
use crate::support::{CommandOutput, Sandbox, interrupt, number};

/// Longest time for a browser to start, or to load a page, beside other tests.
const PATIENCE: Duration = Duration::from_mins(2);

/// A page whose script is busy for 120 ms, 300 ms after it began, and then shows its largest text and fetches more. 12
/// elements, and one more that the script adds.
const BUSY: &str = r#"<!doctype html><html><head><title>busy</title><link rel="stylesheet" href="/style.css"></head>
<body><h1>small</h1><p>text</p><img src="/missing.png"><img src="http://OTHER/leak.png">
<script src="/script.js"></script><script>setTimeout(() => { const from = performance.now();
while (performance.now() - from < 120); const text = document.createElement("h1"); text.style.fontSize = "80px";
text.textContent = "The largest text of this page, which comes late"; document.body.append(text); fetch("/data"); }, 300);
</script><i></i></body></html>"#;
/// Fetches something every 100 ms, for ever.
const RESTLESS: &str = r#"<!doctype html><title>restless</title><p>never quiet</p>
<script>setInterval(() => fetch("/data"), 100);</script>"#;

/// Sends a beacon every 100 ms, for which nobody waits.
const BEACONS: &str = r#"<!doctype html><title>beacons</title><p>quiet</p>
<script>setInterval(() => navigator.sendBeacon("/data"), 100);</script>"#;

/// Moves a box once it was painted, by a tenth of the longer side: where it was and where it is are half of what is visible.
/// Up to then it fetches something every 100 ms, so that it is not ready before.
const MOVING: &str = r#"<!doctype html><title>moving</title><style>html, body { margin: 0; height: 100%; overflow: hidden }
div { position: absolute; top: 0; left: 0; width: 100vw; height: calc(50vh - 10vmax); background: #123; color: #eee }</style>
<div>moves</div><script>const busy = setInterval(() => fetch("/data"), 100); const frame = (then) => requestAnimationFrame(then);
addEventListener("load", () => frame(() => frame(() => frame(() => {
document.querySelector("div").style.top = "10vmax"; clearInterval(busy); }))));</script>"#;

/// A site with pages for browsers, and a host that nobody may contact.
struct PageSite {
    address: SocketAddr,
    other: TcpListener,
    /// Path of each request of a browser.
    requested: Receiver<String>,
    /// Requests of the load.
    loaded: Arc<AtomicU64>,
}

impl PageSite {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let other = TcpListener::bind("127.0.0.2:0").unwrap();
        other.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let busy = BUSY.replace("OTHER", &other.local_addr().unwrap().to_string());
        let (sender, requested) = sync_channel(10_000);
        let loaded = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&loaded);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (sender, counted) = (sender.clone(), Arc::clone(&counted));
                let busy = busy.clone();
                std::thread::spawn(move || serve(&stream, &busy, &sender, &counted));
            }
        });
        Self {
            address,
            other,
            requested,
            loaded,
        }
    }

    /// Waits until a browser has requested a path so often.
    fn wait_for(&self, path: &str, times: usize) {
        let mut found = 0;
        while found < times {
            let requested = self.requested.recv_timeout(PATIENCE);
            found += usize::from(requested.expect("the browser requests a page") == path);
        }
    }

    fn nobody_was_elsewhere(&self) {
        let error = self
            .other
            .accept()
            .expect_err("a connection to another host");
        assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
    }
}

fn serve(stream: &TcpStream, busy: &str, sender: &SyncSender<String>, loaded: &AtomicU64) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    while let Some((head, _)) = received::request(&mut reader) {
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        let (status, kind, text) = match path.as_str() {
            "/" => ("200 OK", "text/html", busy),
            "/restless" => ("200 OK", "text/html", RESTLESS),
            "/beacons" => ("200 OK", "text/html", BEACONS),
            "/moving" => ("200 OK", "text/html", MOVING),
            "/plain" => (
                "200 OK",
                "text/html",
                "<!doctype html><title>plain</title><p>one<p>two",
            ),
            "/style.css" => ("200 OK", "text/css", "h1 { color: #123 }"),
            "/script.js" => ("200 OK", "text/javascript", "window.loaded = true;"),
            "/data" => ("200 OK", "application/json", "{}"),
            "/gone" => ("503 Service Unavailable", "text/html", "<p>gone"),
            _ => ("404 Not Found", "text/plain", ""),
        };
        let written = write!(
            &*stream,
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nX-Test: 1\r\n\r\n{text}",
            text.len()
        );
        if head.contains("HeadlessChrome") {
            // Headers of the plan are sent by browsers too.
            let has_token = head.to_ascii_lowercase().contains("x-token: secret");
            let _ = sender.try_send(if has_token {
                path
            } else {
                format!("without a token: {path}")
            });
        } else {
            loaded.fetch_add(1, Ordering::Relaxed);
        }
        if written.is_err() {
            return;
        }
    }
}

/// A run of a plan with these browsers, whose temporary files are in a folder of the sandbox.
fn start(place: &Sandbox, site: &PageSite, browser: &str) -> Child {
    let temporary = place.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let plan = format!(
        "target: http://{}/\nbrowser: {browser}\nheaders: {{ X-Token: secret }}\nload: {{ rate: 5/s, for: 10m }}\n",
        site.address
    );
    fs::write(place.path().join("pages.yaml"), plan).unwrap();
    place
        .command(&["run", "pages.yaml", "--json", "--quiet", "--report"])
        .env("TMPDIR", temporary)
        .spawn()
        .unwrap()
}

fn interrupted(child: Child) -> CommandOutput {
    interrupt(&child);
    child.wait_with_output().unwrap().into()
}

/// Profiles of browsers that are there now.
fn profiles(place: &Sandbox) -> Vec<String> {
    let entries = fs::read_dir(place.path().join("tmp")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names
        .filter(|name| name.starts_with("plimsoll-browser-"))
        .collect()
}

/// The first visit of a page in the run file.
fn first_visit(place: &Sandbox, page: u32) -> PageVisit {
    let run = run_log::read(&place.run_files().pop().unwrap())
        .unwrap()
        .run;
    let mut visits = run.visits.into_iter();
    visits.find(|visit| visit.page == page).unwrap()
}

#[test]
fn pages_are_measured_beside_the_load() {
    let (place, site) = (Sandbox::new(), PageSite::start());
    let run = start(
        &place,
        &site,
        "{ users: 1, pages: [/, /plain, /gone, /moving], think: 0s }",
    );
    // A user visits the first page again when the visits before have ended.
    site.wait_for("/", 2);
    let output = interrupted(run);
    assert_eq!(output.code, 130, "{output:?}");
    let json = output.json();
    place.assert_follows_schema("run", &json);
    site.nobody_was_elsewhere();
    assert!(
        site.loaded.load(Ordering::Relaxed) > 0,
        "the load goes on beside them"
    );
    assert_eq!(profiles(&place), Vec::<String>::new());
    the_busy_page_was_measured(&first_visit(&place, 0));
    let plain = first_visit(&place, 1);
    // A parser adds `html`, `head` and `body` to a title and two paragraphs.
    assert_eq!(
        (plain.weight.document_nodes, plain.weight.nodes),
        (3, 6),
        "{plain:?}"
    );
    assert_eq!(
        (plain.weight.requests, plain.resources_failed),
        (1, 0),
        "{plain:?}"
    );
    assert_eq!(plain.times.layout_shift_ppm, Some(0), "{plain:?}");
    let gone = first_visit(&place, 2);
    assert_eq!(
        gone.failure,
        Some(VisitFailure::Status { status: 503 }),
        "{gone:?}"
    );
    // Half of what is visible, moved by a tenth of the longer side.
    let moving = first_visit(&place, 3);
    let shift = moving.times.layout_shift_ppm.unwrap();
    assert!((48_000..=52_000).contains(&shift), "{moving:?}");
    what_was_measured_is_shown(&place, &json);
}

/// Its times, its weight, and what it lacks.
fn the_busy_page_was_measured(busy: &PageVisit) {
    assert_eq!(busy.failure, None, "{busy:?}");
    let ready = busy.times.ready_us.unwrap();
    assert!(ready >= 420_000, "the text comes after 420 ms: {busy:?}");
    let (largest, first) = (
        busy.times.largest_contentful_paint_us.unwrap(),
        busy.times.first_contentful_paint_us.unwrap(),
    );
    assert!(
        first < largest && largest >= 420_000 && ready >= largest,
        "{busy:?}"
    );
    assert!(
        busy.times.long_tasks >= 1 && busy.times.blocking_us >= 60_000,
        "{busy:?}"
    );
    assert!(
        busy.times.first_byte_us <= busy.times.document_us,
        "{busy:?}"
    );
    assert!(busy.times.document_us <= busy.times.load_us, "{busy:?}");
    let weight = &busy.weight;
    assert_eq!((weight.document_nodes, weight.nodes), (12, 13), "{busy:?}");
    // The document, a style, a script, a picture, and what was fetched.
    assert_eq!(weight.requests, 5, "{busy:?}");
    // 553 of its text, and 76 of the answer's head.
    assert_eq!(weight.document_bytes, 629, "{busy:?}");
    assert!(weight.bytes > weight.document_bytes, "{busy:?}");
    assert_eq!(
        (busy.resources_failed, busy.resources_blocked),
        (1, 1),
        "{busy:?}"
    );
    assert!(busy.failed[0].url.ends_with("/missing.png"), "{busy:?}");
    assert_eq!(busy.failed[0].reason, "status 404");
}

/// In JSON, report and tables.
fn what_was_measured_is_shown(place: &Sandbox, json: &Value) {
    let browser = &json["browser"];
    assert_eq!(browser["pages"].as_array().unwrap().len(), 4);
    let shift = number(&browser["pages"][3], "cls.max");
    assert!((0.048..=0.052).contains(&shift), "{browser:#}");
    assert_eq!(browser["failures"]["status 503"], 1, "{browser:#}");
    assert!(number(browser, "page_ready_ms.max") >= 420.0, "{browser:#}");
    assert!(number(browser, "cpu_share") > 0.0, "{browser:#}");
    let report = place.path().join(json["report_file"].as_str().unwrap());
    let html = fs::read_to_string(report).unwrap();
    for expected in [
        "Pages in browsers",
        "layout shift",
        "missing.png",
        "status 503",
        "Chrome/",
    ] {
        assert!(html.contains(expected), "{expected}");
    }
    let tables = place.run(&[
        "export",
        json["run_file"].as_str().unwrap(),
        "--csv",
        "--out",
        "tables",
    ]);
    assert_eq!(tables.code, 0, "{tables:?}");
    let visits = fs::read_to_string(place.path().join("tables/visits.csv")).unwrap();
    assert!(
        visits.lines().count() >= 4 && visits.contains("status 503"),
        "{visits}"
    );
}

#[test]
fn a_page_that_never_rests_is_not_ready() {
    let (place, site) = (Sandbox::new(), PageSite::start());
    let run = start(
        &place,
        &site,
        "{ pages: [/restless, /beacons], think: 0s, timeout: 2s }",
    );
    site.wait_for("/restless", 2);
    let output = interrupted(run);
    assert_eq!(output.code, 130, "{output:?}");
    let restless = first_visit(&place, 0);
    assert_eq!(restless.failure, Some(VisitFailure::Timeout));
    assert_eq!(restless.times.ready_us, None, "{restless:?}");
    let beacons = first_visit(&place, 1);
    assert_eq!(beacons.failure, None, "{beacons:?}");
    assert!(beacons.times.ready_us.is_some(), "{beacons:?}");
}

/// Whether a process still has this folder in its arguments.
fn is_used(folder: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut arguments = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    arguments.any(|arguments| String::from_utf8_lossy(&arguments).contains(folder))
}

#[test]
fn a_killed_run_leaves_no_browser() {
    let (place, site) = (Sandbox::new(), PageSite::start());
    let mut run = start(&place, &site, "{ users: 2, pages: [/plain] }");
    site.wait_for("/plain", 1);
    let watch = FolderWatch::new(&place.path().join("tmp"));
    let profile = profiles(&place).pop().expect("a browser has a profile");
    assert!(is_used(&profile), "its processes run");
    run.kill().unwrap();
    run.wait().unwrap();
    watch.wait_until("the profile is removed", || profiles(&place).is_empty());
    assert!(!is_used(&profile), "its processes have ended");
}

#[test]
fn a_browser_that_is_not_there_or_does_not_start_is_an_error() {
    let (place, site) = (Sandbox::new(), PageSite::start());
    let child = start(&place, &site, "{ program: /bin/false }");
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(
        stderr.contains("the browser /bin/false did not start"),
        "{stderr}"
    );
    let plan = format!(
        "target: http://{}/\nbrowser: {{ users: 1 }}\nload: {{ rate: 5/s, for: 1s }}\n",
        site.address
    );
    fs::write(place.path().join("pages.yaml"), plan).unwrap();
    let output = place
        .command(&["run", "pages.yaml"])
        .env("PATH", place.path())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    for expected in [
        "no Chromium-based browser was found in PATH",
        "tried: chromium",
        "apt install chromium",
    ] {
        assert!(stderr.contains(expected), "{stderr}");
    }
    assert_eq!(
        place.run_files(),
        Vec::<std::path::PathBuf>::new(),
        "nothing was sent"
    );
    assert_eq!(site.loaded.load(Ordering::Relaxed), 0);
}
