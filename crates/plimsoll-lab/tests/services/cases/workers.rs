//! Workers of gunicorn, by signals.

use std::fs;
use std::process::Command;

use plimsoll_testkit::program::servers::Gunicorn;

use crate::fixture::Fixture;

pub(crate) const ALL: &[super::Case] = &[
    (
        "workers_are_added_ended_and_put_back",
        workers_are_added_ended_and_put_back,
    ),
    (
        "workers_that_cannot_be_signalled_are_named",
        workers_that_cannot_be_signalled_are_named,
    ),
];

fn text(fixture: &Fixture, pid: &str) -> String {
    fixture.write("pid", pid.as_bytes());
    "axes: { workers: [4, 2] }\n\
     measure: { url: \"http://127.0.0.1:1/\", loads: [10/s], for: 1s }\n\
     apply:\n  - workers: { pid_file: pid, to: \"{{ workers }}\" }\n"
        .to_owned()
}

/// Living children of a process.
fn children(pid: u32) -> usize {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    let is_alive = |pid: &&str| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(") ")
            .is_some_and(|(_, rest)| !rest.starts_with('Z'))
    };
    children.split_whitespace().filter(is_alive).count()
}

fn workers_are_added_ended_and_put_back() {
    let fixture = Fixture::new();
    let server = Gunicorn::start(1, "0");
    let pid = server.program.pid();
    let text = text(&fixture, &format!("{pid}\n"));
    let mut services = fixture.open(&text);
    for (cell, workers) in [(0, 4), (1, 2)] {
        let service = services.apply(cell).unwrap();
        assert_eq!(children(pid), workers);
        service.stop().unwrap();
        assert_eq!(children(pid), 1);
    }
    // As if it were killed: the next program reads the journal.
    let journal = fixture.results().join("applied.journal");
    let service = services.apply(0).unwrap();
    let left = fs::read(&journal).unwrap();
    service.stop().unwrap();
    services.close().unwrap();
    fs::write(&journal, left).unwrap();
    let raised = fixture.open(&text);
    let restored = raised.restored().join(", ");
    assert!(restored.contains("4 workers instead of 1"), "{restored}");
    drop(raised);
    assert_eq!(children(pid), 1);
    fixture.is_clean();
}

fn workers_that_cannot_be_signalled_are_named() {
    let fixture = Fixture::new();
    let mut idle = Command::new("sleep").arg("600").spawn().unwrap();
    let own = idle.id().to_string();
    for (pid, part) in [
        ("nothing", "it has no process id"),
        ("4194304999", "does not run"),
        (own.as_str(), "has no worker processes"),
    ] {
        let mut services = fixture.open(&text(&fixture, pid));
        let fault = services.apply(0).unwrap_err();
        assert!(fault.is_of_trial(), "{fault}");
        assert!(fault.to_string().contains(part), "{part}: {fault}");
        assert!(
            fault.to_string().contains("valid: the file with"),
            "{fault}"
        );
    }
    idle.kill().unwrap();
    idle.wait().unwrap();
    fixture.is_clean();
}
