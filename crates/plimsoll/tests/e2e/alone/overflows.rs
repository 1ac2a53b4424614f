//! Findings of runs in which accept queues overflow: the kernel counts that for the machine, so that a run beside them would
//! find it too.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::time::Duration;

use plimsoll_testkit::program::Haproxy;
use plimsoll_testkit::stuck::FullTcp;
use plimsoll_testkit::turns::alone;

use super::{failures, origin};
use crate::found::{assert_field_contains, best, found, of};
use crate::support::Sandbox;

#[test]
fn haproxy_takes_no_more_clients() {
    let _alone = alone();
    let (_origin, address) = origin(200);
    let haproxy = Haproxy::start("maxconn 20", &format!("  server s1 {address}"));
    let watch = format!("haproxy: {}\n", haproxy.socket.display());
    let url = format!("http://{}/", haproxy.address);
    let Some(found) = found(&Sandbox::new(), &url, &watch, ["30/s:3s", "300/s:4s"], &[]) else {
        return;
    };
    let best = best(&found, "H7");
    assert_field_contains(&best, "limit", &["maxconn of HAProxy's frontend web"]);
    let file = format!("{}:10", haproxy.configuration.display());
    assert_field_contains(&best, "remedy", &["(now 20)", &file]);
}

/// Answers each connection's first request with these bytes, and closes it.
fn answering(bytes: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut head = [0; 4096];
            let _ = stream.read(&mut head);
            let _ = stream.write_all(bytes);
        }
    });
    address
}

/// Answers with a byte five times a second: whoever goes away meanwhile is noticed by the next.
fn dripping() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let drip = |mut stream: TcpStream| {
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n");
        // Nothing more comes from the other side but its end, which ends the wait for the next byte.
        let _ = stream.set_read_timeout(Some(Duration::from_millis(200)));
        let is_open = |stream: &mut TcpStream| {
            stream
                .read(&mut [0])
                .is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
        };
        while is_open(&mut stream) && stream.write_all(b"x").is_ok() {}
    };
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || drip(stream));
        }
    });
    address
}

/// Writes what comes by syslog into a file, a line each.
fn syslog(file: PathBuf) -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    let mut log = std::fs::File::create(file).unwrap();
    std::thread::spawn(move || {
        let mut line = [0; 8192];
        while let Ok(len) = socket.recv(&mut line) {
            let text = String::from_utf8_lossy(&line[..len]);
            let _ = writeln!(log, "{}", text.trim_end());
        }
    });
    address
}

/// Backends by name, each with the way in which its sessions end, before a listener that answers nobody.
fn backends(full: SocketAddr, silent: SocketAddr) -> Vec<(&'static str, String)> {
    let closing = answering(b"");
    let cutting = answering(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nbegun");
    let dripping = dripping();
    vec![
        (
            "connect",
            format!("timeout connect 200ms\n  server s {full}"),
        ),
        (
            "silent",
            format!("timeout server 200ms\n  server s {silent}"),
        ),
        ("closing", format!("server s {closing}")),
        ("cutting", format!("server s {cutting}")),
        ("given-up", format!("server s {dripping}")),
    ]
}

#[test]
fn haproxy_tells_how_sessions_end() {
    let _alone = alone();
    let place = Sandbox::new();
    let log = place.path().join("haproxy.log");
    let syslog = syslog(log.clone());
    let full = FullTcp::start();
    // Connections stand in its queue, and nobody answers.
    let waiting = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = waiting.local_addr().unwrap();
    let backends = backends(full.address, silent);
    let rules = backends
        .iter()
        .map(|(name, _)| format!("use_backend {name} if {{ path /{name} }}"));
    let web = format!(
        "log {syslog} local0\n  option httplog\n  {}",
        rules.collect::<Vec<_>>().join("\n  ")
    );
    let sections = backends
        .iter()
        .map(|(name, lines)| format!("backend {name}\n  retries 0\n  {lines}\n"));
    let sections = sections.collect::<Vec<_>>().concat();
    let haproxy = Haproxy::start(&web, &format!("  server s1 {silent}\n{sections}"));
    let watch = format!("haproxy-log: {}\n", log.display());
    let paths: Vec<String> = backends
        .iter()
        .map(|(name, _)| format!("/{name}"))
        .collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let Some(found) = failures(&place, haproxy.address, &watch, &paths) else {
        return;
    };
    for (rule, words) in [
        ("H3", ["`timeout connect` (sC)", "connect/s"]),
        ("H4", ["`timeout server` (sH)", "silent/s"]),
        ("H5", ["(SH)", "closing/s"]),
        ("H6", ["(sD, SD)", "cutting/s"]),
        ("H9", ["clients disconnected", "given-up/s"]),
    ] {
        assert_field_contains(of(&found, rule), "sentence", &words);
    }
    // Clients that gave up did so because of the others.
    let gone = of(&found, "H9");
    assert!(gone["consequence_of"].is_string(), "{gone:#}");
}
