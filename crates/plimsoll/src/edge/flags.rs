//! Configuration of an edge from flags, or from a file and flags.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use plimsoll_config::edge::{
    AccessLog, Admin, Authorities, Caching, Certificate, EdgeConfig, Fallback, LogFormat,
    PoolConfig, ServerConfig,
};

use plimsoll_config::units;
use plimsoll_model::byte_order_mark;

use crate::arguments::{CacheArgument, EdgeArguments, LogFormatArgument};
use crate::exit::Exit;
use crate::explain::CliError;

/// Longest fallback, bytes.
const FALLBACK_LEN_MAX: u64 = 16 << 20;
/// Longest file of authorities, bytes.
const AUTHORITIES_LEN_MAX: u64 = 4 << 20;
/// Longest token file, bytes.
const TOKEN_LEN_MAX: u64 = 4096;
/// Default admin address, used if the port is free.
const ADMIN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 9191);
/// Default listening address.
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
            CliError::usage("the disk cache requires the memory cache, which is off")
                .remedy("enable it with --cache 64MiB, or remove --cache-disk"),
        );
    }
    follow_hub(arguments, &mut edge)?;
    Ok(edge)
}

/// Applies the hub's flags to the configuration.
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
            CliError::usage("a hub is required by --hub-publish-token-file")
                .remedy("set the hub's path: --hub /live"),
        );
    };
    hub.publish_token = Some(token(file)?);
    Ok(())
}

/// Caching of the single route: the flags, else the defaults.
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

/// The pool of upstream servers.
fn pool(arguments: &EdgeArguments) -> Result<PoolConfig, CliError> {
    if arguments.to.is_empty() {
        return Err(CliError::usage("no upstream server is given")
            .remedy(
                "use --to http://127.0.0.1:3000, --config edge.yaml, or --hub /live for a hub without servers",
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

/// An upstream server from its URL, with its name resolved.
fn server(text: &str) -> Result<ServerConfig, CliError> {
    let mut server = ServerConfig::parse(text)
        .map_err(|error| CliError::usage(error.message).remedy(error.valid))?;
    if server.is_named() {
        server.addresses = plimsoll_edge::resolve_server(&server, &[]).map_err(|why| {
            CliError::new(Exit::Unreachable, why)
                .remedy("check the spelling, or use an address: http://127.0.0.1:3000")
        })?;
    }
    Ok(server)
}

/// Folder for certificates and the ACME account: configured, or the state folder of the service manager or the user.
#[expect(
    clippy::disallowed_methods,
    reason = "only the command line reads the environment"
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
        // systemd separates several folders by colons; the first one is used.
        .or_else(|| {
            variable("STATE_DIRECTORY")?
                .split(':')
                .next()
                .map(PathBuf::from)
        })
        .or_else(|| below("XDG_STATE_HOME", "plimsoll"))
        .or_else(|| below("HOME", ".local/state/plimsoll"))
        .ok_or_else(|| {
            CliError::usage("the folder for certificates is missing")
                .remedy("set a folder that outlives restarts: --state FOLDER")
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

/// The token in a file, without a trailing newline.
pub(super) fn token(path: &Path) -> Result<String, CliError> {
    let content = bounded(path, "token's file", TOKEN_LEN_MAX)?;
    let text = String::from_utf8_lossy(byte_order_mark::skip(&content));
    let token = text.trim().to_owned();
    let is_plain = token.bytes().all(|byte| byte.is_ascii_graphic());
    if token.len() < 8 || !is_plain {
        return Err(
            CliError::usage(format!("{} contains no valid token", path.display()))
                .remedy("write at least 8 visible ASCII characters into the file"),
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
        .remedy(format!(
            "valid: a readable file of at most {}",
            units::size_text(len_max)
        ))
    })
}
