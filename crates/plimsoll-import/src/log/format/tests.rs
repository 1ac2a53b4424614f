use super::*;

fn check(format: LogFileFormat, text: &str) -> String {
    match LineReader::new(format).read(text) {
        Ok(Some(line)) => format!(
            "{} {} {} {} {} {:?} {:?} {:?} {}",
            line.at_ms,
            line.address,
            line.method,
            line.path,
            line.status,
            line.host,
            line.lasted_ms,
            line.agent,
            line.is_end
        ),
        Ok(None) => "nothing".to_owned(),
        Err(error) => format!("fault: {error}"),
    }
}

/// 2026-11-22T01:43:45Z.
const AT: i64 = 1_795_311_825_000;

#[test]
fn nginx_and_apache() {
    let rest = r#""GET /a?b=1 HTTP/1.1" 200 612 "-" "Mozilla/5.0 (X11)""#;
    let plain = format!(r"10.0.0.7 - - [22/Nov/2026:02:43:45 +0100] {rest}");
    assert_eq!(
        check(LogFileFormat::Nginx, &plain),
        format!("{AT} 10.0.0.7 GET /a?b=1 200 None None \"Mozilla/5.0 (X11)\" true")
    );
    let timed = check(LogFileFormat::Nginx, &format!("{plain} 0.034"));
    assert!(timed.contains("Some(34.0)"), "{timed}");
    let named = check(LogFileFormat::Nginx, &format!("{plain} rt=1.5 uct=\"0.1\""));
    assert!(named.contains("Some(1500.0)"), "{named}");
    let micro = check(LogFileFormat::Apache, &format!("{plain} 34000"));
    assert!(micro.contains("Some(34.0)"), "{micro}");
    let vhost = check(LogFileFormat::Apache, &format!("shop.example:443 {plain}"));
    assert!(
        vhost.contains("10.0.0.7 GET /a?b=1 200 Some(\"shop.example\")"),
        "{vhost}"
    );
    let common = check(
        LogFileFormat::Apache,
        r#"::1 - frank [22/Nov/2026:01:43:45 +0000] "HEAD / HTTP/1.0" 304 -"#,
    );
    assert!(common.contains("::1 HEAD / 304 None None \"\""), "{common}");
    let quoted = check(
        LogFileFormat::Nginx,
        r#"1.2.3.4 - - [22/Nov/2026:01:43:45 +0000] "GET /\"x HTTP/1.1" 200 1 "http://r/\"" "a\"b""#,
    );
    assert!(quoted.contains(r#"GET /\"x 200"#), "{quoted}");
}

#[test]
fn lines_that_are_none() {
    for (text, expected) in [
        ("", "fault: timestamp in brackets is missing"),
        (
            "1.2.3.4 - - [yesterday] \"GET / HTTP/1.1\" 200 1",
            "fault: the timestamp `yesterday` is not valid",
        ),
        (
            "1.2.3.4 - - [22/Nov/2026:01:43:45 +0000] \"\\x16\\x03\" 400 1",
            "fault: the request `\\x16\\x03` is not valid",
        ),
        (
            "1.2.3.4 - - [22/Nov/2026:01:43:45 +0000] \"GET / HTTP/1.1\" abc 1",
            "fault: the status `abc` is not valid",
        ),
        (
            "1.2.3.4 - - [22/Foo/2026:01:43:45 +0000] \"GET / HTTP/1.1\" 200 1",
            "fault: the timestamp `22/Foo/2026:01:43:45 +0000` is not valid",
        ),
    ] {
        assert_eq!(check(LogFileFormat::Nginx, text), expected);
    }
}

#[test]
fn haproxy() {
    let line = r#"Nov 22 01:43:45 lb haproxy[14389]: 10.0.1.2:33317 [22/Nov/2026:01:43:45.655] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {shop.example|Mozilla/5.0} {} "GET /index.html HTTP/1.1""#;
    let read = check(LogFileFormat::Haproxy, line);
    assert!(
        read.contains(
            "10.0.1.2 GET /index.html 200 Some(\"shop.example\") Some(109.0) \"Mozilla/5.0\" false"
        ),
        "{read}"
    );
    assert_eq!(LogFileFormat::of(line), Some(LogFileFormat::Haproxy));
    let bad = line.replace("GET /index.html HTTP/1.1", "<BADREQ>");
    assert_eq!(
        check(LogFileFormat::Haproxy, &bad),
        "fault: the request `<BADREQ>` is not valid"
    );
}

#[test]
fn cloudfront() {
    let mut reader = LineReader::new(LogFileFormat::Cloudfront);
    assert_eq!(reader.read("#Version: 1.0"), Ok(None));
    let head = "#Fields: date time c-ip cs-method cs(Host) cs-uri-stem sc-status cs(User-Agent) cs-uri-query x-host-header time-taken";
    assert_eq!(reader.read(head), Ok(None));
    let line = reader
        .read("2026-11-22\t01:43:45\t192.0.2.10\tGET\td111.cloudfront.net\t/a.html\t200\tMozilla/5.0%20(X)\tq=1\tshop.example\t0.019")
        .unwrap()
        .unwrap();
    assert_eq!(
        (line.at_ms, line.path.as_ref(), line.status),
        (AT, "/a.html?q=1", 200)
    );
    assert_eq!(line.host.as_deref(), Some("shop.example"));
    assert_eq!(line.lasted_ms, Some(19.0));
    assert_eq!(
        reader.read("2026-11-22\t01:43:45"),
        Err(LineError::Missing("method (cs-method)"))
    );
}

#[test]
fn json() {
    for line in [
        r#"{"time_iso8601":"2026-11-22T01:43:45+00:00","remote_addr":"10.0.0.7","request":"GET /a HTTP/1.1","status":"200","http_user_agent":"M","request_time":"0.034"}"#,
        r#"{"ts":1795311825.0,"request":{"remote_ip":"10.0.0.7","method":"GET","uri":"/a","headers":{"User-Agent":["M"]}},"status":200,"duration":0.034}"#,
        r#"{"@timestamp":"2026-11-22T01:43:45Z","client_ip":"10.0.0.7","method":"GET","url":"/a","status_code":200,"user_agent":"M","duration_ms":34}"#,
    ] {
        assert_eq!(
            check(LogFileFormat::Json, line),
            format!("{AT} 10.0.0.7 GET /a 200 None Some(34.0) \"M\" true"),
            "{line}"
        );
    }
    assert!(check(LogFileFormat::Json, "{}").starts_with("fault: timestamp"));
    assert!(check(LogFileFormat::Json, "{\"a\":").starts_with("fault: the JSON"));
}
