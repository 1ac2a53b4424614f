//! Two packages for npm: a wrapper in JavaScript, and the binary of one platform.

use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::step::execute;
use serde_json::Value;

use crate::guide;
use crate::release::{Release, copy, output, renew};

/// The wrapper's folder, and that of the binary.
const PACKAGES: [&str; 2] = ["plimsoll", "linux-x64"];

fn tarball(package: &str, version: &str) -> String {
    if package == "plimsoll" {
        format!("plimsoll-{version}.tgz")
    } else {
        format!("plimsoll-{package}-{version}.tgz")
    }
}

/// Packs both with the version of the workspace.
pub(crate) fn make(release: &Release) -> Result<()> {
    let staging = release.staging().join("npm");
    renew(&staging)?;
    for package in PACKAGES {
        let folder = staging.join(package);
        execute(
            Command::new("cp")
                .arg("--recursive")
                .arg(release.source("npm").join(package))
                .arg(&folder),
        )?;
        let manifest = folder.join("package.json");
        let text = with_version(&std::fs::read_to_string(&manifest)?, &release.version)?;
        std::fs::write(&manifest, text)?;
        copy(
            &release.workspace.root().join("LICENSE"),
            &folder.join("LICENSE"),
        )?;
        if package != "plimsoll" {
            copy(&release.stripped(), &folder.join("bin/plimsoll"))?;
        }
        execute(
            Command::new("npm")
                .args(["pack", "--silent", "--ignore-scripts", "--pack-destination"])
                .arg(release.folder())
                .current_dir(&folder)
                .stdin(Stdio::null()),
        )?;
    }
    Ok(())
}

/// The manifest of a package with a version, also of what it depends on.
fn with_version(manifest: &str, version: &str) -> Result<String> {
    let mut manifest: Value = serde_json::from_str(manifest).context("package.json")?;
    manifest["version"] = version.into();
    if let Some(others) = manifest["optionalDependencies"].as_object_mut() {
        for (_, other) in others.iter_mut() {
            *other = version.into();
        }
    }
    Ok(serde_json::to_string_pretty(&manifest)? + "\n")
}

/// Installs both without the network and without scripts, and starts the program as the guide says.
pub(crate) fn check(release: &Release) -> Result<()> {
    let folder = release.try_folder()?;
    for package in PACKAGES {
        let name = tarball(package, &release.version);
        copy(&release.file(&name), &folder.path().join(&name))?;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let run = |commands: &str| {
        let mut shell = Command::new("unshare");
        shell
            .args(["--net", "sh", "-euc", commands])
            .current_dir(folder.path())
            .env_clear()
            .env("PATH", &path)
            .env("HOME", folder.path())
            .env("npm_config_update_notifier", "false");
        output(&mut shell)
    };
    let text = run(&guide::commands(release, "npm")?)?;
    let expected = format!("plimsoll {}", release.version);
    ensure!(text.contains(&expected), "npx printed `{text}`");
    // Exit codes and signals are those of the program.
    let text = run("code=0; npx plimsoll run 2> /dev/null || code=$?; echo \"code $code\"")?;
    ensure!(text == "code 2", "the wrapper ended with `{text}`, not 2");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wrapper_needs_the_binary_of_its_own_version() {
        let wrapper = include_str!("../../../packaging/npm/plimsoll/package.json");
        let manifest: Value =
            serde_json::from_str(&with_version(wrapper, "1.2.3").unwrap()).unwrap();
        assert_eq!(manifest["version"], "1.2.3");
        assert_eq!(
            manifest["optionalDependencies"]["@plimsoll/linux-x64"],
            "1.2.3"
        );
        let binary: Value = serde_json::from_str(include_str!(
            "../../../packaging/npm/linux-x64/package.json"
        ))
        .unwrap();
        assert_eq!(binary["name"], "@plimsoll/linux-x64");
        for manifest in [&manifest, &binary] {
            assert!(
                manifest["scripts"].is_null(),
                "nothing runs at installation"
            );
        }
    }
}
