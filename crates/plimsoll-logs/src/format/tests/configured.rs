//! Lines of configuration.

use super::{AT, Format, error, line_of, read};

const NGINX: &str = r#"log_format main escape=json '{"at":"$msec","who":"$remote_addr","fwd":"$http_x_forwarded_for",' '"line":"$request","code":$status,"took":$request_time,"up":"$upstream_response_time","agent":"$http_user_agent"}';"#;

#[test]
fn nginx() {
    let line = r#"{"at":"1795311825.250","who":"10.0.0.9","fwd":"10.0.0.7, 10.0.0.9","line":"GET /a\"b HTTP/1.1","code":200,"took":0.034,"up":"0.010, 0.020","agent":"M \"x\" y"}"#;
    let entry = read(NGINX, line);
    assert_eq!(line_of(&entry), "10.0.0.7 GET /a%22b 200");
    assert_eq!(
        (entry.at_ms, entry.is_end, entry.lasted_ms),
        (AT + 250, true, Some(34.0))
    );
    assert_eq!(entry.agent.as_deref(), Some(r#"M "x" y"#));
    let upstream = entry.upstream.unwrap().response_ms.unwrap();
    assert!((upstream - 30.0).abs() < 1e-9);
    // Fields of no interest end at the next literal; only the quoted part is enough.
    let format = r#"'$remote_addr [$time_iso8601] $ssl_protocol/$ssl_cipher "$request_method $scheme://$host$request_uri" $status $request_length $request_time'"#;
    let line = r#"10.0.0.7 [2026-11-22T01:43:45+00:00] TLSv1.3/AES "GET https://shop.example/a?b" 200 512 1.500"#;
    let entry = read(format, line);
    assert_eq!(line_of(&entry), "10.0.0.7 GET /a?b 200");
    assert_eq!(
        (entry.host.as_deref(), entry.lasted_ms),
        (Some("shop.example"), Some(1500.0))
    );
    let parts = "$remote_addr $time_iso8601 $request_method ${uri}$is_args$args $status";
    let entry = read(parts, "10.0.0.7 2026-11-22T01:43:45+00:00 GET /a?b=1 200");
    assert_eq!(line_of(&entry), "10.0.0.7 GET /a?b=1 200");
    let parts = "'$time_local $remote_addr $request_method $uri $is_args$args $status'";
    for (query, path) in [("?b=1", "/a?b=1"), ("", "/a")] {
        let line = format!("22/Nov/2026:01:43:45 +0000 10.0.0.7 GET /a {query} 200");
        let entry = read(parts, &line);
        assert_eq!(line_of(&entry), format!("10.0.0.7 GET {path} 200"));
    }
    // The blanks of a request that is in no quotes are its own.
    let bare = "'$time_local $remote_addr $request $status $request_time'";
    let line = "22/Nov/2026:01:43:45 +0000 10.0.0.7 GET /a b HTTP/1.1 200 1.500";
    let entry = read(bare, line);
    assert_eq!(line_of(&entry), "10.0.0.7 GET /a%20b 200");
    assert_eq!(entry.lasted_ms, Some(1500.0));
}

/// Several servers make several values, with blanks between them, of each field of an upstream.
#[test]
fn lists_of_nginx() {
    let format = "log_format x '$remote_addr [$msec] [$time_local] \"$request\" ' # the request
        '$status $upstream_addr $upstream_status $upstream_response_time $request_time $pipe';";
    for (servers, statuses, times, tries, response) in [
        ("10.1.1.1:80", "200", "0.250", 1, 250.0),
        (
            "10.1.1.1:80, 10.1.1.2:80 : unix:/run/x",
            "502, 200 : 200",
            "0.500, 0.250 : 0.250",
            3,
            1000.0,
        ),
        ("10.1.1.1:80, 10.1.1.2:80", "502, 200", "-, 0.250", 2, 250.0),
    ] {
        let line = format!(
            "10.0.0.7 [1795311825.250] [22/Nov/2026:01:43:45 +0000] \"GET /a HTTP/1.1\" 200 {servers} {statuses} {times} 2.000 ."
        );
        let entry = read(format, &line);
        assert_eq!(
            (entry.at_ms, entry.lasted_ms),
            (AT + 250, Some(2000.0)),
            "{times}"
        );
        let upstream = entry.upstream.unwrap();
        assert_eq!(
            (upstream.tries, upstream.response_ms),
            (tries, Some(response)),
            "{times}"
        );
    }
    let format = "'$http_x_forwarded_for $realip_remote_addr $remote_addr $time_iso8601 \"$request\" $status $request_time'";
    let behind = "2026-11-22T01:43:45+00:00 \"GET /a HTTP/1.1\" 200 0.034";
    for (front, client) in [
        ("10.0.0.7, 10.9.9.9 10.9.9.8 10.9.9.9", "10.0.0.7"),
        ("- 10.9.9.8 10.0.0.7", "10.0.0.7"),
    ] {
        let line = format!("{front} {behind}");
        let entry = read(format, &line);
        assert_eq!(line_of(&entry), format!("{client} GET /a 200"));
        assert_eq!(entry.lasted_ms, Some(34.0));
    }
    let format = "'$remote_addr $proxy_protocol_addr $time_iso8601 \"$request\" $status'";
    let line = "10.9.9.9 10.0.0.7 2026-11-22T01:43:45+00:00 \"GET /a HTTP/1.1\" 200";
    assert_eq!(line_of(&read(format, line)), "10.0.0.7 GET /a 200");
}

/// An agent with quotes that nothing escapes shifts the fields behind it: that is an error, not a missing time.
#[test]
fn a_duration_is_a_number() {
    let format = "log_format x escape=none '$remote_addr $time_iso8601 \"$request\" $status \"$http_user_agent\" $request_time';";
    let line = "10.0.0.7 2026-11-22T01:43:45+00:00 \"GET /a HTTP/1.1\" 200 \"M \"x\" y\" 0.034";
    let found = error(format, line);
    assert!(found.contains("the duration `y\" 0.034`"), "{found}");
    let absent = line.replace("0.034", "-").replace("\"x\" ", "");
    assert_eq!(read(format, &absent).lasted_ms, None);
}

#[test]
fn apache() {
    let combined = r#"LogFormat "%v:%p %h %l %u %t \"%r\" %>s %O \"%{Referer}i\" \"%{User-Agent}i\" %{X-Forwarded-For}i %T %D" mine"#;
    let line = r#"shop.example:443 10.0.0.9 - frank [22/Nov/2026:01:43:45 +0000] "GET /a\"b\xc3\xa9 HTTP/1.1" 200 12 "-" "M \"x\"" 10.0.0.7 1 1034000"#;
    let entry = read(combined, line);
    assert_eq!(line_of(&entry), "10.0.0.7 GET /a%22b%C3%A9 200");
    assert_eq!(
        (entry.began_ms(), entry.is_end, entry.lasted_ms),
        (AT, false, Some(1034.0))
    );
    assert_eq!(entry.agent.as_deref(), Some(r#"M "x""#));
    let format = r#"LogFormat "%a [%{%d/%b/%Y:%T}t.%{msec_frac}t %{%z}t] %{end:msec}t %m %U%q %400,501{X-No}i %s %{ms}T""#;
    let line = "10.0.0.7 [22/Nov/2026:02:43:45.250 +0100] 1795311826000 GET /a?b - 200 750";
    let entry = read(format, line);
    assert_eq!(line_of(&entry), "10.0.0.7 GET /a?b 200");
    assert_eq!((entry.began_ms(), entry.lasted_ms), (AT + 250, Some(750.0)));
    // The proxy that connected is not the client, and a format may be that of `CustomLog`, on several lines.
    let format =
        "CustomLog \"logs/access log\" \\\n  \"%{c}a %a %t \\\"%r\\\" %>s %D\" \\\n  env=!quiet";
    let line = r#"10.9.9.9 10.0.0.7 [22/Nov/2026:01:43:45 +0000] "GET /a HTTP/1.1" 200 34000"#;
    let entry = read(format, line);
    assert_eq!(line_of(&entry), "10.0.0.7 GET /a 200");
    assert_eq!(entry.lasted_ms, Some(34.0));
    let only = read(
        r#"LogFormat "%{c}a %t \"%r\" %>s""#,
        r#"10.9.9.9 [22/Nov/2026:01:43:45 +0000] "GET /a HTTP/1.1" 200"#,
    );
    assert_eq!(line_of(&only), "10.9.9.9 GET /a 200");
    // Only an end: the beginning is the end less the time.
    let format = r#"LogFormat "%a %{end:usec}t \"%r\" %s %{us}T""#;
    let entry = read(
        format,
        r#"10.0.0.7 1795311825250000 "GET / HTTP/1.1" 200 250000"#,
    );
    assert_eq!((entry.is_end, entry.began_ms()), (true, AT));
}

#[test]
fn haproxy() {
    let format = r#"log-format "%ci:%cp [%tr] %ft %b/%s %TR/%Tw/%Tc/%Tr/%Ta %ST %B %tsc %rc %sq/%bq %hr %{+Q}[capture.req.hdr(1)] %{+Q}r""#;
    let line = r#"Nov 22 01:43:45 lb haproxy[1]: 10.0.0.7:4711 [22/Nov/2026:01:43:45.250] web app/one 1/2/3/4/34 200 12 sH-- 1 2/3 {shop.example|M/1} "x" "GET /a#22 HTTP/1.1""#;
    let entry = read(format, line);
    assert_eq!(line_of(&entry), "10.0.0.7 GET /a%22 200");
    assert_eq!((entry.began_ms(), entry.lasted_ms), (AT + 250, Some(34.0)));
    assert_eq!(entry.host.as_deref(), Some("shop.example"));
    let details = entry.haproxy.unwrap();
    assert_eq!(
        (details.termination, details.queue_ms, details.retries),
        ("sH--", Some(2.0), 1)
    );
    // Where no headers are captured, neither braces nor their blanks are written.
    let format = r#"log-format "%ci:%cp [%tr] %ft %b/%s %TR/%Tw/%Tc/%Tr/%Ta %ST %B %CC %CS %tsc %ac/%fc/%bc/%sc/%rc %sq/%bq %hr %hs %{+Q}r""#;
    for captures in ["", "{shop.example|M/1 (X)} ", "{shop.example} {nginx} "] {
        let line = format!(
            r#"10.0.0.7:4711 [22/Nov/2026:01:43:45.250] web app/one 1/2/3/4/34 200 12 - - ---- 1/1/1/1/0 0/0 {captures}"GET /a HTTP/1.1""#
        );
        let entry = read(format, &line);
        assert_eq!(line_of(&entry), "10.0.0.7 GET /a 200", "{captures}");
        assert_eq!(entry.lasted_ms, Some(34.0));
    }
    let format = "log-format %Ts\\ %HM\\ %HU\\ %ST\\ %Ta";
    assert_eq!(
        line_of(&read(format, "1795311825 GET /a?b 200 34")),
        "? GET /a?b 200"
    );
}

#[test]
fn envoy() {
    let format = r"%START_TIME(%Y/%m/%d %H:%M:%S.%3f)% %DOWNSTREAM_REMOTE_ADDRESS% %REQ(:METHOD)% %REQ(:AUTHORITY)%%REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %RESPONSE_CODE% %DURATION%\n";
    let line = "2026/11/22 01:43:45.250 10.0.0.7:4711 GET shop.example/a?b 200 34";
    let entry = read(format, line);
    assert_eq!(line_of(&entry), "10.0.0.7 GET /a?b 200");
    assert_eq!((entry.began_ms(), entry.lasted_ms), (AT + 250, Some(34.0)));
}

#[test]
fn formats_that_cannot_be_used() {
    for (format, expected) in [
        (
            "log_format x '$remote_addr $status';",
            "lacks the time, the request line, or method and path",
        ),
        ("log_format x '$time_iso8601 $request';", "lacks the status"),
        ("LogFormat \"%h %t %m %s\"", "lacks the request line"),
        (
            "'$time_local$status$request'",
            "nothing separates $time_local from $status",
        ),
        ("%START_TIME% %REQ(:METHOD", "that no `%` ends"),
        ("LogFormat \"%h %{Host\"", "a directive"),
        ("log-format \"%ci %[src\"", "a variable"),
        ("common", "unknown format `common`"),
    ] {
        let error = Format::parse(format).unwrap_err().to_string();
        assert!(error.contains(expected), "{format}: {error}");
    }
}
