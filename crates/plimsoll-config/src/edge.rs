//! What the edge is told: listeners, pools, routes and limits, resolved. Flags and files both end here.

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

/// Everything an edge needs to know before it starts. [`Edge::one_pool`] is the shortest of all.
#[derive(Clone, Debug, PartialEq)]
pub struct EdgeConfig {
    /// Where clients come in.
    pub listen: Vec<ListenerConfig>,
    /// Servers that can stand in for each other.
    pub pools: Vec<PoolConfig>,
    /// What goes where, the first that matches.
    pub routes: Vec<RouteConfig>,
    /// Where the edge itself is asked.
    pub admin: Option<Admin>,
    /// Where finished exchanges are written.
    pub access_log: Option<AccessLog>,
    /// Event loops; `None` is one for each core.
    pub cores: Option<u32>,
    /// Whose word about clients is believed.
    pub trusted: Vec<Network>,
    /// Bounds of what a client may do.
    pub limits: EdgeLimits,
    /// Who is let in; `None` is everybody.
    pub access: Option<IpFilterConfig>,
    /// Parts of the names of crawlers, besides those every edge knows.
    pub crawlers: Vec<String>,
    /// Tells when the rate of requests leaves its usual range.
    pub rate_alert: Option<RateAlert>,
    /// Where spans of requests are sent.
    pub traces: Option<Traces>,
    /// Who the process becomes after binding.
    pub user: Option<String>,
    /// Longest time a drain takes.
    pub drain: Duration,
    /// Who is asked for the addresses of servers' names; those of the system when there are none.
    pub resolvers: Vec<SocketAddr>,
    /// Where this edge stands; servers of the same zone are preferred.
    pub zone: Option<String>,
    /// Certificates that are obtained by ACME.
    pub acme: Option<Acme>,
    /// Bytes of memory for copies of answers; `None` keeps none.
    pub cache: Option<u64>,
    /// Where copies are kept on disk too; `None` keeps none there.
    pub cache_disk: Option<CacheDisk>,
    /// Channels that clients subscribe to.
    pub hub: Option<HubConfig>,
}

/// Where copies of answers are kept on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheDisk {
    /// The folder, for one edge alone.
    pub path: PathBuf,
    /// Bytes that the copies may take.
    pub size: u64,
}

/// How certificates are obtained by ACME.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acme {
    /// The URL of the authority's directory.
    pub directory: String,
    /// Whom the authority writes to.
    pub email: Option<String>,
    /// Who vouches for the authority, a PEM file; the system's roots when none is named.
    pub ca: Option<PathBuf>,
    /// Folder of the account and the certificates.
    pub state: PathBuf,
    /// Those that listeners want.
    pub certificates: Vec<AcmeCertificate>,
}

/// A certificate that is obtained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcmeCertificate {
    /// What it is for.
    pub names: Vec<String>,
    /// Where it is put.
    pub files: Certificate,
}

impl EdgeConfig {
    /// Puts what is obtained by ACME into a folder; until then its files have names only.
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

/// One address clients come in at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenerConfig {
    /// Address and port.
    pub address: SocketAddr,
    /// Certificates; none is plain HTTP.
    pub tls: Vec<Certificate>,
    /// Whether connections from trusted sources begin with a PROXY header.
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

/// Servers that can stand in for each other.
#[derive(Clone, Debug, PartialEq)]
pub struct PoolConfig {
    /// Name, for routes, metrics and logs.
    pub name: String,
    /// Its servers; at least one.
    pub servers: Vec<ServerConfig>,
    /// How one of them is picked.
    pub load_balancer: BalancingPolicy,
    /// How many requests may be with one server.
    pub ceiling: Ceiling,
    /// How many requests may wait for a server; `None` is as many as will be served within their time.
    pub queue: Option<u32>,
    /// How long one may wait.
    pub queue_timeout: Duration,
    /// How long an exchange may take.
    pub timeouts: Timeouts,
    /// Idle connections kept for each server and loop.
    pub idle_max: u32,
    /// Active checks.
    pub check: Option<Check>,
    /// When a server is taken out for its answers.
    pub eject: Eject,
    /// How long a server that came back gets less than its share.
    pub slow_start: Duration,
    /// Retries, as a share of requests.
    pub retry_share: f64,
    /// What an adaptive limit must keep: 95 % of answers within this.
    pub objective: Duration,
    /// How servers behind `https://` are spoken to.
    pub tls: ServerTls,
    /// Where the edge stands.
    pub zone: Option<String>,
}

/// How servers behind `https://` are spoken to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerTls {
    /// Who vouches for them; the system's roots when nobody is named.
    pub authorities: Option<Authorities>,
    /// The name their certificates must have; the URL's host when none is given.
    pub name: Option<String>,
    /// Whether their certificates are not checked at all.
    pub insecure: bool,
}

/// Certificates of those who vouch for others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authorities {
    /// Where they came from, for messages.
    pub name: String,
    /// PEM.
    pub pem: Vec<u8>,
}

/// One server of a pool.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerConfig {
    /// As written, for metrics and logs.
    pub name: String,
    /// The host of its URL: an address, or a name that is looked up again and again.
    pub host: String,
    /// The port of its URL.
    pub port: u16,
    /// Whether it is spoken to by TLS.
    pub tls: bool,
    /// Addresses, looked up by whoever read the configuration.
    pub addresses: Vec<SocketAddr>,
    /// Host and port as written, for a server that is asked by name.
    pub authority: String,
    /// How many requests may be with it; before the pool's.
    pub max_in_flight: Option<u32>,
    /// Share beside the others.
    pub weight: u32,
    /// Where it stands.
    pub zone: Option<String>,
}

/// How a server is picked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum BalancingPolicy {
    /// The cheaper of two at random, by peak latency and requests in flight.
    #[default]
    PeakEwma,
    /// One after another, by weight.
    RoundRobin,
    /// The one with the fewest requests in flight, by weight.
    LeastInFlight,
    /// By a hash of something of the request; most keys stay where they are when servers come and go.
    Hash(HashKey),
    /// The server a cookie of this name speaks of; the edge sets it.
    Cookie(String),
}

/// What is hashed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HashKey {
    /// The client's address.
    Client,
    /// Path and query.
    Target,
    /// The value of a header.
    Header(String),
}

/// How many requests may be with a server at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ceiling {
    /// As many as keep the objective, learnt from latencies.
    #[default]
    Adaptive,
    /// So many.
    Fixed(u32),
}

/// How long an exchange with a server may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection.
    pub connect: Duration,
    /// From the request to the first byte of the answer.
    pub first_byte: Duration,
    /// Between two pieces of a body.
    pub idle: Duration,
    /// For the whole exchange; `None` has no end of its own, as downloads and streams need.
    pub total: Option<Duration>,
    /// For a connection that waits for its next request.
    pub keep_alive: Duration,
    /// For a tunnel (WebSocket) in which nothing moves.
    pub tunnel: Duration,
}

/// How servers are asked whether they are well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Path of a GET that must be answered 2xx or 3xx; `None` only connects.
    pub path: Option<String>,
    /// How often.
    pub every: Duration,
    /// How long an answer may take.
    pub timeout: Duration,
    /// Failures in a row that take a server out.
    pub fall: u32,
    /// Good answers in a row that bring it back.
    pub rise: u32,
}

/// When answers to requests take a server out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Eject {
    /// Failures in a row (5xx, no connection, no answer); 0 never ejects.
    pub failures: u32,
    /// How long it stays out at first; each further time longer.
    pub lasting: Duration,
    /// At most this share of the servers is out at once.
    pub share_max: f64,
}

/// One route.
#[derive(Clone, Debug, PartialEq)]
pub struct RouteConfig {
    /// What it is for.
    pub matches: RouteMatch,
    /// What becomes of the request.
    pub action: Action,
    /// The answer when the pool has none.
    pub fallback: Option<Fallback>,
    /// Where a better one is learnt.
    pub learned_fallback: Option<LearnedFallback>,
    /// A page with a place in line, where there is no fallback.
    pub waiting: Option<WaitingRoomConfig>,
    /// How answers are compressed.
    pub compress: Option<Compress>,
    /// Who may ask, besides what holds for the whole edge.
    pub access: Option<IpFilterConfig>,
    /// What becomes of paths with parameters; `None` refuses them where `access` is said, and where they lead elsewhere.
    pub path_parameters: Option<PathParameters>,
    /// Whether the path is matched whatever the case of its letters.
    pub case_ignored: bool,
    /// Who goes first when not all can.
    pub class: Class,
    /// What is done to the request's path.
    pub rewrite: Option<Rewrite>,
    /// Headers of the request to set, or to drop.
    pub request_headers: Vec<HeaderEdit>,
    /// Steering headers (`X-HTTP-Method-Override`) that clients may send to its servers; every copy varies by them.
    pub steering_headers: Vec<String>,
    /// Headers of the answer to set, or to drop.
    pub answer_headers: Vec<HeaderEdit>,
    /// Requests a second of one client.
    pub rate: Option<Rate>,
    /// What is kept of its answers; `None` is nothing.
    pub cache: Option<Caching>,
    /// How pages are put together from fragments; `None` leaves them as they are.
    pub fragments: Option<Fragments>,
}

/// What a request must be like; everything that is said must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RouteMatch {
    /// Host without port, lower case; `*.example.org` stands for every name below.
    pub hosts: Vec<String>,
    /// The path.
    pub path: PathMatch,
    /// One of these methods.
    pub methods: Vec<String>,
    /// Headers that must be there; with a value, exactly so.
    pub headers: Vec<(String, Option<String>)>,
    /// Share of such requests it takes, of those that came so far; 1 takes all.
    pub share: Option<f64>,
}

/// What a path must be like.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum PathMatch {
    /// Anything.
    #[default]
    Any,
    /// Exactly this.
    Exact(String),
    /// This and everything below.
    Prefix(String),
    /// A regular expression finds something in it.
    Regex(String),
}

/// What becomes of a path with parameters (`/news;page=2`), which some servers read as if it had none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathParameters {
    /// It is refused.
    Refused,
    /// The path is matched without them, and goes on with them.
    Kept,
}

/// What becomes of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// It goes to the pool of this index.
    Pool(usize),
    /// The client is sent elsewhere: `{host}` and `{target}` are filled.
    Redirect {
        /// 301, 302, 303, 307 or 308.
        status: u16,
        /// Where to.
        location: String,
    },
}

/// What is done to a path before the server sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rewrite {
    /// The matched prefix becomes this one.
    Prefix(String),
    /// What a regular expression finds becomes this, with `$1` for its groups.
    Regex(String, String),
}

/// One header set or dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderEdit {
    /// Its name.
    pub name: String,
    /// Its value; `None` drops it.
    pub value: Option<String>,
}

/// A cheap answer in place of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fallback {
    /// Where it came from, for messages.
    pub name: String,
    /// Its content.
    pub content: Vec<u8>,
    /// Its media type.
    pub media_type: String,
}

/// Where a fallback is learnt from the origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LearnedFallback {
    /// A page that is fetched.
    pub captured: Option<Captured>,
    /// The header of an answer that is kept.
    pub header: Option<String>,
    /// Longest page that is kept, bytes.
    pub len_max: u64,
    /// How often at most.
    pub every: Duration,
}

/// A page of a route's pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    /// What is asked for as `Host`; `None` is the server.
    pub host: Option<String>,
    /// Path and query.
    pub target: String,
}

/// A page for those who must wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingRoomConfig {
    /// A page of the user's own.
    pub page: Option<String>,
    /// How many may wait.
    pub most: u32,
    /// Longest time until the page asks again.
    pub retry: Duration,
    /// How long whoever got in goes past the line.
    pub stay: Duration,
}

/// How answers are compressed.
#[derive(Clone, Debug, PartialEq)]
pub struct Compress {
    /// In the order of preference.
    pub codings: Vec<CompressCoding>,
    /// 1 to 9.
    pub level: u32,
    /// Media types, lower case; `text/*` is all of a kind.
    pub types: Vec<String>,
    /// Shorter answers stay as they are.
    pub len_min: u64,
    /// Share of a loop's time beyond which further answers stay as they are.
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

/// Who is let in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IpFilterConfig {
    /// Whatever else is said.
    pub allow: Vec<Network>,
    /// Not these.
    pub deny: Vec<Network>,
    /// By country.
    pub countries: Option<Countries>,
}

/// Who is let in by country.
#[derive(Clone, PartialEq, Eq)]
pub struct Countries {
    /// The database's file, for messages.
    pub name: String,
    /// Its content.
    pub database: Arc<[u8]>,
    /// Whether those listed are let in, or all others.
    pub allows: bool,
    /// Two letters each; empty is an address without a country.
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

/// Tells when the rate of requests leaves its usual range.
#[derive(Clone, Debug, PartialEq)]
pub struct RateAlert {
    /// Who is told, besides whoever reads the messages.
    pub webhook: Option<Endpoint>,
    /// How long the rate is counted for.
    pub every: Duration,
    /// How many such counts make the usual range.
    pub history: u32,
    /// Width of the range, in robust standard deviations.
    pub factor: f64,
    /// Rates below this are never too many.
    pub least_per_second: f64,
}

/// Where spans of requests are sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Traces {
    /// The collector.
    pub to: Endpoint,
    /// Share of the requests without a parent's decision.
    pub share: f64,
    /// Whose word is followed.
    pub parents: Parents,
    /// Name of the service.
    pub service: String,
}

/// Whose `traceparent` is followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parents {
    /// Everybody's.
    #[default]
    All,
    /// That of trusted sources.
    Trusted,
    /// Nobody's.
    None,
}

/// A URL that something is sent to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Whether by TLS.
    pub secure: bool,
    /// Name or number.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Path and query.
    pub target: String,
    /// Headers besides.
    pub headers: Vec<(String, String)>,
}

/// Who goes first when not all can; the first is the last to be refused.
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

/// A bound on one client's requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Requests a second.
    pub per_second: f64,
    /// How many may come at once.
    pub burst: u32,
}

/// Where the edge itself is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admin {
    /// Address and port.
    pub address: SocketAddr,
    /// Whether the edge does not start without it.
    pub must_bind: bool,
    /// What whoever asks must know; needed on addresses that others reach.
    pub token: Option<String>,
}

/// Where finished exchanges are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessLog {
    /// A file; `None` is the standard output.
    pub path: Option<PathBuf>,
    /// How a line looks.
    pub format: LogFormat,
}

/// How a line of the access log looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// One JSON object.
    #[default]
    Json,
    /// As web servers have always written it.
    Combined,
}

/// Bounds of what clients may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeLimits {
    /// Connections of clients in all loops together.
    pub connections_max: u32,
    /// Connections of one address; 0 has no bound.
    pub per_address_max: u32,
    /// Longest head of a request, bytes.
    pub head_len_max: u32,
    /// Longest body of a request, bytes.
    pub body_len_max: u64,
    /// Bytes held for clients and servers that are slow, by all connections together.
    pub memory_max: u64,
    /// Time for a head, from its first byte (or from the connection) to its last.
    pub head_timeout: Duration,
    /// Time between two pieces of a body.
    pub body_timeout: Duration,
    /// Time between two requests.
    pub idle_timeout: Duration,
    /// Time a client may take no byte of its answer.
    pub write_timeout: Duration,
}
