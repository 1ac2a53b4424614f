//! Reports in Chromium: for screen readers, the keyboard, a phone, both schemes, and on paper.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::live::{look_at_file, origin, url};
use crate::support::Sandbox;

/// The only page in a folder.
fn page(folder: &Path) -> PathBuf {
    let files = fs::read_dir(folder).unwrap();
    let mut files = files.map(|file| file.unwrap().path());
    let page = files.find(|path| path.extension() == Some(OsStr::new("html")));
    page.unwrap_or_else(|| panic!("no page in {}", folder.display()))
}

fn assert_for_everybody(page: &Path) {
    let found = look_at_file(page);
    let looks = found["pages"].as_array().unwrap();
    assert!(looks.iter().all(|look| look["overflow"] == 0), "{found:#}");
    assert_eq!(
        found["paper"]["background"], "rgb(255, 255, 255)",
        "{found:#}"
    );
}

#[test]
fn a_report_is_for_everybody() {
    let (place, origin) = (Sandbox::new(), origin());
    fs::write(place.path().join("urls"), "/\n/news\n/a?long=query\n").unwrap();
    let target = url(&origin);
    let output = place.run(&[
        "run",
        &target,
        "--urls",
        "urls",
        "--rate",
        "60/s",
        "--for",
        "3s",
        "--patience",
        "instant=100ms,fluent=1s",
        "--history",
        "history",
        "--report",
        "-q",
    ]);
    // Void where this machine was too busy.
    assert!([0, 6].contains(&output.code), "{output:?}");
    assert_for_everybody(&page(&place.path().join("plimsoll")));
    let output = place.run(&["history", "history", "--html", "history.html"]);
    assert!((0..=6).contains(&output.code), "{output:?}");
    assert_for_everybody(&place.path().join("history.html"));
}

#[test]
fn the_page_of_a_log_is_for_everybody() {
    let place = Sandbox::new();
    let mut log = String::new();
    for second in 0..600 {
        let (minute, rest) = (second / 60, second % 60);
        writeln!(
            log,
            "10.0.0.{} - - [23/Nov/2026:09:{minute:02}:{rest:02} +0000] \"GET /article/{} HTTP/1.1\" 200 1234 \"-\" \"Mozilla/5.0\" 0.0{}",
            second % 50,
            second % 7,
            10 + second % 80,
        )
        .unwrap();
    }
    fs::write(place.path().join("access.log"), log).unwrap();
    let output = place.run(&["log", "access.log", "--out", "day"]);
    assert_eq!(output.code, 0, "{output:?}");
    assert_for_everybody(&page(&place.path().join("day")));
}
