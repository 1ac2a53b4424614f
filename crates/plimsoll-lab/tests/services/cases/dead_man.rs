//! A program that is killed, or hangs, while settings are applied: everything is put back without a next start.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::fd::OwnedFd;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use plimsoll_lab::service::deadman::{DeadMan, DeadManSpec};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

use crate::fixture::{Fixture, own};
use crate::{dead_man, killed};

pub(crate) const ALL: &[super::Case] = &[
    (
        "ten_kills_are_put_back_by_the_dead_man_process",
        ten_kills_are_put_back_by_the_dead_man_process,
    ),
    (
        "a_program_that_hangs_is_killed_and_put_back",
        a_program_that_hangs_is_killed_and_put_back,
    ),
    (
        "a_dead_man_process_ends_with_its_program",
        a_dead_man_process_ends_with_its_program,
    ),
    (
        "a_dead_man_process_that_does_not_start_is_an_error",
        a_dead_man_process_that_does_not_start_is_an_error,
    ),
    (
        "a_program_that_went_on_is_left_alone",
        a_program_that_went_on_is_left_alone,
    ),
];

const KILLS: u32 = 10;
/// A cycle of the program takes about this long.
const CYCLE: Duration = Duration::from_millis(400);
const BEFORE: &[u8] = b"before\0\xff\n";

/// A program that applies cells, and its dead-man process.
struct WatchedProgram {
    child: Child,
    lines: BufReader<ChildStdout>,
    dead_man: OwnedFd,
}

/// A service with a file, and its reload.
fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("server.conf", BEFORE);
    fixture.write("conf.in", b"level {{ level }}\n");
    let apply =
        "file: [{ template: conf.in, to: server.conf }, { template: conf.in, to: new.conf }]";
    let text = fixture.serving(apply, "");
    fixture.write("experiment.yaml", text.as_bytes());
    fixture
}

fn handle_of(pid: u32) -> OwnedFd {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pidfd_open(pid.unwrap(), PidfdFlags::empty()).unwrap()
}

/// Whether a process ends within a time.
fn ends_within(process: &OwnedFd, within: Duration) -> bool {
    let timeout = Timespec {
        tv_sec: i64::try_from(within.as_secs()).unwrap(),
        tv_nsec: i64::from(within.subsec_nanos()),
    };
    let mut ended = [PollFd::new(process, PollFlags::IN)];
    poll(&mut ended, Some(&timeout)).unwrap() > 0
}

fn start(fixture: &Fixture, longest_trial_ms: u32) -> WatchedProgram {
    let mut child = Command::new(own())
        .arg(killed::WORD)
        .arg(fixture.base().join("experiment.yaml"))
        .args([fixture.base(), fixture.results()])
        .arg(longest_trial_ms.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let dead_man = loop {
        let line = next_line(&mut lines);
        if let Some(pid) = line.strip_prefix("dead-man process ") {
            break handle_of(pid.parse().unwrap());
        }
    };
    WatchedProgram {
        child,
        lines,
        dead_man,
    }
}

fn next_line(lines: &mut BufReader<ChildStdout>) -> String {
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    assert!(!line.is_empty(), "the program ended");
    line.trim_end().to_owned()
}

fn is_as_before(fixture: &Fixture, what: &str) {
    let conf = fixture.base().join("server.conf");
    let log = fixture.results().join("dead-man.log");
    let log = || fs::read_to_string(&log).unwrap();
    assert_eq!(fs::read(conf).unwrap(), BEFORE, "{what}: {}", log());
    assert!(
        !fixture.base().join("new.conf").exists(),
        "{what}: {}",
        log()
    );
    assert_eq!(fixture.get("/"), "", "{what}: {}", log());
    fixture.is_clean();
}

fn ten_kills_are_put_back_by_the_dead_man_process() {
    let fixture = fixture();
    for kill in 0..KILLS {
        let mut program = start(&fixture, 60_000);
        let ended = ends_within(&handle_of(program.child.id()), CYCLE * kill / KILLS);
        assert!(!ended, "it ended by itself");
        program.child.kill().unwrap();
        program.child.wait().unwrap();
        let patience = Duration::from_mins(1);
        assert!(ends_within(&program.dead_man, patience), "kill {kill}");
        is_as_before(&fixture, &format!("kill {kill}"));
    }
}

fn a_program_that_hangs_is_killed_and_put_back() {
    let fixture = fixture();
    let mut program = start(&fixture, 5_000);
    while next_line(&mut program.lines) != "applied" {}
    kill_process(Pid::from_child(&program.child), Signal::STOP).unwrap();
    assert!(ends_within(&program.dead_man, Duration::from_mins(1)));
    let status = program.child.wait().unwrap();
    assert!(!status.success());
    is_as_before(&fixture, "hang");
}

fn spec(fixture: &Fixture, word: &str) -> DeadManSpec {
    fs::create_dir_all(fixture.results()).unwrap();
    let file = fixture.base().join("experiment.yaml");
    DeadManSpec {
        program: own(),
        arguments: vec![
            word.into(),
            file.into(),
            fixture.base().into(),
            fixture.results().into(),
        ],
        folder: fixture.results(),
        longest_trial: Duration::from_mins(1),
    }
}

fn a_dead_man_process_ends_with_its_program() {
    let fixture = fixture();
    let mut dead_man = DeadMan::start(spec(&fixture, dead_man::WORD)).unwrap();
    let handle = handle_of(dead_man.id());
    dead_man.beat();
    assert!(!ends_within(&handle, Duration::ZERO));
    dead_man.done();
    let log = fs::read_to_string(fixture.results().join("dead-man.log")).unwrap();
    assert_eq!(log, "Done\n");
}

fn a_dead_man_process_that_does_not_start_is_an_error() {
    let fixture = fixture();
    fixture.write("experiment.yaml", b"axes: {}");
    let fault = DeadMan::start(spec(&fixture, dead_man::WORD)).unwrap_err();
    let text = fault.to_string();
    assert!(
        text.contains("does not start") && text.contains("dead-man.log"),
        "{text}"
    );
}

/// The next program has the journal already, and has put back what was left.
fn a_program_that_went_on_is_left_alone() {
    let fixture = fixture();
    let text = fs::read_to_string(fixture.base().join("experiment.yaml")).unwrap();
    let dead_man = DeadMan::start(spec(&fixture, dead_man::WORD)).unwrap();
    let handle = handle_of(dead_man.id());
    let mut services = fixture.open(&text);
    let mut service = services.apply(1).unwrap();
    service.ready().unwrap();
    drop(dead_man);
    assert!(ends_within(&handle, Duration::from_mins(1)));
    assert_eq!(fixture.get("/"), "b 0");
    let log = fs::read_to_string(fixture.results().join("dead-man.log")).unwrap();
    assert!(log.contains("another experiment runs"), "{log}");
    service.stop().unwrap();
    is_as_before(&fixture, "the program that went on");
}
