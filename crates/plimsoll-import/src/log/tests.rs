use plimsoll_logs::{LogEntry, LogReader, detect};
use proptest::prelude::*;

use super::*;

/// Hands on the requests of lines in the format that is detected, with the numbers of their lines.
fn each_request(lines: &[impl AsRef<[u8]>], take: impl FnMut(&LogEntry<'_>, usize)) {
    each_request_as(None, lines, take);
}

/// The same in a format that is given.
fn each_request_as(
    wanted: Option<&Format>,
    lines: &[impl AsRef<[u8]>],
    mut take: impl FnMut(&LogEntry<'_>, usize),
) {
    let lines: Vec<&[u8]> = lines.iter().map(AsRef::as_ref).collect();
    let Ok(detected) = detect(&lines, wanted) else {
        return;
    };
    let mut reader = LogReader::new(detected.format);
    for (index, line) in lines.iter().enumerate() {
        if let Ok(Some(entry)) = reader.read(line) {
            take(&entry, index + 1);
        }
    }
}

fn tally(options: Options, lines: &[impl AsRef<[u8]>]) -> LogTally {
    let mut tally = LogTally::new(Options {
        formats: "nginx".to_owned(),
        ..options
    });
    each_request(lines, |entry, number| {
        tally.take(entry, format!("line {number}"));
    });
    tally
}

/// Rows of a file, and the plan.
fn replayed(lines: &[String], replay: Replay) -> (Vec<String>, String) {
    let tally = tally(Options::default(), lines);
    let mut rows = ReplayRows::new(&tally, replay).unwrap();
    let mut out = String::new();
    each_request(lines, |entry, _| rows.take(entry, &mut out));
    let plan = rows.finish(&mut out).unwrap().plan;
    (out.lines().map(str::to_owned).collect(), plan)
}

fn line(second: u32, address: &str, request: &str, status: u16) -> String {
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!(
        r#"{address} - - [22/Nov/2026:{hour:02}:{minute:02}:{second:02} +0000] "{request} HTTP/1.1" {status} 10 "-" "M""#
    )
}

/// Three visits of three pages 20 s apart, each page with a style sheet; noise around them.
fn morning() -> Vec<String> {
    let mut lines = Vec::new();
    for visit in 0..3_u32 {
        let address = format!("10.0.0.{visit}");
        for page in 0..3_u32 {
            let at = 3600 + visit * 60 + page * 20;
            lines.push(line(
                at,
                &address,
                &format!("GET /article/{}", visit * 10 + page),
                200,
            ));
            lines.push(line(at, &address, "GET /style.css", 200));
        }
    }
    lines.push(line(3800, "10.0.0.9", "GET /wp-login.php", 404));
    lines.push(line(3801, "10.0.0.9", "POST /comment", 302));
    lines.push("not a line".to_owned());
    lines
}

#[test]
fn visits_mix_and_load_of_a_log() {
    let tally = tally(Options::default(), &morning());
    insta::assert_snapshot!(tally.finish().unwrap().plan);
}

/// The plan would load a foreign site.
#[test]
fn strangers_who_look_for_an_open_proxy_do_not_name_the_site() {
    let target = |stranger: String| {
        let mut lines = morning();
        lines.push(stranger);
        let imported = tally(Options::default(), &lines).finish().unwrap();
        let line = imported
            .plan
            .lines()
            .find(|line| line.starts_with("target:"));
        line.unwrap_or_default().to_owned()
    };
    let request = |status| line(3802, "10.0.0.9", "GET http://other.example/ad", status);
    for status in [200, 302, 404] {
        assert_eq!(
            target(request(status)),
            format!("target: {}", super::write::TARGET_UNKNOWN)
        );
    }
    // HAProxy logs whole URLs for HTTP/2: then many requests name the host.
    let mut lines = morning();
    lines.extend((0..4).map(|at| line(3900 + at, "10.0.0.8", "GET https://site.example/a", 200)));
    let imported = tally(Options::default(), &lines).finish().unwrap();
    assert!(
        imported.plan.contains("target: https://site.example\n"),
        "{}",
        imported.plan
    );
}

#[test]
fn the_same_requests_again() {
    let lines = morning();
    let tally = tally(
        Options {
            target: Some("http://site".to_owned()),
            ..Options::default()
        },
        &lines,
    );
    let replay = Replay {
        speed: 2.0,
        rows: None,
    };
    let mut rows = ReplayRows::new(&tally, replay).unwrap();
    let mut out = String::new();
    each_request(&lines, |entry, _| rows.take(entry, &mut out));
    insta::assert_snapshot!(rows.finish(&mut out).unwrap().plan);
    assert_eq!(out, "");
}

#[test]
fn rows_in_a_file_keep_their_moments() {
    let replay = Replay {
        speed: 3.0,
        rows: Some("rows.csv".to_owned()),
    };
    let (written, plan) = replayed(&morning(), replay);
    assert_eq!(ReplayRows::head(), "at,path\n");
    assert!(written[0].starts_with("0.000,\"/"), "{}", written[0]);
    assert_eq!(written.len(), 18);
    assert!(
        plan.contains("replay: rows.csv") && plan.contains("speed: \"3x\""),
        "{plan}"
    );
}

/// What is not sent again is told, also in front of the first page and behind the last.
#[test]
fn requests_that_are_left_out_are_told() {
    let lines = [
        line(0, "10.0.0.1", "GET /gone", 404),
        line(10, "10.0.0.1", "GET /?token=hush&a=1", 200),
        line(20, "10.0.0.1", "POST /", 200),
        line(30, "10.0.0.1", "GET /", 200),
        line(40, "10.0.0.1", "GET /down", 503),
    ];
    let replay = Replay {
        speed: 1.0,
        rows: Some("rows.csv".to_owned()),
    };
    let (written, plan) = replayed(&lines, replay);
    assert_eq!(written, ["0.000,\"/?a=1\"", "20.000,\"/\""]);
    for note in [
        "left out 3 requests with unsafe methods or without a successful response",
        "left out 1 query parameter with a name that marks a secret",
    ] {
        assert!(plan.contains(note), "{note}: {plan}");
    }
}

/// nginx writes a line when the answer is out. What is sent again is sent when it began, and nothing is lost at the end.
#[test]
fn rows_are_in_the_order_of_beginnings() {
    let timed = |address: u32, second: u32, path: &str, took: f64| {
        format!(
            "{} {took:.3}",
            line(
                second,
                &format!("10.0.0.{address}"),
                &format!("GET {path}"),
                200
            )
        )
    };
    let lines = [
        timed(2, 101, "/second", 0.1),
        timed(3, 102, "/third", 0.2),
        timed(1, 130, "/first", 30.0),
        timed(4, 131, "/last", 0.5),
        timed(4, 132, "/last.css", 0.25),
    ];
    let replay = Replay {
        speed: 1.0,
        rows: Some("rows.csv".to_owned()),
    };
    let (written, _) = replayed(&lines, replay);
    assert_eq!(
        written,
        [
            "0.000,\"/first\"",
            "0.900,\"/second\"",
            "1.800,\"/third\"",
            "30.500,\"/last\"",
            "31.750,\"/last.css\""
        ]
    );
}

#[test]
fn clients_that_cannot_be_separated_are_no_visits() {
    let lines: Vec<String> = (0..40)
        .map(|second| line(second * 20, "-", "GET /", 200))
        .collect();
    let imported = tally(Options::default(), &lines).finish().unwrap();
    let note = "visits cannot be separated: 40 of 40 pages have no client address";
    assert!(
        imported.notes.iter().any(|text| text.starts_with(note)),
        "{:?}",
        imported.notes
    );
    assert!(
        !imported.plan.contains("think:") && !imported.plan.contains(" visits,"),
        "{}",
        imported.plan
    );
    // Behind a proxy that is not recorded, all clients are one.
    let lines: Vec<String> = (0..40)
        .map(|second| line(second * 20, "10.0.0.1", "GET /", 200))
        .collect();
    let imported = tally(Options::default(), &lines).finish().unwrap();
    let has_note = imported
        .notes
        .iter()
        .any(|text| text.contains("if that is a proxy"));
    assert!(has_note, "{:?}", imported.notes);
}

#[test]
fn a_clock_that_was_set_back_is_reported() {
    let mut lines = morning();
    lines.push(line(120, "10.0.0.7", "GET /early", 200));
    lines.push(line(140, "10.0.0.7", "GET /early", 200));
    let imported = tally(Options::default(), &lines).finish().unwrap();
    let note = imported
        .notes
        .iter()
        .find(|text| text.contains("the clock of the log"));
    assert!(
        note.is_some_and(|note| note.contains("(line 22)")),
        "{:?}",
        imported.notes
    );
}

#[test]
fn a_log_that_says_nothing_is_an_error_with_its_remedy() {
    let error_text = |lines: &[String]| {
        tally(Options::default(), lines)
            .finish()
            .unwrap_err()
            .to_string()
    };
    assert!(error_text(&[]).contains("empty"));
    assert!(error_text(&[line(1, "10.0.0.1", "POST /a", 200)]).contains("--with-unsafe"));
    let with = Options {
        with_unsafe: true,
        ..Options::default()
    };
    let plan = tally(with, &[line(1, "10.0.0.1", "POST /a", 200)])
        .finish()
        .unwrap()
        .plan;
    assert!(plan.contains("- post: /a"), "{plan}");
}

#[test]
fn think_times_come_back_from_a_log() {
    // Gaps of e^(ln 12 ± 0.7): a log-normal of median 12 s in two points, written to the second.
    let mut lines = Vec::new();
    for visit in 0..200_u32 {
        let mut at = visit * 30;
        for gap in [0, 6, 24, 6, 24] {
            at += gap;
            lines.push((
                at,
                line(
                    at,
                    &format!("10.0.{}.{}", visit / 250, visit % 250),
                    "GET /",
                    200,
                ),
            ));
        }
    }
    lines.sort();
    let lines: Vec<String> = lines.into_iter().map(|(_, line)| line).collect();
    let (median, sigma) = tally(Options::default(), &lines)
        .sessions
        .thinks
        .fit()
        .unwrap();
    assert!(
        (median - 12.0).abs() < 0.1 && (sigma - 0.693).abs() < 0.01,
        "{median} {sigma}"
    );
}

proptest! {
    #[test]
    fn no_line_panics(lines in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..120), 0..8), name in 0..17_usize) {
        let format = Format::names().get(name).map(|name| Format::parse(name).unwrap());
        let mut tally = LogTally::new(Options::default());
        each_request_as(format.as_ref(), &lines, |entry, number| tally.take(entry, number));
        let _ = tally.finish();
    }

    #[test]
    fn no_path_panics(path in "/[^\" ]{0,60}", status in 100..600_u16) {
        let lines = [line(1, "10.0.0.1", &format!("GET {path}"), status), line(70, "10.0.0.1", "GET /", 200)];
        let tally = tally(Options::default(), &lines);
        let mut rows = ReplayRows::new(&tally, Replay { speed: 3.0, rows: None }).unwrap();
        let mut out = String::new();
        each_request(&lines, |entry, _| rows.take(entry, &mut out));
        for plan in [rows.finish(&mut out).unwrap().plan, tally.finish().unwrap().plan] {
            prop_assert!(crate::yaml::scalars(&plan).contains(&"target".to_owned()));
        }
    }
}
