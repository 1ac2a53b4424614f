//! The recorder is not an open proxy: requests of others to its port, and responses of a hostile site.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Child;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use crate::support::{Sandbox, interrupt};

const CLOSE: &str = "Connection: close\r\n\r\n";
const PATIENCE: Duration = Duration::from_mins(1);

/// A site that records its requests.
fn site() -> (SocketAddr, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, asked) = sync_channel(64);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut head = String::new();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            while reader.read_line(&mut head).is_ok_and(|read| read > 2) {}
            let answer = if head.contains("/endless") {
                "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n".to_owned()
            } else {
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok".to_owned()
            };
            let _ = sender.try_send(head);
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    (address, asked)
}

struct Recorder {
    child: Child,
    address: SocketAddr,
}

impl Recorder {
    fn start(place: &Sandbox, url: &str, more: &[&str]) -> Self {
        let arguments = [
            "record",
            url,
            "--proxy",
            "127.0.0.1:0",
            "--out",
            "plan.yaml",
        ];
        let mut child = place.start(&[&arguments[..], more].concat());
        let mut first = String::new();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        stderr.read_line(&mut first).unwrap();
        // Drain later output, or it would block on a full pipe.
        std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
        let address = first
            .strip_prefix("proxy on ")
            .and_then(|rest| rest.split(';').next());
        let address = address.and_then(|text| text.parse().ok());
        Self {
            child,
            address: address.unwrap_or_else(|| panic!("{first}")),
        }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// All that is answered until the connection ends.
    fn send_request(&self, request: &str) -> String {
        let mut stream = self.connect();
        let _ = stream.write_all(request.as_bytes());
        let mut answer = Vec::new();
        // A connection that is reset has answered all the same.
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// The most memory it has taken, bytes.
    fn peak(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        line.unwrap()
            .trim()
            .trim_end_matches(" kB")
            .parse::<u64>()
            .unwrap()
            << 10
    }

    fn end(mut self) {
        interrupt(&self.child);
        assert!(self.child.wait().unwrap().success());
    }
}

#[test]
fn nobody_gets_anywhere_through_the_recorder() {
    let (site, asked) = site();
    let inside = TcpListener::bind("127.0.0.1:0").unwrap();
    inside.set_nonblocking(true).unwrap();
    let other = inside.local_addr().unwrap();
    let place = Sandbox::new();
    let recorder = Recorder::start(&place, &format!("http://{site}/"), &[]);
    let own = recorder.address;
    let rebound = format!("rebound.example:{}", own.port());
    for (line, host, status) in [
        ("CONNECT evil.example:443", "evil.example:443", 403),
        (&format!("CONNECT {other}"), "x", 403),
        ("CONNECT 127.0.0.1:22", "x", 403),
        (&format!("CONNECT {own}"), "x", 403),
        (&format!("GET http://{other}/"), &site.to_string(), 403),
        (
            "GET http://169.254.169.254/latest/meta-data",
            &site.to_string(),
            403,
        ),
        (&format!("GET http://{own}/"), "x", 403),
        (&format!("GET https://{site}/"), "x", 400),
        ("GET file:///etc/passwd", "x", 400),
        // A page whose name was bound to this address anew, and one that knows the site's.
        ("GET /", &rebound, 400),
        ("POST /", &site.to_string(), 400),
    ] {
        let answer = recorder.send_request(&format!("{line} HTTP/1.1\r\nHost: {host}\r\n{CLOSE}"));
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{line}: {answer}"
        );
    }
    assert!(asked.try_recv().is_err(), "the site was asked");
    assert!(inside.accept().is_err(), "somebody else was asked");
    let answer = recorder.send_request(&format!(
        "GET http://{site}/a HTTP/1.1\r\nHost: evil.example\r\n{CLOSE}"
    ));
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let head = asked.recv_timeout(PATIENCE).unwrap().to_ascii_lowercase();
    assert!(
        head.contains(&format!("host: {site}")) && !head.contains("evil"),
        "{head}"
    );
    recorder.end();
}

#[test]
fn a_proxy_for_others_goes_nowhere_by_default() {
    let place = Sandbox::new();
    let output = place.run(&[
        "record",
        "http://127.0.0.1:1/",
        "--proxy",
        "0.0.0.0:0",
        "--pass",
        "*",
    ]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(
        output.stderr.contains("open proxy") && output.stderr.contains("loopback"),
        "{output:?}"
    );
}

#[test]
fn heads_bodies_and_connections_are_bounded() {
    let (site, _asked) = site();
    let place = Sandbox::new();
    let recorder = Recorder::start(&place, &format!("http://{site}/"), &[]);
    let answer = recorder.send_request(&format!(
        "GET http://{site}/endless HTTP/1.1\r\nHost: {site}\r\nConnection: close\r\n\r\n"
    ));
    assert!(
        answer.contains("502") && answer.contains("longer than 256 MiB"),
        "{answer}"
    );
    let mut head = format!("GET http://{site}/ HTTP/1.1\r\n");
    head.push_str(&"X-Filler: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n".repeat(20_000));
    let answer = recorder.send_request(&head);
    assert!(
        answer.is_empty() || answer.starts_with("HTTP/1.1 431"),
        "{answer}"
    );
    // More than there are places; those that say nothing are served when one of them ends.
    let mut idle: Vec<TcpStream> = (0..300).map(|_| recorder.connect()).collect();
    idle.drain(..60);
    let last = idle.last_mut().unwrap();
    write!(
        last,
        "GET http://{site}/b HTTP/1.1\r\nHost: {site}\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    last.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let descriptors = std::fs::read_dir(format!("/proc/{}/fd", recorder.child.id()))
        .unwrap()
        .count();
    assert!(descriptors < 320, "{descriptors} descriptors");
    assert!(recorder.peak() < 128 << 20, "{} bytes", recorder.peak());
    drop(idle);
    recorder.end();
}
