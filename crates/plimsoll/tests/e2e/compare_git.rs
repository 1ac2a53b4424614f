//! Revisions of a repository side by side: what a stranger meets first. Trials of services that start are in `compare`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::support::{CommandOutput, Sandbox};

/// A repository: `v1` builds and does not start, `broken` does not build.
fn repository(place: &Sandbox) {
    let script = |name: &str, text: &str| {
        let path = place.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    git(place, &["init", "--quiet", "."]);
    script("start.sh", "#!/bin/sh\necho no database; exit 7\n");
    script("build.sh", "#!/bin/sh\necho built >> ../../../builds\n");
    commit(place, "v1");
    script("start.sh", "#!/bin/sh\necho no disk; exit 7\n");
    commit(place, "v2");
    script(
        "build.sh",
        "#!/bin/sh\necho compiling main.c\necho main.c:7: error >&2\nexit 3\n",
    );
    commit(place, "broken");
}

fn commit(place: &Sandbox, tag: &str) {
    git(place, &["add", "start.sh", "build.sh"]);
    let identity = ["-c", "user.name=t", "-c", "user.email=t@t.example"];
    let words = ["commit", "--quiet", "--message", tag];
    git(place, &[&identity[..], &words].concat());
    git(place, &["tag", tag]);
}

fn git(place: &Sandbox, words: &[&str]) -> String {
    let mut command = Command::new("git");
    let output = command
        .args(words)
        .current_dir(place.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn compare(place: &Sandbox, revisions: &str, more: &[&str]) -> CommandOutput {
    let url = format!("http://{}/", plimsoll_testkit::port::unused());
    compare_at(place, &url, revisions, more)
}

fn compare_at(place: &Sandbox, url: &str, revisions: &str, more: &[&str]) -> CommandOutput {
    let words = ["compare", url, "--git", revisions, "--start", "./start.sh"];
    let load = ["--build", "./build.sh", "--rate", "20/s", "--for", "1s"];
    place.run(&[&words[..], &load, more].concat())
}

fn is_clean(place: &Sandbox) {
    let worktrees = git(place, &["worktree", "list", "--porcelain"]);
    assert_eq!(worktrees.matches("worktree ").count(), 1, "{worktrees}");
}

#[test]
fn a_revision_that_is_missing_or_not_built_ends_it_before_the_first_trial() {
    let place = Sandbox::new();
    let elsewhere = compare(&place, "v1..v2", &[]);
    assert_eq!(elsewhere.code, 2, "{elsewhere:?}");
    assert!(
        elsewhere.stderr.contains("is not a Git repository"),
        "{elsewhere:?}"
    );
    repository(&place);
    let missing = compare(&place, "v1..v7", &[]);
    assert_eq!(missing.code, 2, "{missing:?}");
    for part in ["git v7", "no such revision", "git fetch --tags"] {
        assert!(missing.stderr.contains(part), "{part}: {missing:?}");
    }
    let broken = compare(&place, "v1..broken", &[]);
    assert_eq!(broken.code, 2, "{broken:?}");
    for part in ["  | compiling main.c", "build of git broken", "exit code 3"] {
        assert!(broken.stderr.contains(part), "{part}: {broken:?}");
    }
    assert!(!broken.stderr.contains("block 1"), "{broken:?}");
    is_clean(&place);
}

/// Both versions end at once, so that a block takes no load.
#[test]
fn the_same_command_with_the_same_folder_goes_on() {
    let place = Sandbox::new();
    repository(&place);
    fs::write(place.path().join("start.sh"), "changed").unwrap();
    let url = format!("http://{}/", plimsoll_testkit::port::unused());
    let out = ["--out", "results"];
    let first = compare_at(&place, &url, "v1..v2", &out);
    assert_eq!(first.code, 4, "{first:?}");
    for part in [
        "1 changed file of the repository",
        "v2: checking out",
        "no database",
        "same reason",
    ] {
        assert!(first.stderr.contains(part), "{part}: {first:?}");
    }
    let builds = || fs::read_to_string(place.path().join("builds")).unwrap();
    assert_eq!(builds().lines().count(), 2);
    is_clean(&place);
    // As after a kill within the last trial.
    let log = place.path().join("results/experiment.log");
    let text = fs::read_to_string(&log).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 9, "a header, and two lines for each trial");
    fs::write(&log, lines[..8].join("\n") + "\n{\"trial_en").unwrap();
    let second = compare_at(&place, &url, "v1..v2", &out);
    assert_eq!(second.code, 4, "{second:?}");
    assert!(
        second.stderr.contains("has 3 trials of this comparison"),
        "{second:?}"
    );
    let after = fs::read_to_string(&log).unwrap();
    assert_eq!(after.lines().take(8).collect::<Vec<_>>(), lines[..8]);
    // A moved tag is another comparison.
    git(&place, &["tag", "--force", "v2", "v1"]);
    let other = compare_at(&place, &url, "v1..v2", &out);
    assert_eq!(other.code, 2, "{other:?}");
    assert!(other.stderr.contains("commits[1]"), "{other:?}");
    is_clean(&place);
}
