//! The report in headless Chromium: it must load nothing, log no errors, and its cursor must work.

use std::path::Path;
use std::process::Output;

use plimsoll_model::run::Run;
use plimsoll_report::{Report, html};
use plimsoll_testkit::browser;

use crate::html::every_run;
use crate::runs;

/// The browser's result for a page: its document after the scripts ran, its console errors, its net log.
struct PageVisit {
    document: String,
    complaints: Vec<String>,
    requests: Vec<String>,
}

fn visit(name: &str, page: &str) -> PageVisit {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join(format!("{}.html", name.replace(' ', "-")));
    std::fs::write(&file, page).unwrap();
    let profile = tempfile::tempdir().unwrap();
    let net_log = profile.path().join("net-log.json");
    let output: Output = browser::command(profile.path())
        .arg("--window-size=1280,3000")
        .arg(format!("--log-net-log={}", net_log.display()))
        .arg(format!("file://{}", file.display()))
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {stderr}");
    PageVisit {
        document: String::from_utf8(output.stdout).unwrap(),
        complaints: browser::complaints(&stderr),
        requests: requests_of_the_page(&std::fs::read_to_string(net_log).unwrap()),
    }
}

/// URLs requested by a page, from the net log: the browser's own requests have no page as their initiator.
fn requests_of_the_page(net_log: &str) -> Vec<String> {
    let mut requests = Vec::new();
    for line in net_log.lines().filter(|line| line.contains("\"url\":\"")) {
        let Ok(event) = serde_json::from_str::<serde_json::Value>(line.trim_end_matches(','))
        else {
            continue;
        };
        let (url, initiator) = (&event["params"]["url"], &event["params"]["initiator"]);
        if let (Some(url), Some(initiator)) = (url.as_str(), initiator.as_str())
            && initiator != "not an origin"
        {
            requests.push(url.to_owned());
        }
    }
    requests
}

#[test]
fn the_checks_of_this_test_can_fail() {
    let page = "<!doctype html><body><script>console.error('seen')</script><img src='http://127.0.0.1:9/leak'></body>";
    let visit = visit("control", page);
    assert!(
        visit.complaints.iter().any(|line| line.contains("seen")),
        "{:?}",
        visit.complaints
    );
    assert!(
        visit.requests.iter().any(|url| url.ends_with("/leak")),
        "{:?}",
        visit.requests
    );
}

#[test]
fn no_report_complains_or_asks_for_anything() {
    for (name, run) in every_run() {
        let visit = visit(name, &html::render(&Report::of(&run)));
        assert!(
            visit.complaints.is_empty(),
            "{name}: {:?}",
            visit.complaints
        );
        assert!(visit.requests.is_empty(), "{name}: {:?}", visit.requests);
        assert!(visit.document.contains("<h1"), "{name}");
    }
}

/// The page with an appended script that simulates a user.
fn played(run: &Run, script: &str) -> String {
    html::render(&Report::of(run)).replace("</body>", &format!("<script>{script}</script></body>"))
}

#[test]
fn the_cursor_follows_keys_and_pointer() {
    let run = runs::plain(400.0, 60);
    let press = "const t = document.getElementById('timeline');
        const key = (key) => t.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));";
    let document = visit(
        "keys",
        &played(&run, &format!("{press} key('End'); key('ArrowLeft');")),
    )
    .document;
    assert!(document.contains("visibility=\"visible\""), "no cursor");
    assert!(document.contains("at 0:58"), "the last second but one");

    let zoomed = visit(
        "zoom",
        &played(&run, &format!("{press} key('Home'); key('+'); key('+');")),
    )
    .document;
    assert!(
        zoomed.contains("viewBox=\"0 0 15 1000\""),
        "a quarter of 60 s"
    );
    let whole = visit(
        "whole",
        &played(&run, &format!("{press} key('+'); key('Escape');")),
    )
    .document;
    assert!(
        whole.contains("viewBox=\"0 0 60 1000\"") && !whole.contains("viewBox=\"15 0 30 1000\"")
    );

    let point = "const r = document.querySelector('.panel svg.chart rect[fill=transparent]');
        const b = r.getBoundingClientRect();
        r.dispatchEvent(new PointerEvent('pointermove', { clientX: b.left + b.width / 2, clientY: b.top + 5, bubbles: true }));";
    let document = visit("pointer", &played(&run, point)).document;
    assert!(
        document.contains("at 0:30") || document.contains("at 0:29"),
        "the middle of a minute"
    );
    assert!(
        document.matches("visibility=\"visible\"").count() >= 5,
        "one cursor in every panel"
    );
}

#[test]
fn steps_are_sorted_by_a_press() {
    let run = runs::users();
    let first = |presses: &str| {
        let press = "const b = document.querySelectorAll('#table-steps thead button');";
        let page = played(&run, &format!("{press} {presses}"));
        let document = visit("sorted", &page).document;
        let table = &document[document.find("id=\"table-steps\"").unwrap()..];
        let label = &table[table.find("class=\"label\">").unwrap() + 14..];
        label[..label.find('<').unwrap()].to_owned()
    };
    assert_eq!(first(""), "POST /accounts/login");
    // Samples: the largest first, then the smallest, then the plan's order again.
    assert_eq!(first("b[2].click();"), "resources of front page");
    assert_ne!(
        first("b[2].click(); b[2].click();"),
        "resources of front page"
    );
    assert_eq!(
        first("for (const _ of [1, 2, 3]) b[2].click();"),
        "POST /accounts/login"
    );
    assert_eq!(first("b[0].click();"), "front page");
}
