//! A headless Chromium that loads pages.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Paths where a Chromium may be found.
const NAMES: [&str; 4] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
];

/// Its path.
///
/// # Panics
/// When there is none: the test cannot run without it.
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

/// A Chromium with a fresh profile and without requests of its own. It writes console errors to stderr, and the
/// document to stdout; `profile` is an empty folder. The caller adds the URL.
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

/// The console errors of a page.
pub fn complaints(stderr: &str) -> Vec<String> {
    let lines = stderr.lines().filter(|line| line.contains("CONSOLE"));
    lines.map(str::to_owned).collect()
}
