use proptest::prelude::*;

use super::*;
use crate::journey;
use crate::recording::ResourceKind;

fn entry(fields: &str) -> String {
    format!(
        r#"{{"startedDateTime":"2026-11-22T01:00:00.000Z","time":10,"request":{{"method":"GET","url":"http://site/","headers":[]}},"response":{{"status":200,"headers":[],"content":{{"mimeType":"text/html"}}}}{fields}}}"#
    )
}

fn har(entries: &str) -> String {
    format!(
        r#"{{"log":{{"version":"1.2","creator":{{"name":"Maker","version":"1"}},"entries":[{entries}]}}}}"#
    )
}

fn error_text(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

#[test]
fn what_is_no_har_is_told_with_its_place() {
    assert!(
        error_text("{\n\"log\": [").contains("line 2, column 8: not JSON"),
        "{}",
        error_text("{\n\"log\": [")
    );
    assert!(error_text("[]").contains("log.entries"));
    assert!(error_text(&har("")).contains("nothing was recorded"));
    assert!(error_text(&har("{}")).contains("request.method"));
    assert!(error_text("").contains("not JSON"));
}

#[test]
fn one_bad_entry_does_not_lose_the_others() {
    let text = har(&format!(
        r#"{},{{"request":{{"method":"GET","url":"data:,x"}}}}"#,
        entry("")
    ));
    let recording = read(&text).unwrap();
    assert_eq!(recording.exchanges.len(), 1);
    assert_eq!(
        recording.problems,
        ["log.entries[1] left out: the scheme `data:` is not a network request"]
    );
    assert_eq!(recording.recorder, "Maker 1");
}

#[test]
fn content_may_be_packed_and_a_mark_may_stand_in_front() {
    let content = r#","response":{"status":"200","headers":[],"content":{"mimeType":"text/html; charset=utf-8","encoding":"base64","text":"w6l0w6k="}}"#;
    let text = format!("\u{feff}{}", har(&entry(content)));
    let exchange = &read(&text).unwrap().exchanges[0];
    assert_eq!(exchange.content.as_deref(), Some("été"));
    assert_eq!(
        (exchange.status, exchange.kind),
        (200, ResourceKind::Document)
    );
}

#[test]
fn without_timings_there_are_no_think_times_and_that_is_said() {
    let text = har(&format!("{},{}", entry(""), entry(""))).replace("2026-11-22T01:00:00.000Z", "");
    let plan = journey::plan(&read(&text).unwrap(), &journey::Options::default()).unwrap();
    assert!(!plan.plan.contains("- think: "), "{}", plan.plan);
    assert!(
        plan.notes.iter().any(|note| note.contains("no timings")),
        "{:?}",
        plan.notes
    );
}

/// A login, a page with its resources, a form with a token: saved by the real browser (`tests/data/record.mjs`).
#[test]
fn a_visit_of_chromium_becomes_a_journey() {
    let recording = read(include_str!("../../tests/data/chromium.har")).unwrap();
    assert!(
        recording.recorder.starts_with("Chromium "),
        "{}",
        recording.recorder
    );
    let imported = journey::plan(&recording, &journey::Options::default()).unwrap();
    let plan = &imported.plan;
    // Nothing is sent to the third party, and a note reports that.
    let asked = plan
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'));
    assert!(
        !asked.clone().any(|line| line.contains("other.example")),
        "{plan}"
    );
    assert!(
        imported
            .notes
            .iter()
            .any(|note| note.contains("other.example")),
        "{:?}",
        imported.notes
    );
    // Tokens are captured from the page before, never sent as recorded.
    let mut tokens = asked.clone().filter(|line| line.contains("csrf:"));
    assert!(
        tokens.clone().any(|line| line.contains("{{ csrf")),
        "{plan}"
    );
    assert!(!tokens.any(|line| line.contains("tok-")), "{plan}");
    insta::assert_snapshot!(plan);
}

proptest! {
    #[test]
    fn nothing_that_is_read_panics(text in ".{0,200}") {
        let _ = read(&text);
    }

    #[test]
    fn nothing_of_an_entry_panics(
        method in "[A-Z]{1,8}|.{0,5}",
        url in "https?://[a-z]{1,4}(:[0-9]{1,5})?/[^\"\\\\]{0,40}|.{0,20}",
        status in any::<i32>(),
        mime in "(application/json|text/html|text/plain|multipart/form-data; boundary=a|application/x-www-form-urlencoded).{0,4}",
        body in ".{0,60}",
        location in ".{0,20}",
    ) {
        let entry = serde_json::json!({
            "startedDateTime": "2026-11-22T01:00:00Z", "time": 5,
            "request": {"method": method, "url": url, "headers": [{"name": "X-Token", "value": body}],
                "postData": {"mimeType": mime, "text": body}},
            "response": {"status": status, "headers": [{"name": "location", "value": location}],
                "content": {"mimeType": mime, "text": body}},
        });
        let text = serde_json::json!({"log": {"entries": [entry, entry, entry]}}).to_string();
        if let Ok(recording) = read(&text)
            && let Ok(imported) = journey::plan(&recording, &journey::Options::default())
        {
            prop_assert!(imported.plan.lines().any(|line| line.starts_with("target: ")));
            prop_assert!(!crate::yaml::scalars(&imported.plan).is_empty());
        }
    }
}
