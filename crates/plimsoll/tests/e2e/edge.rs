//! The edge's command line: flags, file, commands and signals.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use plimsoll_testkit::folder_watch::FolderWatch;
use rustix::process::Signal;

use crate::support::{self, Sandbox};

/// Time-out of each wait; long, since any thread of the edge may stand still for seconds.
const PATIENCE: Duration = Duration::from_mins(1);

/// Answers every request on every connection with `ok`.
pub(crate) fn origin() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                let mut stream = stream;
                while lines
                    .by_ref()
                    .map_while(Result::ok)
                    .any(|line| line.is_empty())
                {
                    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
                }
            });
        }
    });
    address
}

/// An edge, and the addresses that it prints.
pub(crate) struct RunningEdge {
    process: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStderr>>,
    pub(crate) address: SocketAddr,
    pub(crate) admin: SocketAddr,
}

impl Drop for RunningEdge {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl RunningEdge {
    pub(crate) fn start(place: &Sandbox, arguments: &[&str]) -> Self {
        Self::start_with(place, arguments, |_| ())
    }

    /// With more about the command, such as its environment.
    pub(crate) fn start_with(
        place: &Sandbox,
        arguments: &[&str],
        about: impl FnOnce(&mut Command),
    ) -> Self {
        let mut all = vec![
            "edge",
            "--listen",
            "127.0.0.1:0",
            "--admin",
            "127.0.0.1:0",
            "--cores",
            "1",
        ];
        all.extend(arguments);
        let mut command = place.command(&all);
        about(&mut command);
        let mut process = command.spawn().unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let mut address_after = |start: &str| -> SocketAddr {
            let line = lines
                .by_ref()
                .map_while(Result::ok)
                .find(|line| line.contains(start));
            let line = line.unwrap_or_else(|| panic!("it does not say `{start}`"));
            let rest = line.split(start).nth(1).unwrap();
            let end = rest.find([',', ':']).map_or(rest.len(), |at| {
                at + 1
                    + rest[at + 1..]
                        .find([',', ':'])
                        .unwrap_or(rest.len() - at - 1)
            });
            rest[..end].trim().parse().unwrap()
        };
        let address = address_after("edge at http://");
        let admin = address_after("admin at http://");
        Self {
            process,
            lines,
            address,
            admin,
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        support::signal(&self.process, signal);
    }

    pub(crate) fn wait_for_line(&mut self, words: &str) -> String {
        let found = self
            .lines
            .by_ref()
            .map_while(Result::ok)
            .find(|line| line.contains(words));
        found.unwrap_or_else(|| panic!("it does not say `{words}`"))
    }

    pub(crate) fn end(mut self) -> ExitStatus {
        self.signal(Signal::TERM);
        self.process.wait().unwrap()
    }
}

pub(crate) fn get(address: SocketAddr, path: &str) -> String {
    get_of(address, &address.to_string(), path)
}

/// A GET on a connection of its own; all that is answered.
pub(crate) fn get_of(address: SocketAddr, host: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Asks again until it holds.
#[track_caller]
#[expect(clippy::disallowed_methods, reason = "a test that gives up")]
pub(crate) fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "not in time: {what}");
    }
}

#[test]
fn one_line_is_enough() {
    let place = Sandbox::new();
    let to = format!("http://{}", origin());
    let log = place.path().join("access.log");
    let edge = RunningEdge::start(
        &place,
        &[
            "--to",
            &to,
            "--cache",
            "off",
            "--access-log",
            log.to_str().unwrap(),
        ],
    );
    assert!(get(edge.address, "/page").ends_with("\r\n\r\nok"));
    assert!(get(edge.admin, "/metrics").contains("plimsoll_edge_requests_total 1\n"));
    assert!(get(edge.admin, "/healthz").ends_with("\r\n\r\nok\n"));
    assert_eq!(edge.end().code(), Some(0));
    let lines = std::fs::read_to_string(&log).unwrap();
    let line: serde_json::Value = serde_json::from_str(lines.trim()).unwrap();
    assert_eq!(line["target"], "/page");
    assert_eq!(line["status"], 200);
    assert_eq!(line["reason"], "origin");
}

#[test]
fn a_file_is_checked_followed_and_followed_again() {
    let place = Sandbox::new();
    let write = |mark: &str| {
        let to = origin();
        let text = format!(
            "pools: {{ app: {{ servers: [\"http://{to}\"], max_in_flight: 20 }} }}\n\
             routes: [{{ pool: app, answer_headers: {{ X-Mark: {mark} }} }}]\n"
        );
        std::fs::write(place.path().join("edge.yaml"), text).unwrap();
    };
    write("one");
    let checked = place.run(&["edge", "check", "edge.yaml"]);
    assert_eq!(checked.code, 0, "{checked:?}");
    assert_eq!(
        checked.stdout,
        "edge.yaml is a valid configuration: 1 listener, 1 pool, 1 server, 1 route\n"
    );
    let mut edge = RunningEdge::start(&place, &["--config", "edge.yaml"]);
    assert!(get(edge.address, "/").contains("X-Mark: one\r\n"));
    write("two");
    let admin = edge.admin.to_string();
    let output = place.run(&["edge", "reload", "--admin", &admin]);
    assert_eq!(output.code, 0, "{output:?}");
    wait_until("the second file is in use", || {
        get(edge.address, "/").contains("X-Mark: two\r\n")
    });
    std::fs::write(
        place.path().join("edge.yaml"),
        "pools: { app: { servrs: [] } }",
    )
    .unwrap();
    let refused = place.run(&["edge", "reload", "--admin", &admin]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains("servrs") && refused.stderr.contains("old configuration"));
    edge.signal(Signal::HUP);
    edge.wait_for_line("the old configuration stays in use");
    assert!(get(edge.address, "/").contains("X-Mark: two\r\n"));
    let checked = place.run(&["edge", "check", "edge.yaml"]);
    assert_eq!(checked.code, 2);
    assert!(
        checked
            .stderr
            .contains("edge.yaml:1:17: unknown key `servrs`"),
        "{checked:?}"
    );
    assert_eq!(edge.end().code(), Some(0));
}

#[test]
fn logs_are_rotated_and_lists_read_again_as_people_are_used_to() {
    let place = Sandbox::new();
    let file = |name: &str| place.path().join(name);
    let text = format!(
        "pools: {{ app: {{ servers: [\"http://{}\"] }} }}\naccess_log: {{ file: {}, format: combined }}\n\
         access: {{ deny_files: blocked.txt }}\n",
        origin(),
        file("access.log").display(),
    );
    std::fs::write(file("edge.yaml"), text).unwrap();
    std::fs::write(file("blocked.txt"), "# nobody yet\n").unwrap();
    let mut edge = RunningEdge::start(&place, &["--config", "edge.yaml"]);
    let watch = FolderWatch::new(place.path());
    let holds = |name: &str, words: &str| {
        std::fs::read_to_string(file(name)).is_ok_and(|text| text.contains(words))
    };
    assert!(get(edge.address, "/one").ends_with("ok"));
    watch.wait_until("the first line", || holds("access.log", "GET /one "));
    std::fs::rename(file("access.log"), file("access.log.1")).unwrap();
    edge.signal(Signal::USR1);
    watch.wait_until("a new log", || file("access.log").exists());
    std::fs::write(file("blocked.txt"), "127.0.0.0/8\n").unwrap();
    edge.signal(Signal::HUP);
    edge.wait_for_line("the new configuration is in use");
    // A loop applies it between two requests; each response shows whether it has.
    wait_until("the list is in use", || {
        get(edge.address, "/two").contains("X-Plimsoll: blocked\r\n")
    });
    watch.wait_until("the second line", || holds("access.log", "reason=blocked"));
    assert!(!holds("access.log.1", "/two") && !holds("access.log", "/one"));
    // With an invalid list the old one stays in use, and the error has its place.
    std::fs::write(file("blocked.txt"), "\nnobody\n").unwrap();
    edge.signal(Signal::HUP);
    let why = edge.wait_for_line("the old configuration stays in use");
    assert!(why.contains("line 2 of `blocked.txt`"), "{why}");
    assert!(get(edge.address, "/two").contains("X-Plimsoll: blocked\r\n"));
    assert_eq!(edge.end().code(), Some(0));
}

#[test]
fn what_cannot_start_says_why() {
    let place = Sandbox::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let stderr_of = |arguments: &[&str]| {
        let output = place.run(arguments);
        assert_eq!(output.code, 2, "{output:?}");
        output.stderr
    };
    let to = "http://127.0.0.1:1";
    assert!(stderr_of(&["edge"]).contains("--to"));
    let in_use = stderr_of(&["edge", "--to", to, "--listen", &address]);
    assert!(
        in_use.contains(&address) && in_use.contains("--listen"),
        "{in_use}"
    );
    let nobody = place.run(&["edge", "--to", "http://nobody.invalid"]);
    assert_eq!(nobody.code, 5, "{nobody:?}");
    assert!(
        nobody
            .stderr
            .contains("cannot resolve the host `nobody.invalid`")
    );
    assert!(
        stderr_of(&["edge", "--to", "http://127.0.0.1/path"])
            .contains("not the URL of a server alone")
    );
    assert!(stderr_of(&["edge", "--to", to, "--fallback", "gone.html"]).contains("gone.html"));
    assert!(stderr_of(&["edge", "--to", to, "--max-in-flight", "0"]).contains("adaptive"));
    assert!(
        stderr_of(&[
            "edge",
            "--to",
            to,
            "--listen",
            "127.0.0.1:0",
            "--admin",
            &address
        ])
        .contains("--admin")
    );
    assert!(
        stderr_of(&[
            "edge",
            "--to",
            to,
            "--listen",
            "127.0.0.1:0",
            "--admin",
            "0.0.0.0:0"
        ])
        .contains("token")
    );
}

#[test]
fn all_faults_of_certificates_are_checked_at_once() {
    let place = Sandbox::new();
    let put = |name: &str, until: i32| {
        let mut params = rcgen::CertificateParams::new(["a.example".to_owned()]).unwrap();
        params.not_before = rcgen::date_time_ymd(2000, 1, 1);
        params.not_after = rcgen::date_time_ymd(until, 1, 1);
        let key = rcgen::KeyPair::generate().unwrap();
        let cert = params.self_signed(&key).unwrap().pem();
        std::fs::write(place.path().join(format!("{name}.pem")), cert).unwrap();
        std::fs::write(
            place.path().join(format!("{name}.key")),
            key.serialize_pem(),
        )
        .unwrap();
    };
    put("good", 4000);
    put("old", 2001);
    let write = |certificates: &str, tls: &str| {
        let text = format!(
            "listen: [{{ address: 127.0.0.1:0, tls: [{certificates}] }}]\n\
             pools: {{ app: {{ servers: [\"https://127.0.0.1:1\"], tls: {{ {tls} }} }} }}\n\
             routes: [{{ match: {{ host: [a.example, b.example] }}, pool: app }}]\n"
        );
        std::fs::write(place.path().join("edge.yaml"), text).unwrap();
        place.run(&["edge", "check", "edge.yaml"])
    };
    let bad = write(
        "{ cert: old.pem, key: old.key }, { cert: good.pem, key: old.key }, { cert: gone.pem, key: old.key }",
        "ca: good.key",
    );
    assert_eq!(bad.code, 2, "{bad:?}");
    for expected in [
        "old.pem has expired on Mon, 01 Jan 2001",
        "old.key does not belong to the certificate good.pem",
        "cannot read gone.pem",
        "cannot use the root certificates in good.key: no certificate found",
        "edge.yaml has 4 problems",
    ] {
        assert!(
            bad.stderr.contains(expected),
            "{expected} is not in {bad:?}"
        );
    }
    let good = write("{ cert: good.pem, key: good.key }", "insecure: true");
    assert_eq!(good.code, 0, "{good:?}");
    assert!(
        good.stderr
            .contains("the listener 127.0.0.1:0 has no certificate for `b.example`")
    );
    assert!(
        good.stderr
            .contains("the certificates of the pool `app` are NOT checked")
    );
    assert!(!good.stderr.contains("`a.example`"), "{good:?}");
}
