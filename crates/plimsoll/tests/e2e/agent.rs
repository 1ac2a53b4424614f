//! `plimsoll agent`: readings of another process in `watch` and `run`, who is refused, and an agent that is killed; and a
//! machine that `node_exporter` shows instead.

use std::fs::Permissions;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, ChildStderr, Command};
use std::time::Duration;

use plimsoll_lab::run_log;
use plimsoll_testkit::origin::fault::{self, OriginFault};
use plimsoll_testkit::program::exporters::NodeExporter;
use rustix::process::Signal;

use crate::kill::after;
use crate::support::{CommandOutput, Sandbox, interrupt, signal};
use crate::watch::so_far;

/// Looks at a file at most, 20 ms apart: a minute.
const LOOKS_MAX: u32 = 3_000;

/// An agent on a port of this machine, with its key in the folder of the test.
struct RunningAgent {
    child: Child,
    /// Kept open: the agent prints who reads it.
    _stderr: BufReader<ChildStderr>,
    address: String,
}

impl RunningAgent {
    /// With its token in `NAME.token`.
    fn start(place: &Sandbox, name: &str) -> Self {
        let token = format!("{name}.token");
        let words = ["agent", "--listen", "127.0.0.1:0", "--name", name];
        let mut child = command(place, &[&words[..], &["--token-file", &token]].concat())
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut introduction = String::new();
        stderr.read_line(&mut introduction).unwrap();
        let begin = format!("agent {name} listens on ");
        let rest = introduction.strip_prefix(&begin);
        let rest = rest.unwrap_or_else(|| panic!("{introduction}"));
        Self {
            child,
            address: rest.split(';').next().unwrap().to_owned(),
            _stderr: stderr,
        }
    }
}

impl Drop for RunningAgent {
    fn drop(&mut self) {
        // It has been killed already, in a test of that.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A command whose state is in the folder of the test.
fn command(place: &Sandbox, arguments: &[&str]) -> Command {
    let mut command = place.command(arguments);
    command
        .env("XDG_STATE_HOME", place.path().join("state"))
        .env_remove("PLIMSOLL_AGENT_TOKEN");
    command
}

fn output(place: &Sandbox, arguments: &[&str]) -> CommandOutput {
    command(place, arguments).output().unwrap().into()
}

/// Begins to watch into `w.run`, with these flags.
fn watch(place: &Sandbox, flags: &[&str]) -> Child {
    let words = ["watch", "--watch", "none", "--for", "10m", "--out", "w.run"];
    command(place, &[&words[..], flags].concat())
        .spawn()
        .unwrap()
}

/// Waits until `w.run` has readings of a machine besides this one; returns its name.
fn machine_in_file(place: &Sandbox) -> String {
    for _ in 0..LOOKS_MAX {
        let machine = so_far(place).and_then(|loaded| {
            let machines = loaded.readings.machines();
            machines.first().map(|&machine| machine.to_owned())
        });
        if let Some(machine) = machine {
            return machine;
        }
        after(Duration::from_millis(20));
    }
    panic!("no other machine is read");
}

#[test]
fn the_readings_of_an_agent_are_in_the_file_of_a_watch() {
    let place = Sandbox::new();
    let agent = RunningAgent::start(&place, "db1");
    let flags = ["--agent", &agent.address, "--agent-token-file", "db1.token"];
    let child = watch(&place, &flags);
    assert_eq!(machine_in_file(&place), "db1");
    interrupt(&child);
    let output = CommandOutput::from(child.wait_with_output().unwrap());
    assert_eq!(output.code, 130, "{output:?}");
    let shown = "plimsoll.cpu.busy{host.name=db1}";
    assert!(output.stdout.contains(shown), "{output:?}");
    let loaded = so_far(&place).unwrap();
    let there = loaded.readings.of_machine("db1");
    for series in ["system.cpu.logical.count", "plimsoll.clock.offset"] {
        assert!(!there.between(series, 0, u32::MAX).is_empty(), "{series}");
    }
    // The definitions came too.
    assert_eq!(there.info("plimsoll.clock.offset").unwrap().unit, "s");
}

#[test]
fn a_machine_with_an_exporter_needs_no_agent() {
    let place = Sandbox::new();
    let exporter = NodeExporter::start();
    let url = format!("http://{}/metrics", exporter.address);
    let file = |text: String| std::fs::write(place.path().join("watch.yaml"), text).unwrap();
    let words = ["watch", "--watch", "watch.yaml", "--for", "10m"];
    // This machine under a second name.
    file(format!("node-exporter: '{url}'\n"));
    let refused = output(&place, &words);
    assert_eq!(refused.code, 2, "{refused:?}");
    let why = "`name` is missing: 127.0.0.1 is this machine";
    assert!(refused.stderr.contains(why), "{refused:?}");
    file(format!("node-exporter: {{ at: '{url}', name: db1 }}\n"));
    let words = [&words[..], &["--out", "w.run"]].concat();
    let child = command(&place, &words).spawn().unwrap();
    assert_eq!(machine_in_file(&place), "db1");
    interrupt(&child);
    let output = CommandOutput::from(child.wait_with_output().unwrap());
    assert_eq!(output.code, 130, "{output:?}");
    let there = so_far(&place).unwrap().readings.of_machine("db1");
    let cpus = "system.cpu.logical.count";
    assert!(!there.between(cpus, 0, u32::MAX).is_empty());
    assert_eq!(there.info(cpus).unwrap().unit, "{cpu}");
}

#[test]
fn an_agent_that_is_killed_is_noted_and_the_watch_goes_on() {
    let place = Sandbox::new();
    let mut agent = RunningAgent::start(&place, "db1");
    let flags = ["--agent", &agent.address, "--agent-token-file", "db1.token"];
    let mut child = watch(&place, &flags);
    machine_in_file(&place);
    agent.child.kill().unwrap();
    let mut notes = BufReader::new(child.stderr.take().unwrap()).lines();
    let gone = notes.find(|line| line.as_ref().unwrap().contains("is gone since second"));
    let gone = gone.unwrap().unwrap();
    assert!(gone.starts_with("note: db1: its agent"), "{gone}");
    let seconds = |place: &Sandbox| so_far(place).unwrap().readings.seconds().len();
    let before = seconds(&place);
    let mut looks = 0;
    while seconds(&place) < before + 2 {
        after(Duration::from_millis(20));
        looks += 1;
        assert!(looks < LOOKS_MAX, "this machine is read no more");
    }
    interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn a_run_has_the_readings_of_its_agents() {
    let place = Sandbox::new();
    let origin = fault::start(OriginFault::None).unwrap();
    let agent = RunningAgent::start(&place, "web1");
    let token = std::fs::read_to_string(place.path().join("web1.token")).unwrap();
    let url = origin.url();
    let words = ["run", &url, "--rate", "20/s", "--for", "10m", "--quiet"];
    // Without a file, the token of the variable.
    let child = command(&place, &[&words[..], &["--agent", &agent.address]].concat())
        .env("PLIMSOLL_AGENT_TOKEN", token)
        .spawn()
        .unwrap();
    let mut looks = 0;
    let is_read = || {
        let path = place.run_files().pop()?;
        let run = run_log::read(&path).ok()?.run;
        (run.readings.machines() == ["web1"]).then_some(())
    };
    while is_read().is_none() {
        after(Duration::from_millis(20));
        looks += 1;
        assert!(looks < LOOKS_MAX, "no other machine is read");
    }
    interrupt(&child);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
}

#[test]
fn agents_are_refused_before_anything_starts() {
    let place = Sandbox::new();
    let agent = RunningAgent::start(&place, "db1");
    let elsewhere = Sandbox::new();
    let _other = RunningAgent::start(&elsewhere, "db2");
    let foreign = elsewhere.path().join("db2.token").display().to_string();
    std::fs::write(place.path().join("cut.token"), "plimsoll1-abc\n").unwrap();
    let watch = ["watch", "--watch", "none", "--for", "1s", "--agent"];
    for (flags, expected) in [
        (
            &[&*agent.address, "--agent-token-file", &foreign][..],
            "another certificate than the invitation names",
        ),
        (
            &[&*agent.address, "--agent-token-file", "cut.token"],
            "incomplete or damaged",
        ),
        (
            &[&*agent.address, "--agent-token-file", "none.token"],
            "cannot read none.token",
        ),
        (&[&*agent.address], "there is no token"),
        (
            &["127.0.0.1:1", "--agent-token-file", "db1.token"],
            "cannot reach the agent",
        ),
        (&["db1"], "not the address of an agent"),
        (
            &[
                &*agent.address,
                "--agent",
                &agent.address,
                "--agent-token-file",
                "db1.token",
            ],
            "both named db1",
        ),
    ] {
        let output = output(&place, &[&watch[..], flags].concat());
        assert_eq!(output.code, 2, "{output:?}");
        assert!(output.stderr.contains(expected), "{flags:?}: {output:?}");
        assert!(!output.stderr.contains("plimsoll1-abc"), "{output:?}");
    }
}

#[test]
fn an_agent_and_an_exporter_of_one_name_are_refused() {
    let place = Sandbox::new();
    let agent = RunningAgent::start(&place, "db1");
    let text = "node-exporter: { at: 'http://127.0.0.1:1/metrics', name: db1 }\n";
    std::fs::write(place.path().join("watch.yaml"), text).unwrap();
    let words = ["watch", "--watch", "watch.yaml", "--for", "1s", "--agent"];
    let flags = [&*agent.address, "--agent-token-file", "db1.token"];
    let refused = output(&place, &[&words[..], &flags].concat());
    assert_eq!(refused.code, 2, "{refused:?}");
    for part in [
        "the agent of db1 and the node_exporter at http://127.0.0.1:1/metrics",
        "`plimsoll agent --name NAME`",
    ] {
        assert!(refused.stderr.contains(part), "{refused:?}");
    }
}

#[test]
fn who_is_not_invited_is_served_nothing() {
    let place = Sandbox::new();
    let serving = output(&place, &["agent", "--listen", "127.0.0.1:0"]);
    assert_eq!(serving.code, 2, "{serving:?}");
    assert!(
        serving.stderr.contains("plimsoll agent --invite"),
        "{serving:?}"
    );
    let invited = output(&place, &["agent", "--invite", "--name", "db1"]);
    assert_eq!(invited.code, 0, "{invited:?}");
    let token = invited.stdout.trim_end();
    assert!(
        token.starts_with("plimsoll1-") && !token.contains('\n'),
        "{invited:?}"
    );
    assert!(!invited.stderr.contains(token), "{invited:?}");
    assert!(
        invited
            .stderr
            .contains("--agent db1:9192 --agent-token-file"),
        "{invited:?}"
    );
    let key = place.path().join("state/plimsoll/agent.json");
    assert_eq!(key.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    // A token of another agent is noticed by the side that serves.
    let other = Sandbox::new();
    std::fs::write(other.path().join("db1.token"), token).unwrap();
    output(&other, &["agent", "--invite"]);
    let serving = output(
        &other,
        &[
            "agent",
            "--listen",
            "127.0.0.1:0",
            "--token-file",
            "db1.token",
        ],
    );
    assert_eq!(serving.code, 2, "{serving:?}");
    assert!(
        serving.stderr.contains("no token of this agent"),
        "{serving:?}"
    );
}

#[test]
fn an_agent_ends_by_a_signal_of_the_service_manager() {
    let place = Sandbox::new();
    let mut agent = RunningAgent::start(&place, "db1");
    signal(&agent.child, Signal::TERM);
    assert_eq!(agent.child.wait().unwrap().code(), Some(0));
}

/// What `ssh` does, on this machine: the last argument is a command for the shell there.
const SSH: &str = "#!/bin/sh\nfor last; do :; done\nexec sh -c \"$last\"\n";

#[test]
fn an_agent_is_sent_over_ssh_and_taken_away() {
    let place = Sandbox::new();
    let programs = place.path().join("bin");
    let there = place.path().join("there");
    for folder in [&programs, &there] {
        std::fs::create_dir(folder).unwrap();
    }
    let ssh = programs.join("ssh");
    std::fs::write(&ssh, SSH).unwrap();
    std::fs::set_permissions(&ssh, Permissions::from_mode(0o755)).unwrap();
    let words = ["watch", "--watch", "none", "--for", "10m", "--out", "w.run"];
    let path = format!("{}:/usr/bin:/bin", programs.display());
    let child = command(
        &place,
        &[&words[..], &["--agent", "ssh://me@elsewhere"]].concat(),
    )
    .env("PATH", path)
    .env("TMPDIR", &there)
    .spawn()
    .unwrap();
    machine_in_file(&place);
    assert!(is_empty(&there), "the program removes its file");
    interrupt(&child);
    let output = CommandOutput::from(child.wait_with_output().unwrap());
    assert_eq!(output.code, 130, "{output:?}");
    assert!(is_empty(&there));
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().next().is_none()
}
