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
