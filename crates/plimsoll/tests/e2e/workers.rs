//! `plimsoll run --on listen:PORT` with `plimsoll worker`: what is counted, and what happens when one of them is gone.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStderr, Command};
use std::time::Duration;

use plimsoll_testkit::machine::cgroup::Cgroup;
use plimsoll_testkit::origin::fault::{self, OriginFault};
use plimsoll_testkit::port;
use rustix::process::Signal;
use serde_json::Value;

use crate::kill::{after, so_far};
use crate::support::{CommandOutput, Sandbox, count, interrupt, number, signal};

/// A run or a search that waits for its two workers.
pub(crate) struct CoordinatedRun {
    pub(crate) child: Child,
    stderr: BufReader<ChildStderr>,
    /// What it has printed so far.
    text: String,
    /// The command of a worker, as it was printed, without the name of the program.
    command: Vec<String>,
}

impl CoordinatedRun {
    fn start(place: &Sandbox, url: &str, arguments: &[&str]) -> Self {
        Self::of(place, &["run", url], arguments)
    }

    /// The same of a command and its target.
    pub(crate) fn of(place: &Sandbox, command: &[&str], arguments: &[&str]) -> Self {
        let on = ["--on", "listen:127.0.0.1:0", "--workers", "2"];
        let mut child = place.start(&[command, &on[..], arguments].concat());
        let mut run = Self {
            stderr: BufReader::new(child.stderr.take().unwrap()),
            child,
            text: String::new(),
            command: Vec::new(),
        };
        let line = run.read_to("plimsoll worker --join ");
        run.command = line.split_whitespace().skip(1).map(str::to_owned).collect();
        run
    }

    /// Reads on to a line that begins so, and returns it.
    pub(crate) fn read_to(&mut self, beginning: &str) -> String {
        loop {
            let before = self.text.len();
            let read = self.stderr.read_line(&mut self.text).unwrap();
            assert!(read > 0, "no line begins with `{beginning}`: {}", self.text);
            let line = &self.text[before..];
            if line.starts_with(beginning) {
                return line.trim_end().to_owned();
            }
        }
    }

    pub(crate) fn worker(&self, place: &Sandbox, name: &str) -> Child {
        let mut words: Vec<&str> = self.command.iter().map(String::as_str).collect();
        words.extend(["--name", name, "--region", "here"]);
        place.start(&words)
    }

    pub(crate) fn end(mut self) -> CommandOutput {
        self.stderr.read_to_string(&mut self.text).unwrap();
        CommandOutput {
            stderr: self.text,
            ..self.child.wait_with_output().unwrap().into()
        }
    }
}

pub(crate) fn end(worker: Child) -> CommandOutput {
    worker.wait_with_output().unwrap().into()
}

/// Waits until a run has written so many seconds.
pub(crate) fn wait_for_seconds(place: &Sandbox, seconds: usize) {
    let mut polls = 0;
    while so_far(place).is_none_or(|log| log.run.windows.len() < seconds) {
        after(Duration::from_millis(20));
        polls += 1;
        assert!(polls < 3000, "nothing is measured");
    }
}

pub(crate) fn sum(json: &Value, name: &str) -> u64 {
    let workers = json["workers"].as_array().unwrap();
    workers.iter().map(|worker| count(worker, name)).sum()
}

#[test]
fn two_workers_send_what_the_origin_counts() {
    let origin = fault::start(OriginFault::None).unwrap();
    let place = Sandbox::new();
    let load = [
        "--rate",
        "200/s",
        "--spacing",
        "even",
        "--for",
        "3s",
        "--json",
    ];
    let run = CoordinatedRun::start(&place, &origin.url(), &load);
    let workers = ["a", "b"].map(|name| run.worker(&place, name));
    let output = run.end();
    output.assert_sent();
    let json = output.json();
    place.assert_follows_schema("run", &json);
    assert_eq!(count(&json, "requests"), 600);
    assert_eq!(origin.requests(), 600);
    assert_eq!(sum(&json, "requests"), 600);
    for worker in json["workers"].as_array().unwrap() {
        assert_eq!(count(worker, "offered"), 300, "{worker:#}");
        assert_eq!(
            (&worker["region"], &worker["lost_at"]),
            (&Value::from("here"), &Value::Null)
        );
        let error_ms = number(worker, "clock_error_ms");
        assert!(
            number(worker, "clock_offset_ms").abs() <= error_ms + 1.0,
            "{worker:#}"
        );
        assert!(number(worker, "lag_ms_p99") >= 0.0);
    }
    for worker in workers {
        let output = end(worker);
        assert_eq!(output.code, 0, "{output:?}");
        assert!(output.stderr.contains("ready to carry part"), "{output:?}");
    }
    let again = place.run(&["report", json["run_file"].as_str().unwrap(), "--json"]);
    assert_eq!(again.json()["workers"], json["workers"]);
    // The token is printed once, and stored nowhere.
    let file = place.path().join(json["run_file"].as_str().unwrap());
    let log = plimsoll_lab::run_log::read(&file).unwrap();
    assert!(!format!("{:?}", log.run).contains("plimsoll1-"));
}

#[test]
fn a_killed_worker_is_named_and_voids_the_run_unless_it_may_go_on() {
    let origin = fault::start(OriginFault::None).unwrap();
    for (if_lost, is_void) in [("void", true), ("continue", false)] {
        let place = Sandbox::new();
        let load = [
            "--rate",
            "100/s",
            "--for",
            "14s",
            "--json",
            "--if-lost",
            if_lost,
        ];
        let run = CoordinatedRun::start(&place, &origin.url(), &load);
        let first = run.worker(&place, "a");
        let mut second = run.worker(&place, "b");
        wait_for_seconds(&place, 2);
        second.kill().unwrap();
        let output = run.end();
        let _ = second.wait();
        let json = output.json();
        assert!(
            output.stderr.contains("worker b was lost at second"),
            "{output:?}"
        );
        let void = json["void"].to_string();
        assert_eq!(
            void.contains("worker b was lost at second"),
            is_void,
            "{json:#}"
        );
        assert!(output.code == 6 || !is_void, "{output:?}");
        if !is_void {
            assert_eq!(sum(&json, "requests"), count(&json, "requests"));
        }
        let workers = json["workers"].as_array().unwrap();
        let b = workers.iter().find(|worker| worker["name"] == "b").unwrap();
        assert!(b["lost_at"].is_u64(), "{json:#}");
        let output = end(first);
        assert_eq!(output.code, 0, "{output:?}");
    }
}

#[test]
fn a_worker_that_stood_still_loses_nothing_and_is_named_as_late() {
    let origin = fault::start(OriginFault::None).unwrap();
    let place = Sandbox::new();
    let load = [
        "--rate",
        "100/s",
        "--spacing",
        "even",
        "--for",
        "8s",
        "--json",
    ];
    let run = CoordinatedRun::start(&place, &origin.url(), &load);
    let first = run.worker(&place, "a");
    let second = run.worker(&place, "b");
    wait_for_seconds(&place, 2);
    signal(&second, Signal::STOP);
    after(Duration::from_secs(3));
    signal(&second, Signal::CONT);
    let output = run.end();
    assert_eq!(output.code, 6, "{output:?}");
    let json = output.json();
    assert_eq!(count(&json, "requests"), 800, "{json:#}");
    assert_eq!(origin.requests(), 800);
    assert_eq!(sum(&json, "offered"), 800);
    let void = json["void"].to_string();
    assert!(void.contains("worker b: the generator was late"), "{void}");
    for worker in json["workers"].as_array().unwrap() {
        assert_eq!(worker["lost_at"], Value::Null, "{worker:#}");
    }
    for worker in [first, second] {
        let output = end(worker);
        assert_eq!(output.code, 0, "{output:?}");
    }
}

#[test]
fn a_worker_whose_quota_is_used_up_is_named() {
    let Some(cgroup) = Cgroup::fifth_of_a_cpu() else {
        return;
    };
    let origin = fault::start(OriginFault::None).unwrap();
    let place = Sandbox::new();
    let load = [
        "--rate",
        "100/s",
        "--spacing",
        "even",
        "--for",
        "10s",
        "--json",
    ];
    let mut run = CoordinatedRun::start(&place, &origin.url(), &load);
    let limited = run.worker(&place, "b");
    run.read_to("worker b in here is ready (1 of 2)");
    cgroup.take(limited.id());
    let free = run.worker(&place, "a");
    wait_for_seconds(&place, 1);
    // It shares the quota, and ends by itself whatever becomes of this test.
    let mut busy = Command::new("sh")
        .args(["-c", "ulimit -t 30; while :; do :; done"])
        .spawn()
        .unwrap();
    cgroup.take(busy.id());
    let output = run.end();
    busy.kill().unwrap();
    busy.wait().unwrap();
    assert_eq!(output.code, 6, "{output:?}");
    let void = output.json()["void"].to_string();
    assert!(
        void.contains("worker b: the CPU quota of its cgroup stopped the generator"),
        "{void}"
    );
    assert!(!void.contains("worker a: the CPU quota"), "{void}");
    for worker in [free, limited] {
        let output = end(worker);
        assert_eq!(output.code, 0, "{output:?}");
    }
}

#[test]
fn workers_of_a_killed_run_stop() {
    let origin = fault::start(OriginFault::None).unwrap();
    let place = Sandbox::new();
    let load = ["--rate", "100/s", "--for", "1h"];
    let mut run = CoordinatedRun::start(&place, &origin.url(), &load);
    let workers = ["a", "b"].map(|name| run.worker(&place, name));
    wait_for_seconds(&place, 2);
    run.child.kill().unwrap();
    run.child.wait().unwrap();
    for worker in workers {
        let output = end(worker);
        assert_eq!(output.code, 5, "{output:?}");
        assert!(
            output.stderr.contains("the coordinator was silent for"),
            "{output:?}"
        );
    }
}

#[test]
fn an_interrupt_while_it_waits_ends_everybody() {
    let origin = fault::start(OriginFault::None).unwrap();
    let place = Sandbox::new();
    let mut run = CoordinatedRun::start(&place, &origin.url(), &["--rate", "10/s"]);
    let worker = run.worker(&place, "a");
    run.read_to("worker a in here is ready (1 of 2)");
    interrupt(&run.child);
    let output = run.end();
    assert_eq!(output.code, 130, "{output:?}");
    let output = end(worker);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(output.stderr.contains("the run is over"), "{output:?}");
    assert_eq!(origin.requests(), 0);
}

#[test]
fn what_workers_cannot_carry_is_refused_with_the_remedy() {
    let place = Sandbox::new();
    let url = "http://127.0.0.1:1/";
    let on = ["--on", "listen:127.0.0.1:0", "--workers", "2"];
    for (arguments, expected) in [
        (&["--on", "7400", "--workers", "2"][..], "listen:7400"),
        (&["--on", "listen:7400"], "--workers"),
        (&["--workers", "2"], "--on"),
        (&["--if-lost", "continue"], "--on"),
        (
            &["--unix-socket", "/run/a", on[0], on[1], on[2], on[3]],
            "unix socket",
        ),
        (
            &["--source", "127.0.0.1", on[0], on[1], on[2], on[3]],
            "--source",
        ),
        (&["--cores", "1000", on[0], on[1], on[2], on[3]], "--cores"),
    ] {
        let output = place.run(&[&["run", url, "--rate", "10/s"], arguments].concat());
        assert_eq!(output.code, 2, "{arguments:?}: {output:?}");
        assert!(
            output.stderr.contains(expected),
            "{arguments:?}: {output:?}"
        );
    }
    let nobody = port::unused().to_string();
    let token = place.path().join("token");
    std::fs::write(&token, "not a token\n").unwrap();
    for (arguments, code, expected) in [
        (&["--join", "7400", "--token", "a"][..], 2, "HOST:PORT"),
        (&["--join", &nobody], 2, "--token"),
        (
            &["--join", &nobody, "--token-file", "token"],
            2,
            "plimsoll1-",
        ),
        (
            &["--join", &nobody, "--token-file", "nowhere"],
            2,
            "nowhere",
        ),
    ] {
        let output = place.run(&[&["worker"], arguments].concat());
        assert_eq!(output.code, code, "{arguments:?}: {output:?}");
        assert!(
            output.stderr.contains(expected),
            "{arguments:?}: {output:?}"
        );
    }
}
