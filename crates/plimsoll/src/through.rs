//! `plimsoll limit --through FILE`: the same search twice, of the target alone and behind an edge.
//!
//! The edge runs in a separate process, so that its CPU is measured apart, and ends with the search.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use plimsoll_lab::limit::LimitOrder;
use plimsoll_lab::progress::StopFlag;

use crate::arguments::{OutputArguments, TransportArguments};
use crate::exit::Exit;
use crate::explain::CliError;
use crate::live;
use crate::outcome;
use crate::planning::Planned;
use crate::screen::{Screen, eprint};
use crate::search::search_once;
use crate::signals;

/// Measures both and reports them as a pair.
pub(crate) fn pair(
    planned: Planned,
    order: LimitOrder,
    configuration: &Path,
    transport: &TransportArguments,
    output: &OutputArguments,
    screen: Screen,
) -> Result<Exit, CliError> {
    if planned.plan.target.unix_socket.is_some() {
        return Err(
            CliError::usage("--through does not support targets on a Unix socket")
                .remedy("give the target as a URL with host and port"),
        );
    }
    if planned.plan.browser.is_some() {
        let message =
            "--through conflicts with the plan's `browser`: browsers would not go through the edge";
        return Err(CliError::usage(message)
            .remedy("remove `browser` from the plan, or start the edge yourself and give its URL as the target"));
    }
    // Problems of the file are reported before anything is measured.
    crate::edge::read(configuration)?;
    let stop = StopFlag::default();
    signals::raise_on_interrupt(&stop)?;
    let mut page = live::open(output.live_page.address, &stop)?;
    eprint("measuring the target alone");
    let alone = search_once(
        planned.clone(),
        order.clone(),
        None,
        (transport, output),
        stop.clone(),
    )?;
    if stop.is_raised() {
        return outcome::deliver(&alone.0, &alone.1, screen);
    }
    let edge = EdgeChild::start(configuration)?;
    eprint(&format!(
        "measuring behind the edge at {}, configured by {}",
        edge.address,
        configuration.display()
    ));
    let mut behind = planned;
    behind.plan.name.push_str("-behind-edge");
    // Only where connections go: name, `Host` and path stay those of the target.
    behind.behind = behind.plan.target.addresses.first().copied();
    behind.plan.target.addresses = vec![edge.address];
    behind.plan.target.tls = edge.is_secure;
    behind.watch.edge = Some(edge.admin);
    let behind = search_once(behind, order, None, (transport, output), stop)?;
    drop(edge);
    page.ended(&behind.0);
    drop(page);
    let mut wanted = behind.1;
    // The JUnit file is that of the target alone.
    wanted.junit = None;
    outcome::deliver_pair(
        (&alone.0, &alone.1),
        (&behind.0, &wanted),
        configuration,
        screen,
    )
}

/// An edge that ends with its handle.
struct EdgeChild {
    process: Child,
    address: SocketAddr,
    is_secure: bool,
    admin: SocketAddr,
}

impl Drop for EdgeChild {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl EdgeChild {
    fn start(configuration: &Path) -> Result<Self, CliError> {
        let program = std::env::current_exe()?;
        let mut process = Command::new(program)
            .args(["edge", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"])
            .arg("--config")
            .arg(configuration)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let stderr = process.stderr.take().expect("stderr is piped");
        let mut lines = BufReader::new(stderr).lines();
        let mut output = Vec::new();
        let mut found = None;
        for line in lines.by_ref().map_while(Result::ok) {
            if let Some(introduced) = introduced(&line, "edge at ") {
                found = found.or(Some(introduced));
            } else if let (Some((admin, _)), Some((address, is_secure))) =
                (introduced(&line, "admin at "), found)
            {
                // Drain the rest of its output, or it would block on a full pipe.
                std::thread::Builder::new()
                    .name("edge-messages".to_owned())
                    .spawn(move || lines.for_each(drop))?;
                return Ok(Self {
                    process,
                    address,
                    is_secure,
                    admin,
                });
            }
            output.push(line);
        }
        let _ = process.kill();
        let _ = process.wait();
        Err(CliError::usage(format!(
            "the edge did not start: {}",
            output.last().map_or("no output", String::as_str)
        ))
        .details(output)
        .remedy("check the file with `plimsoll edge check FILE`"))
    }
}

/// Address and encryption of a line such as `edge at https://127.0.0.1:443, to …`.
fn introduced(line: &str, words: &str) -> Option<(SocketAddr, bool)> {
    let url = line.strip_prefix(words)?.split([',', ' ']).next()?;
    let (scheme, address) = url.split_once("://")?;
    let address = address.strip_suffix(':').unwrap_or(address);
    let mut address: SocketAddr = address.parse().ok()?;
    if address.ip().is_unspecified() {
        // An edge that listens on all addresses is contacted over loopback.
        address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
    }
    Some((address, scheme == "https"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_edge_says_of_itself_is_understood() {
        let address = |text: &str| text.parse::<SocketAddr>().unwrap();
        assert_eq!(
            introduced("edge at https://0.0.0.0:443, to http://a:1", "edge at "),
            Some((address("127.0.0.1:443"), true))
        );
        assert_eq!(
            introduced("admin at http://[::1]:9191: /, /metrics", "admin at "),
            Some((address("[::1]:9191"), false))
        );
        assert_eq!(introduced("admin at http://", "edge at "), None);
    }
}
