//! The availability that logs and runs show, from generated logs with a known outage.

use std::fs;

use plimsoll_lab::run_log::Followers;
use plimsoll_lab::watch::WatchLog;
use plimsoll_model::metric::{self, series};
use plimsoll_model::plan::Facts;
use plimsoll_model::reading::Readings;
use plimsoll_testkit::origin::known_law::{KnownLaw, KnownLawPlan};
use serde_json::Value;

use crate::support::{Sandbox, count, number};

/// Ten thousand minutes of a log, ten requests each; minutes 100 to 109 fail for seven of ten clients, and every hundredth
/// request is a 404.
fn log(minutes: std::ops::Range<u64>) -> String {
    let mut text = String::new();
    for minute in minutes {
        for client in 0..10 {
            let status = match (minute, client) {
                (100..110, 0..7) => 503,
                (_, 9) if minute.is_multiple_of(10) => 404,
                _ => 200,
            };
            let (day, hour) = (minute / 1_440 + 1, minute / 60 % 24);
            let line = format!(
                "198.51.100.{client} - - [{day:02}/Nov/2026:{hour:02}:{:02}:{:02} +0000] \"GET /x HTTP/1.1\" {status} 5 \"-\" \"-\"\n",
                minute % 60,
                client * 5
            );
            text.push_str(&line);
        }
    }
    text
}

#[test]
fn an_outage_in_logs_is_an_incident_with_its_users() {
    let place = Sandbox::new();
    fs::write(place.path().join("access.log"), log(5_000..10_000)).unwrap();
    fs::write(place.path().join("access.log.1"), log(0..5_000)).unwrap();
    let files = ["report", "access.log", "access.log.1"];
    let more = ["--objective", "errors < 1%", "--json"];
    let output = place.run(&[&files[..], &more].concat());
    assert_eq!(output.code, 0, "{output:?}");
    let json = output.json();
    place.assert_follows_schema("availability", &json);
    // Ten of 10,000 minutes: 99.9 %, three nines.
    let found = &json["availability"];
    assert!((number(found, "nines") - 3.0).abs() < 1e-9, "{found:#}");
    let incidents = found["incidents"].as_array().unwrap();
    assert_eq!(incidents.len(), 1, "{incidents:?}");
    assert_eq!(incidents[0]["at"], "2026-11-01T01:40:00Z");
    assert_eq!(count(&incidents[0], "lasted_s"), 600);
    assert_eq!(
        (
            count(&incidents[0], "failed"),
            count(&incidents[0], "users")
        ),
        (70, 7)
    );
    // 70 of 100,000 failed, a thousand may; a 404 is a success.
    assert_eq!(count(found, "failed"), 70);
    assert!((number(found, "reliability") - 0.999_3).abs() < 1e-9);
    assert!((number(found, "budget_left") - 0.93).abs() < 1e-9);
    let text = place.run(&files);
    assert!(text.stdout.contains("3 nines, 10 min down"), "{text:?}");
    assert!(text.stdout.contains("met by 7 users"), "{text:?}");
}

#[test]
fn a_run_shows_its_availability_and_a_dead_service_has_none() {
    let origin = KnownLaw::start(KnownLawPlan::default()).unwrap();
    let place = Sandbox::new();
    let url = origin.url();
    let alive = place.run(&["run", &url, "--rate", "50/s", "--for", "1s", "--json"]);
    let nothing = format!("http://{}/", plimsoll_testkit::port::unused());
    let dead = place.run(&["run", &nothing, "--rate", "50/s", "--for", "1s", "--json"]);
    let (alive, dead) = (run_file(&alive.json()), run_file(&dead.json()));
    let report = |files: &[&str]| {
        place
            .run(&[&["report"], files, &["--json"]].concat())
            .json()
    };
    let of_alive = report(&[&alive]);
    assert!(
        of_alive["requests"].as_u64().is_some(),
        "the run itself is there: {of_alive:#}"
    );
    assert_eq!(
        number(&of_alive, "availability.availability").to_bits(),
        1_f64.to_bits()
    );
    assert!(of_alive["availability"]["nines"].is_null());
    let of_dead = report(&[&dead]);
    assert!(number(&of_dead, "availability.availability").abs() < 1e-9);
    let both = report(&[&alive, &dead]);
    let share = number(&both, "availability.availability");
    assert!(share > 0.1 && share < 0.9, "{both:#}");
    assert_eq!(
        both["availability"]["incidents"].as_array().unwrap().len(),
        1
    );
}

fn run_file(json: &Value) -> String {
    json["run_file"].as_str().unwrap().to_owned()
}

/// Readings of the first ten minutes of that log; the listener is gone from second 200 to 279.
fn watch_file(place: &Sandbox, listens: impl Fn(u32) -> bool) {
    let path = place.path().join("watch.run");
    let started = "2026-11-01T00:00:00Z".to_owned();
    let mut log =
        WatchLog::create(&path, None, started, Facts::default(), Followers::default()).unwrap();
    let listener = [("listener", "127.0.0.1:80"), ("process", metric::TARGET)];
    for second in 0..600 {
        let mut values = std::collections::BTreeMap::from([
            (metric::TARGET_IS_LOCAL.to_owned(), 1.0),
            (metric::TCP_IN_USE.to_owned(), 2.0),
        ]);
        if listens(second) {
            values.insert(series(metric::LISTEN_QUEUE, &listener), 0.0);
        }
        let readings = Readings {
            second,
            values,
            ..Readings::default()
        };
        log.append(Some(&readings), &[]);
    }
    assert_eq!(log.close(), None);
}

#[test]
fn a_file_of_watch_shows_downtime_alone_and_beside_a_log() {
    let place = Sandbox::new();
    watch_file(&place, |second| !(200..280).contains(&second));
    let alone = place.run(&["report", "watch.run", "--json"]);
    let found = &alone.json()["availability"];
    assert_eq!(count(found, "service_s"), 600, "{alone:?}");
    assert_eq!(count(found, "down_s"), 80);
    assert_eq!(found["incidents"][0]["at"], "2026-11-01T00:03:20Z");
    assert!(found["reliability"].is_null());
    let text = place.run(&["report", "watch.run"]);
    assert!(text.stdout.contains("1 min 20 s down"), "{text:?}");
    assert!(text.stdout.contains("no file has requests"), "{text:?}");
    // The log goes on through it every five seconds: something else answers.
    fs::write(place.path().join("access.log"), log(0..20)).unwrap();
    let joined = place.run(&["report", "access.log", "watch.run", "--json"]);
    let found = &joined.json()["availability"];
    assert_eq!(count(found, "service_s"), 1_200, "{joined:?}");
    assert_eq!(count(found, "down_s"), 0);
    assert_eq!(count(found, "requests"), 200);
    fs::remove_file(place.path().join("watch.run")).unwrap();
    watch_file(&place, |_| false);
    let empty = place.run(&["report", "watch.run"]);
    assert_eq!(empty.code, 2, "{empty:?}");
    assert!(empty.stderr.contains("watch.run"), "{empty:?}");
}

#[test]
fn what_cannot_be_judged_is_named() {
    let place = Sandbox::new();
    fs::write(place.path().join("empty.log"), "").unwrap();
    fs::write(place.path().join("prose.txt"), "hello world\n").unwrap();
    fs::write(place.path().join("access.log"), log(0..5)).unwrap();
    for arguments in [
        &["report", "empty.log"][..],
        &["report", "prose.txt"],
        &["report", "access.log", "--html", "x.html"],
        &["report", "access.log", "missing.log"],
        &["report"],
    ] {
        let output = place.run(arguments);
        assert_eq!(output.code, 2, "{arguments:?}: {output:?}");
    }
}
