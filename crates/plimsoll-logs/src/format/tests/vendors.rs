//! Lines of each server.

use super::{AT, Format, error, line_of, read, reader};
use crate::{CacheOutcome, LineError, detect};

fn detected(lines: &[&str]) -> (String, Vec<String>) {
    let bytes: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
    let found = detect(&bytes, None).unwrap();
    (found.format.name().to_owned(), found.warnings)
}

const COMBINED: &str = r#"10.0.0.7 - - [22/Nov/2026:02:43:45 +0100] "GET /a?b=1 HTTP/1.1" 200 612 "-" "Mozilla/5.0 (X11)""#;

#[test]
fn combined_and_common() {
    let entry = read("nginx", COMBINED);
    assert_eq!(line_of(&entry), "10.0.0.7 GET /a?b=1 200");
    assert_eq!(
        (entry.at_ms, entry.is_end, entry.lasted_ms),
        (AT, true, None)
    );
    assert_eq!(entry.agent.as_deref(), Some("Mozilla/5.0 (X11)"));
    assert_eq!((entry.bytes, entry.referer), (Some(612), None));
    assert!(!read("apache", COMBINED).is_end);
    let common = r#"::1 - frank smith [22/Nov/2026:01:43:45 +0000] "HEAD / HTTP/1.0" 304 -"#;
    assert_eq!(line_of(&read("apache", common)), "::1 HEAD / 304");
    for (front, host, address) in [
        (
            "shop.example:443 10.0.0.7 - -",
            Some("shop.example"),
            "10.0.0.7",
        ),
        (
            "203.0.113.7, 10.36.42.175 172.16.0.9 - -",
            None,
            "203.0.113.7",
        ),
        ("\"203.0.113.7, 10.36.42.175\" - -", None, "203.0.113.7"),
        ("unknown, 203.0.113.9 - -", None, "203.0.113.9"),
        ("- 10.0.0.8 - -", None, "10.0.0.8"),
        ("10.0.0.9 - [203.0.113.5] - -", None, "10.0.0.9"),
        ("10.0.0.9 203.0.113.5 - -", None, "203.0.113.5"),
        ("203.0.113.5 10.0.0.9 - -", None, "203.0.113.5"),
        ("10.0.0.7 10.0.0.9 - -", None, "10.0.0.7"),
        ("10.0.0.7, 203.0.113.5 - -", None, "10.0.0.7"),
        (
            "[2001:db8::1]:443 203.0.113.5 - -",
            Some("[2001:db8::1]"),
            "203.0.113.5",
        ),
        ("web nginx: fd00::1 203.0.113.5 - -", None, "203.0.113.5"),
        (
            "<190>Nov 22 01:43:45 web nginx: 10.0.0.7 - -",
            None,
            "10.0.0.7",
        ),
        ("web_1  | 10.0.0.7 - -", None, "10.0.0.7"),
        ("client.example - -", None, "client.example"),
        ("- - -", None, "?"),
    ] {
        let line = format!(r#"{front} [22/Nov/2026:01:43:45 +0000] "GET / HTTP/1.1" 200 1"#);
        let entry = read("nginx", &line);
        assert_eq!(line_of(&entry), format!("{address} GET / 200"), "{front}");
        assert_eq!(entry.host.as_deref(), host, "{front}");
    }
}

/// A number behind the agent is a time only where the format is known.
#[test]
fn durations_behind_the_agent() {
    for (tail, lasted, has_warning) in [
        ("0.034", Some(34.0), false),
        ("\"203.0.113.7\" 0.034 0.031", Some(34.0), false),
        ("rt=1.5 uct=\"0.1\"", Some(1500.0), false),
        ("1.000 0.500, 0.250 : 0.125", Some(1000.0), false),
        ("1.000 -, 0.250", Some(1000.0), false),
        ("1.000 0.500, 0.900", None, true),
        ("1.000 0.500 0.250", None, true),
        ("512", None, true),
        ("1795311825.123", None, true),
        ("34000", None, true),
        ("0.031 0.034", None, true),
        ("0.5 x", None, true),
        ("\"-\"", None, false),
        ("", None, false),
    ] {
        let line = format!("{COMBINED} {tail}");
        assert_eq!(read("nginx", &line).lasted_ms, lasted, "{tail}");
        let (_, warnings) = detected(&[&line]);
        assert_eq!(!warnings.is_empty(), has_warning, "{tail}: {warnings:?}");
    }
    let line = format!("{COMBINED} 1.000 0.500, 0.250 : 0.125");
    let upstream = read("nginx", &line).upstream.unwrap();
    assert_eq!(upstream.response_ms, Some(875.0));
    // Whole lines of Apache have no time of nginx.
    assert_eq!(read("apache", &format!("{COMBINED} 0.034")).lasted_ms, None);
}

#[test]
fn ingress_nginx_and_traefik() {
    let line = format!(
        "{COMBINED} 512 30.250 [shop-web-80] [] 10.1.2.3:8080, 10.1.2.4:8080 0, 1834 0.250, 30.000 502, 200 5f0c"
    );
    let entry = read("ingress-nginx", &line);
    assert_eq!((entry.lasted_ms, entry.is_end), (Some(30_250.0), true));
    let upstream = entry.upstream.unwrap();
    assert_eq!((upstream.tries, upstream.response_ms), (2, Some(30_250.0)));
    assert_eq!(upstream.address.as_deref(), Some("10.1.2.4:8080"));
    assert_eq!(detected(&[&line]).0, "ingress-nginx");
    let line = format!(r#"{COMBINED} 4711 "shop@docker" "http://10.1.2.3:80" 250ms"#);
    let entry = read("traefik", &line);
    assert_eq!((entry.began_ms(), entry.lasted_ms), (AT, Some(250.0)));
    assert_eq!(detected(&[&line]).0, "traefik");
    let json = r#"{"ClientAddr":"10.0.0.7:1234","ClientHost":"10.0.0.7","DownstreamStatus":200,"Duration":250000000,"RequestHost":"shop.example","RequestMethod":"GET","RequestPath":"/a","StartUTC":"2026-11-22T01:43:45Z","time":"2026-11-22T01:43:46Z","request_User-Agent":"M"}"#;
    let entry = read("traefik", json);
    assert_eq!(line_of(&entry), "10.0.0.7 GET /a 200");
    assert_eq!(
        (entry.began_ms(), entry.lasted_ms, entry.is_end),
        (AT, Some(250.0), false)
    );
    assert_eq!(detected(&[json]).0, "traefik");
}

#[test]
fn haproxy() {
    let line = r#"Nov 22 01:43:45 lb haproxy[14389]: 10.0.1.2:33317 [22/Nov/2026:01:43:45.655] http-in~ static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 2/3 {shop.example|Mozilla/5.0} {} "GET /index.html HTTP/1.1""#;
    let entry = read("haproxy", line);
    assert_eq!(line_of(&entry), "10.0.1.2 GET /index.html 200");
    assert_eq!((entry.began_ms(), entry.lasted_ms), (AT + 655, Some(109.0)));
    assert_eq!(entry.host.as_deref(), Some("shop.example"));
    assert_eq!(entry.agent.as_deref(), Some("Mozilla/5.0"));
    let details = entry.haproxy.unwrap();
    assert_eq!(
        (
            details.frontend,
            details.backend,
            details.server,
            details.termination
        ),
        ("http-in", "static", "srv1", "----")
    );
    assert_eq!(
        (details.response_ms, details.backend_queue),
        (Some(69.0), 3)
    );
    assert_eq!(detected(&[line]).0, "haproxy");
    let tls = line.replace(
        "HTTP/1.1\"",
        "HTTP/1.1\" 0/0000000000000000/0/0/1 shop.example/TLSv1.3/TLS_AES_256_GCM_SHA384",
    );
    assert_eq!(read("haproxy", &tls).status, 200);
    // Written before the end: how long it took is unknown.
    let early = line.replace("10/0/30/69/109", "10/0/30/69/+70");
    assert_eq!(read("haproxy", &early).lasted_ms, None);
    let escaped = line.replace("/index.html", "/a#22b#C3#A9");
    assert_eq!(read("haproxy", &escaped).path, "/a%22b%C3%A9");
    let bad = line.replace("GET /index.html HTTP/1.1", "<BADREQ>");
    assert!(error("haproxy", &bad).contains("BADREQ"));
    let tcp =
        "10.0.1.2:33317 [22/Nov/2026:01:43:45.655] fnt bck/srv1 0/0/5007 212 -- 0/0/0/0/3 0/0";
    assert!(error("haproxy", tcp).contains("TCP mode"));
    let refused =
        "10.0.1.2:33317 [22/Nov/2026:01:43:45.655] fnt/1: Connection closed during SSL handshake";
    assert!(
        error("haproxy", refused).contains("not an HTTP request"),
        "{}",
        error("haproxy", refused)
    );
}

#[test]
fn cloudfront() {
    let mut reader = reader("cloudfront");
    let mut read = |line: &str| reader.read(line.as_bytes()).map(|entry| entry.is_some());
    assert_eq!(read("#Version: 1.0"), Ok(false));
    let head = "#Fields: date time x-edge-location c-ip cs-method cs(Host) cs-uri-stem sc-status cs(User-Agent) cs-uri-query x-edge-result-type x-host-header time-taken x-forwarded-for";
    assert_eq!(read(head), Ok(false));
    let line = "2026-11-22\t01:43:45\tFRA50\t192.0.2.10\tGET\td111.cloudfront.net\t/caf%25C3%25A9\t200\tMozilla/5.0%20(X)\tq=a%2520b\tRefreshHit\tshop.example\t2\t203.0.113.9,%20192.0.2.10";
    let entry = reader.read(line.as_bytes()).unwrap().unwrap();
    assert_eq!(line_of(&entry), "203.0.113.9 GET /caf%C3%A9?q=a%20b 200");
    assert_eq!(
        (entry.at_ms, entry.is_end, entry.lasted_ms),
        (AT, true, Some(2000.0))
    );
    assert_eq!(entry.agent.as_deref(), Some("Mozilla/5.0 (X)"));
    assert_eq!(entry.host.as_deref(), Some("shop.example"));
    assert_eq!(entry.cache, Some(CacheOutcome::Revalidated));
    assert_eq!(
        reader.read(b"2026-11-22\t01:43:45"),
        Err(LineError::Missing("method (cs-method)"))
    );
    assert_eq!(detected(&[head, line]).0, "cloudfront");
}

#[test]
fn iis_whose_columns_change() {
    let lines: [&[u8]; 7] = [
        b"\xef\xbb\xbf#Software: Microsoft Internet Information Services 10.0\r\n",
        b"#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port c-ip cs(User-Agent) sc-status sc-win32-status time-taken\r\n",
        b"2026-11-22 01:43:45 10.0.0.4 GET /my+list q=x+y 443 203.0.113.7 Mozilla/5.0+(X) 200 0 85\r\n",
        b"2026-11-22 01:43:45 10.0.0.4 GET /stra\xdfe - 443 203.0.113.7 Mozilla/5.0+(X) 200 0 85\r\n",
        b"#Fields: date time c-ip cs-method cs-uri-stem cs-uri-query sc-status time-taken X-Forwarded-For\r\n",
        b"2026-11-22 01:43:46 203.0.113.9 GET /b - 200 1200 198.51.100.3:33453,+172.16.0.1\r\n",
        b"\r\n",
    ];
    let found = detect(&lines, None).unwrap();
    assert_eq!(found.format.name(), "iis");
    let mut reader = crate::LogReader::new(found.format);
    let read: Vec<_> = lines.iter().map(|line| reader.read(line)).collect();
    let entry = |at: usize| read[at].clone().unwrap().unwrap();
    assert_eq!(line_of(&entry(2)), "203.0.113.7 GET /my%20list?q=x+y 200");
    assert_eq!(entry(2).agent.as_deref(), Some("Mozilla/5.0 (X)"));
    assert_eq!(entry(2).lasted_ms, Some(85.0));
    assert_eq!(read[3], Err(LineError::NotText("the path")));
    assert_eq!(line_of(&entry(5)), "198.51.100.3 GET /b 200");
    assert_eq!(
        (entry(5).at_ms, entry(5).lasted_ms),
        (AT + 1000, Some(1200.0))
    );
    assert_eq!(read[6], Ok(None));
}

/// Quotes in a value in quotes are doubled; the day may be only in the head of the file.
#[test]
fn extended_logs_with_quotes_and_the_day_in_the_head() {
    let lines: [&[u8]; 5] = [
        b"#Version: 1.0",
        b"#Date: 2026-11-22 00:00:06",
        b"#Fields: time c-ip cs-method cs-uri sc-status cs(User-Agent) time-taken",
        b"01:43:45 10.0.0.7 GET \"/a b?x=\"\"y\"\"\" 200 \"M (X; \"\"q\"\") \" 0.250",
        b"01:43:46 10.0.0.7 GET /b 200 \"\" 0.250",
    ];
    let found = detect(&lines, None).unwrap();
    assert_eq!(found.format.name(), "w3c");
    let mut reader = crate::LogReader::new(found.format);
    let mut read = lines.iter().map(|line| reader.read(line).unwrap());
    let entry = read.nth(3).unwrap().unwrap();
    assert_eq!(line_of(&entry), "10.0.0.7 GET /a%20b?x=%22y%22 200");
    assert_eq!(
        (entry.at_ms, entry.lasted_ms, entry.agent.as_deref()),
        (AT, Some(250.0), Some("M (X; \"q\") "))
    );
    let entry = read.next().unwrap().unwrap();
    assert_eq!(line_of(&entry), "10.0.0.7 GET /b 200");
    assert_eq!((entry.at_ms, entry.agent), (AT + 1000, None));
}

/// The unit of `time-taken` is that of the log, not that of a line.
#[test]
fn whole_seconds_of_an_extended_log() {
    const HEAD: &[u8] = b"#Fields: date time c-ip cs-method cs-uri-stem sc-status time-taken";
    const WHOLE: &[u8] = b"2026-11-22 01:43:48 10.0.0.7 GET /a 200 3";
    const FRACTION: &[u8] = b"2026-11-22 01:43:48 10.0.0.7 GET /a 200 0.250";
    for (lines, lasted_ms) in [
        ([HEAD, WHOLE, FRACTION], 3000.0),
        ([HEAD, WHOLE, WHOLE], 3.0),
    ] {
        let by_name = Format::parse("w3c").unwrap();
        for wanted in [None, Some(&by_name)] {
            let found = detect(&lines, wanted).unwrap();
            let mut reader = crate::LogReader::new(found.format);
            reader.read(HEAD).unwrap();
            let entry = reader.read(WHOLE).unwrap().unwrap();
            assert_eq!(entry.lasted_ms, Some(lasted_ms));
        }
    }
}

#[test]
fn json_by_the_names_of_its_fields() {
    for (name, line) in [
        (
            "json",
            r#"{"time_iso8601":"2026-11-22T01:43:45+00:00","remote_addr":"10.0.0.7","request":"GET /a HTTP/1.1","status":"200","http_user_agent":"M","request_time":"0.034"}"#,
        ),
        (
            "json",
            r#"{"@timestamp":"2026-11-22T01:43:45Z","client_ip":"10.0.0.7","method":"GET","url":"/a","status_code":200,"user_agent":"M","duration_ms":34}"#,
        ),
        (
            "json",
            r#"{"@timestamp":"2026-11-22T01:43:45Z","source":{"ip":"10.0.0.7"},"http":{"request":{"method":"GET"},"response":{"status_code":200}},"url":{"path":"/a"},"user_agent":{"original":"M"},"event":{"duration":34000000}}"#,
        ),
        (
            "json",
            r#"{"time":"22/Nov/2026:01:43:45 +0000","x-forwarded-for":"10.0.0.7, 10.9.9.9","remote_addr":"10.9.9.9","request_method":"GET","request_uri":"/a","status":200,"http_user_agent":"M","request_time":0.034,"deep":[[{"a":{"b":"]"}}]]}"#,
        ),
        (
            "json",
            r#"{"timestamp":"22/Nov/2026:01:43:45 +0000","clientip":"10.0.0.7","verb":"GET","request":"/a","response":"200","bytes":"12","agent":"M","took":"34ms"}"#,
        ),
        (
            "json",
            r#"{"time":"[22/Nov/2026:01:43:45 +0000]","remoteIP":"10.0.0.7","method":"GET","request":"/a","query":"","status":"200","userAgent":"M","latency_us":34000}"#,
        ),
        (
            "caddy",
            r#"{"level":"info","ts":1795311825.0,"logger":"http.log.access","request":{"remote_ip":"10.0.0.7","remote_port":"1","method":"GET","host":"shop.example","uri":"/a","headers":{"User-Agent":["M","N"]}},"duration":0.034,"size":5,"status":200,"resp_headers":{"Server":["Caddy"]}}"#,
        ),
        (
            "pino",
            r#"{"level":30,"time":1795311825000,"hostname":"box","req":{"id":1,"method":"GET","url":"/a","headers":{"host":"shop.example","user-agent":"M"},"remoteAddress":"::ffff:10.0.0.7","remotePort":1},"res":{"statusCode":200},"responseTime":34,"msg":"request completed"}"#,
        ),
    ] {
        let entry = read(name, line);
        assert_eq!(line_of(&entry), "10.0.0.7 GET /a 200", "{line}");
        assert_eq!((entry.at_ms, entry.is_end), (AT, true), "{line}");
        assert_eq!(
            (entry.lasted_ms, entry.agent.as_deref()),
            (Some(34.0), Some("M")),
            "{line}"
        );
        assert_eq!(detected(&[line]).0, name, "{line}");
    }
    for (name, line) in [
        (
            "google-lb",
            r#"{"httpRequest":{"remoteIp":"10.0.0.7","requestMethod":"GET","requestUrl":"https://shop.example/a","status":200,"responseSize":"12","latency":"0.034s","userAgent":"M"},"timestamp":"2026-11-22T01:43:45Z","receiveTimestamp":"2026-11-22T01:43:46Z"}"#,
        ),
        (
            "envoy",
            r#"{"start_time":"2026-11-22T01:43:45.000Z","method":"GET","path":"/a","response_code":200,"response_flags":"-","duration":34,"x_forwarded_for":"10.0.0.7","user_agent":"M","authority":"shop.example"}"#,
        ),
        (
            "plimsoll",
            r#"{"client":"10.0.0.7","method":"GET","host":"shop.example","target":"/a","agent":"M","time":"2026-11-22T01:43:45.000Z","status":200,"bytes":12,"total_ms":34.000,"wait_ms":0.1,"reason":"origin"}"#,
        ),
    ] {
        let entry = read(name, line);
        assert_eq!(line_of(&entry), "10.0.0.7 GET /a 200", "{line}");
        assert_eq!((entry.began_ms(), entry.is_end), (AT, false), "{line}");
        assert_eq!(
            (entry.lasted_ms, entry.host.as_deref()),
            (Some(34.0), Some("shop.example")),
            "{line}"
        );
        assert_eq!(detected(&[line]).0, name, "{line}");
    }
}

/// Elastic's schema had methods in small letters; Envoy's users name fields as its commands.
#[test]
fn json_with_other_names_and_letters() {
    for line in [
        r#"{"@timestamp":"2026-11-22T01:43:45Z","http":{"request":{"method":"get"},"response":{"status_code":200,"body":{"bytes":5}}},"url":{"path":"/a"},"client":{"ip":"10.0.0.7"},"event":{"duration":34000000},"user_agent":{"original":"M"}}"#,
        r#"{"start_time":"2026-11-22T01:43:45Z",":method":"GET","x-envoy-original-path":"/a","response_code":"200","downstream_remote_address":"10.0.0.7:5","duration":"34","response_flags":"-"}"#,
    ] {
        let entry = read("json", line);
        assert_eq!(line_of(&entry), "10.0.0.7 GET /a 200", "{line}");
        assert_eq!(entry.lasted_ms, Some(34.0), "{line}");
    }
}

#[test]
fn json_that_is_odd() {
    // Nobody tells whether these are seconds or milliseconds.
    let bare = r#"{"time":"2026-11-22T01:43:45Z","ip":"10.0.0.7","method":"GET","path":"/a","status":200,"duration":12}"#;
    assert_eq!(read("json", bare).lasted_ms, None);
    assert_eq!(detected(&[bare]).1.len(), 1);
    for name in ["bytes_read", "authority"] {
        let of_application =
            bare.replace("\"duration\"", &format!("\"{name}\":\"5\",\"duration\""));
        assert_eq!(detected(&[&of_application]).0, "json");
        assert_eq!(read("json", &of_application).lasted_ms, None);
    }
    for (time, warnings) in [("0.250", 0), ("\"1.000\"", 0), ("250", 1), ("\"250\"", 1)] {
        let line = bare.replace(
            "\"duration\":12",
            &format!("\"request_time\": {time}, \"x\": 1.5"),
        );
        assert_eq!(detected(&[&line]).1.len(), warnings, "{line}");
    }
    let nested = r#"{"time":"2026-11-22T01:43:45Z","request":{"client_ip":"10.0.0.7","method":"GET","path":"/a"},"status":200,"duration":34}"#;
    assert_eq!(read("json", nested).lasted_ms, None);
    let lone = r#"{"time":"2026-11-22T01:43:45Z","ip":"10.0.0.7","method":"GET","path":"/a","status":200,"agent":"\ud83d"}"#;
    assert_eq!(read("json", lone).agent.as_deref(), Some("\u{fffd}"));
    let in_path = lone.replace("/a", r"/a\ud83d");
    assert!(error("json", &in_path).contains("the path is not UTF-8"));
    let raw = b"{\"time\":\"2026-11-22T01:43:45Z\",\"method\":\"GET\",\"path\":\"/\xe9\",\"status\":200,\"x\":\"\xff\"}";
    let entry = reader("json").read(raw).unwrap().unwrap();
    assert_eq!((entry.path.as_ref(), entry.address), ("/%E9", None));
    for (line, expected) in [
        ("{}", "timestamp"),
        ("{\"a\":", "the JSON at"),
        ("{\"time\":\"2026-11-22T01:43:45Z\"", "the JSON at"),
        ("[1]", "JSON object"),
        (
            "{\"time\":\"x\",\"method\":\"GET\",\"path\":\"/\",\"status\":1}",
            "timestamp",
        ),
    ] {
        let error = error("json", line);
        assert!(error.contains(expected), "{line}: {error}");
    }
    // As deep as a line can be.
    let deep = format!("{{\"a\":{}", "[".repeat(60_000));
    assert!(error("json", &deep).contains("the JSON"));
    let deep = format!("{{\"request\":{}", "{\"request\":".repeat(5_000));
    assert!(error("json", &deep).contains("the JSON"));
}

#[test]
fn load_balancers_of_amazon() {
    let alb = r#"https 2026-11-22T01:43:45.250000Z app/lb/50dc6c495c0c9188 10.0.0.7:2817 10.1.0.1:80 0.000 0.249 0.001 200 200 34 366 "GET https://shop.example:443/a?b HTTP/1.1" "curl/7.46.0" ECDHE-RSA TLSv1.2 arn:aws:x "Root=1-5" "shop.example" "arn:aws:acm" 0 2026-11-22T01:43:45.000000Z "forward" "-" "-" "10.1.0.1:80" "200" "-" "-""#;
    let entry = read("alb", alb);
    assert_eq!(line_of(&entry), "10.0.0.7 GET /a?b 200");
    assert_eq!((entry.began_ms(), entry.lasted_ms), (AT, Some(250.0)));
    assert_eq!(
        (entry.host.as_deref(), entry.bytes),
        (Some("shop.example"), Some(366))
    );
    assert_eq!(detected(&[alb]).0, "alb");
    let classic = r#"2026-11-22T01:43:45.000000Z lb 10.0.0.7:2817 10.1.0.1:80 0.01 0.2 0.04 200 200 0 29 "GET http://www.shop.example:80/ HTTP/1.1" "curl/7.38.0" - -"#;
    let entry = read("alb", classic);
    assert_eq!((entry.began_ms(), entry.is_end), (AT, false));
    assert!((entry.lasted_ms.unwrap() - 250.0).abs() < 1e-6);
}

#[test]
fn envoy_and_istio() {
    let envoy = r#"[2026-11-22T01:43:45.100Z] "GET /a?b HTTP/2" 200 - 154 1834 226 100 "10.0.0.7,10.0.0.1" "M x" "cc21d9b0" "shop.example" "10.0.2.1:80""#;
    let istio = r#"[2026-11-22T01:43:45.100Z] "GET /a?b HTTP/2" 200 - via_upstream - "-" 154 1834 226 100 "10.0.0.7" "M x" "cc21d9b0" "shop.example" "10.0.2.1:80" outbound|80||shop 10.0.1.1:1 10.0.1.2:2 10.9.0.1:3 - default"#;
    for line in [envoy, istio] {
        let entry = read("envoy", line);
        assert_eq!(line_of(&entry), "10.0.0.7 GET /a?b 200");
        assert_eq!((entry.began_ms(), entry.lasted_ms), (AT + 100, Some(226.0)));
        assert_eq!(
            (entry.bytes, entry.agent.as_deref()),
            (Some(1834), Some("M x"))
        );
        assert_eq!(entry.upstream.unwrap().response_ms, Some(100.0));
        assert_eq!(detected(&[line]).0, "envoy");
    }
}

#[test]
fn pairs() {
    let line = r#"ts=2026-11-22T01:43:45Z level=info method=GET path="/a?b=\"c\"" remote_addr=10.0.0.7:1234 status=200 duration=34ms user_agent="M x" flag"#;
    let entry = read("logfmt", line);
    assert_eq!(line_of(&entry), "10.0.0.7 GET /a?b=%22c%22 200");
    assert_eq!((entry.at_ms, entry.lasted_ms), (AT, Some(34.0)));
    assert_eq!(detected(&[line]).0, "logfmt");
}

#[test]
fn logs_of_the_edge() {
    let line = format!(
        "{} reason=origin total_ms=14.000 wait_ms=2.500",
        COMBINED.replace("/a?b=1", r#"/a\"\u00e9"#)
    );
    let entry = read("plimsoll", &line);
    assert_eq!(line_of(&entry), "10.0.0.7 GET /a%22%E9 200");
    assert_eq!(
        (entry.began_ms(), entry.lasted_ms, entry.is_end),
        (AT, Some(14.0), false)
    );
    assert_eq!(detected(&[&line]).0, "plimsoll");
}

#[test]
fn lines_that_are_none() {
    let at = "1.2.3.4 - - [22/Nov/2026:01:43:45 +0000]";
    for (text, expected) in [
        ("x".to_owned(), "timestamp in brackets is missing"),
        (
            "1.2.3.4 - - [yesterday] \"GET / HTTP/1.1\" 200 1".to_owned(),
            "the timestamp `yesterday` is not valid",
        ),
        (format!("{at} \"\\x16\\x03\" 400 1"), "the request"),
        (format!("{at} \"-\" 400 0"), "the request `-` is not valid"),
        (
            format!("{at} \"GET / HTTP/1.1\" abc 1"),
            "the status `abc` is not valid",
        ),
        (format!("{at} \"GET / HTTP/1.1"), "request in quotes"),
    ] {
        let found = error("nginx", &text);
        assert!(found.contains(expected), "{text}: {found}");
    }
    assert_eq!(
        reader("nginx").read("x".repeat(70 << 10).as_bytes()),
        Err(LineError::TooLong)
    );
    let wide = reader("nginx").read(b"\xff\xfe1\x000\x00").unwrap_err();
    assert!(wide.to_string().contains("UTF-16"));
    // A file that was truncated while open begins with NUL bytes.
    let mut line = vec![0; 300];
    line.extend_from_slice(COMBINED.as_bytes());
    assert!(reader("nginx").read(&line).unwrap().is_some());
}
