//! What `limit --confirm` may be told, and what an earlier one left behind.

use std::os::unix::fs::PermissionsExt as _;

use plimsoll_testkit::program::Redis;
use serde_json::json;

use crate::support::Place;

#[test]
fn what_may_be_changed_is_checked_before_anything_starts() {
    let place = Place::new();
    let load = ["limit", "http://127.0.0.1:1/", "--quick"];
    for (more, says) in [
        (&["--confirm-with", "true", "--confirm"][..], "--undo-with"),
        (
            &["--confirm-with", "true", "--undo-with", "true"],
            "--confirm",
        ),
        (&["--confirm", "--at-least", "9/s"], "--at-least"),
        (
            &["--confirm", "--confirm-with", "a 'b", "--undo-with", "true"],
            "a quote is opened and not closed",
        ),
    ] {
        let said = place.run(&[&load[..], more].concat());
        assert_eq!(said.code, 2, "{said:?}");
        assert!(said.stderr.contains(says), "`{says}` is not in {said:?}");
    }
    assert!(place.run_files().is_empty());
}

#[test]
fn what_a_killed_run_left_changed_is_put_back() {
    let redis = Redis::start("maxclients 400");
    let place = Place::new();
    let folder = place.path().join("plimsoll");
    std::fs::create_dir(&folder).unwrap();
    let left = folder.join("earlier.undo");
    let leave = |setting: &str| {
        let at = json!({ "host": redis.address.ip().to_string(), "port": redis.address.port() });
        let lever =
            json!({ "kind": "redis", "place": { "tcp": at }, "setting": setting, "of": "" });
        let change = json!({ "kind": "setting", "lever": lever, "from": "100", "to": "400" });
        let text = json!({ "format": 1, "change": change }).to_string();
        std::fs::write(&left, text).unwrap();
        std::fs::set_permissions(&left, std::fs::Permissions::from_mode(0o600)).unwrap();
    };
    let load = ["run", "http://127.0.0.1:1/", "--rate", "1/s", "--for", "1s"];
    leave("maxclients");
    let said = place.run(&load);
    assert!(said.stderr.contains("that is put back now"), "{said:?}");
    assert!(!left.exists());
    // A file that wants more than was ever changed is told, and nothing is measured.
    leave("dir");
    let runs = place.run_files().len();
    let said = place.run(&load);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(
        said.stderr.contains("`dir` of Redis is not changed")
            && said.stderr.contains("then delete"),
        "{said:?}"
    );
    assert_eq!(place.run_files().len(), runs);
}

/// Whoever can put a file into the folder must not have the program change a service or start a command.
#[test]
fn journals_of_somebody_else_are_told_and_nothing_is_changed() {
    let redis = Redis::start("maxclients 400");
    let place = Place::new();
    let folder = place.path().join("plimsoll");
    std::fs::create_dir(&folder).unwrap();
    let left = folder.join("earlier.undo");
    let started = place.path().join("started");
    let at = json!({ "host": redis.address.ip().to_string(), "port": redis.address.port() });
    let lever =
        json!({ "kind": "redis", "place": { "tcp": at }, "setting": "maxclients", "of": "" });
    let setting = json!({ "kind": "setting", "lever": lever, "from": "100", "to": "400" });
    let touch = ["touch", &started.display().to_string()];
    let command = json!({ "kind": "commands", "relax": ["true"], "undo": touch });
    let mode = |path: &std::path::Path, mode: u32| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let leave = |change: &serde_json::Value| {
        let _ = std::fs::remove_file(&left);
        std::fs::write(&left, json!({ "format": 1, "change": change }).to_string()).unwrap();
        mode(&left, 0o600);
    };
    let refused = |says: &str| {
        let said = place.run(&["run", "http://127.0.0.1:1/", "--rate", "1/s", "--for", "1s"]);
        assert_eq!(said.code, 2, "{said:?}");
        assert!(
            said.stderr.contains(says) && said.stderr.contains("earlier.undo"),
            "`{says}` is not in {said:?}"
        );
        assert!(
            place.run_files().is_empty() && !started.exists(),
            "{said:?}"
        );
        assert!(
            std::fs::symlink_metadata(&left).is_ok(),
            "it is left for a person to look at"
        );
    };
    leave(&setting);
    mode(&left, 0o666);
    refused("others may write it");
    leave(&setting);
    mode(&folder, 0o1777);
    refused("everybody may write into its folder");
    mode(&folder, 0o755);
    let elsewhere = place.path().join("elsewhere");
    std::fs::rename(&left, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &left).unwrap();
    refused("it is a link");
    std::fs::remove_file(&left).unwrap();
    std::fs::hard_link(&elsewhere, &left).unwrap();
    refused("it has a second name");
    std::fs::remove_file(&left).unwrap();
    assert!(
        std::process::Command::new("mkfifo")
            .arg("-m600")
            .arg(&left)
            .status()
            .unwrap()
            .success()
    );
    refused("it is no journal");
    leave(&command);
    refused("a command is not started because a file names it");
    leave(&json!({ "kind": "kernel", "name": "kernel.core_pattern", "from": "1", "to": "1" }));
    refused("`kernel.core_pattern` of the kernel is not changed");
    // Only root can make a file that is somebody else's; as in CI.
    if rustix::process::geteuid().is_root() {
        leave(&setting);
        std::os::unix::fs::chown(&left, Some(65_534), None).unwrap();
        refused("it belongs to somebody else");
    }
    let mut asked = std::net::TcpStream::connect(redis.address).unwrap();
    std::io::Write::write_all(&mut asked, b"CONFIG GET maxclients\r\nQUIT\r\n").unwrap();
    let mut answer = String::new();
    std::io::Read::read_to_string(&mut asked, &mut answer).unwrap();
    assert!(answer.contains("400"), "{answer}");
}
