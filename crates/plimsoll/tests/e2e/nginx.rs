//! A real nginx, started on a free port in a private folder.

use std::io::{BufRead as _, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use plimsoll_testkit::port;
use rustix::process::Signal;
use tempfile::TempDir;

use crate::support::{Sandbox, count, signal};

pub(crate) struct NginxProcess {
    process: Child,
    address: SocketAddr,
    folder: TempDir,
}

impl NginxProcess {
    /// Starts nginx with `locations` inside its one server.
    pub(crate) fn start(locations: &str) -> Self {
        Self::listening("", locations, tempfile::tempdir().unwrap())
    }

    /// Starts nginx with words behind its address, in a folder that may hold what they need.
    pub(crate) fn listening(words: &str, locations: &str, folder: TempDir) -> Self {
        let address = port::unused();
        let prefix = folder.path().display();
        let configuration = format!(
            "daemon off; worker_processes 1; pid {prefix}/pid; error_log stderr notice;\n\
             events {{ worker_connections 4096; }}\n\
             http {{ log_format spoken '$server_protocol $connection $request_uri $status';\n\
             access_log {prefix}/access.log spoken; client_body_temp_path {prefix}; proxy_temp_path {prefix}; \
             fastcgi_temp_path {prefix}; uwsgi_temp_path {prefix}; scgi_temp_path {prefix};\n\
             keepalive_requests 100000;\n\
             server {{ listen {address} backlog=511 {words}; {locations} }} }}\n"
        );
        let file = folder.path().join("nginx.conf");
        std::fs::write(&file, configuration).unwrap();
        let mut process = Command::new("nginx")
            .args(["-e", "stderr", "-c"])
            .arg(&file)
            .stderr(Stdio::piped())
            .spawn()
            .expect("nginx is installed: apt-get install nginx-light");
        wait_until_started(&mut process);
        assert!(TcpStream::connect_timeout(&address, Duration::from_mins(1)).is_ok());
        Self {
            process,
            address,
            folder,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// Requests so far: protocol, number of the connection, path, status.
    pub(crate) fn log(&self) -> Vec<[String; 4]> {
        let log = std::fs::read_to_string(self.folder.path().join("access.log")).unwrap();
        let words = |line: &str| {
            let mut words = line.split(' ').map(str::to_owned);
            std::array::from_fn(|_| words.next().unwrap_or_default())
        };
        log.lines().map(words).collect()
    }
}

/// Waits for the line of nginx's error log that its workers run; continues to drain the log so that nginx never blocks.
fn wait_until_started(process: &mut Child) {
    let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
    let started = lines
        .by_ref()
        .map_while(Result::ok)
        .any(|line| line.contains("start worker process "));
    assert!(started, "nginx ended before its workers ran");
    std::thread::spawn(move || lines.for_each(drop));
}

impl Drop for NginxProcess {
    fn drop(&mut self) {
        // SIGQUIT would wait for connections; the test is over.
        signal(&self.process, Signal::TERM);
        let _ = self.process.wait();
    }
}

pub(crate) const ONE_KILOBYTE: &str =
    "location / { default_type text/html; return 200 \"$request_id$request_id\"; }";

#[test]
fn statuses_and_good_answers_are_told_apart() {
    let nginx = NginxProcess::start(
        "location / { return 404; } location /moved { return 302 /there; } location /there { return 204; }",
    );
    let place = Sandbox::new();
    let missing = place
        .run(&[
            "run",
            &nginx.url(),
            "--rate",
            "50/s",
            "--for",
            "1s",
            "--json",
        ])
        .json();
    assert_eq!(count(&missing, "outcomes.ok"), 0);
    assert_eq!(
        count(&missing, "status.404"),
        count(&missing, "outcomes.wrong_status")
    );
    let wanted = place
        .run(&[
            "run",
            &nginx.url(),
            "--rate",
            "50/s",
            "--for",
            "1s",
            "--json",
            "--good",
            "404",
        ])
        .json();
    assert_eq!(count(&wanted, "outcomes.wrong_status"), 0);
    let moved = format!("{}moved", nginx.url());
    let taken = place
        .run(&["run", &moved, "--rate", "50/s", "--for", "1s", "--json"])
        .json();
    assert!(count(&taken, "status.302") > 0);
    let followed = place
        .run(&[
            "run", &moved, "--rate", "50/s", "--for", "1s", "--json", "-L",
        ])
        .json();
    assert!(
        count(&followed, "status.204") > 0 && followed["status"]["302"].is_null(),
        "{followed:#}"
    );
}

#[test]
fn a_file_of_urls_is_asked_for_in_turn() {
    let nginx = NginxProcess::start(
        "location = /a { return 200 a; } location = /b { return 201 b; } location = /c { return 202 c; }",
    );
    let place = Sandbox::new();
    std::fs::write(place.path().join("urls"), "# articles\n/a\n\n/b\n/c\n").unwrap();
    let json = place
        .run(&[
            "run",
            &nginx.url(),
            "--rate",
            "300/s",
            "--for",
            "1s",
            "--spacing",
            "even",
            "--urls",
            "urls",
            "--json",
        ])
        .json();
    for status in ["200", "201", "202"] {
        assert_eq!(count(&json, &format!("status.{status}")), 100, "{json:#}");
    }
}

#[test]
fn a_new_connection_for_each_request() {
    let nginx = NginxProcess::start(ONE_KILOBYTE);
    let place = Sandbox::new();
    let json = place
        .run(&[
            "run",
            &nginx.url(),
            "--rate",
            "200/s",
            "--for",
            "1s",
            "--no-keepalive",
            "--json",
        ])
        .json();
    assert_eq!(
        count(&json, "outcomes.ok"),
        count(&json, "requests"),
        "{json:#}"
    );
}

#[test]
fn a_file_of_urls_is_asked_for_at_random() {
    let nginx = NginxProcess::start(
        "location = /a { return 200 a; } location = /b { return 201 b; } location = /c { return 202 c; }",
    );
    let place = Sandbox::new();
    std::fs::write(place.path().join("urls"), "/a\n/b\n/c\n").unwrap();
    let asked = |seed: &str| {
        let url = nginx.url();
        let load = ["run", &url, "--rate", "1500/s", "--for", "1s", "--json"];
        let urls = ["--urls", "urls", "--urls-order", "random", "--seed", seed];
        let json = place.run(&[&load[..], &urls[..]].concat()).json();
        ["200", "201", "202"].map(|status| count(&json, &format!("status.{status}")))
    };
    let counts = asked("7");
    for count in counts {
        // Five standard deviations of 1,500 draws with probability 1/3 are 91.
        assert!(count.abs_diff(500) < 130, "{counts:?}");
    }
    assert_ne!(counts, asked("8"), "another seed, another choice");
}

#[test]
fn a_head_request_waits_for_no_body() {
    let nginx = NginxProcess::start(ONE_KILOBYTE);
    let place = Sandbox::new();
    let url = nginx.url();
    let json = place
        .run(&[
            "run", &url, "-I", "--rate", "200/s", "--for", "1s", "--json",
        ])
        .json();
    assert!(count(&json, "outcomes.ok") > 100, "{json:#}");
    assert_eq!(count(&json, "outcomes.ok"), count(&json, "requests"));
}
