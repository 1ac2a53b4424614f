//! Commands about a configuration file, or to a running edge over its admin address.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use plimsoll_config::edge::EdgeConfig;

use serde_json::{Value, json};

use super::flags;
use crate::arguments::{AdminArguments, PurgeArguments};
use crate::exit::Exit;
use crate::explain::CliError;
use crate::plan_file;
use crate::screen::{eprint, print};

/// Time-out for a response of the admin address.
const PATIENCE: Duration = Duration::from_secs(30);
/// Longest response that is read, bytes.
const ANSWER_LEN_MAX: u64 = 1 << 20;

/// Reads a configuration file; every problem becomes a line.
pub(crate) fn read(path: &Path) -> Result<EdgeConfig, CliError> {
    plan_file::read_edge(path, &plimsoll_edge::resolve_server)
}

/// `plimsoll edge check FILE`.
pub(super) fn check(path: &Path) -> Result<Exit, CliError> {
    let mut edge = read(path)?;
    if edge.acme.is_some() {
        edge.keep_state_in(&flags::state_folder(None)?);
    }
    let examined = plimsoll_edge::examine(&edge);
    for warning in &examined.warnings {
        eprint(warning);
    }
    if !examined.errors.is_empty() {
        let file = path.display();
        let errors = examined
            .errors
            .iter()
            .map(plimsoll_edge::TlsError::in_words);
        let count = examined.errors.len();
        let problems = if count == 1 { "problem" } else { "problems" };
        return Err(CliError::usage(format!("{file} has {count} {problems}"))
            .details(errors.map(|error| format!("{file}: {error}")).collect())
            .remedy(
                "certificates, keys and authorities are PEM files; their paths are relative to the folder of the configuration",
            ));
    }
    if let Some(admin) = &edge.admin
        && !admin.address.ip().is_loopback()
        && admin.token.is_none()
    {
        let file = path.display();
        eprint(&format!(
            "warning: {file}: the admin address {} is reachable from other hosts, and `admin` has no `token`; set one, or \
             start the edge with --admin-token-file",
            admin.address
        ));
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
pub(super) fn reload(admin: &AdminArguments) -> Result<Exit, CliError> {
    match send_request(admin, "POST", "/reload", "{}")? {
        Ok(reply) => {
            eprint(reply["done"].as_str().unwrap_or("done"));
            Ok(Exit::Met)
        }
        Err(why) => Err(CliError::usage(format!(
            "the old configuration stays in use: {why}"
        ))),
    }
}

/// `plimsoll edge purge`.
pub(super) fn purge(
    what: &PurgeArguments,
    hard: bool,
    admin: &AdminArguments,
) -> Result<Exit, CliError> {
    let mut order = match (&what.url, &what.prefix, &what.tag) {
        (Some(url), _, _) => json!({ "url": url }),
        (_, Some(prefix), _) => json!({ "prefix": prefix }),
        (_, _, Some(tag)) => json!({ "tag": tag }),
        _ => json!({ "all": what.all }),
    };
    order["hard"] = hard.into();
    match send_request(admin, "POST", "/purge", &order.to_string())? {
        Ok(reply) => {
            eprint(reply["done"].as_str().unwrap_or("done"));
            Ok(Exit::Met)
        }
        Err(why) => Err(CliError::usage(format!("nothing was purged: {why}"))),
    }
}

/// `plimsoll edge why`.
pub(super) fn why(url: &str, admin: &AdminArguments) -> Result<Exit, CliError> {
    let order = json!({ "url": url }).to_string();
    let reply = send_request(admin, "POST", "/why", &order)?.map_err(CliError::usage)?;
    let mut text = String::new();
    for key in reply["keys"].as_array().into_iter().flatten() {
        line(&mut text, "key", key);
    }
    line(&mut text, "verdict", &reply["verdict"]);
    for copy in reply["copies"].as_array().into_iter().flatten() {
        line(&mut text, "stored response", &copy["key"]);
        for word in [
            "state",
            "status",
            "age",
            "ttl",
            "lifetime",
            "lifetime_from",
            "header",
            "varies_by",
            "etag",
            "bytes",
            "stale_while_revalidate",
            "stale_if_error",
        ] {
            line(&mut text, &format!("  {word}"), &copy[word]);
        }
        for fragment in copy["fragments"].as_array().into_iter().flatten() {
            line(&mut text, "  fragment", fragment);
        }
    }
    for refused in reply["refused"].as_array().into_iter().flatten() {
        line(&mut text, "not stored", &refused["key"]);
        line(&mut text, "  rule", &refused["rule"]);
        line(&mut text, "  header", &refused["header"]);
        line(&mut text, "  seconds ago", &refused["seconds_ago"]);
    }
    print(&text);
    Ok(Exit::Met)
}

/// `plimsoll edge cache`.
pub(super) fn cache(admin: &AdminArguments) -> Result<Exit, CliError> {
    let reply = send_request(admin, "GET", "/cache", "")?.map_err(CliError::usage)?;
    let mut text = String::new();
    for word in [
        "hits",
        "stale",
        "misses",
        "collapsed",
        "passed",
        "renewed",
        "objects",
        "bytes",
        "size",
        "evicted",
        "fetches",
        "purges",
    ] {
        line(&mut text, word, &reply[word]);
    }
    for word in [
        "objects", "bytes", "size", "hits", "written", "skipped", "evicted", "dropped", "errors",
    ] {
        line(&mut text, &format!("on disk: {word}"), &reply["disk"][word]);
    }
    for route in reply["routes"].as_array().into_iter().flatten() {
        line(&mut text, "route", &route["name"]);
        line(&mut text, "  hits", &route["hits"]);
        line(&mut text, "  misses", &route["misses"]);
    }
    for copy in reply["most_asked"].as_array().into_iter().flatten() {
        line(&mut text, "most requested", &copy["key"]);
        for word in ["hits", "state", "age", "ttl", "bytes"] {
            line(&mut text, &format!("  {word}"), &copy[word]);
        }
    }
    print(&text);
    Ok(Exit::Met)
}

/// Appends a line `name value`; nothing for an absent or empty value.
fn line(text: &mut String, name: &str, value: &Value) {
    let value = match value {
        Value::Null => return,
        Value::String(value) if value.is_empty() => return,
        Value::String(value) => value.clone(),
        value => value.to_string(),
    };
    // Writing to a `String` cannot fail.
    let _ = writeln!(text, "{name:<24} {value}");
}

/// Sends a request to the admin address: its JSON body, or the reason for a refusal.
fn send_request(
    admin: &AdminArguments,
    method: &str,
    path: &str,
    body: &str,
) -> Result<Result<Value, String>, CliError> {
    let address = admin.admin;
    let token = admin
        .admin_token_file
        .as_deref()
        .map(flags::token)
        .transpose()?;
    let unreachable = |error: std::io::Error| {
        CliError::new(
            Exit::Unreachable,
            format!("no edge responds at {address}: {error}"),
        )
        .remedy("set its admin address with --admin")
    };
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE).map_err(unreachable)?;
    stream
        .set_read_timeout(Some(PATIENCE))
        .map_err(unreachable)?;
    let authorization = token.map_or_else(String::new, |token| {
        format!("Authorization: Bearer {token}\r\n")
    });
    let len = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\n{authorization}Content-Type: application/json\r\n\
         Content-Length: {len}\r\nConnection: close\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).map_err(unreachable)?;
    let mut answer = Vec::new();
    stream
        .take(ANSWER_LEN_MAX)
        .read_to_end(&mut answer)
        .map_err(unreachable)?;
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let reply = serde_json::from_str::<Value>(body).unwrap_or_default();
    if head.starts_with("HTTP/1.1 200 ") {
        return Ok(Ok(reply));
    }
    let why = reply["fault"].as_str().unwrap_or(body.trim()).to_owned();
    Ok(Err(why))
}
