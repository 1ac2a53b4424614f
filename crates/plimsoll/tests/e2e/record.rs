//! A real Chromium visits a site with a login through the recorder.

use std::io::{BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use crate::received;
use crate::support::{Sandbox, interrupt};

/// The form fills itself in: the browser runs without a person.
const LOGIN: &str = r#"<!doctype html><title>login</title>
<form method="post" action="/login"><input type="hidden" name="csrf" value="a1B2c3d4e5f6">
<input name="name"><input type="password" name="password"></form>
<script>onload = () => setTimeout(() => { const f = document.forms[0]; f.name.value = "ada";
f.password.value = "correct horse 7"; f.submit(); }, 900);</script>"#;
const HOME: &str = r#"<!doctype html><title>home</title><link rel="stylesheet" href="/style.css"><meta name="token" content="zx81zx81">
<script>onload = async () => { const token = document.querySelector("meta").content;
await fetch("/api/vote", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ token, up: true }) });
await fetch("/done"); };</script>"#;

/// A site with a login, and the moment at which the visit is over.
struct LoginSite {
    port: u16,
    done: Receiver<()>,
}

impl LoginSite {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, done) = sync_channel(16);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let sender = sender.clone();
                std::thread::spawn(move || answer(stream, &sender));
            }
        });
        Self { port, done }
    }
}

fn answer(stream: TcpStream, done: &SyncSender<()>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (request, body) = received::request(&mut reader).unwrap_or_default();
    let body = String::from_utf8_lossy(&body).into_owned();
    let path = request.split(' ').nth(1).unwrap_or_default();
    let (status, kind, text) = match path {
        "/" => ("302 Found\r\nLocation: /login", "text/html", ""),
        "/login" if request.starts_with("POST") && body.contains("csrf=a1B2c3d4e5f6") => {
            ("302 Found\r\nLocation: /home", "text/html", "")
        }
        "/login" => ("200 OK", "text/html", LOGIN),
        "/home" => ("200 OK", "text/html", HOME),
        "/style.css" => ("200 OK", "text/css", "body { color: #123 }"),
        "/api/vote" | "/done" => ("200 OK", "application/json", "{}"),
        _ => ("404 Not Found", "text/plain", ""),
    };
    let mut stream = stream;
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
        text.len()
    );
    if path == "/done" {
        let _ = done.try_send(());
    }
}

/// A program that starts Chromium without a window.
fn headless(place: &Sandbox) -> String {
    let file = place.path().join("headless");
    std::fs::write(
        &file,
        "#!/bin/sh\nexec chromium --headless=new --no-sandbox --disable-gpu \"$@\"\n",
    )
    .unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    file.display().to_string()
}

#[test]
fn a_visit_with_a_login_becomes_a_plan() {
    let site = LoginSite::start();
    let place = Sandbox::new();
    let url = format!("http://127.0.0.1:{}/", site.port);
    let recorder = place.start(&[
        "record",
        &url,
        &format!("--browser={}", headless(&place)),
        "--out",
        "plan.yaml",
    ]);
    let visited = site.done.recv_timeout(Duration::from_mins(1));
    interrupt(&recorder);
    let output = recorder.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        visited.is_ok(),
        "Chromium did not finish its visit: {stderr}"
    );
    assert!(output.status.success(), "{stderr}");
    let plan = std::fs::read_to_string(place.path().join("plan.yaml")).unwrap();
    let target = format!("target: {}", url.trim_end_matches('/'));
    for expected in [
        target.as_str(),
        "post: /login",
        "input[name=\"csrf\"]",
        "csrf: \"{{ csrf }}\"",
        "password: \"{{ env('PASSWORD') }}\"",
        "location: /home",
        "meta[name=\"token\"]",
        "json: { token: \"{{ token }}\", up: true }",
        "/style.css",
        "think: ",
    ] {
        assert!(plan.contains(expected), "{expected} is missing in:\n{plan}");
    }
    assert!(!plan.contains("correct horse"), "{plan}");
}
