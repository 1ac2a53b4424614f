//! Programs and their Debian packages: whether they are installed, and how to install them.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Result, bail};

use crate::step::execute;

/// A program and its Debian package.
#[derive(Clone, Copy)]
pub struct Tool<'a> {
    program: &'a str,
    package: &'a str,
}

impl<'a> Tool<'a> {
    /// A program by its name in the path, or by the absolute path of a file.
    pub const fn new(program: &'a str, package: &'a str) -> Self {
        Self { program, package }
    }
}

/// Installs missing programs, or fails with one line that lists them.
///
/// # Errors
///
/// If programs are missing, and this process may not install them or the installation fails.
pub fn see_to(tools: &[Tool<'_>]) -> Result<()> {
    let missing = missing(tools);
    if missing.is_empty() {
        return Ok(());
    }
    let packages = packages(&missing);
    if !(is_installed("apt-get") && rustix::process::geteuid().is_root()) {
        bail!("{}", remedy(&missing, &packages));
    }
    install(&packages)?;
    let missing = self::missing(tools);
    if !missing.is_empty() {
        bail!("{}", remedy(&missing, &packages));
    }
    Ok(())
}

/// The same of a table of a data file.
///
/// # Errors
///
/// As [`see_to`].
pub fn see_to_all(tools: &BTreeMap<String, String>) -> Result<()> {
    let tools = tools.iter();
    let tools: Vec<_> = tools
        .map(|(program, package)| Tool::new(program, package))
        .collect();
    see_to(&tools)
}

fn missing<'a>(tools: &'a [Tool<'a>]) -> Vec<&'a Tool<'a>> {
    tools
        .iter()
        .filter(|tool| !is_installed(tool.program))
        .collect()
}

fn remedy(missing: &[&Tool<'_>], packages: &[&str]) -> String {
    let programs: Vec<_> = missing.iter().map(|tool| tool.program).collect();
    format!(
        "missing: {}; install them, on Debian by `apt-get install {}` as root",
        programs.join(", "),
        packages.join(" ")
    )
}

fn packages<'a>(missing: &[&Tool<'a>]) -> Vec<&'a str> {
    let mut packages: Vec<_> = missing.iter().map(|tool| tool.package).collect();
    packages.sort_unstable();
    packages.dedup();
    packages
}

/// Installs Debian packages without starting their services.
///
/// # Errors
///
/// If apt-get cannot run or fails.
pub fn install(packages: &[&str]) -> Result<()> {
    println!("installing {}", packages.join(" "));
    let apt = || {
        let mut apt = Command::new("apt-get");
        apt.env("DEBIAN_FRONTEND", "noninteractive")
            // invoke-rc.d starts no service in the rescue runlevel: the tests start their own nginx.
            .env("RUNLEVEL", "1")
            .stdin(Stdio::null());
        apt
    };
    // An old package list is often sufficient; the installation fails otherwise.
    let _ = execute(apt().args(["update", "--quiet=2"]));
    execute(
        apt()
            .args(["install", "--yes", "--quiet=2", "--no-install-recommends"])
            .args(packages),
    )
}

/// Whether a program is in the path, or in Debian's `sbin` folders.
pub fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin".into(), "/sbin".into()])
        .any(|folder| Path::new(&folder).join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remedy_is_one_line_with_each_package_once() {
        let tools =
            ["setpriv", "taskset", "prlimit"].map(|program| Tool::new(program, "util-linux"));
        let missing: Vec<&Tool<'_>> = tools.iter().collect();
        let line = remedy(&missing, &packages(&missing));
        assert_eq!(
            line,
            "missing: setpriv, taskset, prlimit; install them, on Debian by `apt-get install util-linux` as root"
        );
    }

    #[test]
    fn finds_what_is_there_and_not_what_is_not() {
        assert!(is_installed("sh"));
        assert!(!is_installed("no-such-program-of-ours"));
    }
}
