//! Arguments of `limit --confirm`, and changes left behind by a killed run.

use std::os::unix::fs::PermissionsExt as _;

use plimsoll_testkit::program::Redis;
use serde_json::json;

use crate::support::Sandbox;

#[test]
fn what_may_be_changed_is_checked_before_anything_starts() {
    let place = Sandbox::new();
    let load = ["limit", "http://127.0.0.1:1/", "--quick"];
    for (more, expected) in [
        (&["--confirm-with", "true", "--confirm"][..], "--undo-with"),
        (
            &["--confirm-with", "true", "--undo-with", "true"],
            "--confirm",
        ),
        (&["--confirm", "--at-least", "9/s"], "--at-least"),
        (
            &["--confirm", "--confirm-with", "a 'b", "--undo-with", "true"],
            "unclosed quote",
        ),
    ] {
        let output = place.run(&[&load[..], more].concat());
        assert_eq!(output.code, 2, "{output:?}");
        assert!(
            output.stderr.contains(expected),
            "`{expected}` is not in {output:?}"
        );
    }
    assert!(place.run_files().is_empty());
}

#[test]
fn what_a_killed_run_left_changed_is_put_back() {
    let redis = Redis::start("maxclients 400");
    let place = Sandbox::new();
    let folder = place.path().join("plimsoll");
    std::fs::create_dir(&folder).unwrap();
    let left = folder.join("earlier.undo");
    let leave = |setting: &str| {
        let at = json!({ "host": redis.address.ip().to_string(), "port": redis.address.port() });
        let tunable =
            json!({ "kind": "redis", "place": { "tcp": at }, "setting": setting, "of": "" });
        let change = json!({ "kind": "setting", "lever": tunable, "from": "100", "to": "400" });
        let text = json!({ "format": 1, "change": change }).to_string();
        std::fs::write(&left, text).unwrap();
        std::fs::set_permissions(&left, std::fs::Permissions::from_mode(0o600)).unwrap();
    };
    let load = ["run", "http://127.0.0.1:1/", "--rate", "1/s", "--for", "1s"];
    leave("maxclients");
    let output = place.run(&load);
    assert!(output.stderr.contains("this is now restored"), "{output:?}");
    assert!(!left.exists());
    // A file with a change that Plimsoll never makes is reported, and nothing is measured.
    leave("dir");
    let runs = place.run_files().len();
    let output = place.run(&load);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(
        output
            .stderr
            .contains("`dir` of Redis cannot be changed at run time")
            && output.stderr.contains("then delete"),
        "{output:?}"
    );
    assert_eq!(place.run_files().len(), runs);
}

/// A folder with a journal that somebody else may have written.
struct LeftoverJournal {
    place: Sandbox,
    folder: std::path::PathBuf,
    journal: std::path::PathBuf,
    /// What a command of a journal would make.
    started: std::path::PathBuf,
}

impl LeftoverJournal {
    fn new() -> Self {
        let place = Sandbox::new();
        let folder = place.path().join("plimsoll");
        std::fs::create_dir(&folder).unwrap();
        Self {
            journal: folder.join("earlier.undo"),
            started: place.path().join("started"),
            folder,
            place,
        }
    }

    fn put(&self, change: &serde_json::Value) {
        let _ = std::fs::remove_file(&self.journal);
        let text = json!({ "format": 1, "change": change }).to_string();
        std::fs::write(&self.journal, text).unwrap();
        mode(&self.journal, 0o600);
    }

    /// A run reports it, measures nothing, starts nothing, and leaves the file for inspection.
    fn refused(&self, expected: &str) {
        let output =
            self.place
                .run(&["run", "http://127.0.0.1:1/", "--rate", "1/s", "--for", "1s"]);
        assert_eq!(output.code, 2, "{output:?}");
        assert!(
            output.stderr.contains(expected) && output.stderr.contains("earlier.undo"),
            "`{expected}` is not in {output:?}"
        );
        assert!(
            self.place.run_files().is_empty() && !self.started.exists(),
            "{output:?}"
        );
        assert!(
            std::fs::symlink_metadata(&self.journal).is_ok(),
            "it is gone"
        );
    }
}

fn mode(path: &std::path::Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Whoever can put a file into the folder must not have the program change a service or start a command.
#[test]
fn journals_of_somebody_else_are_told_and_nothing_is_changed() {
    let redis = Redis::start("maxclients 400");
    let left = LeftoverJournal::new();
    let at = json!({ "host": redis.address.ip().to_string(), "port": redis.address.port() });
    let tunable =
        json!({ "kind": "redis", "place": { "tcp": at }, "setting": "maxclients", "of": "" });
    let setting = json!({ "kind": "setting", "lever": tunable, "from": "100", "to": "400" });
    left.put(&setting);
    mode(&left.journal, 0o666);
    left.refused("it is writable by others");
    left.put(&setting);
    mode(&left.folder, 0o1777);
    left.refused("is writable by others; valid: mode");
    mode(&left.folder, 0o755);
    let elsewhere = left.place.path().join("elsewhere");
    std::fs::rename(&left.journal, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &left.journal).unwrap();
    left.refused("it is a symbolic link");
    std::fs::remove_file(&left.journal).unwrap();
    std::fs::hard_link(&elsewhere, &left.journal).unwrap();
    left.refused("it has more than one hard link");
    std::fs::remove_file(&left.journal).unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg("-m600")
        .arg(&left.journal)
        .status();
    assert!(made.unwrap().success());
    left.refused("it is not a journal");
    // Only root can make a file that is somebody else's; as in CI.
    if rustix::process::geteuid().is_root() {
        left.put(&setting);
        std::os::unix::fs::chown(&left.journal, Some(65_534), None).unwrap();
        left.refused("it belongs to another user");
    }
    let mut asked = std::net::TcpStream::connect(redis.address).unwrap();
    std::io::Write::write_all(&mut asked, b"CONFIG GET maxclients\r\nQUIT\r\n").unwrap();
    let mut answer = String::new();
    std::io::Read::read_to_string(&mut asked, &mut answer).unwrap();
    assert!(answer.contains("400"), "{answer}");
}

/// A journal that is ours names what no version of this program ever changed.
#[test]
fn a_journal_starts_no_command_and_changes_no_other_setting() {
    let left = LeftoverJournal::new();
    let touch = ["touch", &left.started.display().to_string()];
    left.put(&json!({ "kind": "commands", "relax": ["true"], "undo": touch }));
    left.refused("commands are not run from a journal file");
    left.put(&json!({ "kind": "kernel", "name": "kernel.core_pattern", "from": "1", "to": "1" }));
    left.refused("`kernel.core_pattern` of the kernel is not a tunable");
}

#[test]
fn no_journal_is_kept_where_everybody_may_write() {
    let left = LeftoverJournal::new();
    mode(&left.folder, 0o777);
    let change = plimsoll_lab::intervention::Change::Commands {
        apply: vec!["true".to_owned()],
        undo: vec!["true".to_owned()],
    };
    let refused = plimsoll_lab::intervention::journal::Journal::write(&left.journal, &change);
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .contains("is writable by others")
    );
    assert!(!left.journal.exists());
}
