//! Lines in an encoding, a container or behind a header.

use super::{error, line_of, read};
use crate::detect;

const LINE: &str = r#"10.0.0.7 - - [22/Nov/2026:02:43:45 +0100] "GET /a?b=1 HTTP/1.1" 200 612 "-" "Mozilla/5.0 (X11)""#;

/// What is no log line by line is told as what it is, with the remedy.
#[test]
fn files_that_have_to_be_unpacked_first() {
    let utf_16 =
        |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    let wide = utf_16(LINE);
    let marked = [b"\xff\xfe".as_slice(), wide.as_slice()].concat();
    let after_line_end = [b"\0".as_slice(), wide.as_slice()].concat();
    let cases: [(Vec<&[u8]>, &str); 6] = [
        (vec![&marked, &after_line_end], "UTF-16"),
        (vec![&wide], "UTF-16"),
        (vec![b"[", b"  {", b"    \"time\": 1"], "JSON array"),
        (
            vec![b"[{\"status\":200},", b"{\"status\":200}]"],
            "JSON array",
        ),
        (
            vec![b"{\"time\":\"2026-11-22T01:43:45Z\"}"],
            "request_method",
        ),
        (
            vec![b"#Fields: date time", b"2026-11-22 01:43:45"],
            "cs-method",
        ),
    ];
    for (lines, expected) in cases {
        let error = detect(&lines, None).unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
    }
    assert_eq!(detect(&[], None).unwrap_err(), crate::DetectError::Empty);
}

#[test]
fn json_behind_a_header() {
    let json = r#"{"time":"2026-11-22T01:43:45Z","ip":"10.0.0.7","method":"GET","path":"/a","status":200,"a":{}}"#;
    for header in [
        "Nov 22 01:43:45 web nginx: ",
        "<190>1 2026-11-22T01:43:45Z web nginx - - - ",
        "caddy-1  | ",
        "2026-11-22T01:43:45.123456789Z stdout F ",
    ] {
        let line = format!("{header}{json}");
        assert_eq!(
            line_of(&read("json", &line)),
            "10.0.0.7 GET /a 200",
            "{line}"
        );
        let found = detect(&[line.as_bytes()], None).unwrap();
        assert_eq!(found.format.name(), "json", "{line}");
    }
    // An object in another place is a value.
    assert!(error("json", &format!("x=\"y\" {json}")).contains("JSON object"));
}
