//! `plimsoll edge`: runs the reverse proxy until a signal stops it.

mod export;
mod flags;
mod orders;
mod service;

use std::sync::Arc;

use plimsoll_config::edge::EdgeConfig;
use plimsoll_edge::{EdgeError as EdgeFault, EdgeHandle, Hooks, TlsError};
use plimsoll_load::descriptors;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;

use crate::arguments::{EdgeArguments, EdgeCommand};
use crate::exit::Exit;
use crate::explain::{CliError, chain};
use crate::screen::eprint;
use export::EdgeExport;
pub(crate) use orders::read;

/// Descriptors beyond those of clients and servers.
const OWN_DESCRIPTORS: u64 = 256;

/// Runs an edge until a signal stops it, or sends a command to a running one.
pub(crate) fn edge(arguments: Box<EdgeArguments>) -> Result<Exit, CliError> {
    match &arguments.command {
        Some(EdgeCommand::Check { file }) => return orders::check(file),
        Some(EdgeCommand::Reload(admin)) => return orders::reload(admin),
        Some(EdgeCommand::Cache(admin)) => return orders::cache(admin),
        Some(EdgeCommand::Why { url, admin }) => return orders::why(url, admin),
        Some(EdgeCommand::Purge { what, hard, admin }) => {
            return orders::purge(what, *hard, admin);
        }
        None => {}
    }
    let handed = service::handed()?;
    let edge = flags::configuration(&arguments)?;
    // Registered before the loops start, so that no signal is missed.
    let mut signals = Signals::new([SIGHUP, SIGUSR1, SIGINT, SIGTERM])?;
    let exported = arguments.export.clone();
    let arguments = Arc::new(arguments);
    let hooks = Hooks {
        report: Arc::new(eprint),
        read_again: Arc::new(move || {
            let read = flags::configuration(&arguments).map_err(|error| error.to_string());
            read.inspect(prepare_descriptors)
        }),
        phase: Arc::new(service::notify),
        ..Hooks::none()
    };
    prepare_descriptors(&edge);
    let running =
        plimsoll_edge::start_with(&edge, hooks, handed).map_err(|error| explain(&error))?;
    introduce(&edge, &running);
    // After the user was switched: its files and ports are those that this user may open.
    let export = EdgeExport::start(&exported, &edge, &running)?;
    for signal in signals.forever() {
        if !matches!(signal, SIGHUP | SIGUSR1) {
            break;
        }
        // Log rotation sends either signal, as for other servers.
        running.reopen_log();
        if signal == SIGUSR1 {
            continue;
        }
        if let Err(why) = running.reload() {
            eprint(&format!("the old configuration stays in use: {why}"));
        }
    }
    eprint("stopping: draining requests in flight; a second signal stops immediately");
    drop(export);
    end(running, &edge, signals)
}

/// Each client takes a descriptor, and so does its upstream connection.
fn prepare_descriptors(edge: &EdgeConfig) {
    descriptors::prepare(2 * u64::from(edge.limits.connections_max) + OWN_DESCRIPTORS);
}

fn end(running: EdgeHandle, edge: &EdgeConfig, mut signals: Signals) -> Result<Exit, CliError> {
    let handle = signals.handle();
    let at_most = edge.drain;
    let draining = std::thread::Builder::new()
        .name("edge-drain".to_owned())
        .spawn(move || {
            running.drain(at_most);
            handle.close();
        })?;
    // The iterator ends with the drain; a signal before that is a request to stop immediately.
    if signals
        .forever()
        .any(|signal| !matches!(signal, SIGHUP | SIGUSR1))
    {
        return Ok(Exit::Interrupted);
    }
    let _ = draining.join();
    Ok(Exit::Met)
}

fn introduce(edge: &EdgeConfig, running: &EdgeHandle) {
    let servers: Vec<&str> = edge
        .pools
        .iter()
        .flat_map(|pool| &pool.servers)
        .map(|server| server.name.as_str())
        .collect();
    for (listener, address) in edge.listen.iter().zip(running.addresses()) {
        let scheme = if listener.tls.is_empty() {
            "http"
        } else {
            "https"
        };
        let to = if servers.is_empty() {
            String::new()
        } else {
            format!(", to {}", servers.join(", "))
        };
        eprint(&format!("edge at {scheme}://{address}{to}"));
        if let Some(hub) = &edge.hub {
            let scheme = scheme.replace("http", "ws");
            eprint(&format!("hub at {scheme}://{address}{}", hub.path));
        }
    }
    if let Some(address) = running.admin() {
        let publish = if edge.hub.is_some() {
            ", POST /publish"
        } else {
            ""
        };
        eprint(&format!(
            "admin at http://{address}: /, /metrics, /healthz{publish}"
        ));
    }
}

fn explain(error: &EdgeFault) -> CliError {
    let remedy = match error {
        EdgeFault::Listen { .. } => "choose a free address of this host with --listen",
        EdgeFault::Admin { .. } => "choose a free address of this host with --admin",
        EdgeFault::Handed { .. } => {
            "add a listener with this address, or remove the socket from the .socket unit"
        }
        EdgeFault::AdminOpen(_) => "set a token with --admin-token-file, or use a loopback address",
        EdgeFault::AccessLog { .. } => "choose a file in a writable folder, `-` or `off`",
        EdgeFault::Tls(TlsError::Authorities { .. } | TlsError::NoRoots | TlsError::Name(_)) => {
            "set the certificate authority of the servers: `tls: { ca: FILE, name: HOST }` of the pool, or --to-cacert"
        }
        EdgeFault::Tls(_) => {
            "use one PEM file with the certificate chain and one with its private key"
        }
        EdgeFault::State { .. } => "set a writable folder with --state",
        EdgeFault::User { .. } => "use an existing user, and start as root",
        EdgeFault::Countries(_) => "use a MaxMind country database, such as GeoLite2-Country.mmdb",
        EdgeFault::NoRandom => {
            "make the system's random number generator (getrandom) available to the process"
        }
        EdgeFault::Expression(_) => "see the regular expression syntax in docs/reference/edge.md",
        EdgeFault::HubLoops(_) => "use at most 64 event loops: --cores 64",
        EdgeFault::Loops(_) => "restart the edge; it drains requests in flight first",
        EdgeFault::Loop(_) | EdgeFault::LoopGone => {
            "raise the limits of threads and file descriptors (ulimit -u, -n)"
        }
    };
    CliError::usage(chain(error)).remedy(remedy)
}
