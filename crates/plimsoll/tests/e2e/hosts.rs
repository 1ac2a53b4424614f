//! `--on hosts.yaml`: workers over a real server of SSH, what stays of them, and who is missing.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, ChildStderr, Command};
use std::time::Duration;

use plimsoll_testkit::origin::fault::{self, OriginFault};
use plimsoll_testkit::port;
use plimsoll_testkit::program::ssh::{SshOptions, SshServer};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::kill::after;
use crate::support::{CommandOutput, Sandbox, count, interrupt, number};
use crate::workers::wait_for_seconds;

/// Looks at something at most, 20 ms apart: a minute.
const LOOKS_MAX: u32 = 3_000;

/// Two hosts, of which the first carries more.
const TWO: &str = "hosts:\n  - { ssh: eu1, region: eu }\n  - { ssh: us1, region: us }\nregions: { eu: 60%, us: 40% }\n";

/// A run whose workers are on hosts.
struct HostsRun {
    child: Child,
    stderr: BufReader<ChildStderr>,
    /// What it has printed so far.
    text: String,
}

impl HostsRun {
    fn start(place: &Sandbox, server: &SshServer, url: &str, arguments: &[&str]) -> Self {
        let mut child = command(place, server, url, arguments).spawn().unwrap();
        Self {
            stderr: BufReader::new(child.stderr.take().unwrap()),
            child,
            text: String::new(),
        }
    }

    /// Reads on to a line with this text.
    fn read_to(&mut self, part: &str) {
        loop {
            let before = self.text.len();
            let read = self.stderr.read_line(&mut self.text).unwrap();
            assert!(read > 0, "no line has `{part}`: {}", self.text);
            if self.text[before..].contains(part) {
                return;
            }
        }
    }

    fn end(mut self) -> CommandOutput {
        self.stderr.read_to_string(&mut self.text).unwrap();
        CommandOutput {
            stderr: self.text,
            ..self.child.wait_with_output().unwrap().into()
        }
    }
}

/// `run` on the hosts of `hosts.yaml`, by an `ssh` that leads to this server.
fn command(place: &Sandbox, server: &SshServer, url: &str, arguments: &[&str]) -> Command {
    let words = ["run", url, "--on", "hosts.yaml"];
    let mut command = place.command(&[&words[..], arguments].concat());
    command.env("PATH", server.search_path());
    command
}

fn run(place: &Sandbox, server: &SshServer, url: &str, arguments: &[&str]) -> CommandOutput {
    command(place, server, url, arguments)
        .output()
        .unwrap()
        .into()
}

fn write_hosts(place: &Sandbox, text: &str) {
    std::fs::write(place.path().join("hosts.yaml"), text).unwrap();
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().next().is_none()
}

/// Neither a process nor a file is left on the hosts.
#[track_caller]
fn assert_nothing_is_left(server: &SshServer) {
    let processes = server.sent_processes();
    assert!(processes.is_empty(), "{processes:?}");
    assert!(is_empty(&server.temporary()));
}

/// The same, as soon as everything has ended that nobody waits for.
fn wait_until_nothing_is_left(server: &SshServer) {
    let mut looks = 0;
    while !server.sent_processes().is_empty() || !is_empty(&server.temporary()) {
        after(Duration::from_millis(20));
        looks += 1;
        assert!(looks < LOOKS_MAX, "{:?}", server.sent_processes());
    }
}

#[test]
fn hosts_carry_the_parts_of_their_regions_and_nothing_stays_there() {
    let origin = fault::start(OriginFault::None).unwrap();
    let server = SshServer::start(SshOptions::default());
    let place = Sandbox::new();
    write_hosts(&place, TWO);
    let load = [
        "--rate",
        "200/s",
        "--spacing",
        "even",
        "--for",
        "4s",
        "--json",
    ];
    let mut run = HostsRun::start(&place, &server, &origin.url(), &load);
    run.read_to("starting 2 workers over ssh: eu1, us1");
    run.read_to("is ready (2 of 2)");
    wait_for_seconds(&place, 1);
    // No secret is in the list of processes, and no file where others could find it.
    let processes = server.sent_processes();
    assert_eq!(processes.len(), 2, "{processes:?}");
    for (_, words) in processes {
        assert_eq!(words[1..], ["worker", "--sent"]);
    }
    assert!(is_empty(&server.temporary()));
    let output = run.end();
    assert_nothing_is_left(&server);
    output.assert_sent();
    let json = output.json();
    place.assert_follows_schema("run", &json);
    assert_eq!((count(&json, "requests"), origin.requests()), (800, 800));
    let regions = json["regions"].as_array().unwrap();
    for (region, (name, requests)) in regions.iter().zip([("eu", 480), ("us", 320)]) {
        assert_eq!(
            (&region["region"], count(region, "requests")),
            (&Value::from(name), requests)
        );
        assert!((number(region, "share") - requests as f64 / 800.0).abs() < 1e-9);
    }
    let workers = json["workers"].as_array().unwrap();
    let mut names: Vec<&str> = workers
        .iter()
        .map(|worker| worker["name"].as_str().unwrap())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["eu1", "us1"]);
    assert!(!output.stderr.contains("plimsoll1-"), "{output:?}");
}

#[test]
fn an_interrupt_takes_everything_away_and_keeps_what_was_measured() {
    let origin = fault::start(OriginFault::None).unwrap();
    let server = SshServer::start(SshOptions::default());
    let place = Sandbox::new();
    write_hosts(&place, TWO);
    let load = ["--rate", "100/s", "--for", "1h"];
    let run = HostsRun::start(&place, &server, &origin.url(), &load);
    wait_for_seconds(&place, 2);
    interrupt(&run.child);
    let output = run.end();
    assert_eq!(output.code, 130, "{output:?}");
    assert_nothing_is_left(&server);
    let log = crate::kill::so_far(&place).unwrap();
    assert!(log.run.windows.len() >= 2);
}

#[test]
fn an_interrupt_while_hosts_are_started_takes_everything_away() {
    let origin = fault::start(OriginFault::None).unwrap();
    let server = SshServer::start(SshOptions::default());
    let place = Sandbox::new();
    // One that never comes, so that the run waits.
    write_hosts(&place, "hosts: [eu1, nowhere]\n");
    let load = ["--rate", "100/s", "--for", "1h", "--allow-fewer", "2"];
    let refused = run(&place, &server, &origin.url(), &load);
    assert_eq!(refused.code, 2, "{refused:?}");
    wait_until_nothing_is_left(&server);
    write_hosts(&place, "hosts: [eu1, { ssh: eu2, workers: 2 }]\n");
    let mut run = HostsRun::start(&place, &server, &origin.url(), &["--rate", "1/s"]);
    run.read_to("starting 3 workers over ssh: eu1, eu2, eu2-2");
    interrupt(&run.child);
    let output = run.end();
    assert_eq!(output.code, 130, "{output:?}");
    wait_until_nothing_is_left(&server);
    assert_eq!(origin.requests(), 0);
}

#[test]
fn workers_of_a_killed_run_end_and_are_taken_away() {
    let origin = fault::start(OriginFault::None).unwrap();
    let server = SshServer::start(SshOptions::default());
    let place = Sandbox::new();
    write_hosts(&place, TWO);
    let load = ["--rate", "100/s", "--for", "1h"];
    let mut run = HostsRun::start(&place, &server, &origin.url(), &load);
    wait_for_seconds(&place, 1);
    run.child.kill().unwrap();
    run.child.wait().unwrap();
    wait_until_nothing_is_left(&server);
}

#[test]
fn a_worker_that_is_killed_on_its_host_is_lost_by_its_name() {
    let origin = fault::start(OriginFault::None).unwrap();
    let server = SshServer::start(SshOptions::default());
    let place = Sandbox::new();
    write_hosts(&place, TWO);
    let load = ["--rate", "100/s", "--for", "14s", "--json"];
    let run = HostsRun::start(&place, &server, &origin.url(), &load);
    wait_for_seconds(&place, 2);
    let (id, _) = server.sent_processes()[0];
    let id = Pid::from_raw(id.cast_signed()).unwrap();
    kill_process(id, Signal::KILL).unwrap();
    let output = run.end();
    assert_nothing_is_left(&server);
    assert_eq!(output.code, 6, "{output:?}");
    let json = output.json();
    let workers = json["workers"].as_array().unwrap();
    let lost = workers.iter().find(|worker| worker["lost_at"].is_u64());
    let name = lost.unwrap()["name"].as_str().unwrap();
    let void = json["void"].to_string();
    assert!(
        void.contains(&format!("worker {name} was lost at second")),
        "{void}"
    );
}

#[test]
fn a_host_that_does_not_come_is_named_unless_fewer_are_enough() {
    let origin = fault::start(OriginFault::None).unwrap();
    let server = SshServer::start(SshOptions::default());
    let place = Sandbox::new();
    write_hosts(&place, "hosts: [eu1, nowhere]\n");
    let load = [
        "--rate",
        "100/s",
        "--spacing",
        "even",
        "--for",
        "2s",
        "--json",
    ];
    let refused = run(&place, &server, &origin.url(), &load);
    assert_eq!(refused.code, 2, "{refused:?}");
    for part in [
        "nowhere: ",
        "of 2 workers were ready",
        "missing: nowhere (ssh ended before the program ran there (exit status: 255)",
        "--allow-fewer",
    ] {
        assert!(refused.stderr.contains(part), "{part}: {refused:?}");
    }
    wait_until_nothing_is_left(&server);
    assert_eq!(origin.requests(), 0);
    let fewer = [&load[..], &["--allow-fewer", "1"]].concat();
    let output = run(&place, &server, &origin.url(), &fewer);
    output.assert_sent();
    assert!(
        output.stderr.contains("1 of 2 workers carry the load"),
        "{output:?}"
    );
    let json = output.json();
    assert_eq!((count(&json, "requests"), origin.requests()), (200, 200));
    assert_eq!(json["workers"].as_array().unwrap().len(), 1);
    assert_nothing_is_left(&server);
}

#[test]
fn a_server_without_forwarding_is_named_and_an_address_does_without() {
    let origin = fault::start(OriginFault::None).unwrap();
    let server = SshServer::start(SshOptions {
        forwards: false,
        ..SshOptions::default()
    });
    let place = Sandbox::new();
    write_hosts(&place, "hosts: [eu1]\n");
    let load = [
        "--rate",
        "100/s",
        "--spacing",
        "even",
        "--for",
        "2s",
        "--json",
    ];
    let refused = run(&place, &server, &origin.url(), &load);
    assert_eq!(refused.code, 2, "{refused:?}");
    for part in ["AllowTcpForwarding", "--on-address HOST:PORT"] {
        assert!(refused.stderr.contains(part), "{part}: {refused:?}");
    }
    wait_until_nothing_is_left(&server);
    let address = port::unused().to_string();
    let direct = [&load[..], &["--on-address", &address]].concat();
    let output = run(&place, &server, &origin.url(), &direct);
    output.assert_sent();
    assert_eq!(count(&output.json(), "requests"), 200);
    assert_nothing_is_left(&server);
}

#[test]
fn a_host_without_room_for_the_program_is_named() {
    let server = SshServer::start(SshOptions {
        has_room: false,
        ..SshOptions::default()
    });
    let origin = fault::start(OriginFault::None).unwrap();
    let place = Sandbox::new();
    write_hosts(&place, "hosts: [eu1]\n");
    let refused = run(&place, &server, &origin.url(), &["--rate", "1/s"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    let why = "eu1 (the program cannot be written there; make room in the folder";
    assert!(refused.stderr.contains(why), "{refused:?}");
}

#[test]
fn more_loops_than_a_load_can_be_split_into_are_refused() {
    let place = Sandbox::new();
    write_hosts(
        &place,
        "hosts: [{ ssh: a, workers: 3 }, { ssh: b, workers: 2 }]\n",
    );
    let words = "run http://127.0.0.1:1/ --rate 10/s --on hosts.yaml --cores 256";
    let output = place.run(&words.split(' ').collect::<Vec<_>>());
    assert_eq!(output.code, 2, "{output:?}");
    let expected = "at most 1024 loops";
    assert!(output.stderr.contains(expected), "{output:?}");
}

#[test]
fn hosts_that_cannot_be_meant_are_refused_with_place_and_remedy() {
    let place = Sandbox::new();
    let url = "http://127.0.0.1:1/";
    let refused = |arguments: &[&str], expected: &str| {
        let output = place.run(&[&["run", url, "--rate", "10/s"], arguments].concat());
        assert_eq!(output.code, 2, "{arguments:?}: {output:?}");
        assert!(
            output.stderr.contains(expected),
            "{arguments:?}: {output:?}"
        );
    };
    let on = ["--on", "hosts.yaml"];
    refused(&on, "cannot read the file of hosts hosts.yaml");
    for (text, expected) in [
        (
            "hosts: [me@-x]\n",
            "hosts.yaml:1:9: `-x` is not a host for ssh; valid: USER@HOST",
        ),
        ("hosts: []\n", "there are no hosts"),
        ("host: [a]\n", "did you mean `hosts`?"),
        (
            "hosts: [{ ssh: a, workers: 300 }]\n",
            "`300` is out of range",
        ),
        (
            "hosts: [{ ssh: a, region: eu }]\nregions: { eu: 90% }\n",
            "the shares are 90% together",
        ),
        (
            "hosts: [{ ssh: a, workers: 200 }, { ssh: b, workers: 200 }]\n",
            "would carry 400 workers; valid: at most 256",
        ),
        (
            "hosts: [{ ssh: a, region: eu, workers: 100 }, { ssh: b, region: us }]\nregions: { eu: 0.1%, us: 99.9% }\n",
            "the shares of the regions need 100000 event loops, at most 1024",
        ),
    ] {
        write_hosts(&place, text);
        refused(&on, expected);
    }
    write_hosts(
        &place,
        "hosts: [{ ssh: a, workers: 2 }, { ssh: b, workers: 2 }]\n",
    );
    for (flags, expected) in [
        (&["--workers", "5"][..], "5 workers are more than the 4"),
        (&["--workers", "3"], "valid: from 4"),
        (&["--allow-fewer", "5"], "give 1 to 4"),
        (&["--on-address", "7400"], "HOST:PORT"),
        (&["--join-within", "2h"], "1s to 1h"),
    ] {
        refused(&[&on[..], flags].concat(), expected);
    }
    refused(&["--on", "kubernetes"], "--print-job");
    refused(
        &[
            "--on",
            "listen:127.0.0.1:0",
            "--on-address",
            "a:1",
            "--workers",
            "1",
        ],
        "--on-address is for hosts",
    );
    refused(&["--join-within", "1m"], "--on");
}
