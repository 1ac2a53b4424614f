//! `plimsoll ui`: the runs of a folder in a browser, and what it refuses.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Child;

use plimsoll_lab::run_log::{Followers, RunLog};
use plimsoll_model::event::{Event, FORMAT_MAJOR};
use plimsoll_model::load_line::{LoadLine, SearchResult};
use plimsoll_model::plan::LoadUnit;
use plimsoll_testkit::origin::known_law::{KnownLaw, KnownLawPlan};
use serde_json::{Value, json};

use crate::disk::SmallDisk;
use crate::live::look;
use crate::support::{Sandbox, interrupt};

/// The page of a folder, which ends with its handle.
struct Ui {
    child: Child,
    url: String,
}

impl Drop for Ui {
    fn drop(&mut self) {
        interrupt(&self.child);
        let _ = self.child.wait();
    }
}

impl Ui {
    fn start(place: &Sandbox, flags: &[&str]) -> Self {
        let mut child = place.start(&[&["ui", "plimsoll"], flags].concat());
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        let url = line
            .strip_prefix("page: ")
            .unwrap_or_else(|| panic!("{line}"))
            .trim()
            .to_owned();
        Self { child, url }
    }

    /// Status and body of a request; with a body it is an act of the page itself.
    fn fetch(&self, path: &str, body: Option<&Value>) -> (u16, String) {
        let rest = self.url.strip_prefix("http://").unwrap();
        let (address, token) = rest.split_once('/').unwrap();
        let body = body.map(ToString::to_string);
        let method = if body.is_some() { "POST" } else { "GET" };
        let body = body.unwrap_or_default();
        let mut stream = TcpStream::connect(address).unwrap();
        write!(
            stream,
            "{method} /{token}{path} HTTP/1.1\r\nHost: {address}\r\nOrigin: http://{address}\r\n\
             Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        (
            head.split(' ').nth(1).unwrap().parse().unwrap(),
            body.to_owned(),
        )
    }

    /// The list once every file is read.
    fn list(&self) -> Value {
        loop {
            let list: Value = serde_json::from_str(&self.fetch("runs.json", None).1).unwrap();
            if list["is_complete"] == true {
                return list;
            }
        }
    }
}

/// A folder with two short runs, and the origin that they measured.
fn two_runs() -> (Sandbox, KnownLaw) {
    let place = Sandbox::new();
    let origin = KnownLaw::start(KnownLawPlan::default()).unwrap();
    for name in ["first", "second"] {
        let url = format!("http://{}/", origin.address());
        let output = place.run(&[
            "run", &url, "--rate", "40/s", "--for", "2s", "-q", "--name", name,
        ]);
        assert!([0, 6].contains(&output.code), "{output:?}");
    }
    (place, origin)
}

#[test]
fn runs_are_listed_opened_and_compared_and_bad_files_have_their_fault() {
    let (place, _origin) = two_runs();
    let folder = place.path().join("plimsoll");
    let file = &place.run_files()[0];
    let mut header = plimsoll_lab::run_log::read(file).unwrap().run.header;
    std::fs::write(folder.join("broken.run"), "no run").unwrap();
    header.format_major = FORMAT_MAJOR + 1;
    RunLog::create(&folder.join("newer.run"), header, Followers::default()).unwrap();
    let ui = Ui::start(&place, &[]);
    let list = ui.list();
    let runs = list["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 4, "{list:#}");
    let fault = |name: &str| {
        let run = runs.iter().find(|run| run["name"] == name).unwrap();
        run["fault"].as_str().unwrap().to_owned()
    };
    assert!(fault("broken.run").contains("is not a run log"), "{list:#}");
    assert!(
        fault("newer.run").contains("use a newer plimsoll"),
        "{list:#}"
    );
    let names: Vec<&str> = runs
        .iter()
        .filter(|run| run["fault"].is_null())
        .map(|run| run["name"].as_str().unwrap())
        .collect();
    let [second, first] = names[..] else {
        panic!("{list:#}")
    };
    assert!(
        first.ends_with("first.run") && second.ends_with("second.run"),
        "{names:?}"
    );
    let (status, page) = ui.fetch(&format!("compare?before={first}&after={second}"), None);
    assert!(status == 200 && page.contains("<!DOCTYPE html>"), "{page}");
    let (status, document) = ui.fetch(&format!("run/{first}/run.json"), None);
    assert_eq!(status, 200, "{document}");
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(
        (&document["full"], &document["head"]["kind"]),
        (&json!(true), &json!("run"))
    );
    assert!(
        document["rows"].as_u64() >= Some(2) && document["ending"].is_object(),
        "{document:#}"
    );
    // The list, and a run drawn from its file.
    look(&ui.url, 4, &[]);
    let found = look(&format!("{}run/{first}/?recorded", ui.url), 2, &[]);
    // Void where this machine was too busy.
    let title = found["pages"][0]["title"].as_str().unwrap();
    let titles = ["The load has ended", "The measurement is void"];
    assert!(titles.contains(&title), "{found:#}");
}

#[test]
fn nothing_outside_of_the_folder_is_served() {
    let place = Sandbox::new();
    std::fs::create_dir(place.path().join("plimsoll")).unwrap();
    std::fs::write(place.path().join("secret.run"), "secret").unwrap();
    std::os::unix::fs::symlink("../secret.run", place.path().join("plimsoll/link.run")).unwrap();
    let ui = Ui::start(&place, &[]);
    for name in [
        "../secret.run",
        "..%2Fsecret.run",
        "%2Fetc%2Fpasswd",
        "link.run",
        "",
        ".",
        "%00",
        "%ff",
    ] {
        for path in [
            format!("run/{name}/run.json"),
            format!("compare?before={name}&after={name}"),
        ] {
            let (status, body) = ui.fetch(&path, None);
            assert_eq!(status, 404, "{path}: {body}");
        }
    }
    assert_eq!(ui.list()["runs"], json!([]));
}

#[test]
fn only_allowed_targets_are_started_and_fields_are_no_flags() {
    let place = Sandbox::new();
    std::fs::create_dir(place.path().join("plimsoll")).unwrap();
    let origin = KnownLaw::start(KnownLawPlan::default()).unwrap();
    let allowed = format!("http://{}/", origin.address());
    let ui = Ui::start(&place, &["--allow-run", &allowed]);
    let order = |url: &str, rate: &str| json!({ "kind": "run", "url": url, "rate": rate, "lasting": "1s", "objective": "" });
    for url in ["http://127.0.0.1:1/", "--help", "", &format!("{allowed}x")] {
        assert_eq!(ui.fetch("start", Some(&order(url, "5/s"))).0, 403, "{url}");
    }
    for rate in ["--out=/tmp", "5/s --insecure", ""] {
        let (status, text) = ui.fetch("start", Some(&order(&allowed, rate)));
        assert!(status == 422 && text.contains("--rate"), "{status} {text}");
    }
    assert_eq!(ui.fetch("start", Some(&json!({ "kind": "edge" }))).0, 400);
    assert_eq!(ui.list()["runs"], json!([]), "nothing was started");
    let (status, url) = ui.fetch("start", Some(&order(&allowed, "5/s")));
    assert!(
        status == 200 && url.starts_with("http://127.0.0.1:"),
        "{status} {url}"
    );
}

/// Reads the events of a page to their end, which may have been before.
fn follow(url: &str) {
    let rest = url.trim().strip_prefix("http://").unwrap();
    let (address, path) = rest.split_once('/').unwrap();
    let Ok(mut stream) = TcpStream::connect(address) else {
        return;
    };
    let request = format!("GET /{path}events HTTP/1.1\r\nHost: {address}\r\n\r\n");
    if stream.write_all(request.as_bytes()).is_ok() {
        let _ = std::io::copy(&mut stream, &mut std::io::sink());
    }
}

#[test]
fn a_run_on_a_full_disk_is_told_and_the_page_goes_on() {
    let place = Sandbox::new();
    let origin = KnownLaw::start(KnownLawPlan::default()).unwrap();
    let allowed = format!("http://{}/", origin.address());
    let folder = place.path().join("plimsoll");
    let disk = SmallDisk::mount(&folder, "8k");
    // A page is left for the run file, which holds its first seconds; then nothing.
    std::fs::write(folder.join("filler"), [7; 4096]).unwrap();
    for _ in 0..2 {
        let ui = Ui::start(&place, &["--allow-run", &allowed]);
        let order = json!({
            "kind": "run", "url": allowed, "rate": "50/s", "lasting": "4s", "objective": "",
        });
        let (status, url) = ui.fetch("start", Some(&order));
        assert_eq!(status, 200, "{url}");
        follow(&url);
        let started = loop {
            let started = ui.list()["started"].take();
            if started["is_running"] == false {
                break started;
            }
        };
        assert_eq!(started["exit"], 2, "{started:#}");
        let messages = started["messages"].to_string();
        assert!(
            messages.contains("No space left on device") && messages.contains("--out"),
            "{messages}"
        );
        assert_eq!(ui.fetch("", None).0, 200);
    }
    drop(disk);
}

#[test]
fn the_load_line_of_a_target_is_shown_over_its_runs() {
    let (place, _origin) = two_runs();
    let folder = place.path().join("plimsoll");
    let run = plimsoll_lab::run_log::read(&place.run_files()[0])
        .unwrap()
        .run;
    for (day, median) in [(1, 400.0), (2, 520.0), (3, 410.0)] {
        let mut header = run.header.clone();
        header.command = "limit".to_owned();
        header.started_at = format!("2026-01-0{day}T00:00:00Z");
        let path = folder.join(format!("day{day}.run"));
        let mut log = RunLog::create(&path, header, Followers::default()).unwrap();
        log.append(Event::SearchEnded(Box::new(SearchResult {
            line: Ok(LoadLine {
                unit: LoadUnit::RequestsPerSecond,
                median,
                low: 0.95 * median,
                high: 1.05 * median,
                verified: 0.95 * median,
                confirmed_trials: 6,
                confirmed_passes: 6,
                pass_probability_low: 0.6,
                broken: None,
                trial_s: 10,
            }),
            remarks: Vec::new(),
        })));
        log.close();
    }
    let ui = Ui::start(&place, &[]);
    let list = ui.list();
    let runs = list["runs"].as_array().unwrap();
    let lines = runs.iter().filter(|run| run["line"].is_object()).count();
    assert_eq!((runs.len(), lines), (5, 3), "{list:#}");
    let found = look(&ui.url, 5, &["--history"]);
    assert_eq!(found["history"]["bars"], 3, "{found:#}");
    let sentence = found["history"]["sentence"].as_str().unwrap();
    assert!(
        sentence.contains("410 req/s, is 21 % below the one before it")
            && sentence.contains("do not overlap"),
        "{sentence}"
    );
}
