//! What `GET /status` answers.

use schemars::JsonSchema;
use serde::Serialize;

/// How the edge stands.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(title = "GET /status of the edge's admin address")]
pub(crate) struct EdgeStatus {
    /// Version of this object, `major.minor`.
    pub(super) format_version: &'static str,
    /// When it was taken, s since 1970.
    pub(super) at: f64,
    /// Since when the edge runs, s since 1970.
    pub(super) started: f64,
    /// How it stands, in a sentence.
    pub(super) sentence: String,
    /// What is wrong now, what users notice first.
    pub(super) wrong: Vec<WrongCondition>,
    /// What was wrong within the last hour and is no more, the latest first.
    pub(super) past: Vec<PastCondition>,
    /// What happens now.
    pub(super) now: Now,
    /// What the servers carry at most, where the edge has measured it.
    pub(super) capacity: Vec<Capacity>,
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(super) struct WrongCondition {
    /// Its kind, such as `server_down`.
    pub(super) kind: &'static str,
    /// Whether users notice it; otherwise it is a warning.
    pub(super) is_failure: bool,
    /// What it concerns, such as a pool and its server; empty for the whole edge.
    pub(super) subject: String,
    /// What it is.
    pub(super) text: String,
    /// What to do.
    pub(super) remedy: String,
    /// Since when, s since 1970.
    pub(super) since: f64,
}

/// Something that was wrong.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(super) struct PastCondition {
    /// Its kind, such as `server_down`.
    pub(super) kind: &'static str,
    /// What it concerned.
    pub(super) subject: String,
    /// What it was.
    pub(super) text: String,
    /// Since when, s since 1970.
    pub(super) since: f64,
    /// Until when, s since 1970.
    pub(super) until: f64,
}

/// Rates of the last ten seconds, and response times of the last minute.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub(super) struct Now {
    /// Requests received per second.
    pub(super) offered: f64,
    /// Good responses of servers and cache per second.
    pub(super) carried: f64,
    /// Responses of servers per second.
    pub(super) by_server: f64,
    /// Responses of the cache per second.
    pub(super) by_cache: f64,
    /// Fallbacks per second.
    pub(super) by_fallback: f64,
    /// Requests per second that were turned away for lack of room.
    pub(super) refused: f64,
    /// Other responses of the edge per second: redirects, the hub, rate limits, invalid requests.
    pub(super) by_edge: f64,
    /// Failed responses of servers per second.
    pub(super) failed: f64,
    /// Median response time of the last minute, ms; null without a response.
    pub(super) p50_ms: Option<f64>,
    /// 99th percentile of the response time of the last minute, ms; null without a response.
    pub(super) p99_ms: Option<f64>,
    /// Requests in flight at servers.
    pub(super) in_flight: u64,
    /// The limit of requests in flight at the servers that get requests.
    pub(super) limit: u64,
    /// Requests in queues.
    pub(super) waiting: u64,
    /// Open client connections.
    pub(super) connections: u64,
}

/// What the servers of a pool carry at most.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct Capacity {
    /// The pool.
    pub(super) pool: String,
    /// Good responses per second, measured in seconds in which requests waited.
    pub(super) requests_per_second: f64,
}

/// The JSON schema of the status.
pub fn schema() -> String {
    let schema = schemars::schema_for!(EdgeStatus);
    serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n"
}
