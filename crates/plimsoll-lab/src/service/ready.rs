//! When a service is ready, and whether something else has its address.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_model::experiment::{CertificateTrust, Readiness, ReadyCheck};
use plimsoll_probe::rest;
use rustls::ClientConfig;
use url::Url;

use super::command::CommandSpec;
use super::fault::{ApplyFault, ApplyFaultKind};
use super::http;
use super::processes;
use super::stage::{Stage, with_last_line};
use super::started::StartedProcess;
use crate::clock::TimeLimit;

/// Longest attempt of a check.
const ATTEMPT_MAX: Duration = Duration::from_secs(10);
/// Time between the first attempts; it doubles.
const PAUSE_MIN: Duration = Duration::from_millis(10);
/// Longest time between attempts.
const PAUSE_MAX: Duration = Duration::from_millis(250);
/// How long an address may be in use before the service starts.
const TAKEN_MAX: Duration = Duration::from_secs(10);

/// A check in a cell.
#[derive(Clone, Debug)]
pub(super) struct CellCheck {
    probe: CheckProbe,
    within: Duration,
}

#[derive(Clone, Debug)]
enum CheckProbe {
    Address(Address),
    Command(Vec<String>),
}

/// Where a service answers.
#[derive(Clone, Debug)]
pub(super) enum Address {
    Http(Box<Url>, Option<Arc<ClientConfig>>),
    Tcp(String),
}

impl Address {
    /// Requests the page, or connects.
    ///
    /// # Errors
    /// When no good response arrives in time.
    pub(super) fn request(&self, within: Duration) -> io::Result<()> {
        match self {
            Self::Http(url, tls) => http::get(url, tls.as_ref(), within),
            Self::Tcp(address) => http::connect(address, within).map(drop),
        }
    }
}

impl std::fmt::Display for CellCheck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.probe {
            CheckProbe::Address(Address::Http(url, _)) => write!(f, "{url}"),
            CheckProbe::Address(Address::Tcp(address)) => write!(f, "{address}"),
            CheckProbe::Command(words) => write!(f, "`{}`", words.join(" ")),
        }
    }
}

impl CellCheck {
    /// A check in a cell; `None` when one of its axes has no level there.
    ///
    /// # Errors
    /// When it is not a URL with these levels.
    pub(super) fn new(
        stage: &Stage,
        cell: usize,
        check: &ReadyCheck,
    ) -> Result<Option<Self>, ApplyFault> {
        let probe = match &check.readiness {
            Readiness::Command(words) => {
                let words = stage.words(cell, words);
                if words.is_empty() {
                    return Ok(None);
                }
                CheckProbe::Command(words)
            }
            Readiness::Tcp(address) => match stage.text(cell, address) {
                Some(address) => CheckProbe::Address(Address::Tcp(address)),
                None => return Ok(None),
            },
            Readiness::Http(url) => {
                let Some(text) = stage.text(cell, url) else {
                    return Ok(None);
                };
                let url = Url::parse(&text).map_err(|error| {
                    ApplyFault::new(
                        ApplyFaultKind::NotReady,
                        "ready",
                        format!("`{text}` is not a URL: {error}"),
                        "valid: a URL such as http://127.0.0.1:8080/health",
                    )
                })?;
                let tls = (url.scheme() == "https").then(|| client(stage, &check.trust));
                CheckProbe::Address(Address::Http(Box::new(url), tls.transpose()?))
            }
        };
        let within = check.within;
        Ok(Some(Self { probe, within }))
    }

    /// Where the service answers, as far as the check knows.
    pub(super) fn address(&self) -> Option<&Address> {
        match &self.probe {
            CheckProbe::Address(address) => Some(address),
            CheckProbe::Command(_) => None,
        }
    }

    /// The port that the service listens on, as far as the check knows.
    pub(super) fn port(&self) -> Option<u16> {
        match &self.probe {
            CheckProbe::Address(Address::Http(url, _)) => url.port_or_known_default(),
            CheckProbe::Address(Address::Tcp(address)) => address.rsplit_once(':')?.1.parse().ok(),
            CheckProbe::Command(_) => None,
        }
    }

    fn attempt(&self, stage: &mut Stage, within: Duration) -> io::Result<()> {
        match &self.probe {
            CheckProbe::Address(address) => address.request(within),
            CheckProbe::Command(words) => {
                let output = stage.output("ready");
                let base = stage.context.base.clone();
                let spec = CommandSpec {
                    words,
                    unset: &[],
                    folder: &base,
                    within,
                    output: &output,
                };
                stage.run_command(&spec).map_err(|failure| {
                    io::Error::other(with_last_line(failure.to_string(), &output))
                })
            }
        }
    }

    /// Checks that nothing answers before the service is started.
    ///
    /// # Errors
    /// When something else answers for too long, which is named.
    pub(super) fn check_free(&self, stage: &mut Stage) -> Result<(), ApplyFault> {
        if matches!(self.probe, CheckProbe::Command(_)) {
            return Ok(());
        }
        let limit = TimeLimit::start(self.within.min(TAKEN_MAX));
        while self.attempt(stage, ATTEMPT_MAX.min(self.within)).is_ok() {
            stage.check_stop()?;
            if limit.is_over() {
                return Err(ApplyFault::new(
                    ApplyFaultKind::PortTaken,
                    "ready",
                    format!(
                        "{self} answers before the service is started{}",
                        self.holder(&[])
                    ),
                    "end what answers there, or give the service another port",
                ));
            }
            processes::wait_for_any(&[], PAUSE_MAX.min(limit.left()));
        }
        Ok(())
    }

    /// Who listens on the port, if it is none of these processes, for people.
    fn holder(&self, started: &[StartedProcess]) -> String {
        let holder = self.port().and_then(rest::listener_of);
        let is_ours = |pid: u32| {
            let marks: Vec<_> = started.iter().map(|it| it.launched.mark()).collect();
            processes::members(&marks, &[]).contains(&pid)
        };
        match holder {
            Some(holder) if !is_ours(holder.pid) => {
                format!(": {} (process {}) listens there", holder.name, holder.pid)
            }
            Some(_) | None => String::new(),
        }
    }

    /// Waits until the check succeeds; returns how long it took.
    ///
    /// # Errors
    /// When a process ends before, the time limit is over, or the user requests a stop.
    pub(super) fn wait(
        &self,
        stage: &mut Stage,
        started: &[StartedProcess],
    ) -> Result<Duration, ApplyFault> {
        let limit = TimeLimit::start(self.within);
        let mut pause = PAUSE_MIN;
        let mut earlier: Option<io::Error> = None;
        loop {
            stage.check_stop()?;
            let left = limit.left().max(PAUSE_MIN).min(ATTEMPT_MAX);
            let attempt = self.attempt(stage, left);
            // A process that has ended may have left the port to something else.
            self.check_alive(started)?;
            let Err(error) = attempt else {
                return Ok(limit.elapsed());
            };
            stage.check_stop()?;
            if http::is_of_certificate(&error) {
                return Err(self.not_trusted(&error));
            }
            if limit.is_over() {
                // The last attempt was cut short, and tells less than the one before.
                let error = earlier.unwrap_or(error);
                return Err(self.not_ready(&error, started));
            }
            earlier = Some(error);
            let handles: Vec<_> = started.iter().map(|it| it.launched.handle()).collect();
            processes::wait_for_any(&handles, pause.min(limit.left()));
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    fn check_alive(&self, started: &[StartedProcess]) -> Result<(), ApplyFault> {
        let ended = started.iter().find_map(|it| Some((it, it.ending_text()?)));
        let Some((process, text)) = ended else {
            return Ok(());
        };
        let holder = self.holder(started);
        let (kind, remedy) = if holder.is_empty() {
            let remedy = "start the service in the foreground; its output is in";
            (ApplyFaultKind::Command, remedy)
        } else {
            let remedy =
                "end what listens there, or give the service another port; its output is in";
            (ApplyFaultKind::PortTaken, remedy)
        };
        Err(ApplyFault::new(
            kind,
            process.place.clone(),
            format!("{text}{holder}"),
            format!("{remedy} {}", process.output.display()),
        ))
    }

    fn not_trusted(&self, error: &io::Error) -> ApplyFault {
        ApplyFault::new(
            ApplyFaultKind::NotReady,
            "ready",
            format!("{self}: {error}"),
            "trust its certificate by `ca_file: FILE` or `insecure: true` beside `http`, or use the name that the certificate has",
        )
    }

    fn not_ready(&self, error: &io::Error, started: &[StartedProcess]) -> ApplyFault {
        let output = match started.first() {
            None => String::new(),
            Some(process) => format!("; the output is in {}", process.output.display()),
        };
        ApplyFault::new(
            ApplyFaultKind::NotReady,
            "ready",
            format!("{self} was not ready within {:?}: {error}", self.within),
            format!(
                "raise `within` of `ready`, or find out why the service does not answer{output}"
            ),
        )
    }
}

/// TLS towards the service.
fn client(stage: &Stage, trust: &CertificateTrust) -> Result<Arc<ClientConfig>, ApplyFault> {
    let ca_file = trust
        .ca_file
        .as_ref()
        .map(|file| stage.context.base.join(file));
    let config = plimsoll_load::client_config(trust.insecure, ca_file.as_deref());
    config.map(Arc::new).map_err(|error| {
        ApplyFault::new(
            ApplyFaultKind::NotReady,
            "ready",
            error.to_string(),
            "name a PEM file of authorities by `ca_file`, relative to the folder of the experiment",
        )
    })
}
