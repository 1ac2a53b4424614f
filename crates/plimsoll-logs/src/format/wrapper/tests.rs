//! Wrappers around lines of several formats, and lines that only look wrapped.

use proptest::prelude::*;

use super::*;
use crate::{LogReader, detect};

const COMBINED: &str = r#"10.0.0.7 - - [22/Nov/2026:02:43:45 +0100] "GET /a?b=1 HTTP/1.1" 200 612 "-" "Mozilla/5.0 (X11; \x22)""#;
const PINO: &str = r#"{"level":30,"time":1795311825000,"req":{"method":"GET","url":"/a?b=1","remoteAddress":"10.0.0.7"},"res":{"statusCode":200},"responseTime":34,"msg":"request completed"}"#;
const HAPROXY: &str = r#"10.0.0.7:33317 [22/Nov/2026:01:43:45.655] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 "GET /a?b=1 HTTP/1.1""#;

/// The line in each wrapper.
fn wrapped(line: &str) -> Vec<String> {
    let quoted = serde_json::to_string(&format!("{line}\n")).unwrap();
    vec![
        format!(r#"{{"log":{quoted},"stream":"stdout","time":"2026-11-22T01:43:45.000000001Z"}}"#),
        format!("2026-11-22T01:43:45.123456789+01:00 stdout F {line}"),
        format!("web-1  | {line}"),
        format!("web-1  | 2026-11-22T01:43:45.123456789Z {line}"),
        format!("<190>Nov 22 01:43:45 web nginx: {line}"),
        format!("Nov  2 01:43:45 web.example haproxy[1234]: {line}"),
        format!("2026-11-22T01:43:45.123456+01:00 web nginx[7]: {line}"),
        format!("<190>1 2026-11-22T01:43:45Z web nginx 7 - - {line}"),
        format!(
            "<190>1 2026-11-22T01:43:45Z web nginx 7 id [a@1 b=\"]\\\"]\" c=\"[\"][d@2] \u{feff}{line}"
        ),
    ]
}

/// Address, path and status of all lines, by the detected format.
fn read(lines: &[String]) -> (String, Vec<String>) {
    let sample: Vec<&[u8]> = lines.iter().map(String::as_bytes).collect();
    let found = detect(&sample, None).unwrap();
    let mut unwrapper = found.format.unwrapper();
    let mut reader = LogReader::new(found.format);
    let mut read = Vec::new();
    for line in sample {
        let Some(line) = unwrapper.line(line) else {
            continue;
        };
        let entry = reader.read(line).unwrap().unwrap();
        let address = entry.address.as_deref().unwrap_or("?");
        read.push(format!("{address} {} {}", entry.path, entry.status));
    }
    (found.evidence, read)
}

#[test]
fn each_format_is_read_in_each_wrapper() {
    for line in [COMBINED, PINO, HAPROXY] {
        for wrapped in wrapped(line) {
            let (evidence, entries) = read(&[wrapped.clone(), wrapped.clone()]);
            assert_eq!(entries, ["10.0.0.7 /a?b=1 200"; 2], "{wrapped}");
            assert!(evidence.contains("taken out of"), "{wrapped}: {evidence}");
        }
    }
}

#[test]
fn a_line_without_a_wrapper_is_not_touched() {
    let plain = [COMBINED.to_owned(), PINO.to_owned()];
    for line in plain.iter().chain(&[
        "10.0.0.7 | - | 22/Nov/2026".to_owned(),
        "2026-11-22T01:43:45Z stdout X a".to_owned(),
        "2026-11-22T01:43:45Z web time=1 a: b".to_owned(),
        r#"{"log":"a","stream":"other","time":"x"}"#.to_owned(),
        r#"{"log":"a","stream":"stdout"}"#.to_owned(),
        "<1900000>Nov 22 01:43:45 web nginx: a".to_owned(),
        "Nov 22 01:43 web nginx: a".to_owned(),
    ]) {
        let found = Wrapper::of(&[line.as_bytes()]);
        // The first has the form of compose, and no format behind it: detection keeps the whole line.
        let expected = line.starts_with("10.0.0.7 |").then_some(Wrapper::Compose);
        assert_eq!(found, expected, "{line}");
    }
    assert_eq!(read(&plain[..1]).1, ["10.0.0.7 /a?b=1 200"]);
}

#[test]
fn a_configured_format_that_fits_the_whole_line_stays() {
    let wanted = crate::Format::parse(
        "log_format x '$remote_addr | $time_iso8601 | $status | \"$request\"';",
    )
    .unwrap();
    let line = b"10.0.0.7 | 2026-11-22T01:43:45+00:00 | 200 | \"GET /a HTTP/1.1\"";
    let found = detect(&[line], Some(&wanted)).unwrap();
    assert!(
        !found.evidence.contains("taken out of"),
        "{}",
        found.evidence
    );
    let mut unwrapper = found.format.unwrapper();
    assert_eq!(unwrapper.line(line), Some(&line[..]));
}

#[test]
fn pieces_are_joined_by_stream() {
    let mut unwrapper = Unwrapper::new(Some(Wrapper::Cri));
    let at = "2026-11-22T01:43:45.1Z";
    let mut take = |line: &str| {
        // With its end, as some callers hand it on.
        let line = format!("{at} {line}\n");
        unwrapper.line(line.as_bytes()).map(<[u8]>::to_vec)
    };
    assert_eq!(take("stdout P one "), None);
    assert_eq!(take("stderr P bad "), None);
    assert_eq!(take("stdout P two "), None);
    assert_eq!(take("stdout F three"), Some(b"one two three".to_vec()));
    assert_eq!(take("stderr F news"), Some(b"bad news".to_vec()));
    assert_eq!(take("stdout F whole"), Some(b"whole".to_vec()));
    assert_eq!(take("stdout F"), Some(Vec::new()));
    for _ in 0..100 {
        assert_eq!(take(&format!("stdout P {}", "x".repeat(10_000))), None);
    }
    // What is too long is refused by the reader, and takes no more memory.
    assert_eq!(take("stdout F y").unwrap().len(), LINE_LEN_MAX + 1);
    let mut docker = Unwrapper::new(Some(Wrapper::Docker));
    let object = |text: &str| format!(r#"{{"log":"{text}","stream":"stdout","time":"t"}}"#);
    let long = "x".repeat(DOCKER_PIECE_LEN);
    assert_eq!(docker.line(object(&long).as_bytes()), None);
    let whole = docker.line(object("y\\n").as_bytes()).map(<[u8]>::len);
    assert_eq!(whole, Some(DOCKER_PIECE_LEN + 2));
    assert_eq!(docker.line(object("short").as_bytes()), Some(&b"short"[..]));
}

proptest! {
    /// Whatever is wrapped comes out.
    #[test]
    fn content_survives(text in "[ -~äß€]{1,80}") {
        for (wrapper, index) in [
            (Wrapper::Docker, 0),
            (Wrapper::Cri, 1),
            (Wrapper::Compose, 2),
            (Wrapper::Syslog, 4),
            (Wrapper::Syslog, 5),
            (Wrapper::Syslog, 6),
            (Wrapper::Syslog, 7),
            (Wrapper::Syslog, 8),
        ] {
            let line = &wrapped(&text)[index];
            let mut unwrapper = Unwrapper::new(Some(wrapper));
            let content = unwrapper.line(line.as_bytes()).unwrap();
            let content = content.strip_suffix(b"\n").unwrap_or(content);
            prop_assert_eq!(content, text.as_bytes(), "{}", line);
        }
    }

    #[test]
    fn no_line_panics(line in prop::collection::vec(any::<u8>(), 0..200), cut in 0..200_usize) {
        let known = wrapped(COMBINED);
        let cuts = known.iter().map(|line| &line.as_bytes()[..cut.min(line.len())]);
        for line in cuts.chain([&line[..]]) {
            for wrapper in [Wrapper::Docker, Wrapper::Cri, Wrapper::Compose, Wrapper::Syslog] {
                let _ = Unwrapper::new(Some(wrapper)).line(line);
            }
            let _ = detect(&[line], None);
        }
    }
}
