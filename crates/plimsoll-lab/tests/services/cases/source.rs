//! Revisions are checked out and built, each once.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use plimsoll_lab::service::ApplyFaultKind;

use crate::fixture::{Fixture, git};

pub(crate) const ALL: &[super::Case] = &[
    (
        "a_revision_is_built_once_and_its_worktree_removed",
        a_revision_is_built_once_and_its_worktree_removed,
    ),
    (
        "a_build_that_fails_is_named_and_other_levels_go_on",
        a_build_that_fails_is_named_and_other_levels_go_on,
    ),
    (
        "a_revision_that_does_not_exist_is_named",
        a_revision_that_does_not_exist_is_named,
    ),
    (
        "hooks_and_a_monitor_of_the_repository_are_not_run",
        hooks_and_a_monitor_of_the_repository_are_not_run,
    ),
    (
        "a_branch_that_moves_changes_no_side",
        a_branch_that_moves_changes_no_side,
    ),
];

/// An experiment over two revisions, whose service prints the version that was built.
fn text(fixture: &Fixture, levels: &str, build: &str) -> String {
    let ready = format!("127.0.0.1:{}", fixture.port);
    format!(
        "axes: {{ revision: {levels} }}\n\
         measure: {{ url: \"http://127.0.0.1:1/\", loads: [10/s], for: 1s }}\n\
         settle: 0s\nready: {ready}\n\
         apply:\n  - command: [sh, -c, \"cat built; exec \\\"$0\\\" \\\"$@\\\"\", {}]\n    \
         git: {{ ref: \"{{{{ revision }}}}\", build: [sh, -c, {build:?}] }}\n",
        fixture.serve()
    )
}

fn a_revision_is_built_once_and_its_worktree_removed() {
    let fixture = Fixture::new();
    fixture.repository(&["one", "two"]);
    let log = fixture.base().join("../builds");
    let build = format!("cp version built && cat version >> {}", log.display());
    let mut services = fixture.open(&text(&fixture, "[v0, v1]", &build));
    for (cell, version) in [(0, "one"), (1, "two"), (0, "one")] {
        let mut service = services.apply(cell).unwrap();
        service.ready().unwrap();
        let output = fixture.results().join("output/service-1-0.log");
        assert_eq!(fs::read_to_string(output).unwrap(), version);
        service.stop().unwrap();
    }
    assert_eq!(fs::read_to_string(&log).unwrap(), "onetwo");
    assert_eq!(fixture.worktrees(), 3);
    services.close().unwrap();
    assert_eq!(fixture.worktrees(), 1);
    assert!(!fixture.results().join("checkouts").exists());
    assert_eq!(git(&fixture.base(), &["status", "--porcelain"]), "");
    fixture.is_clean();
}

fn a_build_that_fails_is_named_and_other_levels_go_on() {
    let fixture = Fixture::new();
    fixture.repository(&["good", "bad"]);
    let build =
        "echo compiling; cp version built; grep -q good version || { echo no rule; exit 3; }";
    let mut services = fixture.open(&text(&fixture, "[v1, v0]", build));
    for _ in 0..2 {
        let failed = services.apply(0).unwrap_err();
        assert_eq!(failed.kind(), ApplyFaultKind::Source);
        assert!(failed.is_of_trial());
        let text = failed.to_string();
        assert!(
            text.contains("build of git v1: it ended with exit code 3: no rule"),
            "{text}"
        );
        assert!(text.contains("its output is in"), "{text}");
    }
    let mut service = services.apply(1).unwrap();
    service.ready().unwrap();
    drop(service);
    drop(services);
    assert_eq!(fixture.worktrees(), 1);
    fixture.is_clean();
}

fn a_revision_that_does_not_exist_is_named() {
    let fixture = Fixture::new();
    fixture.repository(&["one"]);
    let mut services = fixture.open(&text(&fixture, "[v7, v0]", "true"));
    let failed = services.apply(0).unwrap_err();
    assert_eq!(failed.kind(), ApplyFaultKind::Source);
    assert!(failed.to_string().contains("git v7"), "{failed}");
    fixture.is_clean();
}

fn hooks_and_a_monitor_of_the_repository_are_not_run() {
    let fixture = Fixture::new();
    fixture.repository(&["one"]);
    let marker = fixture.base().join("hook-ran");
    let hooks = fixture.base().join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    let script = format!("#!/bin/sh\ntouch {}\n", marker.display());
    for hook in ["post-checkout", "fsmonitor"] {
        let path = hooks.join(hook);
        fs::write(&path, &script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let monitor = hooks.join("fsmonitor").display().to_string();
    git(&fixture.base(), &["config", "core.fsmonitor", &monitor]);
    let mut services = fixture.open(&text(&fixture, "[v0]", "cp version built"));
    let service = services.apply(0).unwrap();
    service.stop().unwrap();
    assert_eq!(services.uncommitted(), 0);
    services.close().unwrap();
    assert!(!marker.exists());
    fixture.is_clean();
}

fn a_branch_that_moves_changes_no_side() {
    let fixture = Fixture::new();
    fixture.repository(&["one", "two"]);
    git(&fixture.base(), &["branch", "moving", "v0"]);
    let mut services = fixture.open(&text(&fixture, "[moving, v1]", "cp version built"));
    let before = services.commits(0).unwrap();
    git(&fixture.base(), &["branch", "--force", "moving", "v1"]);
    assert_eq!(services.commits(0).unwrap(), before);
    assert_ne!(services.commits(1).unwrap(), before);
    assert_eq!(services.build(0).unwrap(), [""; 0]);
    let mut service = services.apply(0).unwrap();
    service.ready().unwrap();
    let output = fixture.results().join("output/service-1-0.log");
    assert_eq!(fs::read_to_string(output).unwrap(), "one");
    service.stop().unwrap();
    fixture.write("version", b"changed and not committed");
    assert_eq!(services.uncommitted(), 1);
    services.close().unwrap();
    fixture.is_clean();
}
