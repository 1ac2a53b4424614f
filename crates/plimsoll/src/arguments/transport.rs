//! Flags that `run` and `limit` share: what is sent, where, and how. Named as in curl where curl has them.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use plimsoll_model::plan::{GoodStatus, STREAMS_MAX};

use super::{WatchArgument, duration_above_zero, good_status, size};

/// The request and the way to the target.
#[derive(Debug, Args)]
pub(crate) struct TransportArguments {
    /// Where requests go: http://host:port/path or https://…; or a plan file (YAML), which flags override
    #[arg(value_name = "URL|PLAN")]
    pub(crate) url: String,
    /// Where the plan's requests go, in place of its `target:`
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
    /// Ask for the head only, with the method HEAD
    #[arg(long, short = 'I', conflicts_with_all = ["request", "data"])]
    pub(crate) head: bool,
    /// A header line, such as 'Accept: text/html'; an empty value removes the header
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
    /// Value of Host, and the name that TLS asks for
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Option<String>,
    /// Accept gzip and brotli
    #[arg(long)]
    pub(crate) compressed: bool,
    /// Follow redirects on the same origin
    #[arg(long, short = 'L')]
    pub(crate) location: bool,
    /// Redirects followed at most
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(0..=50))]
    pub(crate) max_redirs: u32,
    /// File of URLs, one a line, relative to the target; blank lines and # comments are skipped
    #[arg(long, value_name = "FILE")]
    pub(crate) urls: Option<PathBuf>,
    /// Order in which the URLs of the file are asked for
    #[arg(long, value_enum, default_value_t = UrlsOrder::Circular, requires = "urls")]
    pub(crate) urls_order: UrlsOrder,
    /// Statuses that count as good [default: 2xx,3xx]
    #[arg(long, value_name = "SET", value_parser = good_status)]
    pub(crate) good: Option<GoodStatus>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum UrlsOrder {
    /// In the order of the file, again and again
    Circular,
    /// Each drawn at random
    Random,
}

#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own, as in curl"
)]
#[command(next_help_heading = "Connection")]
pub(crate) struct ConnectionArguments {
    /// A request not answered this long after it was due has failed [default: 30s]
    #[arg(long, short = 'm', value_name = "TIME", value_parser = duration_above_zero, visible_alias = "max-time")]
    pub(crate) timeout: Option<Duration>,
    /// A connection not made in this time has failed [default: the time-out]
    #[arg(long, value_name = "TIME", value_parser = duration_above_zero)]
    pub(crate) connect_timeout: Option<Duration>,
    /// A new connection for each request
    #[arg(long, conflicts_with = "requests_per_connection")]
    pub(crate) no_keepalive: bool,
    /// Requests on one connection before it is closed; 0 for no bound [default: 0]
    #[arg(long, value_name = "N")]
    pub(crate) requests_per_connection: Option<u32>,
    /// Connections open at most; further arrivals wait, and the wait counts [default: 10000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) max_connections: Option<u32>,
    /// Speak HTTP/2 over TLS where the target chooses it (ALPN), else HTTP/1.1; the report says which it was
    #[arg(long, conflicts_with_all = ["http1_1", "http2_prior_knowledge"])]
    pub(crate) http2: bool,
    /// Speak HTTP/2 to http:// targets as well, without asking
    #[arg(long, conflicts_with = "http1_1")]
    pub(crate) http2_prior_knowledge: bool,
    /// Speak HTTP/1.1 alone, whatever the plan says; the default
    #[arg(long = "http1.1")]
    pub(crate) http1_1: bool,
    /// Requests under way on one connection of HTTP/2 at once, at most [default: 1; 100 for journeys]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(STREAMS_MAX)))]
    pub(crate) streams: Option<u32>,
    /// Connect to this address instead of the URL's; several are used in turn
    #[arg(long, value_name = "IP:PORT", conflicts_with = "unix_socket")]
    pub(crate) address: Vec<SocketAddr>,
    /// Connect to this Unix socket
    #[arg(long, value_name = "PATH")]
    pub(crate) unix_socket: Option<PathBuf>,
    /// Connect from this local address; several are used in turn, each with its own 28,000 ports
    #[arg(long, value_name = "IP")]
    pub(crate) source: Vec<IpAddr>,
    /// Only IPv4 addresses of the target
    #[arg(long, short = '4', conflicts_with = "ipv6")]
    pub(crate) ipv4: bool,
    /// Only IPv6 addresses of the target
    #[arg(long, short = '6')]
    pub(crate) ipv6: bool,
    /// Certificates to trust instead of the system's, a PEM file
    #[arg(long, value_name = "FILE")]
    pub(crate) cacert: Option<PathBuf>,
    /// Accept any certificate; the report says so
    #[arg(long, short = 'k')]
    pub(crate) insecure: bool,
    /// Longest body accepted [default: 1GiB], or message of a WebSocket [default: 1MiB]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) max_body: Option<u64>,
    /// The target is mine: load may be sent to a public address
    #[arg(long)]
    pub(crate) i_own_this: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Generator")]
pub(crate) struct GeneratorArguments {
    /// Event loops [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) cores: Option<u32>,
    /// Send what is due within this time in one go: cheaper, up to this much late
    #[arg(long, value_name = "TIME", value_parser = duration_above_zero)]
    pub(crate) tick: Option<Duration>,
    /// Seed of all randomness [default: drawn, and printed]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Watch this process of the target, and its children
    #[arg(long, value_name = "PID")]
    pub(crate) pid: Vec<u32>,
    /// Watch processes of this name
    #[arg(long, value_name = "NAME")]
    pub(crate) process: Vec<String>,
    /// Look for nginx, HAProxy, Redis and more on this machine (auto), at nothing but the target (none), or at what a file
    /// names [default: the plan's `watch:`]
    #[arg(long, value_name = "auto|none|FILE")]
    pub(crate) watch: Option<WatchArgument>,
}
