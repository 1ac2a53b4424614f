//! Secrets that an edge is given, and that its clients send it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use plimsoll_testkit::folder_watch::FolderWatch;
use plimsoll_testkit::port;
use rustix::process::Signal;

use super::{Hushed, MARK, assert_silent, headers, url};
use crate::edge::{get, origin};
use crate::received;
use crate::support::{Sandbox, signal};

const PATIENCE: Duration = Duration::from_mins(1);

/// A collector of spans: what it was sent.
fn collector() -> (SocketAddr, Receiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, sent) = sync_channel(16);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (_, body) = received::request(&mut reader).unwrap_or_default();
            let _ = stream
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}");
            let _ = sender.try_send(body);
        }
    });
    (address, sent)
}

#[test]
fn the_edge_shows_no_secret() {
    let mut hushed = Hushed::new();
    let (collector, spans) = collector();
    let token = format!("admin-{MARK}");
    for (format, at) in [("json", origin()), ("combined", port::unused())] {
        let log = format!("{format}.log");
        let text = format!(
            "pools: {{ app: {{ servers: [\"http://{at}\"] }} }}\nroutes: [{{ pool: app }}]\n\
             listen: [{{ address: \"127.0.0.1:0\" }}]\nadmin: {{ address: \"127.0.0.1:0\", token: \"{token}\" }}\n\
             traces: {{ to: \"http://{collector}\", share: 100%, headers: {{ x-api-key: {MARK} }} }}\n\
             access_log: {{ file: {log}, format: {format} }}\n\
             hub: {{ path: /live, tokens: {{ secret: \"{MARK}{MARK}{MARK}{MARK}{MARK}\" }} }}\n"
        );
        let file = format!("{format}.yaml");
        hushed.give(&file, &text);
        let (code, output) = hushed.run(&["edge", "check", &file]);
        assert_eq!(code, 0, "{output}");
        let mut edge = Started::new(&hushed.place, &file);
        let mut stream = TcpStream::connect(edge.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let target = url(edge.address)
            .split_once(&format!("@{}", edge.address))
            .unwrap()
            .1
            .to_owned();
        let head = format!(
            "GET {target} HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n{}\r\n\r\n",
            headers().join("\r\n")
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        assert_silent("the answer", &answer);
        get(
            edge.address,
            &format!("/live?token={MARK}&access_token={MARK}"),
        );
        for path in ["/", "/metrics", "/figures", "/cache", "/servers"] {
            let asked = query_admin(edge.admin, path, &token);
            assert!(asked.starts_with("HTTP/1.1 200"), "{path}: {asked}");
            assert_silent(path, asked.as_bytes());
        }
        assert_silent("the spans", &spans.recv_timeout(PATIENCE).unwrap());
        // Moved away, and made again.
        let first = hushed.place.path().join(&log);
        std::fs::rename(&first, hushed.place.path().join(format!("{log}.1"))).unwrap();
        let watch = FolderWatch::new(hushed.place.path());
        signal(&edge.process, Signal::USR1);
        watch.wait_until("a new log", || first.exists());
        get(edge.address, &format!("/again?token={MARK}"));
        let output = edge.end();
        assert_silent("what the edge says", output.as_bytes());
        let lines = std::fs::read_to_string(&first).unwrap();
        assert!(lines.contains("/again?token=[redacted]"), "{lines}");
    }
    assert!(hushed.scan_files() >= 4);
}

/// An edge of a file, under the most permissive umask.
struct Started {
    process: std::process::Child,
    stderr: BufReader<std::process::ChildStderr>,
    stderr_text: String,
    address: SocketAddr,
    admin: SocketAddr,
}

impl Started {
    fn new(place: &Sandbox, file: &str) -> Self {
        let mut process = std::process::Command::new("sh")
            .args([
                "-c",
                "umask 0; exec \"$@\"",
                "sh",
                env!("CARGO_BIN_EXE_plimsoll"),
                "edge",
                "--config",
                file,
            ])
            .current_dir(place.path())
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(process.stderr.take().unwrap());
        let mut stderr_text = String::new();
        let mut address_behind = |mark: &str| -> SocketAddr {
            loop {
                let mut line = String::new();
                assert!(stderr.read_line(&mut line).unwrap() > 0, "{stderr_text}");
                stderr_text.push_str(&line);
                if let Some((_, rest)) = line.split_once(mark) {
                    let is_end = |c: char| !(c.is_ascii_digit() || c == '.' || c == ':');
                    let text = rest.split(is_end).next().unwrap().trim_end_matches(':');
                    return text.parse().unwrap_or_else(|_| panic!("{line}"));
                }
            }
        };
        let address = address_behind("edge at http://");
        let admin = address_behind("admin at http://");
        Self {
            process,
            stderr,
            stderr_text,
            address,
            admin,
        }
    }

    /// All its output.
    fn end(&mut self) -> String {
        signal(&self.process, Signal::TERM);
        let mut rest = String::new();
        self.stderr.read_to_string(&mut rest).unwrap();
        self.process.wait().unwrap();
        std::mem::take(&mut self.stderr_text) + &rest
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn query_admin(admin: SocketAddr, path: &str, token: &str) -> String {
    let mut stream = TcpStream::connect(admin).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let head = format!(
        "GET {path} HTTP/1.1\r\nHost: {admin}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}
