//! The terminal's summary and the table of a comparison.

use std::path::PathBuf;

use plimsoll_model::run::Run;
use plimsoll_report::Report;
use plimsoll_report::json::Files;
use plimsoll_report::text;

use crate::runs;

fn summary(run: &Run) -> String {
    let files = Files {
        run: Some(PathBuf::from("plimsoll/20261121-180000-news.run")),
        report: Some(PathBuf::from("plimsoll/20261121-180000-news.html")),
    };
    text::summary(&Report::of(run), &files, false)
}

#[test]
fn every_summary_fits_on_one_screen() {
    for run in vec![
        runs::plain(400.0, 10),
        runs::plain_failing(),
        runs::plain_void(),
        runs::websockets(),
        runs::search(),
        runs::search_without_line(),
        runs::search_void(),
        runs::gate(),
        runs::hostile(),
        runs::header_only("run"),
        runs::header_only("limit"),
    ] {
        let text = summary(&run);
        assert!(text.lines().count() <= 24, "{text}");
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{line}");
            assert!(!line.contains(|c: char| c.is_control()), "{line:?}");
        }
    }
}

#[test]
fn users_summary() {
    for run in [runs::users(), runs::users_missed()] {
        let text = summary(&run);
        let (head, table) = text.split_once("\n\n ").unwrap();
        assert!(head.lines().count() <= 24, "{text}");
        assert!(
            head.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        assert!(
            table.lines().all(|line| line.chars().count() <= 100),
            "{text}"
        );
    }
    insta::assert_snapshot!("users_summary", summary(&runs::users()));
    insta::assert_snapshot!("users_missed_summary", summary(&runs::users_missed()));
}

#[test]
fn users_who_gave_up_are_in_the_summary() {
    let text = summary(&runs::users_impatient());
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    assert!(text.contains("9 lost (9 gave up)"), "{text}");
    assert!(
        text.contains("gave up 7 at GET /home of candidate after 3 s (p50), 3 s (p99); 2 at POST"),
        "{text}"
    );
}

#[test]
fn search_summary() {
    insta::assert_snapshot!(summary(&runs::search()));
}

#[test]
fn plain_summary() {
    insta::assert_snapshot!(summary(&runs::plain(400.0, 10)));
}

#[test]
fn failing_summary() {
    insta::assert_snapshot!(summary(&runs::plain_failing()));
}

#[test]
fn void_summary() {
    insta::assert_snapshot!(summary(&runs::plain_void()));
}

#[test]
fn no_line_summary() {
    insta::assert_snapshot!(summary(&runs::search_without_line()));
}

#[test]
fn not_confirmed_summary() {
    insta::assert_snapshot!(summary(&runs::search_not_confirmed()));
}

#[test]
fn what_is_known_stands_beside_what_was_confirmed() {
    let (line, known, open) = (
        runs::search(),
        runs::search_not_confirmed(),
        runs::search_out_of_time(),
    );
    insta::assert_snapshot!(text::comparison(&[
        ("now", &line),
        ("120 nodes", &known),
        ("no nodes", &open)
    ]));
}

#[test]
fn header_summary() {
    insta::assert_snapshot!(summary(&runs::header_only("limit")));
}

#[test]
fn colour_only_paints() {
    let run = runs::search();
    let painted = text::summary(&Report::of(&run), &Files::default(), true);
    assert!(painted.starts_with("\u{1b}[1;32m"));
    let mut plain = painted;
    for code in ["1;32", "2", "0"] {
        plain = plain.replace(&format!("\u{1b}[{code}m"), "");
    }
    assert_eq!(
        plain,
        text::summary(&Report::of(&run), &Files::default(), false)
    );
}

#[test]
fn searches_compared() {
    let before = runs::search();
    let mut after = runs::search();
    let line = after.search.as_mut().unwrap().line.as_mut().unwrap();
    (line.median, line.low, line.high, line.verified) = (1180.0, 1150.0, 1215.0, 1150.0);
    after.findings.clear();
    insta::assert_snapshot!(text::comparison(&[
        ("362 nodes", &before),
        ("120 nodes", &after)
    ]));
}

#[test]
fn plain_runs_compared() {
    let (quiet, busy) = (runs::plain(400.0, 10), runs::plain(700.0, 10));
    insta::assert_snapshot!(text::comparison(&[("quiet", &quiet), ("busy", &busy)]));
}

#[test]
fn trials_as_lines() {
    let run = runs::search();
    let lines: Vec<String> = [0, 7, 17]
        .map(|index: usize| text::trial_line(&run.trials[index]))
        .to_vec();
    insta::assert_snapshot!(lines.join("\n"));
}
