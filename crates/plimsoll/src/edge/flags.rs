//! From flags, or a file and flags, to the configuration of an edge.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use plimsoll_config::edge::{
    AccessLog, Admin, Authorities, Caching, Certificate, EdgeConfig, Fallback, LogFormat,
    PoolConfig, ServerConfig,
};

use crate::arguments::{CacheArgument, EdgeArguments, LogFormatArgument};
use crate::exit::Exit;
use crate::explain::CliError;

/// Longest fallback, bytes.
const FALLBACK_LEN_MAX: u64 = 16 << 20;
/// Longest file of authorities, bytes.
const AUTHORITIES_LEN_MAX: u64 = 4 << 20;
/// Longest token file, bytes.
const TOKEN_LEN_MAX: u64 = 4096;
/// Where the edge is asked when nothing else is said and the port is free.
const ADMIN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 9191);
/// Where it listens when nothing else is said.
const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);

/// The configuration that the arguments describe.
pub(super) fn configuration(arguments: &EdgeArguments) -> Result<EdgeConfig, CliError> {
    let mut edge = match &arguments.config {
        Some(file) => super::orders::read(file)?,
        None => single_pool(arguments)?,
    };
    if let Some(address) = arguments.listen
        && let [only] = edge.listen.as_mut_slice()
    {
        only.address = address;
    }
    if arguments.cores.is_some() {
        edge.cores = arguments.cores;
    }
    if arguments.user.is_some() {
        edge.user.clone_from(&arguments.user);
    }
    if let Some(log) = &arguments.access_log {
        edge.access_log = access_log(log, arguments.log_format);
    }
    if let Some(address) = arguments.admin {
        let token = edge.admin.and_then(|admin| admin.token);
        edge.admin = Some(Admin {
            address,
            must_bind: true,
            token,
        });
    }
    let admin = edge.admin.get_or_insert(Admin {
        address: ADMIN,
        must_bind: false,
        token: None,
    });
    if let Some(file) = &arguments.admin_token_file {
        admin.token = Some(token(file)?);
    }
    if edge.acme.is_some() {
        edge.keep_state_in(&state_folder(arguments.state.as_deref())?);
    }
    match arguments.cache {
        Some(CacheArgument::Off) => edge.cache = None,
        Some(CacheArgument::Size(size)) => edge.cache = Some(size),
        None => {}
    }
    if let Some(disk) = &arguments.cache_disk {
        edge.cache_disk = Some(disk.clone());
    }
    if edge.cache.is_none() && edge.cache_disk.is_some() {
        return Err(
            CliError::usage("copies are to be kept on disk, and the cache is off")
                .remedy("give it memory with --cache 64MiB, or leave the disk out"),
        );
    }
    follow_hub(arguments, &mut edge)?;
    Ok(edge)
}

/// What the flags say of the hub, beside what the file does.
fn follow_hub(arguments: &EdgeArguments, edge: &mut EdgeConfig) -> Result<(), CliError> {
    if let Some(configured) = &arguments.hub {
        let hub = edge.hub.get_or_insert_with(|| configured.clone());
        hub.path.clone_from(&configured.path);
    }
    let Some(file) = &arguments.hub_publish_token_file else {
        return Ok(());
    };
    let Some(hub) = &mut edge.hub else {
        return Err(
            CliError::usage("there is a token for publishing, and no hub")
                .remedy("say where clients open the hub, with --hub /live"),
        );
    };
    hub.publish_token = Some(token(file)?);
    Ok(())
}

/// What the flags say of copies, with all else as usual.
fn caching(arguments: &EdgeArguments) -> Caching {
    let defaults = Caching::default();
    Caching {
        ttl: arguments.cache_ttl,
        query: arguments.cache_query.clone().unwrap_or(defaults.query),
        ignore_cookies: arguments.cache_ignore_cookies.clone(),
        stale_while_revalidate: arguments
            .stale_while_revalidate
            .unwrap_or(defaults.stale_while_revalidate),
        stale_if_error: arguments.stale_if_error.unwrap_or(defaults.stale_if_error),
        ..defaults
    }
}

fn single_pool(arguments: &EdgeArguments) -> Result<EdgeConfig, CliError> {
    let address = arguments.listen.unwrap_or(LISTEN);
    let mut edge = match &arguments.hub {
        Some(hub) if arguments.to.is_empty() => EdgeConfig::only_hub(address, hub.clone()),
        _ => EdgeConfig::single_pool(address, pool(arguments)?),
    };
    if let Some(route) = edge.routes.first_mut() {
        route.cache = Some(caching(arguments));
        route.fallback = arguments.fallback.as_deref().map(fallback).transpose()?;
    }
    if let (Some(cert), Some(key)) = (&arguments.tls_cert, &arguments.tls_key) {
        edge.listen[0].tls.push(Certificate {
            cert: cert.clone(),
            key: key.clone(),
        });
    }
    Ok(edge)
}

/// The servers that requests go to.
fn pool(arguments: &EdgeArguments) -> Result<PoolConfig, CliError> {
    if arguments.to.is_empty() {
        return Err(CliError::usage("it is not said where requests go")
            .remedy(
                "plimsoll edge --to http://127.0.0.1:3000, --config edge.yaml, or --hub /live for a hub alone",
            ));
    }
    let servers = arguments.to.iter().map(|url| server(url));
    let mut pool = PoolConfig::new("app", servers.collect::<Result<_, _>>()?);
    pool.ceiling = arguments.max_in_flight.unwrap_or(pool.ceiling);
    pool.queue = arguments.queue;
    pool.tls.insecure = arguments.to_insecure;
    pool.tls.authorities = arguments
        .to_cacert
        .as_deref()
        .map(authorities)
        .transpose()?;
    pool.queue_timeout = arguments.queue_timeout.unwrap_or(pool.queue_timeout);
    Ok(pool)
}

/// A server as a URL names it, looked up.
fn server(text: &str) -> Result<ServerConfig, CliError> {
    let mut server = ServerConfig::parse(text)
        .map_err(|error| CliError::usage(error.message).remedy(error.valid))?;
    if server.is_named() {
        server.addresses = plimsoll_edge::resolve_server(&server, &[]).map_err(|why| {
            CliError::new(Exit::Unreachable, why)
                .remedy("check the spelling, or give its address: http://127.0.0.1:3000")
        })?;
    }
    Ok(server)
}

/// Where certificates and the account are kept: said, or where the service manager or the user keeps such things.
#[expect(
    clippy::disallowed_methods,
    reason = "the door is where the environment is read"
)]
pub(super) fn state_folder(configured: Option<&Path>) -> Result<PathBuf, CliError> {
    let variable = |name: &str| {
        std::env::var(name)
            .ok()
            .filter(|value| value.starts_with('/'))
    };
    let below =
        |name: &str, rest: &str| variable(name).map(|folder| PathBuf::from(folder).join(rest));
    configured
        .map(Path::to_owned)
        // Several are separated by colons; the first is ours.
        .or_else(|| {
            variable("STATE_DIRECTORY")?
                .split(':')
                .next()
                .map(PathBuf::from)
        })
        .or_else(|| below("XDG_STATE_HOME", "plimsoll"))
        .or_else(|| below("HOME", ".local/state/plimsoll"))
        .ok_or_else(|| {
            CliError::usage("it is not said where certificates are kept")
                .remedy("give a folder that outlives restarts with --state")
        })
}

fn authorities(path: &Path) -> Result<Authorities, CliError> {
    Ok(Authorities {
        name: path.display().to_string(),
        pem: bounded(path, "authorities", AUTHORITIES_LEN_MAX)?,
    })
}

fn access_log(text: &str, format: LogFormatArgument) -> Option<AccessLog> {
    let path = match text {
        "off" => return None,
        "-" => None,
        path => Some(path.into()),
    };
    let format = match format {
        LogFormatArgument::Json => LogFormat::Json,
        LogFormatArgument::Combined => LogFormat::Combined,
    };
    Some(AccessLog { path, format })
}

fn fallback(path: &Path) -> Result<Fallback, CliError> {
    let content = bounded(path, "fallback", FALLBACK_LEN_MAX)?;
    let name = path.display().to_string();
    Ok(Fallback::new(&name, content))
}

/// The token in a file, without the line end that editors leave.
pub(super) fn token(path: &Path) -> Result<String, CliError> {
    let content = bounded(path, "token", TOKEN_LEN_MAX)?;
    let token = String::from_utf8_lossy(&content).trim().to_owned();
    let is_plain = token.bytes().all(|byte| byte.is_ascii_graphic());
    if token.len() < 8 || !is_plain {
        return Err(
            CliError::usage(format!("{} holds no token", path.display()))
                .remedy("write at least 8 visible ASCII characters into it"),
        );
    }
    Ok(token)
}

fn bounded(path: &Path, what: &str, len_max: u64) -> Result<Vec<u8>, CliError> {
    crate::plan_file::bounded(path, len_max).map_err(|error| {
        CliError::usage(format!(
            "cannot read the {what} {}: {error}",
            path.display()
        ))
        .remedy(format!("a file of at most {} KiB", len_max >> 10))
    })
}
