//! A headless Chromium that looks at pages.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Where a Chromium may be found.
const NAMES: [&str; 4] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
];

/// Where it is.
///
/// # Panics
/// When there is none: what is to be seen can then not be tested.
fn chromium() -> PathBuf {
    let folders = [
        "/usr/bin",
        "/usr/local/bin",
        "/snap/bin",
        "/opt/google/chrome",
    ];
    let candidates = folders
        .iter()
        .flat_map(|folder| NAMES.map(|name| Path::new(folder).join(name)));
    candidates
        .into_iter()
        .find(|path| path.exists())
        .expect("no Chromium found to look at the page with: install the package `chromium` (or `google-chrome`)")
}

/// One that knows nobody, asks for nothing of its own, writes what a page complains of to stderr, and the document to
/// stdout; `profile` is an empty folder. What it shall look at is to be added.
///
/// # Panics
/// When there is none.
pub fn command(profile: &Path) -> Command {
    let mut command = Command::new(chromium());
    command
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-extensions",
            "--no-default-browser-check",
            "--disable-dev-shm-usage",
            "--enable-logging=stderr",
            "--v=0",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", profile.display()));
    command
}

/// What a page complained of.
pub fn complaints(stderr: &str) -> Vec<String> {
    let lines = stderr.lines().filter(|line| line.contains("CONSOLE"));
    lines.map(str::to_owned).collect()
}
