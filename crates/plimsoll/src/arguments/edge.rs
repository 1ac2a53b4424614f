//! Command-line arguments of the edge.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use plimsoll_config::edge::{
    CACHE_LEN, CACHE_LENS, CEILING_MAX, CORES, CacheDisk, CacheQuery, Caching, Ceiling, DISK_LEN,
    DISK_LENS, HubConfig, PoolConfig, QUEUE_LENS, is_cookie,
};
use plimsoll_config::units::{self, duration_text, size_text};

use super::{
    MetricsExportArguments, duration, duration_above_zero, socket_address, with_default, within,
};

/// `plimsoll edge`: listeners, servers, overload, cache and hub.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, group = ArgGroup::new("servers").args(["to", "config"]))]
pub(crate) struct EdgeArguments {
    #[command(subcommand)]
    pub(crate) command: Option<EdgeCommand>,
    /// A configuration file (YAML): listeners, pools, routes
    #[arg(long, value_name = "FILE", conflicts_with_all = ["to", "fallback", "tls_cert", "to_cacert", "to_insecure", "max_in_flight", "queue", "queue_timeout"])]
    pub(crate) config: Option<PathBuf>,
    /// Listening address [default: 127.0.0.1:8080]; overrides the file's
    #[arg(long, value_name = "ADDRESS", value_parser = socket_address)]
    pub(crate) listen: Option<SocketAddr>,
    /// Upstream server; repeat it to balance over several
    #[arg(long, value_name = "URL")]
    pub(crate) to: Vec<String>,
    /// Certificate authorities for https upstream servers (PEM) [default: the system's roots]
    #[arg(
        long,
        value_name = "FILE",
        requires = "to",
        conflicts_with = "to_insecure"
    )]
    pub(crate) to_cacert: Option<PathBuf>,
    /// Do NOT verify certificates of upstream servers: anyone on the path can read and change all traffic
    #[arg(long, requires = "to")]
    pub(crate) to_insecure: bool,
    /// Certificate chain presented to TLS clients (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Event loops, one core each [default: one for each core]
    #[arg(long, value_name = "N", value_parser = within(CORES))]
    pub(crate) cores: Option<u32>,
    /// User to switch to after binding (when started as root)
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// Folder for state that outlives restarts: ACME certificates and account [default: `$STATE_DIRECTORY`, or plimsoll in
    /// `$XDG_STATE_HOME`]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) state: Option<PathBuf>,
    /// Concurrent requests per server: a number, or `adaptive` to learn it [default: adaptive]
    #[arg(long, value_name = "N|adaptive", value_parser = ceiling, help_heading = "Overload")]
    pub(crate) max_in_flight: Option<Ceiling>,
    /// Requests that may queue for a server [default: as many as will be served in time]
    #[arg(long, value_name = "N", value_parser = within(QUEUE_LENS), help_heading = "Overload")]
    pub(crate) queue: Option<u32>,
    #[arg(long, value_name = "TIME", value_parser = duration_above_zero, help_heading = "Overload",
          help = with_default("Longest wait in the queue", &duration_text(PoolConfig::new("", Vec::new()).queue_timeout)))]
    pub(crate) queue_timeout: Option<Duration>,
    /// Fallback page for browsers when no server has room
    #[arg(long, value_name = "FILE", help_heading = "Overload")]
    pub(crate) fallback: Option<PathBuf>,
    /// Admin address: metrics, health, live dashboard [default: 127.0.0.1:9191 if free]
    #[arg(long, value_name = "ADDRESS", value_parser = socket_address, help_heading = "Observability")]
    pub(crate) admin: Option<SocketAddr>,
    /// File with the bearer token of the admin address; required unless the address is loopback
    #[arg(long, value_name = "FILE", help_heading = "Observability")]
    pub(crate) admin_token_file: Option<PathBuf>,
    /// Access log: a file, `-` for standard output, or `off`
    #[arg(long, value_name = "FILE|-|off", help_heading = "Observability")]
    pub(crate) access_log: Option<String>,
    /// Format of access-log lines
    #[arg(long, value_enum, default_value_t = LogFormatArgument::Json, help_heading = "Observability")]
    pub(crate) log_format: LogFormatArgument,
    #[arg(long, value_name = "off|SIZE", value_parser = cache, help_heading = "Cache",
          help = with_default("Memory for cached responses, or `off` to forward every request", &size_text(CACHE_LEN)))]
    pub(crate) cache: Option<CacheArgument>,
    #[arg(long, value_name = "DIR[:SIZE]", value_parser = cache_disk, help_heading = "Cache",
          help = format!("Folder for cached responses that outlive the process [default size: {}]", size_text(DISK_LEN)))]
    pub(crate) cache_disk: Option<CacheDisk>,
    /// Minimum lifetime of a plain response: a 200 to a GET without cookies that sets none and does not forbid caching
    #[arg(long, value_name = "TIME", value_parser = duration_above_zero, conflicts_with = "config", help_heading = "Cache")]
    pub(crate) cache_ttl: Option<Duration>,
    /// Cookies that do not affect responses, comma-separated
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = cookie, conflicts_with = "config", help_heading = "Cache")]
    pub(crate) cache_ignore_cookies: Vec<String>,
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "config", help_heading = "Cache",
          help = with_default("Default for stale-while-revalidate: how long a stale response is served while it is revalidated",
                              &duration_text(Caching::default().stale_while_revalidate)))]
    pub(crate) stale_while_revalidate: Option<Duration>,
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "config", help_heading = "Cache",
          help = with_default("Default for stale-if-error: how long a stale response is served when no server responds",
                              &duration_text(Caching::default().stale_if_error)))]
    pub(crate) stale_if_error: Option<Duration>,
    /// Query parameters in the cache key [default: all]
    #[arg(long, value_name = "all|ignore|tracking|only:NAMES", value_parser = query, conflicts_with = "config", help_heading = "Cache")]
    pub(crate) cache_query: Option<CacheQuery>,
    /// Path where browsers subscribe to channels, by WebSocket or Server-Sent Events; every client may read every channel
    #[arg(long, value_name = "PATH", value_parser = hub, help_heading = "Hub")]
    pub(crate) hub: Option<HubConfig>,
    /// File with the bearer token for `POST /publish` at the admin address
    #[arg(long, value_name = "FILE", help_heading = "Hub")]
    pub(crate) hub_publish_token_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) export: MetricsExportArguments,
}

/// The admin address of a running edge.
#[derive(Debug, Args)]
pub(crate) struct AdminArguments {
    /// Admin address of the edge
    #[arg(long, value_name = "ADDRESS", value_parser = socket_address, default_value = "127.0.0.1:9191")]
    pub(crate) admin: SocketAddr,
    /// File with its bearer token
    #[arg(long, value_name = "FILE")]
    pub(crate) admin_token_file: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EdgeCommand {
    /// Check a configuration file and list its problems, with exit code 0 or 2
    Check {
        /// The file
        file: PathBuf,
    },
    /// Reload the configuration of a running edge; it keeps the old one if the new one has problems
    Reload(AdminArguments),
    /// Show statistics of a running edge's cache
    Cache(AdminArguments),
    /// Explain why a running edge's cache stores a page, or does not
    Why {
        /// URL of the page, as clients request it
        url: String,
        #[command(flatten)]
        admin: AdminArguments,
    },
    /// Purge cached responses of a running edge: softly, so that they are served stale while they are revalidated
    Purge {
        #[command(flatten)]
        what: PurgeArguments,
        /// Do not serve them stale
        #[arg(long)]
        hard: bool,
        #[command(flatten)]
        admin: AdminArguments,
    },
}

/// Scope of a purge.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct PurgeArguments {
    /// A page
    #[arg(value_name = "URL")]
    pub(crate) url: Option<String>,
    /// All pages whose URL has this prefix
    #[arg(long, value_name = "URL")]
    pub(crate) prefix: Option<String>,
    /// All pages with this tag (`Cache-Tag`, `Surrogate-Key`)
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Option<String>,
    /// Everything
    #[arg(long)]
    pub(crate) all: bool,
}

/// Size of the memory cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CacheArgument {
    /// No cache.
    Off,
    /// A cache of this many bytes.
    Size(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormatArgument {
    /// One JSON object a line, with phases and reasons
    Json,
    /// Combined log format
    Combined,
}

fn ceiling(text: &str) -> Result<Ceiling, String> {
    if text == "adaptive" {
        return Ok(Ceiling::Adaptive);
    }
    match text.parse() {
        Ok(limit @ 1..=CEILING_MAX) => Ok(Ceiling::Fixed(limit)),
        _ => Err(format!(
            "valid: a number from 1 to {CEILING_MAX}, or `adaptive`"
        )),
    }
}

fn cache(text: &str) -> Result<CacheArgument, String> {
    if text == "off" {
        return Ok(CacheArgument::Off);
    }
    let (least, most) = CACHE_LENS;
    let size = units::size(text).ok();
    match size.filter(|size| (least..=most).contains(size)) {
        Some(size) => Ok(CacheArgument::Size(size)),
        None => Err(format!(
            "valid: `off`, or a size from {} to {}",
            size_text(least),
            size_text(most)
        )),
    }
}

fn cache_disk(text: &str) -> Result<CacheDisk, String> {
    let (least, most) = DISK_LENS;
    // A folder name may contain a colon: a suffix that is not a size belongs to it.
    let sized = text.rsplit_once(':');
    let sized = sized.and_then(|(path, size)| Some((path, units::size(size).ok()?)));
    let (path, size) = sized.unwrap_or((text, DISK_LEN));
    if path.is_empty() || !(least..=most).contains(&size) {
        return Err(format!(
            "valid: a folder, or a folder and a size from {} to {} such as /var/cache/plimsoll:10GiB",
            size_text(least),
            size_text(most)
        ));
    }
    Ok(CacheDisk {
        path: PathBuf::from(path),
        size,
        ..CacheDisk::default()
    })
}

fn hub(text: &str) -> Result<HubConfig, String> {
    HubConfig::at(text).ok_or_else(|| format!("valid: {}", HubConfig::PATH_VALID))
}

fn cookie(text: &str) -> Result<String, String> {
    if is_cookie(text) {
        Ok(text.to_owned())
    } else {
        Err("valid: comma-separated cookie names, such as _ga,theme".to_owned())
    }
}

fn query(text: &str) -> Result<CacheQuery, String> {
    let valid = "valid: `all`, `ignore`, `tracking`, or `only:page,id`";
    CacheQuery::parse(text).ok_or_else(|| valid.to_owned())
}
