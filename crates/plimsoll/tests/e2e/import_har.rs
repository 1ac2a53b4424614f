//! Recordings as files: long ones, bodies that are no text, and marks and line ends of other systems.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, sync_channel};

use serde_json::json;

use crate::support::Sandbox;

/// An origin that hands over each request as its bytes.
fn recording_origin() -> (SocketAddr, Receiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, taken) = sync_channel(1000);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let sender = sender.clone();
            std::thread::spawn(move || {
                let mut held = Vec::new();
                let mut buffer = [0; 4096];
                while let Ok(count @ 1..) = stream.read(&mut buffer) {
                    held.extend_from_slice(&buffer[..count]);
                    while let Some(len) = request_len(&held) {
                        let request: Vec<u8> = held.drain(..len).collect();
                        let _ = sender.send(request);
                        let answer = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nok";
                        let _ = stream.write_all(answer.as_bytes());
                    }
                }
            });
        }
    });
    (address, taken)
}

/// Length of the whole request at the start of `held`.
fn request_len(held: &[u8]) -> Option<usize> {
    let body_at = held.windows(4).position(|bytes| bytes == b"\r\n\r\n")? + 4;
    let text = String::from_utf8_lossy(&held[..body_at]).to_ascii_lowercase();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let len = body_at + line.map_or(0, |len| len.parse().unwrap());
    (held.len() >= len).then_some(len)
}

fn entry(second: u32, method: &str, path: &str, post: &serde_json::Value) -> serde_json::Value {
    json!({
        "startedDateTime": format!("2026-11-22T01:00:{second:02}.000Z"), "time": 20, "_resourceType": "document",
        "request": {"method": method, "url": format!("http://shop.test{path}"), "headers": [], "postData": post},
        "response": {"status": 200, "headers": [], "content": {"mimeType": "text/html", "text": "<html></html>"}},
    })
}

fn har(entries: &[serde_json::Value]) -> String {
    json!({"log": {"version": "1.2", "entries": entries}}).to_string()
}

#[test]
fn bodies_that_are_no_text_are_sent_as_they_were() {
    let place = Sandbox::new();
    let upload = "LS1CDQpDb250ZW50LURpc3Bvc2l0aW9uOiBmb3JtLWRhdGE7IG5hbWU9ImYiOyBmaWxlbmFtZT0iYS5wbmciDQpDb250ZW50LVR5cGU6IGltYWdlL3BuZw0KDQqJUE5HDQotLUINCkNvbnRlbnQtRGlzcG9zaXRpb246IGZvcm0tZGF0YTsgbmFtZT0iZiI7IGZpbGVuYW1lPSJiLnR4dCINCg0KdHdvDQotLUItLQ0K";
    let binary =
        json!({"mimeType": "application/octet-stream", "encoding": "base64", "text": "Y2Fm6QD/"});
    let parts = json!({"mimeType": "multipart/form-data; boundary=B", "encoding": "base64", "text": upload});
    let nothing = json!(null);
    let text = har(&[
        entry(0, "GET", "/", &nothing),
        entry(2, "POST", "/raw", &binary),
        entry(4, "POST", "/parts", &parts),
    ]);
    std::fs::write(place.path().join("a.har"), format!("\u{feff}{text}")).unwrap();
    let lossy = place.run(&["import", "har", "a.har"]);
    assert_eq!(lossy.code, 0, "{lossy:?}");
    assert!(lossy.stderr.contains("a.har:1:"), "{lossy:?}");
    assert!(lossy.stderr.contains("lost: POST /raw"), "{lossy:?}");
    assert_eq!(place.run(&["import", "har", "a.har", "--strict"]).code, 2);
    let output = place.run(&["import", "har", "a.har", "--out", "plan", "--strict"]);
    assert_eq!(output.code, 0, "{output:?}");
    let (address, taken) = recording_origin();
    let target = format!("http://{address}");
    place
        .run(&["run", "plan/plan.yaml", "--target", &target, "--quiet"])
        .assert_sent();
    let requests: Vec<Vec<u8>> = taken.try_iter().collect();
    let body = |start: &str| {
        let request = requests
            .iter()
            .find(|request| request.starts_with(start.as_bytes()));
        let request = request.unwrap();
        let head = request
            .windows(4)
            .position(|bytes| bytes == b"\r\n\r\n")
            .unwrap()
            + 4;
        request[head..].to_vec()
    };
    assert_eq!(body("POST /raw "), b"caf\xe9\x00\xff");
    let parts = body("POST /parts ");
    let has = |bytes: &[u8]| parts.windows(bytes.len()).any(|window| window == bytes);
    assert!(has(
        b"name=\"f\"; filename=\"a.png\"\r\nContent-Type: image/png\r\n\r\n\x89PNG\r\n"
    ));
    assert!(
        has(b"name=\"f\"; filename=\"b.txt\""),
        "{}",
        String::from_utf8_lossy(&parts)
    );
}

#[test]
fn files_of_other_systems_are_read() {
    let place = Sandbox::new();
    let (address, taken) = recording_origin();
    let write = |name: &str, text: &str| {
        let text = format!("\u{feff}{}", text.replace('\n', "\r\n"));
        std::fs::write(place.path().join(name), text).unwrap();
    };
    write("urls", "/a\n/b\n");
    let target = format!("http://{address}/");
    let arguments = [
        "--rate",
        "20/s",
        "--spacing",
        "even",
        "--for",
        "200ms",
        "--quiet",
    ];
    place
        .run(&[&["run", &target, "--urls", "urls"], &arguments[..]].concat())
        .assert_sent();
    let line = |request: Vec<u8>| {
        let text = String::from_utf8(request).unwrap();
        text.lines().next().unwrap().to_owned()
    };
    let mut lines: Vec<String> = taken.try_iter().map(line).collect();
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines, ["GET /a HTTP/1.1", "GET /b HTTP/1.1"]);
    write("rows.csv", "name\nada\n");
    write(
        "plan.yaml",
        &format!(
            "target: http://{address}\ndata: {{ d: {{ csv: rows.csv }} }}\nsteps:\n  - get: /{{{{ d.name }}}}\nload: {{ users: 1, iterations: 1 }}\n"
        ),
    );
    place.run(&["run", "plan.yaml", "--quiet"]).assert_sent();
    let lines: Vec<String> = taken.try_iter().map(line).collect();
    assert_eq!(lines, ["GET /ada HTTP/1.1"]);
    write(
        "edge.yaml",
        "listen: 127.0.0.1:0\npools:\n  app: { servers: [\"http://127.0.0.1:1\"] }\n",
    );
    let output = place.run(&["edge", "check", "edge.yaml"]);
    assert_eq!(output.code, 0, "{output:?}");
}

#[test]
fn a_long_recording_takes_little_memory() {
    let place = Sandbox::new();
    let nothing = json!(null);
    let (first, last) = (
        entry(0, "GET", "/", &nothing),
        entry(9, "GET", "/end", &nothing),
    );
    let mut image = entry(1, "GET", "/a.png", &nothing);
    image["_resourceType"] = "image".into();
    let long = "A".repeat(2 << 20);
    image["response"]["content"] =
        json!({"mimeType": "image/png", "encoding": "base64", "text": long});
    let image = image.to_string();
    let path = place.path().join("long.har");
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    write!(file, "{{\"log\":{{\"entries\":[{first}").unwrap();
    for _ in 0..100 {
        write!(file, ",{image}").unwrap();
    }
    write!(file, ",{last}]}}}}").unwrap();
    file.flush().unwrap();
    drop(file);
    assert!(std::fs::metadata(&path).unwrap().len() > 200 << 20);
    // In an address space that has no room for the file.
    let output = std::process::Command::new("sh")
        .args(["-c", "ulimit -v 180000; exec \"$0\" import har long.har"])
        .arg(env!("CARGO_BIN_EXE_plimsoll"))
        .current_dir(place.path())
        .output()
        .unwrap();
    let plan = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && plan.contains("/end"),
        "{output:?}"
    );
}
