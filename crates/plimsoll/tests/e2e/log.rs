//! The day of a log by the binary: generated logs of several formats, compressed, in pieces, damaged.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use crate::support::{CommandOutput, Sandbox, assert_near, count, number};

/// 2026-11-26 00:00 UTC.
const MIDNIGHT_S: u64 = 1_795_651_200;

/// A line of nginx' combined format, `second` after midnight.
fn line(second: u64, address: &str, path: &str, status: u16, bytes: u64) -> String {
    let (hour, minute) = (second / 3600 % 24, second / 60 % 60);
    format!(
        "{address} - - [26/Nov/2026:{hour:02}:{minute:02}:{:02} +0000] \"GET {path} HTTP/1.1\" {status} {bytes} \"-\" \"Mozilla/5.0 Firefox/130\"\n",
        second % 60
    )
}

/// An hour: each minute 60 visits of two pages, of which three in four begin on the front page; a peak in the last minute.
fn hour() -> String {
    let mut text = String::new();
    let mut client = 0_u64;
    for second in 0..3600_u64 {
        let visits = if second >= 3540 { 5 } else { 1 };
        for _ in 0..visits {
            client += 1;
            let address = format!("198.51.{}.{}", client / 250, client % 250 + 1);
            let first = if client.is_multiple_of(4) {
                "/news/a?ref=secret-value"
            } else {
                "/"
            };
            text.push_str(&line(second, &address, first, 200, 5_000));
            text.push_str(&line(second, &address, "/app.css", 200, 900));
            let page = format!("/article/{}", client % 40);
            text.push_str(&line(
                second,
                &address,
                &page,
                if client.is_multiple_of(100) { 500 } else { 200 },
                8_000,
            ));
        }
    }
    text
}

fn log(place: &Sandbox, arguments: &[&str]) -> CommandOutput {
    let mut all = vec!["log"];
    all.extend(arguments);
    place.run(&all)
}

fn day(place: &Sandbox, arguments: &[&str]) -> Value {
    let mut all = arguments.to_vec();
    all.push("--json");
    let output = log(place, &all);
    assert_eq!(output.code, 0, "{output:?}");
    output.json()
}

fn write(place: &Sandbox, name: &str, content: &[u8]) {
    std::fs::write(place.path().join(name), content).unwrap();
}

#[test]
fn the_day_of_a_log_is_that_of_its_generator() {
    let place = Sandbox::new();
    write(&place, "access.log", hour().as_bytes());
    let day = day(&place, &["access.log"]);
    let visits = 3540 + 60 * 5;
    assert_eq!(day["format"], "nginx");
    assert_eq!(
        (count(&day, "lines"), count(&day, "unreadable")),
        (visits * 3, 0)
    );
    assert_eq!(count(&day, "visits"), visits);
    assert_near(number(&day, "landing_share"), 0.75, 0.001, "landing share");
    assert_eq!(count(&day, "kinds.page"), visits * 2);
    assert_eq!(count(&day, "kinds.asset"), visits);
    assert_eq!(count(&day, "statuses.500"), visits / 100);
    assert_eq!(count(&day, "busiest.second.requests"), 15);
    assert_eq!(count(&day, "busiest.minute.requests"), 900);
    assert_eq!(day["busiest"]["minute"]["at"], "2026-11-26T00:59:00Z");
    assert_eq!(day["requests_by_minute"].as_array().unwrap().len(), 60);
    assert_eq!(count(&day, "funnel.reach_service"), visits * 3);
    assert_eq!(count(&day, "funnel.page_views"), visits * 2 - visits / 100);
    assert!(day["countries"].is_null() && day["termination"].is_null());
    let sizes = day["edge_cache"]["sizes"].as_array().unwrap();
    assert_eq!(sizes.len(), 4);
    assert!(number(&sizes[3], "hit_share") > 0.95, "{sizes:?}");
}

#[test]
fn the_object_follows_its_schema() {
    let place = Sandbox::new();
    write(&place, "access.log", hour().as_bytes());
    let day = day(&place, &["access.log"]);
    place.assert_follows_schema("log", &day);
}

#[test]
fn pieces_are_read_in_order_compressed_or_not() {
    let place = Sandbox::new();
    let text = hour();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let piece = |from: usize, to: usize| lines[from..to].concat();
    let third = lines.len() / 3;
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(piece(third, 2 * third).as_bytes()).unwrap();
    write(
        &place,
        "access.log",
        piece(2 * third, lines.len()).as_bytes(),
    );
    write(&place, "access.log.1.gz", &gzip.finish().unwrap());
    let oldest = zstd::encode_all(piece(0, third).as_bytes(), 1).unwrap();
    write(&place, "access.log.2.zst", &oldest);
    write(&place, "access.log.3", b"");
    write(&place, "whole.log", text.as_bytes());
    let whole = day(&place, &["whole.log"]);
    let mut pieces = day(
        &place,
        &[
            "access.log",
            "access.log.1.gz",
            "access.log.2.zst",
            "access.log.3",
        ],
    );
    let expected = ["access.log.2.zst", "access.log.1.gz", "access.log"];
    assert_eq!(pieces["files"], serde_json::json!(expected));
    pieces["files"] = whole["files"].clone();
    assert_eq!(pieces, whole);
}

#[test]
fn standard_input_is_a_log() {
    let place = Sandbox::new();
    let mut child: std::process::Child = {
        let mut command: Command = place.command(&["log", "-", "--json"]);
        command.stdin(Stdio::piped()).spawn().unwrap()
    };
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(hour().as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let day: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(count(&day, "lines"), 3840 * 3);
}

#[test]
fn the_page_has_no_address_and_no_value_of_a_query() {
    let place = Sandbox::new();
    write(&place, "access.log", hour().as_bytes());
    let output = log(&place, &["access.log", "--out", "result"]);
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.stdout.contains("3,840 visits"), "{}", output.stdout);
    let page = std::fs::read_to_string(place.path().join("result/log.html")).unwrap();
    let object = std::fs::read_to_string(place.path().join("result/log.json")).unwrap();
    for text in [&page, &object, &output.stdout] {
        assert!(!text.contains("198.51.") && !text.contains("secret-value"));
    }
    assert!(page.contains("/news/a?ref=…") && page.contains("Content-Security-Policy"));
    assert!(!page.contains("<script"));
}

#[test]
fn termination_codes_of_haproxy_are_explained() {
    let place = Sandbox::new();
    let mut text = String::new();
    for second in 0..60 {
        for (server, status, times, state) in [
            ("web/a", 200, "0/5/1/20/26", "----"),
            ("web/b", 504, "0/0/1/-1/30001", "sH--"),
            ("web/<NOSRV>", 503, "0/30000/-1/-1/30000", "sQ--"),
        ] {
            writeln!(
                text,
                "Nov 26 10:00:{second:02} lb haproxy[1]: 192.0.2.1:5000 [26/Nov/2026:10:00:{second:02}.000] front {server} {times} {status} 1000 - - {state} 1/1/1/1/0 0/3 \"GET /article HTTP/1.1\""
            )
            .unwrap();
        }
    }
    write(&place, "haproxy.log", text.as_bytes());
    let day = day(&place, &["haproxy.log"]);
    assert_eq!(day["format"], "haproxy");
    assert_eq!(count(&day, "termination.sH.count"), 60);
    assert_eq!(count(&day, "termination.sQ.count"), 60);
    let meaning = day["termination"]["sQ"]["meaning"].as_str().unwrap();
    assert!(meaning.contains("timeout queue"), "{meaning}");
    let servers = day["haproxy"]["servers"].as_array().unwrap();
    assert_eq!(servers.len(), 3);
    assert_eq!(count(&day, "haproxy.queue_ms.count"), 180);
    assert_eq!(count(&day, "funnel.reach_service"), 120);
}

#[test]
fn requests_are_counted_by_country() {
    let place = Sandbox::new();
    write(&place, "access.log", hour().as_bytes());
    let networks = [("198.51.0.0".parse().unwrap(), 21, "FI")];
    write(
        &place,
        "c.mmdb",
        &plimsoll_testkit::countries::countries(&networks),
    );
    let counted = day(&place, &["access.log", "--countries", "c.mmdb"]);
    let countries = &counted["countries"];
    // 198.51.0 to 198.51.7: clients 1 to 1,999.
    assert_eq!(count(countries, "FI"), 1999 * 3);
    assert_eq!(count(countries, "unknown"), (3840 - 1999) * 3);
    write(&place, "bad.mmdb", b"no database");
    let output = log(&place, &["access.log", "--countries", "bad.mmdb"]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(output.stderr.contains("bad.mmdb"), "{output:?}");
}

/// What does not depend on the order of requests within a second.
const OF_ALL_REQUESTS: [&str; 8] = [
    "lines",
    "kinds",
    "statuses",
    "visits",
    "landing_share",
    "funnel",
    "busiest",
    "requests_by_minute",
];

#[test]
fn logs_of_several_servers_are_merged_by_time() {
    let place = Sandbox::new();
    let text = hour();
    write(&place, "whole.log", text.as_bytes());
    // Each visit has three requests, and each goes to another server.
    let mut servers = [String::new(), String::new(), String::new()];
    for (index, line) in text.lines().enumerate() {
        writeln!(servers[index % 3], "{line}").unwrap();
    }
    let names = ["a.log", "b.log", "c.log"];
    for (name, lines) in names.iter().zip(&servers) {
        write(&place, name, lines.as_bytes());
    }
    // The second server has a rotated log.
    let half = servers[1].lines().count() / 2;
    let at = servers[1]
        .match_indices('\n')
        .nth(half)
        .map_or(0, |(at, _)| at + 1);
    let (early, late) = servers[1].split_at(at);
    let mut early_gz = GzEncoder::new(Vec::new(), Compression::fast());
    early_gz.write_all(early.as_bytes()).unwrap();
    write(&place, "b.log.1.gz", &early_gz.finish().unwrap());
    write(&place, "b.log", late.as_bytes());
    let whole = day(&place, &["whole.log"]);
    // Requests of one second come in the order in which the files began: a, c and b, whose pages are no first ones.
    let merged = day(&place, &["b.log", "a.log", "b.log.1.gz", "c.log"]);
    for key in OF_ALL_REQUESTS {
        assert_eq!(merged[key], whole[key], "{key}");
    }
}

/// More logs than are open at the same time: the order is coarser, and nothing is lost.
#[test]
fn logs_of_many_servers_are_read_whole() {
    let place = Sandbox::new();
    let text = hour();
    write(&place, "whole.log", text.as_bytes());
    let mut servers = vec![String::new(); 20];
    for (index, line) in text.lines().enumerate() {
        writeln!(servers[index % 20], "{line}").unwrap();
    }
    let names: Vec<String> = (0..20).map(|server| format!("{server}.log")).collect();
    for (name, lines) in names.iter().zip(&servers) {
        write(&place, name, lines.as_bytes());
    }
    let whole = day(&place, &["whole.log"]);
    let mut arguments: Vec<&str> = names.iter().map(String::as_str).collect();
    arguments.push("--json");
    let output = log(&place, &arguments);
    assert_eq!(output.code, 0, "{output:?}");
    assert!(
        output.stderr.contains("more than 16 files overlap in time"),
        "{}",
        output.stderr
    );
    let merged = output.json();
    for key in ["lines", "statuses", "requests_by_minute"] {
        assert_eq!(merged[key], whole[key], "{key}");
    }
}

#[test]
fn logs_of_containers_are_those_of_their_servers() {
    let place = Sandbox::new();
    let text = hour();
    write(&place, "access.log", text.as_bytes());
    let plain = day(&place, &["access.log"]);
    let wrap = |wrapped: &dyn Fn(&str) -> String| -> String {
        text.lines().map(|line| wrapped(line) + "\n").collect()
    };
    let at = "2026-11-26T00:00:00.000000001Z";
    let docker = wrap(&|line| {
        let object =
            serde_json::json!({ "log": format!("{line}\n"), "stream": "stdout", "time": at });
        object.to_string()
    });
    let cri = wrap(&|line| {
        let (first, second) = line.split_at(30);
        format!("{at} stdout P {first}\n{at} stderr F error\n{at} stdout F {second}")
    });
    let compose = wrap(&|line| format!("web-1  | {line}"));
    let syslog = wrap(&|line| format!("<190>1 {at} web nginx 7 - - {line}"));
    for (name, content, evidence) in [
        ("docker.log", docker, "taken out of Docker's JSON"),
        (
            "compose.log",
            compose,
            "taken out of the prefix of docker compose",
        ),
        ("syslog.log", syslog, "taken out of a syslog header"),
        (
            "cri.log",
            cri,
            "taken out of the prefix of a container runtime",
        ),
    ] {
        write(&place, name, content.as_bytes());
        let output = log(&place, &[name, "--json"]);
        assert_eq!(output.code, 0, "{name}: {}", output.stderr);
        assert!(output.stderr.contains(evidence), "{}", output.stderr);
        let found = output.json();
        for key in [
            "kinds",
            "statuses",
            "visits",
            "funnel",
            "requests_by_minute",
        ] {
            assert_eq!(found[key], plain[key], "{name}: {key}");
        }
        let target = ["--target", "http://127.0.0.1/"];
        let output = place.run(&[&["import", "log", name][..], &target].concat());
        assert_eq!(output.code, 0, "{name}: {}", output.stderr);
        assert!(output.stderr.contains(evidence), "{}", output.stderr);
    }
}

#[test]
fn cpu_is_shown_beside_the_same_minutes() {
    let place = Sandbox::new();
    write(&place, "access.log", hour().as_bytes());
    let mut text =
        "# hostname;interval;timestamp;CPU;%user;%nice;%system;%iowait;%steal;%idle\n".to_owned();
    for minute in 1..=60 {
        let busy = if minute == 60 { 80 } else { 20 };
        let at =
            jiff::Timestamp::from_second(i64::try_from(MIDNIGHT_S).unwrap() + minute * 60).unwrap();
        let at = at.to_string().replace('T', " ").replace('Z', " UTC");
        writeln!(text, "web1;60;{at};-1;{busy};0;0;0;0;{}", 100 - busy).unwrap();
    }
    write(&place, "cpu.txt", text.as_bytes());
    let day = day(&place, &["access.log", "--cpu", "cpu.txt"]);
    let series = &day["cpu"][0];
    assert_eq!(series["name"], "web1");
    let minutes = series["minutes"].as_array().unwrap();
    assert_eq!(minutes.len(), 60);
    assert_near(number(&minutes[59], "busy"), 0.8, 0.001, "busy");
    assert!(number(series, "correlation") > 0.99);
    // Of other hours nothing is known, which is not 0 %.
    write(&place, "other.txt", text.replace(" 0", " 2").as_bytes());
    let output = log(&place, &["access.log", "--cpu", "other.txt"]);
    assert!(
        output
            .stdout
            .contains("none of its minutes is one of the log"),
        "{output:?}"
    );
    let output = log(&place, &["access.log", "--cpu", "access.log"]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(
        output.stderr.contains("line 1") && output.stderr.contains("sadf"),
        "{output:?}"
    );
}

#[test]
fn bad_input_is_named_and_ends_with_2() {
    let place = Sandbox::new();
    let binary: Vec<u8> = (0..200_000_u32)
        .map(|at| u8::try_from(at * 7919 % 251).unwrap())
        .collect();
    write(&place, "binary", &binary);
    write(&place, "empty", b"");
    write(&place, "blank", b"\n\n\n");
    write(&place, "words", "these are words\n".repeat(100).as_bytes());
    let mut long = vec![b'a'; 80 << 20];
    long.push(b'\n');
    write(&place, "long", &long);
    for name in ["binary", "empty", "blank", "words", "long", "missing"] {
        let output = log(&place, &[name]);
        assert_eq!(output.code, 2, "{name}: {output:?}");
        assert!(
            output.stderr.contains(name) && output.stdout.is_empty(),
            "{output:?}"
        );
        assert!(output.stderr.len() < 3_000, "{name}: {output:?}");
    }
    let output = log(&place, &["words", "--format", "no such format"]);
    assert_eq!(output.code, 2);
    assert!(output.stderr.contains("valid: nginx"), "{output:?}");
    // Among good lines a long one is one unreadable line.
    let mut text = hour().into_bytes();
    text.extend(long);
    write(&place, "mixed", &text);
    let day = day(&place, &["mixed"]);
    assert_eq!(
        (count(&day, "lines"), count(&day, "unreadable")),
        (3840 * 3 + 1, 1)
    );
}

#[test]
fn a_damaged_file_is_counted_up_to_the_damage() {
    let place = Sandbox::new();
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(hour().as_bytes()).unwrap();
    let mut packed = gzip.finish().unwrap();
    packed.truncate(packed.len() / 2);
    write(&place, "access.log.gz", &packed);
    let output = log(&place, &["access.log.gz", "--json"]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(output.stderr.contains("access.log.gz"), "{output:?}");
    let read = count(&output.json(), "lines");
    assert!((1000..3840 * 3).contains(&read), "{read}");
    let imported = place.run(&["import", "log", "access.log.gz"]);
    assert_eq!(imported.code, 2, "{imported:?}");
    assert!(
        imported.stderr.contains("behind line ") && imported.stderr.contains("gzip -dc"),
        "{imported:?}"
    );
}

#[test]
fn two_files_that_begin_alike_are_a_warning() {
    let place = Sandbox::new();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(hour().as_bytes()).unwrap();
    write(&place, "access.log.1", hour().as_bytes());
    write(&place, "access.log.1.gz", &gzip.finish().unwrap());
    let other = line(5, "192.0.2.77", "/", 200, 100);
    write(&place, "other.log", other.as_bytes());
    let both = log(&place, &["access.log.1", "access.log.1.gz"]);
    assert_eq!(both.code, 0, "{both:?}");
    assert!(
        both.stderr.contains("begin with the same lines"),
        "{both:?}"
    );
    let different = log(&place, &["access.log.1", "other.log"]);
    assert!(!different.stderr.contains("begin with"), "{different:?}");
}

#[test]
fn a_log_that_is_given_twice_is_refused() {
    let place = Sandbox::new();
    write(&place, "access.log", hour().as_bytes());
    for arguments in [
        vec!["log", "access.log", "./access.log"],
        vec!["import", "log", "access.log", "access.log"],
    ] {
        let output = place.run(&arguments);
        assert_eq!(output.code, 2, "{output:?}");
        assert!(output.stderr.contains("is given twice"), "{output:?}");
    }
}

/// One line of a wrong clock moves the end of the log: that is told.
#[test]
fn a_line_of_another_year_is_told() {
    let place = Sandbox::new();
    let later = line(1, "192.0.2.1", "/", 200, 100).replace("/2026:", "/2099:");
    let text = [
        line(1, "192.0.2.1", "/", 200, 100),
        later,
        line(3, "192.0.2.1", "/", 200, 100),
    ]
    .concat();
    write(&place, "access.log", text.as_bytes());
    let output = log(&place, &["access.log"]);
    assert!(
        output
            .stdout
            .contains("1 of 3 lines are more than a minute before one in front of them"),
        "{}",
        output.stdout
    );
}

#[test]
fn a_clock_that_jumps_back_is_told() {
    let place = Sandbox::new();
    let mut text = hour();
    for second in 1800..3600 {
        text.push_str(&line(second, "192.0.2.1", "/", 200, 100));
    }
    write(&place, "access.log", text.as_bytes());
    let day = day(&place, &["access.log"]);
    assert_eq!(count(&day, "clock.jumps_back"), 1);
    let output = log(&place, &["access.log"]);
    assert!(output.stdout.contains("set back by"), "{}", output.stdout);
}
