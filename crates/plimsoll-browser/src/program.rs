//! Where a browser is found, and how it is started.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Program names of Chromium-based browsers.
pub const NAMES: [&str; 6] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "microsoft-edge",
    "brave-browser",
];

/// Width and height of a window, pixels: what Lighthouse uses for desktops.
const WINDOW: &str = "--window-size=1350,940";

/// The first Chromium-based browser of a search path.
pub fn find(search_path: &OsStr) -> Option<PathBuf> {
    std::env::split_paths(search_path)
        .flat_map(|folder| NAMES.map(|name| folder.join(name)))
        .find(|program| program.is_file())
}

/// Its flags, without the profile: no windows on a screen, commands over the descriptors 3 and 4, no requests of its own,
/// and no host but those given.
pub(crate) fn arguments(hosts: &[String], accepts_any_certificate: bool) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = [
        "--headless",
        "--remote-debugging-pipe",
        WINDOW,
        "--no-first-run",
        "--no-default-browser-check",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-default-apps",
        "--disable-domain-reliability",
        "--disable-extensions",
        "--disable-sync",
        "--disable-quic",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-breakpad",
        "--disable-crash-reporter",
        // Pages of several users are shown side by side: none of them is in the background.
        "--disable-background-timer-throttling",
        "--disable-backgrounding-occluded-windows",
        "--disable-renderer-backgrounding",
        "--disable-features=OptimizationHints,Translate,MediaRouter,AutofillServerCommunication",
        "--password-store=basic",
        "--use-mock-keychain",
        "--mute-audio",
        "--log-level=3",
    ]
    .map(OsString::from)
    .to_vec();
    arguments.push(format!("--host-resolver-rules={}", host_rules(hosts)).into());
    if accepts_any_certificate {
        arguments.push("--ignore-certificate-errors".into());
    }
    if rustix::process::geteuid().is_root() {
        // Chromium refuses to run as root otherwise.
        arguments.push("--no-sandbox".into());
    }
    arguments.push("about:blank".into());
    arguments
}

/// No name is resolved, and no address connected to, but of these hosts.
fn host_rules(hosts: &[String]) -> String {
    let mut rules = "MAP * ~NOTFOUND".to_owned();
    for host in hosts {
        rules.push_str(", EXCLUDE ");
        // Rules have IPv6 addresses without brackets.
        rules.push_str(host.trim_matches(['[', ']']));
    }
    rules
}

/// The flag of a profile's folder.
pub(crate) fn profile_argument(folder: &Path) -> OsString {
    let mut argument = OsString::from("--user-data-dir=");
    argument.push(folder);
    argument
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_browser_of_the_search_path_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (folder.path().join("first"), folder.path().join("second"));
        for folder in [&first, &second] {
            std::fs::create_dir(folder).unwrap();
        }
        let search_path = std::env::join_paths([&first, &second]).unwrap();
        assert_eq!(find(&search_path), None);
        std::fs::write(second.join("google-chrome"), "").unwrap();
        assert_eq!(find(&search_path), Some(second.join("google-chrome")));
        std::fs::write(first.join("brave-browser"), "").unwrap();
        assert_eq!(find(&search_path), Some(first.join("brave-browser")));
    }

    #[test]
    fn only_the_hosts_of_the_plan_are_resolved() {
        let hosts = ["shop.example".to_owned(), "[::1]".to_owned()];
        assert_eq!(
            host_rules(&hosts),
            "MAP * ~NOTFOUND, EXCLUDE shop.example, EXCLUDE ::1"
        );
    }
}
