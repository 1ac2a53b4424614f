//! The edge under a service manager: socket activation, notifications, and the change of user.

use std::io::{BufRead as _, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixDatagram;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use plimsoll_testkit::port;
use rustix::process::Signal;

use crate::edge::{get, origin};
use crate::support::{Sandbox, signal};

/// Time-out of each wait.
const PATIENCE: Duration = Duration::from_mins(1);

/// A process that ends with the test.
struct Alive(Child);

impl Drop for Alive {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Alive {
    /// Reads stderr up to a line with these words.
    fn lines(&mut self) -> std::io::Lines<BufReader<std::process::ChildStderr>> {
        BufReader::new(self.0.stderr.take().unwrap()).lines()
    }
}

fn until(lines: &mut std::io::Lines<BufReader<std::process::ChildStderr>>, words: &str) -> String {
    let mut before = Vec::new();
    for line in lines.map_while(Result::ok) {
        if line.contains(words) {
            return line;
        }
        before.push(line);
    }
    panic!("it does not say `{words}`: {before:?}");
}

/// The address in a line.
fn address_in(line: &str) -> SocketAddr {
    let rest = line.split("http://").nth(1).unwrap();
    let text: String = rest
        .chars()
        .take_while(|c| c.is_ascii_digit() || ".:".contains(*c))
        .collect();
    text.trim_end_matches(':').parse().unwrap()
}

/// A process that gets a socket named `web` as a service manager hands it over.
fn activated(place: &Sandbox, address: SocketAddr, arguments: &[&str]) -> Alive {
    let process = Command::new("systemd-socket-activate")
        .args(["--listen", &address.to_string(), "--fdname=web"])
        .arg(env!("CARGO_BIN_EXE_plimsoll"))
        .args(arguments)
        .current_dir(place.path())
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("systemd-socket-activate is installed: apt-get install systemd");
    Alive(process)
}

#[test]
fn sockets_that_systemd_hands_over_are_used() {
    let place = Sandbox::new();
    let (address, to) = (port::unused(), format!("http://{}", origin()));
    let listen = address.to_string();
    let arguments = [
        "edge",
        "--listen",
        &listen,
        "--admin",
        "127.0.0.1:0",
        "--cores",
        "2",
        "--to",
        &to,
    ];
    let mut process = activated(&place, address, &arguments);
    let mut lines = process.lines();
    until(&mut lines, "Listening on");
    // It starts with the first connection, which has waited in the socket: nobody but who holds it can answer.
    for _ in 0..20 {
        assert!(get(address, "/").ends_with("\r\n\r\nok"));
    }
    until(&mut lines, &format!("edge at http://{address}"));
    signal(&process.0, Signal::TERM);
    assert!(process.0.wait().unwrap().success());
}

#[test]
fn a_socket_that_nobody_wants_is_named() {
    let place = Sandbox::new();
    let address = port::unused();
    let arguments = [
        "edge",
        "--listen",
        "127.0.0.1:0",
        "--to",
        "http://127.0.0.1:1",
    ];
    let mut process = activated(&place, address, &arguments);
    let mut lines = process.lines();
    until(&mut lines, "Listening on");
    let _waits = TcpStream::connect(address).unwrap();
    let output = until(&mut lines, "inherited socket");
    assert!(output.contains(&format!("`web` at {address}")), "{output}");
    assert!(until(&mut lines, "help:").contains(".socket"));
    assert_eq!(process.0.wait().unwrap().code(), Some(2));
}

#[test]
fn the_service_manager_is_told_how_far_it_is() {
    let place = Sandbox::new();
    let path = place.path().join("notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    let next_message = || {
        let mut message = [0; 1024];
        let len = manager.recv(&mut message).unwrap();
        String::from_utf8(message[..len].to_vec()).unwrap()
    };
    let text = format!("pools: {{ app: {{ servers: [\"http://{}\"] }} }}", origin());
    std::fs::write(place.path().join("edge.yaml"), text).unwrap();
    let arguments = [
        "edge",
        "--config",
        "edge.yaml",
        "--listen",
        "127.0.0.1:0",
        "--admin",
        "127.0.0.1:0",
    ];
    let mut command = place.command(&arguments);
    let mut process = Alive(command.env("NOTIFY_SOCKET", &path).spawn().unwrap());
    assert_eq!(next_message(), "READY=1\n");
    for broken in [false, true] {
        if broken {
            std::fs::write(place.path().join("edge.yaml"), "pools: 3").unwrap();
        }
        signal(&process.0, Signal::HUP);
        let reloading = next_message();
        assert!(
            reloading.starts_with("RELOADING=1\nMONOTONIC_USEC="),
            "{reloading}"
        );
        assert_eq!(next_message(), "READY=1\n");
    }
    signal(&process.0, Signal::TERM);
    assert_eq!(next_message(), "STOPPING=1\n");
    assert!(process.0.wait().unwrap().success());
}

/// `/proc` entries of all threads of a process.
fn of_threads(pid: u32, field: &str) -> Vec<String> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    tasks
        .flatten()
        .filter_map(|task| std::fs::read_to_string(task.path().join("status")).ok())
        .map(|status| {
            let line = status.lines().find_map(|line| line.strip_prefix(field));
            line.unwrap()
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect()
}

#[test]
fn rights_are_dropped_once_everything_is_bound() {
    if !rustix::process::geteuid().is_root() {
        plimsoll_testkit::not_tried::not_tried("rights can be dropped by root only");
        return;
    }
    let place = Sandbox::new();
    // The other user must find its configuration again.
    std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let text = format!(
        "pools: {{ app: {{ servers: [\"http://{}\"] }} }}\naccess_log: {}\n",
        origin(),
        place.path().join("access.log").display()
    );
    std::fs::write(place.path().join("edge.yaml"), text).unwrap();
    let mut process = Alive(place.start(&[
        "edge",
        "--config",
        "edge.yaml",
        "--listen",
        "127.0.0.1:0",
        "--admin",
        "127.0.0.1:0",
        "--cores",
        "2",
        "--user",
        "nobody",
    ]));
    let mut lines = process.lines();
    let address = address_in(&until(&mut lines, "edge at http://"));
    until(&mut lines, "admin at");
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap();
    let entry = passwd
        .lines()
        .find_map(|line| line.strip_prefix("nobody:"))
        .unwrap();
    let ids: Vec<&str> = entry.split(':').skip(1).take(2).collect();
    let pid = process.0.id();
    let (uid, gid) = (ids[0], ids[1]);
    let threads = of_threads(pid, "Uid:");
    assert!(threads.len() >= 4, "{threads:?}");
    assert!(
        threads.iter().all(|value| *value == [uid; 4].join(" ")),
        "{threads:?}"
    );
    assert!(
        of_threads(pid, "Gid:")
            .iter()
            .all(|value| *value == [gid; 4].join(" "))
    );
    assert!(
        of_threads(pid, "Groups:")
            .iter()
            .all(|groups| groups == gid),
        "{:?}",
        of_threads(pid, "Groups:")
    );
    assert!(
        of_threads(pid, "CapEff:")
            .iter()
            .all(|capabilities| capabilities == "0000000000000000")
    );
    assert!(get(address, "/").ends_with("\r\n\r\nok"));
    signal(&process.0, Signal::HUP);
    until(&mut lines, "the new configuration is in use");
    assert!(get(address, "/").ends_with("\r\n\r\nok"));
    signal(&process.0, Signal::TERM);
    assert!(process.0.wait().unwrap().success());
    let log = std::fs::read_to_string(place.path().join("access.log")).unwrap();
    assert_eq!(log.lines().count(), 2, "{log}");
}
