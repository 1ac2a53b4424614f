//! Random requests, written as each server writes them, come back as they were.

use std::fmt::Write as _;

use jiff::Timestamp;
use proptest::prelude::*;

use super::{AT, Format};
use crate::{LogReader, detect};

/// What happened.
#[derive(Clone, Debug)]
struct Truth {
    began_ms: i64,
    lasted_ms: u32,
    address: String,
    method: &'static str,
    /// Behind the first slash; bytes as the client sent them.
    path: Vec<u8>,
    agent: Vec<u8>,
    status: u16,
    bytes: u32,
}

fn truth(path: impl Strategy<Value = Vec<u8>>) -> impl Strategy<Value = Truth> {
    let address = prop_oneof![
        any::<[u8; 4]>().prop_map(|bytes| std::net::Ipv4Addr::from(bytes).to_string()),
        any::<[u16; 8]>()
            .prop_filter("mapped ones are written shorter", |words| words[5]
                != 0xffff)
            .prop_map(|words| std::net::Ipv6Addr::from(words).to_string()),
    ];
    let agent = prop::collection::vec(any::<u8>(), 1..20).prop_map(|mut agent| {
        agent.insert(0, b'M');
        agent
    });
    let method = prop_oneof![Just("GET"), Just("POST"), Just("PROPFIND")];
    let numbers = (
        0..100_000_000_i64,
        0..600_000_u32,
        100..600_u16,
        any::<u32>(),
    );
    (numbers, address, method, path, agent).prop_map(
        |((second, lasted_ms, status, bytes), address, method, path, agent)| Truth {
            began_ms: AT + second * 1000,
            lasted_ms,
            address,
            method,
            path,
            agent,
            status,
            bytes,
        },
    )
}

/// Any bytes but a blank, which would end the target.
fn any_path() -> impl Strategy<Value = Vec<u8>> {
    let byte = any::<u8>().prop_filter("ends the target", |byte| *byte != b' ');
    prop::collection::vec(byte, 0..24)
}

/// As a client sends it.
fn sent(bytes: &[u8]) -> String {
    let mut out = String::from("/");
    for byte in bytes {
        if byte.is_ascii_graphic() && !b"\"<>\\".contains(byte) {
            out.push(char::from(*byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

fn common(ms: i64) -> String {
    let moment = Timestamp::from_millisecond(ms).unwrap();
    moment.strftime("%d/%b/%Y:%H:%M:%S +0000").to_string()
}

fn iso(ms: i64) -> String {
    let moment = Timestamp::from_millisecond(ms).unwrap();
    moment.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

/// Writes bytes, those for which `is_plain` does not hold by `escaped`.
fn written(
    start: &str,
    bytes: &[u8],
    is_plain: impl Fn(u8) -> bool,
    escaped: impl Fn(u8) -> String,
) -> Vec<u8> {
    let mut out = start.as_bytes().to_vec();
    for byte in bytes {
        if is_plain(*byte) {
            out.push(*byte);
        } else {
            out.extend(escaped(*byte).into_bytes());
        }
    }
    out
}

fn is_printable(byte: u8) -> bool {
    matches!(byte, 0x20..0x7f) && byte != b'"' && byte != b'\\'
}

fn by_nginx(bytes: &[u8]) -> Vec<u8> {
    written("", bytes, is_printable, |byte| format!("\\x{byte:02X}"))
}

fn by_apache(bytes: &[u8]) -> Vec<u8> {
    written("", bytes, is_printable, |byte| match byte {
        b'"' => "\\\"".to_owned(),
        b'\\' => "\\\\".to_owned(),
        b'\n' => "\\n".to_owned(),
        b'\t' => "\\t".to_owned(),
        byte => format!("\\x{byte:02x}"),
    })
}

fn by_edge(bytes: &[u8]) -> Vec<u8> {
    written("", bytes, is_printable, |byte| match byte {
        b'"' | b'\\' => format!("\\{}", char::from(byte)),
        byte => format!("\\u00{byte:02x}"),
    })
}

fn by_haproxy(bytes: &[u8]) -> Vec<u8> {
    let is_plain = |byte| matches!(byte, 0x21..0x7f) && byte != b'"' && byte != b'#';
    written("", bytes, is_plain, |byte| format!("#{byte:02X}"))
}

/// As nginx' `escape=json`: bytes outside of ASCII stay.
fn by_json(bytes: &[u8]) -> Vec<u8> {
    let is_plain = |byte| byte >= 0x20 && byte != b'"' && byte != b'\\';
    written("", bytes, is_plain, |byte| match byte {
        b'"' | b'\\' => format!("\\{}", char::from(byte)),
        byte => format!("\\u00{byte:02X}"),
    })
}

fn by_cloudfront(bytes: &[u8]) -> Vec<u8> {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'%' && byte != b'"';
    written("", bytes, is_plain, |byte| format!("%{byte:02X}"))
}

/// Bytes of a line from its parts.
fn line(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

/// A line of the combined family.
fn combined(truth: &Truth, at_ms: i64, escape: fn(&[u8]) -> Vec<u8>, tail: &str) -> Vec<u8> {
    let front = format!(
        "{} - - [{}] \"{} /",
        truth.address,
        common(at_ms),
        truth.method
    );
    let middle = format!(" HTTP/1.1\" {} {} \"-\" \"", truth.status, truth.bytes);
    line(&[
        front.as_bytes(),
        &escape(&truth.path),
        middle.as_bytes(),
        &escape(&truth.agent),
        b"\"",
        tail.as_bytes(),
    ])
}

/// Checks that a line is read as what happened, by the detected format and by the named one.
fn check(name: &str, line: &[u8], truth: &Truth, has_lasted: bool) -> Result<(), TestCaseError> {
    let wanted = Format::parse(name).unwrap();
    let by_name = detect(&[line], Some(&wanted)).unwrap();
    let found = detect(&[line], None).unwrap();
    for format in [by_name.format, found.format] {
        let context = format!("{}: {}", format.name(), String::from_utf8_lossy(line));
        let entry = LogReader::new(format).read(line).unwrap().unwrap();
        prop_assert_eq!(entry.path.as_ref(), sent(&truth.path), "{}", context);
        prop_assert_eq!(entry.method.as_ref(), truth.method, "{}", context);
        prop_assert_eq!(entry.status, truth.status, "{}", context);
        prop_assert_eq!(
            entry.address.as_deref(),
            Some(truth.address.as_str()),
            "{}",
            context
        );
        if has_lasted {
            let lasted = entry.lasted_ms.unwrap_or(-1.0);
            prop_assert!(
                (lasted - f64::from(truth.lasted_ms)).abs() < 1e-6,
                "{}",
                context
            );
            // Moments to the second lose what is below.
            let off = entry.began_ms() - truth.began_ms;
            prop_assert!((-1000..=0).contains(&off), "{}: {}", context, off);
        }
    }
    Ok(())
}

fn check_agent(name: &str, line: &[u8], truth: &Truth) -> Result<(), TestCaseError> {
    let mut reader = LogReader::new(Format::parse(name).unwrap());
    let entry = reader.read(line).unwrap().unwrap();
    let agent = String::from_utf8_lossy(&truth.agent);
    prop_assert_eq!(entry.agent.as_deref(), Some(agent.as_ref()));
    prop_assert_eq!(entry.bytes, Some(u64::from(truth.bytes)));
    Ok(())
}

fn seconds(ms: u32) -> String {
    format!("{}.{:03}", ms / 1000, ms % 1000)
}

proptest! {
    #[test]
    fn nginx_and_ingress(truth in truth(any_path())) {
        let ended = truth.began_ms + i64::from(truth.lasted_ms);
        let took = seconds(truth.lasted_ms);
        let plain = combined(&truth, ended, by_nginx, &format!(" {took}"));
        check("nginx", &plain, &truth, true)?;
        check_agent("nginx", &plain, &truth)?;
        let tail = format!(" {} {took} [a-b-80] [] 10.0.0.1:80 5 {took} 200 0f", truth.bytes);
        check("ingress-nginx", &combined(&truth, ended, by_nginx, &tail), &truth, true)?;
    }

    #[test]
    fn apache_traefik_and_the_edge(truth in truth(any_path())) {
        let plain = combined(&truth, truth.began_ms, by_apache, "");
        check("apache", &plain, &truth, false)?;
        check_agent("apache", &plain, &truth)?;
        let tail = format!(" 17 \"web@file\" \"http://10.0.0.1:80\" {}ms", truth.lasted_ms);
        check("traefik", &combined(&truth, truth.began_ms, by_apache, &tail), &truth, true)?;
        let tail = format!(" reason=origin total_ms={}.000 wait_ms=0.100", truth.lasted_ms);
        check("plimsoll", &combined(&truth, truth.began_ms, by_edge, &tail), &truth, true)?;
    }

    #[test]
    fn haproxy(truth in truth(any_path())) {
        let at = common(truth.began_ms).replace(" +0000", ".000");
        let front = format!(
            "{}:4711 [{at}] web app/one 0/0/0/1/{} {} {} - - ---- 1/1/1/1/0 0/0 \"{} /",
            truth.address, truth.lasted_ms, truth.status, truth.bytes, truth.method
        );
        let line = line(&[front.as_bytes(), &by_haproxy(&truth.path), b" HTTP/1.1\""]);
        check("haproxy", &line, &truth, true)?;
    }

    #[test]
    fn json(truth in truth(any_path())) {
        let ended = iso(truth.began_ms + i64::from(truth.lasted_ms));
        let front = format!(
            "{{\"time\":\"{ended}\",\"remote_addr\":\"{}\",\"body_bytes_sent\":{},\"status\":{},\"duration_ms\":{},\"request_method\":\"{}\",\"request_uri\":\"/",
            truth.address, truth.bytes, truth.status, truth.lasted_ms, truth.method
        );
        let line = line(&[front.as_bytes(), &by_json(&truth.path), b"\",\"http_user_agent\":\"", &by_json(&truth.agent), b"\"}"]);
        check("json", &line, &truth, true)?;
        check_agent("json", &line, &truth)?;
    }

    #[test]
    fn edge_in_json(truth in truth(any_path())) {
        let front = format!("{{\"client\":\"{}\",\"method\":\"{}\",\"host\":\"h\",\"target\":\"/", truth.address, truth.method);
        let end = format!(
            "\",\"time\":\"{}\",\"status\":{},\"bytes\":{},\"total_ms\":{}.000,\"reason\":\"origin\"}}",
            iso(truth.began_ms), truth.status, truth.bytes, truth.lasted_ms
        );
        let line = line(&[front.as_bytes(), &by_edge(&truth.path), b"\",\"agent\":\"", &by_edge(&truth.agent), end.as_bytes()]);
        check("plimsoll", &line, &truth, true)?;
        check_agent("plimsoll", &line, &truth)?;
    }

    #[test]
    fn cloudfront(truth in truth(any_path())) {
        let ended = iso(truth.began_ms + i64::from(truth.lasted_ms));
        let front = format!("{}\t{}\tFRA50\t{}\t{}\t{}\td1.cloudfront.net\t/", &ended[..10], &ended[11..19], truth.bytes, truth.address, truth.method);
        let end = format!("\t-\t-\tHit\tid\tshop.example\thttps\t9\t{}\t-", seconds(truth.lasted_ms));
        // A question mark would begin the query, which has a column of its own.
        let mut truth = truth.clone();
        truth.path.retain(|byte| *byte != b'?');
        let status = format!("\t{}\t-\t", truth.status);
        let line = line(&[front.as_bytes(), &by_cloudfront(&truth.path), status.as_bytes(), &by_cloudfront(&truth.agent), end.as_bytes()]);
        check("cloudfront", &line, &truth, true)?;
        check_agent("cloudfront", &line, &truth)?;
    }

    #[test]
    fn configured(truth in truth(any_path())) {
        let ended = iso(truth.began_ms + i64::from(truth.lasted_ms));
        for (format, escape) in [
            ("log_format x '$remote_addr [$time_iso8601] $status $request_time \"$request\" \"$http_user_agent\" $bytes_sent';", by_nginx as fn(&[u8]) -> Vec<u8>),
            ("log_format x escape=json '$remote_addr [$time_iso8601] $status $request_time \"$request\" \"$http_user_agent\" $bytes_sent';", by_json),
        ] {
            let front = format!("{} [{ended}] {} {} \"{} /", truth.address, truth.status, seconds(truth.lasted_ms), truth.method);
            let bytes = format!("\" {}", truth.bytes);
            let line = line(&[front.as_bytes(), &escape(&truth.path), b" HTTP/1.1\" \"", &escape(&truth.agent), bytes.as_bytes()]);
            let mut reader = LogReader::new(Format::parse(format).unwrap());
            let entry = reader.read(&line).unwrap().unwrap();
            prop_assert_eq!(entry.path.as_ref(), sent(&truth.path));
            prop_assert_eq!(entry.began_ms(), truth.began_ms);
            check_agent(format, &line, &truth)?;
        }
    }

    #[test]
    fn iis(truth in truth("[a-zA-Z0-9/ äß€.,_-]{0,20}".prop_map(String::into_bytes))) {
        let ended = iso(truth.began_ms + i64::from(truth.lasted_ms));
        let front = format!("{} {} {} {} /", &ended[..10], &ended[11..19], truth.address, truth.method);
        let path: Vec<u8> = truth.path.iter().map(|byte| if *byte == b' ' { b'+' } else { *byte }).collect();
        let end = format!(" - {} 0 {}", truth.status, truth.lasted_ms);
        let line = line(&[front.as_bytes(), &path, end.as_bytes()]);
        let head: &[u8] = b"#Fields: date time c-ip cs-method cs-uri-stem cs-uri-query sc-status sc-win32-status time-taken";
        let mut reader = LogReader::new(detect(&[head, &line], None).unwrap().format);
        prop_assert_eq!(reader.read(head), Ok(None));
        let entry = reader.read(&line).unwrap().unwrap();
        prop_assert_eq!(entry.path.as_ref(), sent(&truth.path));
        prop_assert_eq!(entry.lasted_ms, Some(f64::from(truth.lasted_ms)));
    }

    /// Formats whose values are in the alphabet of URLs.
    #[test]
    fn amazon_envoy_and_pairs(truth in truth("[!$-;=?-Z_a-z~]{0,20}".prop_map(String::into_bytes))) {
        let path = String::from_utf8(truth.path.clone()).unwrap();
        let (began, took) = (iso(truth.began_ms), truth.lasted_ms);
        let ended = iso(truth.began_ms + i64::from(took));
        let bracketed = if truth.address.contains(':') { format!("[{}]", truth.address) } else { truth.address.clone() };
        let alb = format!(
            "h2 {ended} app/x/1 {bracketed}:1 10.0.0.1:80 0.0 0.1 0.0 {} 200 3 {} \"{} https://shop.example:443/{path} HTTP/2.0\" \"M\" - - arn \"R\" \"shop.example\" \"-\" 0 {began} \"forward\" \"-\"",
            truth.status, truth.bytes, truth.method
        );
        check("alb", alb.as_bytes(), &truth, true)?;
        let envoy = format!(
            "[{began}] \"{} /{path} HTTP/1.1\" {} - 1 {} {took} 3 \"{}\" \"M\" \"id\" \"h\" \"10.0.0.1:80\"",
            truth.method, truth.status, truth.bytes, truth.address
        );
        check("envoy", envoy.as_bytes(), &truth, true)?;
        let pairs = format!(
            "ts={ended} method={} path=\"/{path}\" status={} client_ip={} duration={took}ms",
            truth.method, truth.status, truth.address
        );
        check("logfmt", pairs.as_bytes(), &truth, true)?;
    }

    /// JSON as each vendor writes it, with values in the alphabet of URLs.
    #[test]
    fn objects_of_vendors(truth in truth("[!$-;=?-Z_a-z~]{0,20}".prop_map(String::into_bytes))) {
        let path = String::from_utf8(truth.path.clone()).unwrap();
        let Truth { began_ms, lasted_ms, address, method, status, bytes, .. } = &truth;
        let ended_ms = began_ms + i64::from(*lasted_ms);
        let (began, ended, took) = (iso(*began_ms), iso(ended_ms), seconds(*lasted_ms));
        let ended_s = format!("{}.{:03}", ended_ms / 1000, ended_ms % 1000);
        let caddy = format!(
            "{{\"level\":\"info\",\"ts\":{ended_s},\"logger\":\"http.log.access\",\"request\":{{\"remote_ip\":\"{address}\",\"remote_port\":\"1\",\"method\":\"{method}\",\"host\":\"h\",\"uri\":\"/{path}\",\"headers\":{{\"User-Agent\":[\"M\"]}}}},\"duration\":{took},\"size\":{bytes},\"status\":{status}}}"
        );
        check("caddy", caddy.as_bytes(), &truth, true)?;
        let pino = format!(
            "{{\"level\":30,\"time\":{ended_ms},\"req\":{{\"method\":\"{method}\",\"url\":\"/{path}\",\"headers\":{{\"user-agent\":\"M\"}},\"remoteAddress\":\"{address}\"}},\"res\":{{\"statusCode\":{status}}},\"responseTime\":{lasted_ms},\"msg\":\"request completed\"}}"
        );
        check("pino", pino.as_bytes(), &truth, true)?;
        let google = format!(
            "{{\"httpRequest\":{{\"remoteIp\":\"{address}\",\"requestMethod\":\"{method}\",\"requestUrl\":\"https://shop.example/{path}\",\"status\":{status},\"responseSize\":\"{bytes}\",\"latency\":\"{took}s\",\"userAgent\":\"M\"}},\"timestamp\":\"{began}\"}}"
        );
        check("google-lb", google.as_bytes(), &truth, true)?;
        let traefik = format!(
            "{{\"ClientHost\":\"{address}\",\"DownstreamStatus\":{status},\"Duration\":{},\"RequestHost\":\"h\",\"RequestMethod\":\"{method}\",\"RequestPath\":\"/{path}\",\"StartUTC\":\"{began}\",\"time\":\"{ended}\"}}",
            u64::from(*lasted_ms) * 1_000_000
        );
        check("traefik", traefik.as_bytes(), &truth, true)?;
        let envoy = format!(
            "{{\"start_time\":\"{began}\",\"method\":\"{method}\",\"path\":\"/{path}\",\"response_code\":{status},\"response_flags\":\"-\",\"duration\":{lasted_ms},\"x_forwarded_for\":\"{address}\",\"user_agent\":\"M\",\"authority\":\"h\"}}"
        );
        check("envoy", envoy.as_bytes(), &truth, true)?;
    }

    #[test]
    fn no_line_panics(line in prop::collection::vec(any::<u8>(), 0..200)) {
        for name in Format::names() {
            let _ = LogReader::new(Format::parse(name).unwrap()).read(&line);
        }
        let _ = detect(&[&line], None);
    }

    /// What looks like a line reaches deeper than random bytes.
    #[test]
    fn no_damaged_line_panics(truth in truth(any_path()), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let tail = " 512 0.100 [a] [] 10.0.0.1:80 5 0.1 200 0f";
        let mut line = combined(&truth, truth.began_ms, by_nginx, tail);
        let place = at.index(line.len());
        line[place] = byte;
        for name in Format::names() {
            let _ = LogReader::new(Format::parse(name).unwrap()).read(&line);
        }
        let _ = detect(&[&line], None);
    }

    #[test]
    fn no_configuration_panics(text in "(log_format x |LogFormat |log-format )?['\"]?[$%{}()\\[\\]a-zA-Z_:+'\" ]{0,60}") {
        let _ = Format::parse(&text);
    }
}
