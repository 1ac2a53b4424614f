//! An edge in front of the service, as a process of its own on free ports.

use std::fs::OpenOptions;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::ChildStderr;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use super::fault::{ApplyFault, ApplyFaultKind};
use super::launch::{LaunchSpec, Launched, ProcessLimits};
use super::stage::{Stage, error_line};
use crate::clock::TimeLimit;

/// The configuration that means no edge.
const NONE: &str = "none";
/// Time for an edge to listen.
const PATIENCE: Duration = Duration::from_secs(30);
/// Longest time until a request to stop is noticed.
const GLANCE: Duration = Duration::from_millis(100);
/// Longest output of an edge that is kept, bytes.
const OUTPUT_LEN_MAX: u64 = 16 << 20;

/// Where an edge that was started in front of the service is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeAddress {
    /// Where it listens: connections of the load go there, with name, `Host` and path of the target.
    pub address: SocketAddr,
    /// Whether it listens with TLS.
    pub is_secure: bool,
    /// Its admin address.
    pub admin: SocketAddr,
}

/// Starts the edge of a setup; `None` when the cell has none. Its process is pushed to `started` as soon as it lives.
pub(super) fn start(
    stage: &mut Stage,
    cell: usize,
    setup: usize,
    started: &mut Option<Launched>,
) -> Result<Option<EdgeAddress>, ApplyFault> {
    let edge = stage.experiment.setups[setup].edge.clone();
    let file = edge.and_then(|text| stage.text(cell, &text));
    let Some(file) = file.filter(|file| file != NONE) else {
        return Ok(None);
    };
    let place = format!("edge {file}");
    let fault = |problem: String, remedy: &str| {
        ApplyFault::new(ApplyFaultKind::Edge, place.clone(), problem, remedy)
    };
    if started.is_some() {
        let remedy = "valid: an edge in one item of `apply`";
        return Err(fault("the cell has two edges".to_owned(), remedy));
    }
    let configuration = stage.path(&file).display().to_string();
    let flags = [
        "--listen",
        "127.0.0.1:0",
        "--admin",
        "127.0.0.1:0",
        "--config",
    ];
    let program = stage
        .context
        .launcher
        .edge
        .iter()
        .map(|word| word.to_string_lossy().into_owned());
    let words: Vec<String> = program
        .chain(flags.iter().map(|&flag| flag.to_owned()))
        .chain([configuration])
        .collect();
    let output = stage.output("edge");
    let base = stage.context.base.clone();
    let launched = stage.launch(&LaunchSpec {
        words: &words,
        variables: Vec::new(),
        unset: &[],
        folder: &base,
        limits: ProcessLimits::default(),
        output: &output,
        pipes_errors: true,
        is_service: true,
    });
    let mut launched = launched.map_err(|error| error.fault(ApplyFaultKind::Edge, &place, ""))?;
    let errors = launched.take_errors();
    *started = Some(launched);
    let found = errors.ok_or_else(|| fault("its output cannot be read".to_owned(), ""))?;
    let addresses = read_on_thread(found, &output)
        .map_err(|error| fault(format!("no thread can be started: {error}"), ""))?;
    if let Some(address) = wait(stage, &addresses)? {
        return Ok(Some(address));
    }
    let problem = format!("the edge did not start: {}", error_line(&output));
    let remedy = "check the file with `plimsoll edge check FILE`";
    Err(fault(problem, remedy))
}

/// Waits until the edge listens; `None` when it ends, or takes too long.
fn wait(
    stage: &Stage,
    addresses: &Receiver<EdgeAddress>,
) -> Result<Option<EdgeAddress>, ApplyFault> {
    let limit = TimeLimit::start(PATIENCE);
    while !limit.is_over() {
        stage.check_stop()?;
        match addresses.recv_timeout(GLANCE.min(limit.left())) {
            Ok(address) => return Ok(Some(address)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
        }
    }
    Ok(None)
}

/// Reads the messages of an edge until its end: it would block on a full pipe.
fn read_on_thread(errors: ChildStderr, output: &Path) -> std::io::Result<Receiver<EdgeAddress>> {
    let (sender, receiver) = sync_channel(1);
    let mut file = OpenOptions::new().append(true).create(true).open(output)?;
    std::thread::Builder::new()
        .name("edge-messages".to_owned())
        .spawn(move || {
            let mut sender = Some(sender);
            let mut listening = None;
            let mut reader = BufReader::new(errors);
            let mut room = OUTPUT_LEN_MAX;
            let mut line = Vec::new();
            loop {
                line.clear();
                let read = reader.by_ref().take(1 << 16).read_until(b'\n', &mut line);
                let Ok(count @ 1..) = read else {
                    return;
                };
                room = room.saturating_sub(count as u64);
                if room > 0 {
                    let _ = file.write_all(&line);
                }
                if sender.is_none() {
                    continue;
                }
                let text = String::from_utf8_lossy(&line);
                if let Some(found) = introduced(&text, "edge at ") {
                    listening = listening.or(Some(found));
                } else if let (Some((admin, _)), Some((address, is_secure))) =
                    (introduced(&text, "admin at "), listening)
                    && let Some(sender) = sender.take()
                {
                    let _ = sender.send(EdgeAddress {
                        address,
                        is_secure,
                        admin,
                    });
                }
            }
        })?;
    Ok(receiver)
}

/// Address and encryption of a line such as `edge at https://127.0.0.1:443, to …`.
fn introduced(line: &str, words: &str) -> Option<(SocketAddr, bool)> {
    let url = line.trim_end().strip_prefix(words)?;
    let url = url.split([',', ' ']).next()?;
    let (scheme, address) = url.split_once("://")?;
    let address = address.strip_suffix(':').unwrap_or(address);
    let mut address: SocketAddr = address.parse().ok()?;
    if address.ip().is_unspecified() {
        // An edge that listens on all addresses is reached over loopback.
        address.set_ip(Ipv4Addr::LOCALHOST.into());
    }
    Some((address, scheme == "https"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_an_edge_name_its_addresses() {
        let address = |text: &str| text.parse::<SocketAddr>().unwrap();
        assert_eq!(
            introduced("edge at https://0.0.0.0:443, to http://a:1\n", "edge at "),
            Some((address("127.0.0.1:443"), true))
        );
        assert_eq!(
            introduced("admin at http://[::1]:9191: /, /metrics", "admin at "),
            Some((address("[::1]:9191"), false))
        );
        assert_eq!(introduced("admin at http://", "admin at "), None);
    }
}
