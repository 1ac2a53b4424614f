//! `kill -9` at any moment: the next start finds everything as it was before.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::fixture::{Fixture, own};
use crate::killed;

pub(crate) const EVEN: &[super::Case] = &[(
    "even_kills_of_fifty_leave_nothing_applied",
    even_kills_of_fifty_leave_nothing_applied,
)];
pub(crate) const ODD: &[super::Case] = &[
    (
        "odd_kills_of_fifty_leave_nothing_applied",
        odd_kills_of_fifty_leave_nothing_applied,
    ),
    (
        "a_journal_puts_back_only_what_the_experiment_names",
        a_journal_puts_back_only_what_the_experiment_names,
    ),
];

const KILLS: u32 = 50;
/// A cycle of the program takes about this long.
const CYCLE: Duration = Duration::from_millis(400);

fn start(fixture: &Fixture) -> Child {
    Command::new(own())
        .arg(killed::WORD)
        .arg(fixture.base().join("experiment.yaml"))
        .args([fixture.base(), fixture.results()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Kills a program a while after so many steps, at a moment that no step of it knows; returns its last step.
fn kill_after(mut program: Child, steps: u32, while_running: Duration) -> String {
    let mut lines = BufReader::new(program.stdout.take().unwrap());
    let mut line = String::new();
    for _ in 0..steps {
        line.clear();
        lines.read_line(&mut line).unwrap();
    }
    let handle = pidfd_open(Pid::from_child(&program), PidfdFlags::empty()).unwrap();
    let timeout = Timespec {
        tv_sec: 0,
        tv_nsec: i64::from(while_running.subsec_nanos()),
    };
    let mut ended = [PollFd::new(&handle, PollFlags::IN)];
    let count = poll(&mut ended, Some(&timeout)).unwrap();
    assert_eq!(count, 0, "it ended by itself");
    program.kill().unwrap();
    program.wait().unwrap();
    let last = lines.lines().map_while(Result::ok).last();
    last.unwrap_or_else(|| line.trim().to_owned())
}

fn even_kills_of_fifty_leave_nothing_applied() {
    kills_leave_nothing_applied((0..KILLS).step_by(2));
}

fn odd_kills_of_fifty_leave_nothing_applied() {
    kills_leave_nothing_applied((1..KILLS).step_by(2));
}

fn kills_leave_nothing_applied(kills: impl Iterator<Item = u32>) {
    let fixture = Fixture::new();
    fixture.repository(&["one", "two"]);
    let before = b"before\0\xff\n";
    let conf = fixture.write("server.conf", before);
    let mode = fs::metadata(&conf).unwrap().mode();
    fixture.write("conf.in", b"level {{ level }}\n");
    let build = "echo built > built";
    let apply = format!(
        "cpus: 0.5\n\
         memory: 64MiB\n\
         file: [{{ template: conf.in, to: server.conf }}, {{ template: conf.in, to: new.conf }}]\n\
         git: {{ ref: v1, build: [sh, -c, {build:?}] }}\n\
         edge: \"{{{{ level }}}}.yaml\""
    );
    let text = fixture.serving(&apply, "");
    fixture.write("experiment.yaml", text.as_bytes());
    let mut steps = Vec::new();
    for kill in kills {
        // On a slow machine the moments may all be in the first steps: the last ones follow a later step at once.
        let after = (kill + 6).saturating_sub(KILLS).max(1);
        let pause = if after > 1 {
            Duration::ZERO
        } else {
            CYCLE * kill / KILLS
        };
        steps.push(kill_after(start(&fixture), after, pause));
        let groups = groups_named(&fixture);
        let services = fixture.open(&text);
        let left: Vec<_> = groups.iter().filter(|group| group.exists()).collect();
        assert!(left.is_empty(), "{left:?}");
        assert_eq!(
            fs::read(&conf).unwrap(),
            before,
            "kill {kill} after {steps:?}"
        );
        assert_eq!(fs::metadata(&conf).unwrap().mode(), mode);
        assert!(!fixture.base().join("new.conf").exists());
        assert_eq!(fixture.worktrees(), 1, "kill {kill}");
        assert_eq!(fixture.get("/"), "");
        fixture.is_clean();
        drop(services);
    }
    // The kills meet different steps, or the test shows little.
    steps.sort();
    steps.dedup();
    assert!(steps.len() >= 3, "{steps:?}");
}

/// Control groups that the journal of a killed program names.
fn groups_named(fixture: &Fixture) -> Vec<PathBuf> {
    let journal = fs::read_to_string(fixture.results().join("applied.journal"));
    let journal = journal.unwrap_or_default();
    let words = journal
        .split('"')
        .filter(|word| word.contains("/plimsoll-"));
    words.map(PathBuf::from).collect()
}

fn a_journal_puts_back_only_what_the_experiment_names() {
    let fixture = Fixture::new();
    fixture.write("conf.in", b"level {{ level }}\n");
    let conf = fixture.write("server.conf", b"before");
    let text = fixture.serving("file: { template: conf.in, to: server.conf }", "");
    fixture.write("experiment.yaml", text.as_bytes());
    let mut program = start(&fixture);
    let lines = BufReader::new(program.stdout.take().unwrap()).lines();
    let is_applied = lines.map_while(Result::ok).any(|line| line == "applied");
    assert!(is_applied);
    program.kill().unwrap();
    program.wait().unwrap();
    // It may have gone on to the end of the trial meanwhile.
    let journal = fixture.results().join("applied.journal");
    if !fs::read_to_string(&journal)
        .unwrap()
        .contains("server.conf")
    {
        fs::write(&conf, "before").unwrap();
    }
    let changed = fs::read(&conf).unwrap() != b"before";
    let other = text.replace("to: server.conf", "to: other.conf");
    match fixture.try_open(&other) {
        Ok(_) => assert!(!changed),
        Err(fault) => {
            assert!(!fault.is_of_trial());
            let text = fault.to_string();
            assert!(text.contains("does not name this file"), "{text}");
            assert!(
                text.contains("copy ") && text.contains("then delete"),
                "{text}"
            );
        }
    }
    assert!(!fixture.base().join("other.conf").exists());
    let services = fixture.open(&text);
    assert_eq!(fs::read(&conf).unwrap(), b"before");
    drop(services);
    fixture.is_clean();
}
