//! The action for GitHub and the template for GitLab, checked as part of a repository that uses them.

use std::process::{Command, Stdio};

use anyhow::Result;
use plimsoll_harness::step::execute;

use crate::release::{Release, copy, renew};

fn archive(release: &Release) -> String {
    format!("plimsoll-{}-ci.tar.gz", release.version)
}

/// Packs both with the example of a workflow.
pub(crate) fn make(release: &Release) -> Result<()> {
    let parent = release.staging().join("ci");
    let name = format!("plimsoll-{}-ci", release.version);
    let folder = parent.join(&name);
    renew(&folder)?;
    let integrations = release.workspace.root().join("integrations");
    for (from, to) in [
        (integrations.join("github/action.yml"), "github/action.yml"),
        (
            integrations.join("gitlab/plimsoll.yml"),
            "gitlab/plimsoll.yml",
        ),
        (
            release.source("ci/github-workflow.yml"),
            "github/workflow.yml",
        ),
    ] {
        copy(&from, &folder.join(to))?;
    }
    release.pack(&parent, &name, &release.file(&archive(release)))
}

/// Lints them in a repository of their own, with the workflow of this one.
pub(crate) fn check(release: &Release) -> Result<()> {
    let folder = release.try_folder()?;
    let folder = folder.path();
    execute(
        Command::new("tar")
            .args(["--extract", "--gzip", "--strip-components=1", "--file"])
            .arg(release.file(&archive(release)))
            .arg("--directory")
            .arg(folder),
    )?;
    let root = release.workspace.root();
    let github = folder.join(".github");
    for (from, to) in [
        (
            folder.join("github/action.yml"),
            "actions/plimsoll/action.yml",
        ),
        (folder.join("github/workflow.yml"), "workflows/load.yml"),
        (root.join(".github/workflows/ci.yml"), "workflows/ci.yml"),
    ] {
        copy(&from, &github.join(to))?;
    }
    execute(
        Command::new("git")
            .args(["init", "--quiet"])
            .current_dir(folder),
    )?;
    execute(
        Command::new(release.tool("actionlint"))
            .current_dir(folder)
            .stdin(Stdio::null()),
    )?;
    // Without the network it knows all but the newest versions of actions, and none is used.
    execute(
        Command::new(release.tool("packaging/bin/zizmor"))
            .args(["--offline", "--quiet", "."])
            .current_dir(folder)
            .stdin(Stdio::null()),
    )
}
