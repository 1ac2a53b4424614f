//! A Chromium-based browser, with a profile that is deleted after the recording.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tempfile::TempDir;
use tokio::process::{Child, Command};
use url::Url;

use crate::browser;
use crate::explain::CliError;

/// A running browser.
pub(super) struct BrowserProcess {
    child: Child,
    _profile: TempDir,
}

/// The given browser, or the first one found.
pub(super) fn find(named: Option<PathBuf>) -> Result<PathBuf, CliError> {
    named.or_else(browser::find).ok_or_else(|| {
        CliError::usage("no Chromium-based browser found")
            .remedy("give one with --browser=PROGRAM, or set your browser to a proxy with --proxy 127.0.0.1:8899")
    })
}

impl BrowserProcess {
    pub(super) fn start(
        program: &Path,
        proxy: SocketAddr,
        fingerprint: &str,
        url: &Url,
    ) -> Result<Self, CliError> {
        let profile = tempfile::tempdir()?;
        let mut command = Command::new(program);
        command
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(format!("--proxy-server=http://{proxy}"))
            // By default a browser bypasses the proxy for this machine.
            .arg("--proxy-bypass-list=<-loopback>")
            .arg(format!(
                "--ignore-certificate-errors-spki-list={fingerprint}"
            ))
            .args([
                "--no-first-run",
                "--no-default-browser-check",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-default-apps",
                "--disable-sync",
                "--disable-quic",
                "--disable-search-engine-choice-screen",
                "--password-store=basic",
            ]);
        if rustix::process::geteuid().is_root() {
            // Chromium refuses to run as root otherwise.
            command.arg("--no-sandbox");
        }
        let child = command
            .arg(url.as_str())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| {
                CliError::usage(format!("cannot start {}: {error}", program.display()))
                    .remedy("give a Chromium-based browser with --browser=PROGRAM")
            })?;
        Ok(Self {
            child,
            _profile: profile,
        })
    }

    /// Completes when the browser exits; never without one.
    pub(super) async fn ended(browser: &mut Option<Self>) {
        match browser {
            Some(browser) => {
                let _ = browser.child.wait().await;
            }
            None => std::future::pending().await,
        }
    }

    /// Kills the browser.
    pub(super) async fn stop(mut self) {
        let _ = self.child.kill().await;
    }
}
