//! The resolved settings of the edge: listeners, pools, routes and limits. Flags and files both result in these types.

mod acme;
mod answer_keywords;
mod answers;
mod caching;
mod defaults;
mod file;
mod fragments;
mod hub;
mod keywords;
mod network;
mod outward;
mod pools;
mod routes;
mod server;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub use caching::{
    CACHE_LEN, CACHE_LENS, CacheQuery, CacheSetCookie, Caching, DISK_LEN, DISK_LENS, is_cookie,
};
pub use file::{EDGE_LEN_MAX, HostLookup, read, reference};
pub use fragments::{FragmentPages, Fragments};
pub use hub::{
    HubConfig, HubHooks, HubKey, HubRedis, HubRule, HubShared, HubSharedKind, HubSlow, HubSource,
    HubSourceKind, HubTokens,
};
pub use network::Network;
pub use server::ServerUrlError;

/// All settings of an edge. [`EdgeConfig::single_pool`] is the shortest.
#[derive(Clone, Debug, PartialEq)]
pub struct EdgeConfig {
    /// Listeners.
    pub listen: Vec<ListenerConfig>,
    /// Pools of equivalent upstream servers.
    pub pools: Vec<PoolConfig>,
    /// Routes; the first match applies.
    pub routes: Vec<RouteConfig>,
    /// The admin endpoint.
    pub admin: Option<Admin>,
    /// The access log.
    pub access_log: Option<AccessLog>,
    /// Event loops; `None` is one per core.
    pub cores: Option<u32>,
    /// Trusted peers, whose forwarding headers are accepted.
    pub trusted: Vec<Network>,
    /// Limits for clients.
    pub limits: EdgeLimits,
    /// The IP filter; `None` allows all.
    pub access: Option<IpFilterConfig>,
    /// Substrings of the `User-Agent` of crawlers, besides the built-in ones.
    pub crawlers: Vec<String>,
    /// The rate alert.
    pub rate_alert: Option<RateAlert>,
    /// Export of request spans.
    pub traces: Option<Traces>,
    /// User of the process after binding.
    pub user: Option<String>,
    /// Time-out of graceful shutdown.
    pub drain: Duration,
    /// DNS servers that resolve upstream names; if empty, those of the system.
    pub resolvers: Vec<SocketAddr>,
    /// Zone of this edge; servers of the same zone are preferred.
    pub zone: Option<String>,
    /// Certificates that are obtained by ACME.
    pub acme: Option<Acme>,
    /// Size of the memory cache, bytes; `None` disables caching.
    pub cache: Option<u64>,
    /// The disk cache, if any.
    pub cache_disk: Option<CacheDisk>,
    /// Channels that clients subscribe to.
    pub hub: Option<HubConfig>,
}

/// The disk cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheDisk {
    /// Folder, used by one edge only.
    pub path: PathBuf,
    /// Its size, bytes.
    pub size: u64,
}

/// How certificates are obtained by ACME.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acme {
    /// URL of the ACME directory.
    pub directory: String,
    /// Contact address for the certificate authority.
    pub email: Option<String>,
    /// PEM file of the CA certificates trusted for the ACME server; `None` uses those of the system.
    pub ca: Option<PathBuf>,
    /// Folder of the account and the certificates.
    pub state: PathBuf,
    /// Certificates that listeners use.
    pub certificates: Vec<AcmeCertificate>,
}

/// A certificate that is obtained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcmeCertificate {
    /// Its DNS names.
    pub names: Vec<String>,
    /// Its files.
    pub files: Certificate,
}

impl EdgeConfig {
    /// Sets the folder of ACME files; until then they have relative names only.
    pub fn keep_state_in(&mut self, folder: &Path) {
        let Some(acme) = &mut self.acme else {
            return;
        };
        folder.clone_into(&mut acme.state);
        let certificates = folder.join("certificates");
        let place = |files: &mut Certificate| {
            files.cert = certificates.join(&files.cert);
            files.key = certificates.join(&files.key);
        };
        let listed = self
            .listen
            .iter_mut()
            .flat_map(|listener| &mut listener.tls);
        for files in listed.filter(|files| {
            acme.certificates
                .iter()
                .any(|certificate| certificate.files == **files)
        }) {
            place(files);
        }
        for certificate in &mut acme.certificates {
            place(&mut certificate.files);
        }
    }
}

/// One listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenerConfig {
    /// Address and port.
    pub address: SocketAddr,
    /// Certificates; empty for plain HTTP.
    pub tls: Vec<Certificate>,
    /// Whether connections of trusted peers start with a PROXY header.
    pub proxy_protocol: bool,
}

/// A certificate chain and its key, PEM files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The chain.
    pub cert: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// A pool of equivalent upstream servers.
#[derive(Clone, Debug, PartialEq)]
pub struct PoolConfig {
    /// Name, for routes, metrics and logs.
    pub name: String,
    /// Its servers; at least one.
    pub servers: Vec<ServerConfig>,
    /// Balancing policy.
    pub load_balancer: BalancingPolicy,
    /// Maximum requests in flight per server.
    pub ceiling: Ceiling,
    /// Maximum queue length; `None` is as many requests as can be served in time.
    pub queue: Option<u32>,
    /// Maximum time in the queue.
    pub queue_timeout: Duration,
    /// Time-outs of upstream requests.
    pub timeouts: Timeouts,
    /// Idle keep-alive connections per server and event loop.
    pub idle_max: u32,
    /// Health checks.
    pub check: Option<Check>,
    /// Outlier detection.
    pub eject: Eject,
    /// Slow start: how long a recovered server gets less than its share.
    pub slow_start: Duration,
    /// Retry budget, as a share of requests.
    pub retry_share: f64,
    /// Target of an adaptive limit: 95 % of responses within this time.
    pub objective: Duration,
    /// TLS settings for `https://` servers.
    pub tls: ServerTls,
    /// Zone of the edge.
    pub zone: Option<String>,
}

/// TLS settings for `https://` servers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerTls {
    /// Trusted CA certificates; `None` uses those of the system.
    pub authorities: Option<Authorities>,
    /// Server name that certificates must match; by default the host of the URL.
    pub name: Option<String>,
    /// Whether certificates are not verified.
    pub insecure: bool,
}

/// CA certificates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authorities {
    /// Source, for messages.
    pub name: String,
    /// PEM.
    pub pem: Vec<u8>,
}

/// One server of a pool.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerConfig {
    /// As written, for metrics and logs.
    pub name: String,
    /// The host of its URL: an address, or a name that is resolved periodically.
    pub host: String,
    /// The port of its URL.
    pub port: u16,
    /// Whether it uses TLS.
    pub tls: bool,
    /// Addresses, resolved by the reader of the configuration.
    pub addresses: Vec<SocketAddr>,
    /// Host and port as written, for the `Host` header.
    pub authority: String,
    /// Maximum requests in flight; overrides that of the pool.
    pub max_in_flight: Option<u32>,
    /// Weight relative to the other servers.
    pub weight: u32,
    /// Its zone.
    pub zone: Option<String>,
}

/// Balancing policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum BalancingPolicy {
    /// The cheaper of two random servers, by peak EWMA latency and requests in flight.
    #[default]
    PeakEwma,
    /// Weighted round robin.
    RoundRobin,
    /// The one with the fewest requests in flight, by weight.
    LeastInFlight,
    /// Consistent hashing of a part of the request.
    Hash(HashKey),
    /// Sticky sessions by a cookie of this name, which the edge sets.
    Cookie(String),
}

/// Hash key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HashKey {
    /// The client's address.
    Client,
    /// Path and query.
    Target,
    /// The value of a header.
    Header(String),
}

/// Maximum requests in flight per server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ceiling {
    /// Adapted to the response time, so that the pool meets its objective.
    #[default]
    Adaptive,
    /// A fixed number.
    Fixed(u32),
}

/// Time-outs of upstream requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Connect.
    pub connect: Duration,
    /// From the request to the first byte of the response.
    pub first_byte: Duration,
    /// Between two reads of a body.
    pub idle: Duration,
    /// Whole request; `None` is unlimited, as downloads and streams need.
    pub total: Option<Duration>,
    /// Idle time of a keep-alive connection.
    pub keep_alive: Duration,
    /// Idle time of a tunnel (WebSocket).
    pub tunnel: Duration,
}

/// Active health checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Path of a GET request that must return 2xx or 3xx; `None` only connects.
    pub path: Option<String>,
    /// Interval.
    pub every: Duration,
    /// Time-out of a check.
    pub timeout: Duration,
    /// Consecutive failures that mark a server as down.
    pub fall: u32,
    /// Consecutive successes that mark it as up.
    pub rise: u32,
}

/// Outlier detection: when failed responses eject a server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Eject {
    /// Consecutive failures (5xx, no connection, no response); 0 disables ejection.
    pub failures: u32,
    /// Duration of the first ejection; each further one is longer.
    pub lasting: Duration,
    /// Largest share of servers ejected at the same time.
    pub share_max: f64,
}

/// One route.
#[derive(Clone, Debug, PartialEq)]
pub struct RouteConfig {
    /// Conditions on the request.
    pub matches: RouteMatch,
    /// What handles the request.
    pub action: Action,
    /// Response when the pool has no capacity.
    pub fallback: Option<Fallback>,
    /// Source of a learned fallback.
    pub learned_fallback: Option<LearnedFallback>,
    /// Waiting page, where there is no fallback.
    pub waiting: Option<WaitingRoomConfig>,
    /// Response compression.
    pub compress: Option<Compress>,
    /// IP filter, in addition to that of the edge.
    pub access: Option<IpFilterConfig>,
    /// Path parameters; `None` refuses them where `access` is set, or where the rest of the path matches another route.
    pub path_parameters: Option<PathParameters>,
    /// Whether paths match regardless of case.
    pub case_ignored: bool,
    /// Priority under overload.
    pub class: Class,
    /// Rewriting of the path.
    pub rewrite: Option<Rewrite>,
    /// Request headers to set or remove.
    pub request_headers: Vec<HeaderEdit>,
    /// Steering headers (`X-HTTP-Method-Override`) that clients may send; they are part of the cache key.
    pub steering_headers: Vec<String>,
    /// Response headers to set or remove.
    pub answer_headers: Vec<HeaderEdit>,
    /// Rate limit per client.
    pub rate: Option<Rate>,
    /// Caching; `None` disables it.
    pub cache: Option<Caching>,
    /// Assembly from fragments; `None` passes pages through unchanged.
    pub fragments: Option<Fragments>,
}

/// Conditions on a request; all must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RouteMatch {
    /// Host without port, lower case; `*.example.org` matches every subdomain.
    pub hosts: Vec<String>,
    /// The path.
    pub path: PathMatch,
    /// One of these methods.
    pub methods: Vec<String>,
    /// Headers that must be present; with a value, exactly that value.
    pub headers: Vec<(String, Option<String>)>,
    /// Share of matching requests that the route takes; 1 takes all.
    pub share: Option<f64>,
}

/// Condition on a path.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum PathMatch {
    /// Any path.
    #[default]
    Any,
    /// Exactly this path.
    Exact(String),
    /// This path and everything below.
    Prefix(String),
    /// A regular expression that matches a part of it.
    Regex(String),
}

/// Handling of paths with parameters (`/news;page=2`), which some servers read as if they had none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathParameters {
    /// The request is refused.
    Refused,
    /// The path is matched without the parameters, and forwarded with them.
    Kept,
}

/// What handles a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The pool with this index.
    Pool(usize),
    /// A redirect; the placeholders `{host}` and `{target}` are replaced.
    Redirect {
        /// 301, 302, 303, 307 or 308.
        status: u16,
        /// Where to.
        location: String,
    },
}

/// Rewriting of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rewrite {
    /// The matched prefix is replaced.
    Prefix(String),
    /// Each match of a regular expression is replaced, with `$1` for its groups.
    Regex(String, String),
}

/// A header to set or remove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderEdit {
    /// Its name.
    pub name: String,
    /// Its value; `None` removes the header.
    pub value: Option<String>,
}

/// A cheap response instead of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fallback {
    /// Source, for messages.
    pub name: String,
    /// Its content.
    pub content: Vec<u8>,
    /// Its media type.
    pub media_type: String,
}

/// Source of a learned fallback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LearnedFallback {
    /// A page that is fetched periodically.
    pub captured: Option<Captured>,
    /// The response header that marks a page.
    pub header: Option<String>,
    /// Maximum size of a page, bytes.
    pub len_max: u64,
    /// Minimum interval between two updates.
    pub every: Duration,
}

/// A page of a route's pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    /// Value of the `Host` header; `None` is that of the server.
    pub host: Option<String>,
    /// Path and query.
    pub target: String,
}

/// The waiting page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingRoomConfig {
    /// Custom HTML.
    pub page: Option<String>,
    /// Maximum length of the queue.
    pub most: u32,
    /// Maximum interval at which the page retries.
    pub retry: Duration,
    /// How long an admitted client bypasses the queue.
    pub stay: Duration,
}

/// Response compression.
#[derive(Clone, Debug, PartialEq)]
pub struct Compress {
    /// Codings in order of preference.
    pub codings: Vec<CompressCoding>,
    /// Level, 1 to 9.
    pub level: u32,
    /// Media types, lower case; `text/*` matches all subtypes.
    pub types: Vec<String>,
    /// Minimum size of a response.
    pub len_min: u64,
    /// Share of an event loop's time above which further responses are not compressed.
    pub cpu_share: f64,
}

/// A content coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompressCoding {
    /// RFC 8878.
    Zstd,
    /// RFC 7932.
    Brotli,
    /// RFC 1952.
    Gzip,
}

/// An IP filter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IpFilterConfig {
    /// Always allowed.
    pub allow: Vec<Network>,
    /// Denied.
    pub deny: Vec<Network>,
    /// By country.
    pub countries: Option<Countries>,
}

/// A country filter.
#[derive(Clone, PartialEq, Eq)]
pub struct Countries {
    /// File name of the database, for messages.
    pub name: String,
    /// Its content.
    pub database: Arc<[u8]>,
    /// Whether the listed countries are allowed, or all others.
    pub allows: bool,
    /// Two-letter codes; an empty one matches addresses without a country.
    pub listed: Vec<String>,
}

impl std::fmt::Debug for Countries {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Countries")
            .field("name", &self.name)
            .field("allows", &self.allows)
            .field("listed", &self.listed)
            .finish_non_exhaustive()
    }
}

/// Reports when the request rate leaves its usual range.
#[derive(Clone, Debug, PartialEq)]
pub struct RateAlert {
    /// Webhook, in addition to the log message.
    pub webhook: Option<Endpoint>,
    /// Window over which the rate is counted.
    pub every: Duration,
    /// Number of windows that define the usual range.
    pub history: u32,
    /// Width of the range, in robust standard deviations.
    pub factor: f64,
    /// Rates below this never count as too high, 1/s.
    pub least_per_second: f64,
}

/// Export of request spans.
#[derive(Clone, Debug, PartialEq)]
pub struct Traces {
    /// The collector.
    pub to: Endpoint,
    /// Sampling rate of requests without a parent decision.
    pub share: f64,
    /// Peers whose `traceparent` is honored.
    pub parents: Parents,
    /// Service name.
    pub service: String,
}

/// Peers whose `traceparent` is honored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parents {
    /// All.
    #[default]
    All,
    /// Trusted peers.
    Trusted,
    /// None.
    None,
}

/// A destination URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Whether it uses TLS.
    pub secure: bool,
    /// Host name or address.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Path and query.
    pub target: String,
    /// Additional headers.
    pub headers: Vec<(String, String)>,
}

/// Priority under overload; the first is shed last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Health and checkout.
    CriticalPlus,
    /// Pages.
    #[default]
    Critical,
    /// Searches, lists.
    SheddablePlus,
    /// Crawlers, prefetches.
    Sheddable,
}

/// A rate limit per client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Requests per second.
    pub per_second: f64,
    /// Burst size.
    pub burst: u32,
}

/// The admin endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admin {
    /// Address and port.
    pub address: SocketAddr,
    /// Whether the edge refuses to start without it.
    pub must_bind: bool,
    /// Bearer token; required on addresses other than loopback.
    pub token: Option<String>,
}

/// The access log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessLog {
    /// A file; `None` is the standard output.
    pub path: Option<PathBuf>,
    /// Format of a line.
    pub format: LogFormat,
}

/// Format of a line of the access log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// One JSON object.
    #[default]
    Json,
    /// The combined format of web servers.
    Combined,
}

/// Limits for clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeLimits {
    /// Maximum connections of all event loops together.
    pub connections_max: u32,
    /// Maximum connections per address; 0 is unlimited.
    pub per_address_max: u32,
    /// Maximum size of a request head, bytes.
    pub head_len_max: u32,
    /// Maximum size of a request body, bytes.
    pub body_len_max: u64,
    /// Total bytes buffered for slow clients and servers, over all connections.
    pub memory_max: u64,
    /// Time-out of a request head, from its first byte (or from the connection) to its last.
    pub head_timeout: Duration,
    /// Time between two reads of a body.
    pub body_timeout: Duration,
    /// Idle time between two requests.
    pub idle_timeout: Duration,
    /// Time during which a client reads nothing of its response.
    pub write_timeout: Duration,
}
