//! Flags that `run` and `limit` share: request, target and transport. Named as in curl where curl has them.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use plimsoll_config::plan::{CONNECTIONS, CORES};
use plimsoll_model::plan::{GoodStatus, HEADERS_MAX, PathOrder, STREAMS_MAX, ZipfExponent};

use super::{
    WatchArgument, WatchedAgentsArguments, duration_above_zero, good_status, head_size, ip_address,
    seed, size, socket_address, within,
};

/// The request and the way to the target.
#[derive(Debug, Args)]
pub(crate) struct TransportArguments {
    /// Target URL: http://host:port/path or https://…; or a plan file (YAML), which flags override
    #[arg(value_name = "URL|PLAN")]
    pub(crate) url: String,
    /// Target of the plan's requests, overrides its `target:`
    #[arg(long, value_name = "URL")]
    pub(crate) target: Option<String>,
    #[command(flatten)]
    pub(crate) request: RequestArguments,
    #[command(flatten)]
    pub(crate) connection: ConnectionArguments,
    #[command(flatten)]
    pub(crate) generator: GeneratorArguments,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Request")]
pub(crate) struct RequestArguments {
    /// Method [default: GET, or POST with --data]
    #[arg(long, short = 'X', value_name = "METHOD")]
    pub(crate) request: Option<String>,
    /// Send HEAD requests
    #[arg(long, short = 'I', conflicts_with_all = ["request", "data"])]
    pub(crate) head: bool,
    /// Header line, such as 'Accept: text/html'; an empty value removes the header
    #[arg(long, short = 'H', value_name = "LINE")]
    pub(crate) header: Vec<String>,
    /// Body; @FILE reads it from a file
    #[arg(long, short = 'd', value_name = "DATA", visible_alias = "data-binary")]
    pub(crate) data: Option<String>,
    /// Value of User-Agent
    #[arg(long, short = 'A', value_name = "NAME")]
    pub(crate) user_agent: Option<String>,
    /// User and password for basic authentication
    #[arg(long, short = 'u', value_name = "USER:PASSWORD")]
    pub(crate) user: Option<String>,
    /// Value of Host, and the TLS server name (SNI)
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Option<String>,
    /// Accept gzip and brotli (Accept-Encoding)
    #[arg(long)]
    pub(crate) compressed: bool,
    /// Follow redirects on the same origin
    #[arg(long, short = 'L')]
    pub(crate) location: bool,
    /// Maximum number of redirects
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = within(0..=50))]
    pub(crate) max_redirs: u32,
    /// File with one URL per line, relative to the target; blank lines and # comments are skipped
    #[arg(long, value_name = "FILE")]
    pub(crate) urls: Option<PathBuf>,
    /// Order in which the URLs of the file are requested: circular (in the order of the file, repeatedly), random,
    /// zipf:EXPONENT (by popularity, the first of the file most; `plimsoll log` tells the exponent of your site), or
    /// latest (as zipf:0.99 from the end of the file, where the newest entries are; also latest:EXPONENT)
    #[arg(long, value_name = "ORDER", value_parser = urls_order, default_value = "circular", requires = "urls")]
    pub(crate) urls_order: PathOrder,
    /// Statuses that count as good [default: 2xx,3xx]
    #[arg(long, value_name = "SET", value_parser = good_status)]
    pub(crate) good: Option<GoodStatus>,
}

/// Exponent of `latest`, as in the benchmark of databases that has this order.
const LATEST_EXPONENT: f64 = 0.99;

fn urls_order(text: &str) -> Result<PathOrder, String> {
    let exponent = |number: &str| {
        number
            .parse()
            .ok()
            .and_then(ZipfExponent::new)
            .ok_or_else(|| {
                format!(
                    "`{number}` is not an exponent; valid: 0 to {}, such as 0.9",
                    ZipfExponent::MAX
                )
            })
    };
    match text.split_once(':') {
        None if text == "circular" => Ok(PathOrder::Circular),
        None if text == "random" => Ok(PathOrder::Random),
        None if text == "latest" => ZipfExponent::new(LATEST_EXPONENT)
            .map(PathOrder::Latest)
            .ok_or_else(|| "the exponent is out of range".to_owned()),
        Some(("zipf", number)) => exponent(number).map(PathOrder::Zipf),
        Some(("latest", number)) => exponent(number).map(PathOrder::Latest),
        _ => Err("valid: circular, random, zipf:EXPONENT such as zipf:0.9, or latest".to_owned()),
    }
}

#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own, as in curl"
)]
#[command(next_help_heading = "Connection")]
pub(crate) struct ConnectionArguments {
    /// Request time-out, counted from the moment the request was due [default: 30s]
    #[arg(long, short = 'm', value_name = "TIME", value_parser = duration_above_zero, visible_alias = "max-time")]
    pub(crate) timeout: Option<Duration>,
    /// Connect time-out [default: the request time-out]
    #[arg(long, value_name = "TIME", value_parser = duration_above_zero)]
    pub(crate) connect_timeout: Option<Duration>,
    /// A new connection for each request
    #[arg(long, conflicts_with = "requests_per_connection")]
    pub(crate) no_keepalive: bool,
    /// Requests per connection before it is closed; 0 for no limit [default: 0]
    #[arg(long, value_name = "N", value_parser = within(0..=u32::MAX))]
    pub(crate) requests_per_connection: Option<u32>,
    /// Maximum number of open connections; further arrivals wait, and the wait counts as latency [default: 10000]
    #[arg(long, value_name = "N", value_parser = within(CONNECTIONS))]
    pub(crate) max_connections: Option<u32>,
    /// Use HTTP/2 over TLS if the target selects it (ALPN), else HTTP/1.1; the report names the version
    #[arg(long, conflicts_with_all = ["http1_1", "http2_prior_knowledge"])]
    pub(crate) http2: bool,
    /// Use HTTP/2 for http:// targets too, without negotiation
    #[arg(long, conflicts_with = "http1_1")]
    pub(crate) http2_prior_knowledge: bool,
    /// Use HTTP/1.1 only, overrides the plan (default)
    #[arg(long = "http1.1")]
    pub(crate) http1_1: bool,
    /// Maximum number of concurrent streams per HTTP/2 connection [default: 1; 100 for journeys]
    #[arg(long, value_name = "N", value_parser = within(1..=STREAMS_MAX))]
    pub(crate) streams: Option<u32>,
    /// Connect to this address instead of the URL's; repeat it to use several in turn
    #[arg(long, value_name = "IP:PORT", value_parser = socket_address, conflicts_with = "unix_socket")]
    pub(crate) address: Vec<SocketAddr>,
    /// Connect to this Unix socket
    #[arg(long, value_name = "PATH")]
    pub(crate) unix_socket: Option<PathBuf>,
    /// Connect from this local address; repeat it to use several in turn, each with its own 28,000 ports
    #[arg(long, value_name = "IP", value_parser = ip_address)]
    pub(crate) source: Vec<IpAddr>,
    /// Use only IPv4 addresses of the target
    #[arg(long, short = '4', conflicts_with = "ipv6")]
    pub(crate) ipv4: bool,
    /// Use only IPv6 addresses of the target
    #[arg(long, short = '6')]
    pub(crate) ipv6: bool,
    /// PEM file with certificate authorities to trust instead of the system's
    #[arg(long, value_name = "FILE")]
    pub(crate) cacert: Option<PathBuf>,
    /// Accept any certificate; the report notes it
    #[arg(long, short = 'k')]
    pub(crate) insecure: bool,
    /// Maximum length of a response body [default: 1GiB] or a WebSocket message [default: 1MiB]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) max_body: Option<u64>,
    /// Maximum size of the head of a response [default: 256KiB]
    #[arg(long, value_name = "SIZE", value_parser = head_size)]
    pub(crate) max_head: Option<u32>,
    /// Maximum headers of a response [default: 1000]
    #[arg(long, value_name = "N", value_parser = within(1..=HEADERS_MAX))]
    pub(crate) max_headers: Option<u32>,
    /// Confirm that the target is yours: allows load on a public address
    #[arg(long)]
    pub(crate) i_own_this: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Generator")]
pub(crate) struct GeneratorArguments {
    /// Event loops [default: 1]
    #[arg(long, value_name = "N", value_parser = within(CORES))]
    pub(crate) cores: Option<u32>,
    /// Batch requests that are due within this time: cheaper, but up to this much late
    #[arg(long, value_name = "TIME", value_parser = duration_above_zero)]
    pub(crate) tick: Option<Duration>,
    /// Random seed [default: random, printed]
    #[arg(long, value_name = "N", value_parser = seed)]
    pub(crate) seed: Option<u64>,
    /// Watch this process of the target and its children
    #[arg(long, value_name = "PID", value_parser = within(1..=i32::MAX.unsigned_abs()))]
    pub(crate) pid: Vec<u32>,
    /// Watch processes with this name
    #[arg(long, value_name = "NAME")]
    pub(crate) process: Vec<String>,
    /// Watch nginx, HAProxy, Redis and other components found on this machine (auto), only the target (none), or the
    /// components listed in a file [default: the plan's `watch:`]
    #[arg(long, value_name = "auto|none|FILE")]
    pub(crate) watch: Option<WatchArgument>,
    #[command(flatten)]
    pub(crate) agents: WatchedAgentsArguments,
}
