//! The day of a log as data: what `plimsoll log --json` prints, with its published schema.
//!
//! Names and units are stable. Times of the clock are RFC 3339 in UTC; durations carry their unit.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

/// A distribution of times or sizes. The relative error of percentiles is below 0.1 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Distribution {
    /// Number of values.
    pub count: u64,
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Highest value.
    pub max: f64,
}

/// One minute of the log.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MinuteSummary {
    /// Its beginning.
    pub at: String,
    /// Requests that began in it.
    pub requests: u64,
    /// Pages among them.
    pub page: u64,
    /// Calls of programs among them.
    pub api: u64,
    /// Scripts, styles and fonts among them.
    pub asset: u64,
    /// Images, sound and films among them.
    pub media: u64,
    /// All others.
    pub other: u64,
    /// Answers with a status of 500 and above.
    pub server_errors: u64,
    /// Requests that reached the service.
    pub reach_service: u64,
    /// Bytes sent.
    pub bytes: u64,
}

/// One hour of the log.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct HourSummary {
    /// Its beginning.
    pub at: String,
    /// Requests that began in it.
    pub requests: u64,
    /// Response times, ms; null if the log has none. Relative error below 1 %.
    pub response_time_ms: Option<Distribution>,
}

/// Requests of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct KindSummary {
    /// Number of requests.
    pub requests: u64,
    /// Share of all requests.
    pub share: f64,
    /// Response times, ms; null if the log has none.
    pub response_time_ms: Option<Distribution>,
    /// Sizes as the log has them, bytes; null if it has none.
    pub bytes: Option<Distribution>,
    /// Share of requests that a cache answered; null if the log does not tell.
    pub cache_hit_share: Option<f64>,
}

/// Bytes sent.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BytesSummary {
    /// Sum of all requests.
    pub total: u64,
    /// By request, bytes; null if the log has none.
    pub by_request: Option<Distribution>,
    /// Requests whose answer the server compressed, by the log; null if it does not tell.
    pub compressed: Option<u64>,
    /// Bytes before compression per byte after it, over all compressed answers.
    pub compression_ratio: Option<f64>,
}

/// What a cache in front made of the requests.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CacheSummary {
    /// Requests with a cache's outcome.
    pub requests: u64,
    /// Answered from the cache, fresh.
    pub hit: u64,
    /// Answered from the cache after its time, or while it was renewed.
    pub stale: u64,
    /// Answered from the cache after the origin confirmed it.
    pub revalidated: u64,
    /// Fetched from the origin.
    pub miss: u64,
    /// Not for the cache.
    pub bypass: u64,
    /// Share answered by the cache: hit, stale and revalidated.
    pub hit_share: f64,
}

/// Visits in detail.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct VisitsSummary {
    /// How clients were told apart.
    pub by: String,
    /// Requests without an address, which belong to no visit.
    pub requests_without_client: u64,
    /// Seconds without a request after which a visit is over.
    pub pause_s: i64,
    /// Whether visits begin with page views; if the log has none, they begin with any request.
    pub of_pages: bool,
    /// The number of visits is right within this share, in 95 of 100 cases; 0 if it is exact.
    pub error: f64,
    /// Different clients.
    pub clients: u64,
    /// Their number is right within this share, in 95 of 100 cases.
    pub clients_error: f64,
    /// Page views of people per visit.
    pub page_views_per_visit: Option<f64>,
    /// Pages on which visits began, most frequent first.
    pub landing_pages: Vec<LandingPage>,
}

/// A page on which visits began.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LandingPage {
    /// Path without its query.
    pub path: String,
    /// Visits that began on it.
    pub visits: u64,
    /// Share of all visits.
    pub share: f64,
}

/// Popularity of URLs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PopularitySummary {
    /// What was counted: `pages`, or `requests` if there are hardly any pages.
    pub of: String,
    /// Requests counted.
    pub requests: u64,
    /// Different URLs with their queries, of any kind.
    pub distinct_urls: u64,
    /// Their number is right within this share, in 95 of 100 cases.
    pub distinct_urls_error: f64,
    /// Share of the most frequent 1, 10, 100, 1,000 and 10,000 URLs.
    pub top_shares: BTreeMap<String, f64>,
    /// Most frequent URLs. Values in queries are replaced by `…`.
    pub top: Vec<PopularUrl>,
    /// A count may be too low by this number; 0 if all are exact.
    pub count_error: u64,
    /// The fit of Zipf's law; null if there are too few URLs with 20 requests.
    pub zipf: Option<ZipfSummary>,
}

/// A frequent URL.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PopularUrl {
    /// Path and query, with the host in front if it is not the usual one.
    pub url: String,
    /// Number of requests.
    pub requests: u64,
    /// Share of the requests counted.
    pub share: f64,
}

/// A fit of Zipf's law by maximum likelihood.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ZipfSummary {
    /// The URL of rank r is requested in proportion to r^-exponent.
    pub exponent: f64,
    /// 95 % bound of the error of the exponent, if the law holds.
    pub error: f64,
    /// Number of ranks that were fitted.
    pub ranks: u64,
    /// Largest difference between cumulative shares in the log and by the law: near 0 if the law holds.
    pub deviation: f64,
}

/// Clients that look like programs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CrawlersSummary {
    /// Requests of such clients.
    pub requests: u64,
    /// Share of the requests whose client is known.
    pub share: f64,
    /// By a word in the agent.
    pub by_agent: u64,
    /// By reading robots.txt, from then on.
    pub by_robots_txt: u64,
    /// By a hundred page views at more than one a second, from then on.
    pub by_pace: u64,
    /// Requests of the most frequent names.
    pub names: BTreeMap<String, u64>,
}

/// From page views to the requests that reach the service.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FunnelSummary {
    /// Requests in the log.
    pub requests: u64,
    /// GETs of pages with a status of 2xx or 304, without those of crawlers.
    pub page_views: u64,
    /// Visits; null if clients cannot be told apart.
    pub visits: Option<u64>,
    /// Page views that begin a visit, as a share of all page views.
    pub landings_of_page_views: Option<f64>,
    /// Visits that begin on the most frequent landing page, as a share.
    pub landing_share: Option<f64>,
    /// Path of that page.
    pub landing_page: Option<String>,
    /// Misses of the cache; null if the log has no cache.
    pub cache_misses: Option<u64>,
    /// Requests that reached the service: missed, bypassed or revalidated by a cache, or sent to a server by a proxy; all,
    /// if the log does not tell.
    pub reach_service: u64,
    /// The same as a share of requests.
    pub reach_service_share: f64,
    /// The same per second in the busiest minute.
    pub reach_service_per_second: f64,
}

/// A busiest stretch.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BusiestStretch {
    /// Its beginning.
    pub at: String,
    /// Requests that began in it.
    pub requests: u64,
    /// Requests per second in it.
    pub per_second: f64,
    /// How many times the mean rate of the whole log that is.
    pub times_mean: f64,
}

/// Busiest second, minute and hour of the clock.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BusiestSummary {
    /// The busiest second.
    pub second: BusiestStretch,
    /// The busiest minute of the clock.
    pub minute: BusiestStretch,
    /// The busiest hour of the clock.
    pub hour: BusiestStretch,
}

/// What a cache of some size would answer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CacheSize {
    /// Memory, bytes.
    pub bytes: u64,
    /// Share of all requests that it would answer.
    pub hit_share: f64,
    /// The share is right within this, in 95 of 100 cases; 0 if every request was replayed.
    pub hit_share_error: f64,
    /// Minutes after a start with an empty cache until the hit share is within 5 % of its steady value; null if the log is
    /// too short, or it never is.
    pub cold_fill_minutes: Option<u32>,
}

/// The log replayed through the policy of the edge's cache.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EdgeCacheSummary {
    /// Requests that a cache may answer: GET and HEAD with a status that may be stored, and not bypassed.
    pub cacheable: u64,
    /// How long a response is taken to be fresh, seconds; null: as long as it is stored.
    pub lifetime_s: Option<u32>,
    /// By memory, ascending.
    pub sizes: Vec<CacheSize>,
}

/// One termination state of `HAProxy`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TerminationSummary {
    /// Number of requests.
    pub count: u64,
    /// What its two characters mean.
    pub meaning: String,
    /// Requests by the characters of the cookies and their meaning, where a cookie took part.
    pub cookies: BTreeMap<String, u64>,
}

/// One server behind `HAProxy`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ServerSummary {
    /// Name of the backend.
    pub backend: String,
    /// `<NOSRV>` for requests that came to none.
    pub server: String,
    /// Number of requests.
    pub requests: u64,
    /// Answers with a status of 500 and above.
    pub server_errors: u64,
    /// Requests whose termination state blames server or proxy.
    pub failures: u64,
    /// Connections tried again.
    pub retries: u64,
    /// Longest queue in front of a request.
    pub queue_max: u32,
    /// Response times, ms.
    pub response_ms: Option<Distribution>,
}

/// What `HAProxy` tells. Times are milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct HaproxySummary {
    /// Until the request was complete.
    pub request_ms: Option<Distribution>,
    /// In queues.
    pub queue_ms: Option<Distribution>,
    /// To connect.
    pub connect_ms: Option<Distribution>,
    /// Until the head of the answer.
    pub response_ms: Option<Distribution>,
    /// In all.
    pub total_ms: Option<Distribution>,
    /// Connections that were tried again.
    pub retries: u64,
    /// Requests by server.
    pub servers: Vec<ServerSummary>,
    /// Requests of servers beyond the 2,000 that are told apart.
    pub requests_of_further_servers: u64,
}

/// Times of the servers behind a proxy. Times are milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct UpstreamSummary {
    /// Requests that reached a server.
    pub requests: u64,
    /// Requests for which several servers were tried.
    pub tried_several: u64,
    /// To connect.
    pub connect_ms: Option<Distribution>,
    /// Until the head of the answer.
    pub header_ms: Option<Distribution>,
    /// Until the end of the answer.
    pub response_ms: Option<Distribution>,
}

/// A clock that was set back.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ClockJump {
    /// The moment before.
    pub from: String,
    /// By how much, seconds.
    pub back_s: i64,
}

/// Order of the lines.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ClockSummary {
    /// Lines of more than a minute before an earlier line.
    pub late_lines: u64,
    /// How often the clock was set back.
    pub jumps_back: u64,
    /// The first of them.
    pub jumps: Vec<ClockJump>,
}

/// The day of a log.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DaySummary {
    /// Beginning of the first request.
    pub from: String,
    /// Beginning of the last request.
    pub to: String,
    /// Requests read.
    pub requests: u64,
    /// Requests per second between the first and the last.
    pub requests_per_second: f64,
    /// Minutes with requests, in order; at most 31 days.
    pub requests_by_minute: Vec<MinuteSummary>,
    /// Hours with requests, in order.
    pub hours: Vec<HourSummary>,
    /// Requests in hours beyond these 31 days, which are in no minute.
    pub requests_outside: u64,
    /// Requests by kind: page, api, asset, media, other.
    pub kinds: BTreeMap<String, u64>,
    /// The same in detail.
    pub kind_details: BTreeMap<String, KindSummary>,
    /// Requests by status; 0 if there was no answer.
    pub statuses: BTreeMap<String, u64>,
    /// Response times of all requests, ms; null if the log has none.
    pub response_time_ms: Option<Distribution>,
    /// Bytes sent.
    pub bytes: BytesSummary,
    /// What a cache in front made of the requests; null if the log does not tell.
    pub cache: Option<CacheSummary>,
    /// Visits of people; null if clients cannot be told apart.
    pub visits: Option<u64>,
    /// Visits in detail; null if clients cannot be told apart.
    pub visit_details: Option<VisitsSummary>,
    /// Share of visits that begin on the most frequent landing page; null without visits.
    pub landing_share: Option<f64>,
    /// Popularity of URLs.
    pub popularity: PopularitySummary,
    /// Exponent of Zipf's law, as in `popularity`.
    pub zipf_exponent: Option<f64>,
    /// Requests by country (ISO 3166-1); null without a database of countries.
    pub countries: Option<BTreeMap<String, u64>>,
    /// Clients that look like programs; null if no client is known.
    pub crawlers: Option<CrawlersSummary>,
    /// From page views to the requests that reach the service.
    pub funnel: FunnelSummary,
    /// Busiest second, minute and hour.
    pub busiest: BusiestSummary,
    /// Hit share against memory for the edge's own cache; null if no request could be cached.
    pub edge_cache: Option<EdgeCacheSummary>,
    /// `HAProxy`'s termination states by their first two characters; null for other logs.
    pub termination: Option<BTreeMap<String, TerminationSummary>>,
    /// What `HAProxy` tells; null for other logs.
    pub haproxy: Option<HaproxySummary>,
    /// Times of the servers behind a proxy; null if the log has none.
    pub upstream: Option<UpstreamSummary>,
    /// Order of the lines.
    pub clock: ClockSummary,
}
