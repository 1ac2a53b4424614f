//! Libraries of Node programs, from npm.

use std::path::Path;
use std::process::Command;

/// Copies a program and its lock file from `source` into `folder`, and installs its libraries there unless they have
/// been installed from the same lock file.
///
/// # Panics
/// When the folder cannot be written, or npm fails.
pub fn install(source: &Path, folder: &Path, program: &str) {
    std::fs::create_dir_all(folder).expect("there is room for a folder");
    let lock = std::fs::read(source.join("package-lock.json")).expect("the lock file is there");
    // npm writes this file last.
    let last = folder.join("node_modules/.package-lock.json");
    let is_there = last.exists()
        && std::fs::read(folder.join("package-lock.json")).is_ok_and(|have| have == lock);
    for file in ["package.json", "package-lock.json", program] {
        std::fs::copy(source.join(file), folder.join(file)).expect("files can be copied");
    }
    if !is_there {
        let output = Command::new("npm")
            .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
            .current_dir(folder)
            .output()
            .expect("npm is installed: apt-get install npm");
        assert!(output.status.success(), "npm ci: {output:?}");
    }
}
