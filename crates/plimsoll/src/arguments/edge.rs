//! What a person types for the edge.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use plimsoll_config::edge::{
    CACHE_LENS, CacheDisk, CacheQuery, Ceiling, DISK_LEN, DISK_LENS, HubConfig, is_cookie,
};
use plimsoll_config::units;

use super::{duration, duration_above_zero};

/// What the edge stands in front of, and how.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, group = ArgGroup::new("servers").args(["to", "config"]))]
pub(crate) struct EdgeArguments {
    #[command(subcommand)]
    pub(crate) command: Option<EdgeCommand>,
    /// A configuration file (YAML): listeners, pools, routes
    #[arg(long, value_name = "FILE", conflicts_with_all = ["to", "fallback", "tls_cert", "to_cacert", "to_insecure", "max_in_flight", "queue", "queue_timeout"])]
    pub(crate) config: Option<PathBuf>,
    /// Address to take requests at [default: 127.0.0.1:8080]; in place of the file's
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<SocketAddr>,
    /// A server to pass requests to; several share the load
    #[arg(long, value_name = "URL")]
    pub(crate) to: Vec<String>,
    /// Who vouches for servers that are spoken to by https (PEM) [default: the roots of the system]
    #[arg(
        long,
        value_name = "FILE",
        requires = "to",
        conflicts_with = "to_insecure"
    )]
    pub(crate) to_cacert: Option<PathBuf>,
    /// Do NOT check the certificates of servers: whoever stands between can read and change everything
    #[arg(long, requires = "to")]
    pub(crate) to_insecure: bool,
    /// Certificates for clients that come by TLS (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Event loops, one core each [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) cores: Option<u32>,
    /// Who the process becomes once everything is bound (when started as root)
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// Folder of what is kept between starts: certificates by ACME and their account [default: `$STATE_DIRECTORY`, or
    /// plimsoll in `$XDG_STATE_HOME`]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) state: Option<PathBuf>,
    /// Requests that may be with one server at once: a number, or `adaptive` to learn it [default: adaptive]
    #[arg(long, value_name = "N|adaptive", value_parser = ceiling, help_heading = "Overload")]
    pub(crate) max_in_flight: Option<Ceiling>,
    /// Requests that may wait for a server [default: as many as will be served in time]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1_000_000), help_heading = "Overload")]
    pub(crate) queue: Option<u32>,
    /// How long a request may wait for a server [default: 500ms]
    #[arg(long, value_name = "TIME", value_parser = duration_above_zero, help_heading = "Overload")]
    pub(crate) queue_timeout: Option<Duration>,
    /// A page that browsers get when no server has room
    #[arg(long, value_name = "FILE", help_heading = "Overload")]
    pub(crate) fallback: Option<PathBuf>,
    /// Where the edge itself is asked: metrics, health, a page of live figures [default: 127.0.0.1:9191 if free]
    #[arg(long, value_name = "ADDRESS", help_heading = "Seeing it")]
    pub(crate) admin: Option<SocketAddr>,
    /// A file that holds the token for the admin address; needed where others reach it
    #[arg(long, value_name = "FILE", help_heading = "Seeing it")]
    pub(crate) admin_token_file: Option<PathBuf>,
    /// Where finished requests are written: a file, `-` for the standard output, or `off`
    #[arg(long, value_name = "FILE|-|off", help_heading = "Seeing it")]
    pub(crate) access_log: Option<String>,
    /// How a line of the access log looks
    #[arg(long, value_enum, default_value_t = LogFormatArgument::Json, help_heading = "Seeing it")]
    pub(crate) log_format: LogFormatArgument,
    /// Memory for copies of answers, or `off` to pass every request on [default: 64MiB]
    #[arg(long, value_name = "off|SIZE", value_parser = cache, help_heading = "Cache")]
    pub(crate) cache: Option<CacheArgument>,
    /// Folder where copies are kept too, so that they outlive the process [default size: 1GiB]
    #[arg(long, value_name = "DIR[:SIZE]", value_parser = cache_disk, help_heading = "Cache")]
    pub(crate) cache_disk: Option<CacheDisk>,
    /// Least lifetime of a plain page: a 200 to a GET without cookies that sets none and does not forbid it
    #[arg(long, value_name = "TIME", value_parser = duration_above_zero, conflicts_with = "config", help_heading = "Cache")]
    pub(crate) cache_ttl: Option<Duration>,
    /// Cookies that change no page, with commas between
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = cookie, conflicts_with = "config", help_heading = "Cache")]
    pub(crate) cache_ignore_cookies: Vec<String>,
    /// How long a stale page is served while it is renewed, where the page says nothing of it [default: 0s]
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "config", help_heading = "Cache")]
    pub(crate) stale_while_revalidate: Option<Duration>,
    /// How long a stale page is served when no server answers, where the page says nothing of it [default: 1h]
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "config", help_heading = "Cache")]
    pub(crate) stale_if_error: Option<Duration>,
    /// What of the query tells pages apart [default: all]
    #[arg(long, value_name = "all|ignore|tracking|only:NAMES", value_parser = query, conflicts_with = "config", help_heading = "Cache")]
    pub(crate) cache_query: Option<CacheQuery>,
    /// Path where browsers subscribe to channels, by WebSocket or Server-Sent Events: everybody may read every channel
    #[arg(long, value_name = "PATH", value_parser = hub, help_heading = "Hub")]
    pub(crate) hub: Option<HubConfig>,
    /// A file that holds the token for `POST /publish` at the admin address
    #[arg(long, value_name = "FILE", help_heading = "Hub")]
    pub(crate) hub_publish_token_file: Option<PathBuf>,
}

/// Where an edge that runs is asked.
#[derive(Debug, Args)]
pub(crate) struct AdminArguments {
    /// Its admin address
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9191")]
    pub(crate) admin: SocketAddr,
    /// A file that holds the token for it
    #[arg(long, value_name = "FILE")]
    pub(crate) admin_token_file: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EdgeCommand {
    /// Check a configuration file: all its problems are named, exit 0 or 2
    Check {
        /// The file
        file: PathBuf,
    },
    /// Let a running edge read its configuration again; it keeps the old one when the new has problems
    Reload(AdminArguments),
    /// Show what the cache of a running edge holds and does
    Cache(AdminArguments),
    /// Say why the cache of a running edge keeps a page, or does not
    Why {
        /// The page's URL, as clients ask for it
        url: String,
        #[command(flatten)]
        admin: AdminArguments,
    },
    /// Purge copies from a running edge: softly, so that they are served once more while they are renewed
    Purge {
        #[command(flatten)]
        what: PurgeArguments,
        /// Not even once more
        #[arg(long)]
        hard: bool,
        #[command(flatten)]
        admin: AdminArguments,
    },
}

/// What is purged.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct PurgeArguments {
    /// A page
    #[arg(value_name = "URL")]
    pub(crate) url: Option<String>,
    /// All pages whose URL begins so
    #[arg(long, value_name = "URL")]
    pub(crate) prefix: Option<String>,
    /// All pages with this tag (`Cache-Tag`, `Surrogate-Key`)
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Option<String>,
    /// Everything
    #[arg(long)]
    pub(crate) all: bool,
}

/// How much is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CacheArgument {
    /// No copies.
    Off,
    /// Copies in so many bytes of memory.
    Size(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormatArgument {
    /// One JSON object a line, with phases and reasons
    Json,
    /// As web servers have always written it
    Combined,
}

fn ceiling(text: &str) -> Result<Ceiling, String> {
    if text == "adaptive" {
        return Ok(Ceiling::Adaptive);
    }
    match text.parse() {
        Ok(limit @ 1..=1_000_000) => Ok(Ceiling::Fixed(limit)),
        _ => Err("valid: a number from 1 to 1000000, or `adaptive`".to_owned()),
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
        None => Err("valid: `off`, or a size from 1MiB to 1TiB".to_owned()),
    }
}

fn cache_disk(text: &str) -> Result<CacheDisk, String> {
    let valid =
        "a folder, or a folder and a size from 1MiB to 64TiB such as /var/cache/plimsoll:10GiB";
    let (least, most) = DISK_LENS;
    // A folder may have a colon in its name: what is no size belongs to it.
    let sized = text.rsplit_once(':');
    let sized = sized.and_then(|(path, size)| Some((path, units::size(size).ok()?)));
    let (path, size) = sized.unwrap_or((text, DISK_LEN));
    if path.is_empty() || !(least..=most).contains(&size) {
        return Err(format!("valid: {valid}"));
    }
    Ok(CacheDisk {
        path: PathBuf::from(path),
        size,
    })
}

fn hub(text: &str) -> Result<HubConfig, String> {
    HubConfig::at(text).ok_or_else(|| format!("valid: {}", HubConfig::PATH_VALID))
}

fn cookie(text: &str) -> Result<String, String> {
    if is_cookie(text) {
        Ok(text.to_owned())
    } else {
        Err("valid: names of cookies with commas between, such as _ga,theme".to_owned())
    }
}

fn query(text: &str) -> Result<CacheQuery, String> {
    let valid = "valid: `all`, `ignore`, `tracking`, or `only:page,id`";
    CacheQuery::parse(text).ok_or_else(|| valid.to_owned())
}
