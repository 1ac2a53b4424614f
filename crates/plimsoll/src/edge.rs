//! `plimsoll edge`: stands in front of a service until it is told to end.

use std::path::Path;

use plimsoll_config::edge::{AccessLog, Edge, Fallback, LogFormat, Pool, Server};
use plimsoll_edge::{Fault as EdgeFault, Running};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::arguments::{CacheArgument, EdgeArguments, LogFormatArgument};
use crate::exit::Exit;
use crate::explain::{Fault, chain};
use crate::screen::tell;
use crate::target;

/// Longest fallback, bytes.
const FALLBACK_LEN_MAX: u64 = 16 << 20;

/// Runs an edge until a signal ends it.
pub(crate) fn edge(arguments: &EdgeArguments) -> Result<Exit, Fault> {
    let edge = configuration(arguments)?;
    // Before the loops start, so that no signal falls between.
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let running = plimsoll_edge::start(&edge, tell).map_err(|fault| explain(&fault))?;
    introduce(&edge, &running);
    let mut pending = signals.forever();
    pending.next();
    tell("ending: no new connections; requests on their way are answered. Once more ends at once");
    let ending = std::thread::Builder::new()
        .name("edge-drain".to_owned())
        .spawn(move || running.drain(edge.drain))?;
    let handle = signals.handle();
    let waiting = std::thread::Builder::new()
        .name("edge-wait".to_owned())
        .spawn(move || {
            let _ = ending.join();
            handle.close();
        })?;
    // The iterator ends when the drain does; a signal before that is impatience.
    if signals.forever().next().is_some() {
        return Ok(Exit::Interrupted);
    }
    let _ = waiting.join();
    Ok(Exit::Met)
}

fn introduce(edge: &Edge, running: &Running) {
    let servers: Vec<&str> = edge
        .pools
        .iter()
        .flat_map(|pool| &pool.servers)
        .map(|server| server.name.as_str())
        .collect();
    for address in running.addresses() {
        tell(&format!("edge at http://{address}, to {}", servers.join(", ")));
    }
}

/// The configuration that flags describe.
fn configuration(arguments: &EdgeArguments) -> Result<Edge, Fault> {
    let servers = arguments.to.iter().map(|url| server(url)).collect::<Result<_, _>>()?;
    let pool = Pool {
        ceiling: arguments.max_in_flight,
        queue: arguments.queue,
        queue_timeout: arguments.queue_timeout,
        ..Pool::new("app", servers)
    };
    let mut edge = Edge {
        cores: arguments.cores,
        access_log: access_log(arguments),
        ..Edge::one_pool(arguments.listen, pool)
    };
    if let Some(path) = &arguments.fallback {
        edge.routes[0].fallback = Some(fallback(path)?);
    }
    match arguments.cache {
        CacheArgument::Off => {}
    }
    Ok(edge)
}

fn server(text: &str) -> Result<Server, Fault> {
    let url = target::parse(text)?;
    if url.scheme() != "http" {
        return Err(
            Fault::usage(format!("`{text}`: servers are spoken to in plain HTTP"))
                .remedy("give the http:// address of the application itself"),
        );
    }
    if !matches!(url.path(), "" | "/") || url.query().is_some() || !url.username().is_empty() {
        return Err(Fault::usage(format!("`{text}` holds more than a server"))
            .remedy("write it as http://host:port; paths go on as clients ask for them"));
    }
    let host = url.host_str().unwrap_or_default();
    let port = url.port_or_known_default().unwrap_or(80);
    let authority = match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    };
    Ok(Server {
        name: format!("{host}:{port}"),
        addresses: target::look_up(host.trim_matches(['[', ']']), port, false, false)?,
        authority,
        max_in_flight: None,
        weight: 1,
    })
}

fn access_log(arguments: &EdgeArguments) -> Option<AccessLog> {
    let path = match arguments.access_log.as_str() {
        "off" => return None,
        "-" => None,
        path => Some(path.into()),
    };
    let format = match arguments.log_format {
        LogFormatArgument::Json => LogFormat::Json,
        LogFormatArgument::Combined => LogFormat::Combined,
    };
    Some(AccessLog { path, format })
}

fn fallback(path: &Path) -> Result<Fallback, Fault> {
    let name = path.display().to_string();
    let unreadable = |reason: String| {
        Fault::usage(format!("cannot read the fallback {name}: {reason}"))
            .remedy("a page of at most 16 MiB")
    };
    let len = std::fs::metadata(path)
        .map_err(|error| unreadable(error.to_string()))?
        .len();
    if len > FALLBACK_LEN_MAX {
        return Err(unreadable(format!("it is {len} bytes long")));
    }
    let content = std::fs::read(path).map_err(|error| unreadable(error.to_string()))?;
    let ending = path.extension().unwrap_or_default().to_ascii_lowercase();
    let media_type = match ending.to_str() {
        Some("json") => "application/json",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "text/html; charset=utf-8",
    };
    Ok(Fallback {
        name,
        content,
        media_type: media_type.to_owned(),
    })
}

fn explain(fault: &EdgeFault) -> Fault {
    let remedy = match fault {
        EdgeFault::Listen { .. } => "choose a free address of this host with --listen",
        EdgeFault::AccessLog { .. } => "choose a file in a folder that can be written, `-` or `off`",
        EdgeFault::Expression(_) => "see the syntax of regular expressions in the reference",
        EdgeFault::Loop(_) => "raise the limits of threads and descriptors (ulimit -u, -n)",
    };
    Fault::usage(chain(fault)).remedy(remedy)
}
