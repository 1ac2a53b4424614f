//! Readings without load in a file: beside a log, refused where a load is needed, kept when the command is stopped.

use std::fmt::Write as _;
use std::time::Duration;

use plimsoll_lab::run_log::{self, LoadedReadings};

use crate::support::{CommandOutput, Sandbox, interrupt};

fn watch(place: &Sandbox, arguments: &[&str]) -> CommandOutput {
    let mut all = vec!["watch", "--watch", "none"];
    all.extend(arguments);
    place.run(&all)
}

/// The readings in `w.run` so far; `None` before its header is complete.
pub(crate) fn so_far(place: &Sandbox) -> Option<LoadedReadings> {
    run_log::read_readings(&place.path().join("w.run")).ok()
}

#[test]
fn readings_are_written_once_and_are_no_run() {
    let place = Sandbox::new();
    let output = watch(&place, &["--for", "2s", "--out", "w.run"]);
    assert_eq!(output.code, 0, "{output:?}");
    let loaded = so_far(&place).unwrap();
    assert!(!loaded.readings.seconds().is_empty() && loaded.cut.is_none());
    assert!(
        loaded.readings.values("plimsoll.cpu.busy").is_some(),
        "{loaded:?}"
    );
    let before = std::fs::read(place.path().join("w.run")).unwrap();
    let output = watch(&place, &["--for", "1s", "--out", "w.run"]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(output.stderr.contains("w.run exists"), "{output:?}");
    assert_eq!(std::fs::read(place.path().join("w.run")).unwrap(), before);
    // The report of a watched service is its availability, and nothing here was one.
    for (arguments, remedy) in [
        (&["report", "w.run"][..], "the URL of a service"),
        (&["export", "w.run", "--csv"], "--cpu w.run"),
    ] {
        let output = place.run(arguments);
        assert_eq!(output.code, 2, "{output:?}");
        assert!(
            output.stderr.contains("plimsoll watch") && output.stderr.contains(remedy),
            "{output:?}"
        );
    }
    assert!(!place.path().join("w").exists(), "no table is written");
}

#[test]
fn its_cpu_is_shown_beside_a_log_of_the_same_minutes() {
    let place = Sandbox::new();
    let output = watch(&place, &["--for", "2s", "--out", "w.run"]);
    assert_eq!(output.code, 0, "{output:?}");
    let loaded = so_far(&place).unwrap();
    let started: jiff::Timestamp = loaded.started_at.parse().unwrap();
    // The readings may cross into the next minute.
    let mut lines = String::new();
    for second in 0..120 {
        let at = jiff::Timestamp::from_second(started.as_second() + second).unwrap();
        let at = at.to_zoned(jiff::tz::TimeZone::UTC);
        let at = at.strftime("%d/%b/%Y:%H:%M:%S +0000");
        writeln!(
            lines,
            "192.0.2.1 - - [{at}] \"GET / HTTP/1.1\" 200 5 \"-\" \"Mozilla/5.0 Firefox/130\""
        )
        .unwrap();
    }
    std::fs::write(place.path().join("access.log"), lines).unwrap();
    let output = place.run(&["log", "access.log", "--cpu", "w.run", "--json"]);
    assert_eq!(output.code, 0, "{output:?}");
    let day = output.json();
    let series = day["cpu"].as_array().unwrap();
    let host = series
        .iter()
        .find(|series| series["name"] == "plimsoll.cpu.busy")
        .unwrap();
    assert!(
        !host["minutes"].as_array().unwrap().is_empty(),
        "{series:?}"
    );
}

#[test]
fn an_interrupt_keeps_what_was_read() {
    let place = Sandbox::new();
    let child = place.start(&["watch", "--watch", "none", "--for", "10m", "--out", "w.run"]);
    let mut polls = 0;
    while so_far(&place).is_none_or(|loaded| loaded.readings.seconds().is_empty()) {
        crate::kill::after(Duration::from_millis(20));
        polls += 1;
        assert!(polls < 3000, "nothing is read");
    }
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let loaded = so_far(&place).unwrap();
    assert!(!loaded.readings.seconds().is_empty());
    assert_eq!(loaded.cut, None);
}

#[test]
fn what_is_watched_is_checked_before_anything_starts() {
    let place = Sandbox::new();
    std::fs::write(place.path().join("watch.yaml"), "hapoxy: x\nnginx: y\n").unwrap();
    let load = ["run", "http://127.0.0.1:1/", "--rate", "1/s", "--watch"];
    for (file, expected) in [
        ("watch.yaml", "watch.yaml:1:1: "),
        ("missing.yaml", "--watch auto, --watch none"),
    ] {
        let output = place.run(&[&load[..], &[file]].concat());
        assert_eq!(output.code, 2, "{output:?}");
        assert!(output.stderr.contains(expected), "{output:?}");
    }
    assert!(place.run_files().is_empty());
}
