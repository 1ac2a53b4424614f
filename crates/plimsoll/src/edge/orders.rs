//! What is asked about a configuration file, or of an edge that runs.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use plimsoll_config::edge::Edge;

use super::flags;
use crate::exit::Exit;
use crate::explain::Fault;
use crate::plan_file;
use crate::screen::{print, tell};

/// Time for a running edge to answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// Longest answer taken.
const ANSWER_LEN_MAX: u64 = 1 << 20;

/// Reads a configuration file; every problem becomes a line.
pub(crate) fn read(path: &Path) -> Result<Edge, Fault> {
    plan_file::read_edge(path, &plimsoll_edge::look_up)
}

/// `plimsoll edge check FILE`.
pub(super) fn check(path: &Path) -> Result<Exit, Fault> {
    let mut edge = read(path)?;
    if edge.acme.is_some() {
        edge.keep_state_in(&flags::state_folder(None)?);
    }
    let examined = plimsoll_edge::examine(&edge);
    for warning in &examined.warnings {
        tell(warning);
    }
    if !examined.faults.is_empty() {
        let file = path.display();
        let faults = examined
            .faults
            .iter()
            .map(plimsoll_edge::TlsFault::in_words);
        let count = examined.faults.len();
        let problems = if count == 1 { "problem" } else { "problems" };
        return Err(Fault::usage(format!("{file} has {count} {problems}"))
            .details(faults.map(|fault| format!("{file}: {fault}")).collect()));
    }
    let counted =
        |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let servers = edge.pools.iter().map(|pool| pool.servers.len()).sum();
    print(&format!(
        "{} is a valid configuration: {}, {}, {}, {}\n",
        path.display(),
        counted(edge.listen.len(), "listener"),
        counted(edge.pools.len(), "pool"),
        counted(servers, "server"),
        counted(edge.routes.len(), "route"),
    ));
    Ok(Exit::Met)
}

/// `plimsoll edge reload`.
pub(super) fn reload(admin: SocketAddr, token_file: Option<&Path>) -> Result<Exit, Fault> {
    let token = token_file.map(flags::token).transpose()?;
    let unreachable = |error: std::io::Error| {
        Fault::new(
            Exit::Unreachable,
            format!("no edge answers at {admin}: {error}"),
        )
        .remedy("give its admin address with --admin")
    };
    let mut stream = TcpStream::connect_timeout(&admin, PATIENCE).map_err(unreachable)?;
    stream
        .set_read_timeout(Some(PATIENCE))
        .map_err(unreachable)?;
    let authorization = token.map_or_else(String::new, |token| {
        format!("Authorization: Bearer {token}\r\n")
    });
    let request = format!(
        "POST /reload HTTP/1.1\r\nHost: {admin}\r\n{authorization}Content-Type: application/json\r\n\
         Content-Length: 2\r\nConnection: close\r\n\r\n{{}}"
    );
    stream.write_all(request.as_bytes()).map_err(unreachable)?;
    let mut answer = Vec::new();
    stream
        .take(ANSWER_LEN_MAX)
        .read_to_end(&mut answer)
        .map_err(unreachable)?;
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let said = serde_json::from_str::<serde_json::Value>(body).unwrap_or_default();
    if head.starts_with("HTTP/1.1 200 ") {
        tell(said["done"].as_str().unwrap_or("done"));
        return Ok(Exit::Met);
    }
    let why = said["fault"].as_str().unwrap_or(body.trim());
    Err(Fault::usage(format!(
        "the old configuration stays in use: {why}"
    )))
}
