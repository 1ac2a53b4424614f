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
    let wide: Vec<u8> = "\u{feff}{}"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let error = read_from(wide.as_slice()).unwrap_err().to_string();
    assert!(
        error.starts_with("line 1, column 1: not JSON (the file is in UTF-16"),
        "{error}"
    );
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

/// Bytes of a HAR file with one form or other body.
fn posted(mime: &str, text: &[u8], more: &str) -> Vec<u8> {
    let start = format!(
        r#"{{"log":{{"entries":[{},{{"startedDateTime":"2026-11-22T01:00:01.000Z","time":10,"request":{{"method":"POST","url":"http://site/a","headers":[{more}],"postData":{{"mimeType":"{mime}","text":""#,
        entry("")
    );
    let end =
        r#""}},"response":{"status":200,"headers":[],"content":{"mimeType":"text/html"}}}]}}"#;
    [start.as_bytes(), text, end.as_bytes()].concat()
}

/// The plan of such a file, in a folder.
fn posted_plan(mime: &str, text: &[u8], more: &str) -> crate::Imported {
    let recording = read_from(posted(mime, text, more).as_slice()).unwrap();
    let options = journey::Options {
        has_folder: true,
        ..journey::Options::default()
    };
    journey::plan(&recording, &options).unwrap()
}

const FORM: &str = "application/x-www-form-urlencoded";

#[test]
fn half_of_a_surrogate_pair_loses_no_entry() {
    let content = r#","response":{"status":200,"headers":[],"content":{"mimeType":"text/html","text":"thanks \ud83d"}}"#;
    let recording = read(&har(&format!("{},{}", entry(content), entry("")))).unwrap();
    assert_eq!(recording.exchanges.len(), 2);
    assert_eq!(
        recording.exchanges[0].content.as_deref(),
        Some("thanks \u{fffd}")
    );
    assert!(recording.problems.is_empty(), "{:?}", recording.problems);
    let plan = posted_plan(FORM, br"a=\ud83d&b=1", "").plan;
    assert!(plan.contains("{ a: \"\u{fffd}\", b: \"1\" }"), "{plan}");
}

#[test]
fn an_entry_that_is_no_json_is_left_out_with_its_place() {
    let text = har(&format!(
        "{},\n{{\"request\": tru}},{}",
        entry(""),
        entry("")
    ));
    let recording = read(&text).unwrap();
    assert_eq!(recording.exchanges.len(), 2);
    let problem = &recording.problems[0];
    assert!(
        problem.starts_with("log.entries[1] left out: it is not valid JSON"),
        "{problem}"
    );
    assert_eq!(recording.losses[0].place, (2, 1));
}

#[test]
fn a_form_that_is_not_utf8_is_sent_as_it_was() {
    let check = |text: &[u8], expected: &str| {
        let plan = posted_plan(FORM, text, "").plan;
        assert!(plan.contains(expected), "{expected} in {plan}");
    };
    check(b"name=caf%E9&b=1", "body: name=caf%E9&b=1");
    check(b"name=caf\xe9&b=1", "body: name=caf%E9&b=1");
    check(b"name=%83%5C", "body: name=%83%5C");
    check(b"rate=100%", "body: rate=100%");
    check(b"legacy=%u20AC", "body: legacy=%u20AC");
    check(b"a=1&b=2&a=3", "body: a=1&b=2&a=3");
    check(b"flag&b=2", "body: flag&b=2");
    check(b"line=a%0D%0Ab", "form: ");
    check(b"a=1&a=2&b=%C3%A9", "form: ");
    let plan = posted_plan(FORM, b"word=caf%E9&password=hush", "").plan;
    assert!(
        plan.contains("word=caf%E9&password={{ urlencode("),
        "{plan}"
    );
    assert!(!plan.contains("hush"), "{plan}");
    assert!(
        plan.contains("content-type: application/x-www-form-urlencoded"),
        "{plan}"
    );
}

/// A body that values alone would not make again stays as it was sent.
#[test]
fn json_that_its_values_do_not_make_stays_text() {
    for text in [
        r#"{"id":1,"id":2}"#,
        r#"{"a":[{"b":":","b":{}}]}"#,
        r#"{"id":12345678901234567890123}"#,
        r"[0.12345678901234567]",
    ] {
        let escaped = text.replace('"', "\\\"");
        let plan = posted_plan("application/json", escaped.as_bytes(), "").plan;
        let scalars = crate::yaml::scalars(&plan);
        assert!(
            scalars.iter().any(|scalar| scalar == text),
            "{text}: {plan}"
        );
    }
    for text in [
        r#"{"id":18446744073709551615,"t":":\"x\":1","n":[1.5e3,true,null]}"#,
        r#"{"a":{"a":{}},"b":[]}"#,
    ] {
        let escaped = text.replace('\\', r"\\").replace('"', "\\\"");
        let plan = posted_plan("application/json", escaped.as_bytes(), "").plan;
        assert!(plan.contains("json:"), "{text}: {plan}");
    }
}

/// What a recording does not hold is told.
#[test]
fn a_missing_body_and_a_login_in_the_url_are_told() {
    let losses = |from: &str, to: &str| {
        let text = String::from_utf8(posted("text/plain", b"", "")).unwrap();
        let imported = journey::plan(
            &read(&text.replace(from, to)).unwrap(),
            &journey::Options::default(),
        );
        let imported = imported.unwrap();
        assert!(!imported.plan.contains("hush"), "{}", imported.plan);
        let texts: Vec<String> = imported.losses.iter().map(ToString::to_string).collect();
        texts.join("\n")
    };
    let typed = r#""headers":[{"name":"Content-Type","value":"multipart/form-data"}],"postData""#;
    let text = losses(r#""headers":[],"postData""#, typed);
    assert!(text.contains("lacks the body"), "{text}");
    assert_eq!(losses("nothing", ""), "");
    let text = losses(r#""http://site/a""#, r#""http://ann:hush@site/a""#);
    assert!(
        text.contains("the URL has a login") && !text.contains("hush"),
        "{text}"
    );
}

#[test]
fn a_body_that_is_no_text_becomes_a_file() {
    let check = |text: &[u8], more: &str, expected: &[u8]| {
        let imported = posted_plan("application/octet-stream", text, more);
        assert!(
            imported.plan.contains("{{ file('bodies/1-body.bin') }}"),
            "{}",
            imported.plan
        );
        assert_eq!(imported.files.len(), 1);
        assert_eq!(
            imported.files[0].content,
            crate::FileContent::Bytes(expected.to_vec())
        );
        assert!(imported.losses.is_empty(), "{:?}", imported.losses);
    };
    check(b"caf\xe9", "", b"caf\xe9");
    // One character for each byte, as browsers write it.
    let length = r#"{"name":"Content-Length","value":"4"}"#;
    check("\u{89}PNG".as_bytes(), length, b"\x89PNG");
    let recording =
        read_from(posted("application/octet-stream", b"caf\xe9", "").as_slice()).unwrap();
    let options = journey::Options {
        file: "a.har".to_owned(),
        ..journey::Options::default()
    };
    let imported = journey::plan(&recording, &options).unwrap();
    assert!(imported.files.is_empty() && !imported.plan.contains("body:"));
    let loss = imported.losses[0].to_string();
    assert!(
        loss.starts_with("a.har:1:") && loss.contains("lost: POST /a: ") && loss.contains("--out"),
        "{loss}"
    );
}

#[test]
fn parts_of_one_name_stay_several() {
    let body = br#"--B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\none\r\n--B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"b.png\"\r\n\r\n"#;
    let end = br#"\r\n--B\r\nContent-Disposition: form-data; name=\"t\"\r\n\r\nx\r\n--B--\r\n"#;
    let body = [&body[..], b"\x89PNG", &end[..]].concat();
    let imported = posted_plan("multipart/form-data; boundary=B", &body, "");
    insta::assert_snapshot!(imported.plan);
    assert_eq!(
        imported.files[0],
        crate::DataFile {
            name: "bodies/1-b.png".to_owned(),
            content: crate::FileContent::Bytes(b"\x89PNG".to_vec()),
        }
    );
}

#[test]
fn a_url_keeps_its_bytes() {
    let text = String::from_utf8(posted("text/plain", b"x", "")).unwrap();
    for (sent, expected) in [
        ("http://site/caf%E9?q=%83\\\\", "/caf%E9?q=%83\\"),
        ("http://site/a|b?f={1}", "/a|b?f={1}"),
    ] {
        let text = text.replace("http://site/a\"", &format!("{sent}\""));
        let plan = journey::plan(&read(&text).unwrap(), &journey::Options::default());
        let plan = plan.unwrap().plan;
        let urls = crate::yaml::scalars(&plan);
        assert!(
            urls.iter().any(|url| url == expected),
            "{expected} in {plan}"
        );
    }
    let raw = posted("text/plain", b"x", "");
    let at = raw
        .windows(6)
        .rposition(|window| window == b"site/a")
        .unwrap();
    let raw = [&raw[..at + 5], b"caf\xe9", &raw[at + 6..]].concat();
    let recording = read_from(raw.as_slice()).unwrap();
    assert_eq!(recording.exchanges[1].url.path(), "/caf%E9");
}

#[test]
fn what_is_no_recording_is_told_with_its_place_in_bounded_memory() {
    let error = |bytes: &[u8]| read_from(bytes).unwrap_err().to_string();
    assert!(error(b"\x7fELF\x02\x01").starts_with("line 1, column 1: not JSON"));
    assert!(error(b"\xff\xfe{").starts_with("line 1, column 1: not JSON"));
    let whole = har(&format!("{},\n{}", entry(""), entry("")));
    for len in [whole.len() - 1, whole.len() - 40, 120] {
        let error = error(&whole.as_bytes()[..len]);
        assert!(error.contains("cut off"), "{error}");
    }
    assert!(error(format!("{whole}x").as_bytes()).contains("more follows"));
    let deep = format!("{{\"log\":{{\"entries\":[{}", "[".repeat(100_000));
    assert!(
        error(deep.as_bytes()).contains("line 1, column 148: nested deeper"),
        "{}",
        error(deep.as_bytes())
    );
    assert!(error("[".repeat(100_000).as_bytes()).contains("recursion limit"));
    let wide = format!(
        "{{\"log\":{{\"entries\":[{{\"a\":[{}1]}}]}}}}",
        "1,".repeat(600_000)
    );
    assert!(
        error(wide.as_bytes()).contains("500000 JSON values"),
        "{}",
        error(wide.as_bytes())
    );
}

#[test]
fn a_long_string_is_cut_and_what_follows_is_read() {
    let long = "x".repeat(13 << 20);
    let content = format!(
        r#","response":{{"status":200,"headers":[],"content":{{"mimeType":"text/html","text":"{long}\u00e9\""}}}}"#
    );
    let recording = read(&har(&format!("{},{}", entry(&content), entry("")))).unwrap();
    assert_eq!(recording.exchanges.len(), 2);
    assert_eq!(recording.exchanges[0].status, 200);
    assert_eq!(recording.exchanges[0].content, None);
    let recording = read_from(posted("text/plain", long.as_bytes(), "").as_slice()).unwrap();
    assert!(
        recording.problems[0].contains("cut at 12 MiB"),
        "{:?}",
        recording.problems
    );
}
