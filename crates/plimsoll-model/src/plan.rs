//! The plan of a run, resolved and valid: no option left open, the seed included.

mod changed_load;
mod required_load;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::browser::BrowserPlan;
use crate::journey::{Scenario, UserPhase};
use crate::objective::Objective;
use crate::patience::PatienceBand;
use crate::price::Price;
use crate::redact::{self, REDACTED};
use crate::schedule::{LoadPhase, Spacing};
use crate::seed::Seed;
pub use crate::status::GoodStatus;
pub use crate::target::Target;
use crate::websocket::WebSocketLoad;

pub use changed_load::LoadChangeError;
pub use required_load::RequiredLoad;

/// Bounds of the answer classes where neither flag nor plan has any, ms: < 800, 800-1,200, > 1,200.
pub const CLASSES_MS_DEFAULT: [u64; 2] = [800, 1200];

/// Everything a run needs to know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Short name for files and headings.
    pub name: String,
    /// Where requests go.
    pub target: Target,
    /// Content of each request.
    pub request: RequestPlan,
    /// What users do; replaces the request's method, paths and body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<Scenario>,
    /// How connections are opened and kept alive.
    pub transport: Transport,
    /// How much load.
    pub load: Load,
    /// Search for the load line instead of applying `load`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub find: Option<Find>,
    /// The objective; `None` when the run judges nothing.
    pub objective: Option<Objective>,
    /// Statuses that count as good.
    pub good: GoodStatus,
    /// Seed of all randomness of the run.
    pub seed: Seed,
    /// Event loops.
    pub cores: u32,
    /// Batch what is due within one tick into one wake-up; `None` sends each request at its own moment.
    pub tick: Option<Duration>,
    /// Leading part of the run that is recorded and not judged.
    pub warmup: Duration,
    /// Bounds of the answer classes of the report, ms (fast, slow).
    pub classes_ms: [u64; 2],
    /// Bands of patience of the report, in the order of their limits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patience: Vec<PatienceBand>,
    /// What the service costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// The demand that a search is judged by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<Box<RequiredLoad>>,
    /// Browsers beside the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub browser: Option<Box<BrowserPlan>>,
}

/// Which URL of several comes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathOrder {
    /// In the order of the file, again from the start at its end.
    #[default]
    Circular,
    /// Each drawn at random.
    Random,
    /// Drawn by Zipf's law: the first of the file most, the n-th with a weight of n to the power of minus the exponent.
    Zipf(ZipfExponent),
    /// As `Zipf`, counted from the end of the file: the newest of a list that grows most.
    Latest(ZipfExponent),
}

/// The exponent of a Zipf law, in steps of a thousandth; 0 draws evenly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZipfExponent {
    thousandths: u16,
}

impl ZipfExponent {
    /// The largest one: above it nearly all draws are the first.
    pub const MAX: f64 = 5.0;

    /// `None` outside of 0 to [`Self::MAX`].
    pub fn new(exponent: f64) -> Option<Self> {
        (0.0..=Self::MAX).contains(&exponent).then(|| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "between 0 and 5,000"
            )]
            let thousandths = (exponent * 1e3).round() as u16;
            Self { thousandths }
        })
    }

    /// As a number.
    pub fn value(self) -> f64 {
        f64::from(self.thousandths) / 1e3
    }
}

impl Serialize for ZipfExponent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.value())
    }
}

impl<'de> Deserialize<'de> for ZipfExponent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let exponent = f64::deserialize(deserializer)?;
        Self::new(exponent)
            .ok_or_else(|| serde::de::Error::custom("the exponent is not between 0 and 5"))
    }
}

/// Content of each request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestPlan {
    /// Method, as in HTTP.
    pub method: String,
    /// Path and query of each URL; at least one.
    pub paths: Vec<String>,
    /// Order in which the paths are requested.
    pub order: PathOrder,
    /// Headers in order, `Host` included. Secret values are redacted wherever the plan is stored or shown.
    pub headers: Vec<(String, String)>,
    /// Body, empty for none.
    #[serde(with = "body_text")]
    pub body: Vec<u8>,
    /// Redirects followed at most; 0 accepts a redirect as the response.
    pub redirects_max: u32,
}

/// How connections are opened and kept alive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transport {
    /// A request not answered this long after it was due has failed.
    pub timeout: Duration,
    /// A connection not made this long after it was begun has failed.
    pub connect_timeout: Duration,
    /// Connections open at most.
    pub connections_max: u32,
    /// Requests on one connection before it is closed; 0 for no bound, 1 for a new connection each time.
    pub requests_per_connection: u32,
    /// Local addresses to connect from, used in turn; empty for the system's choice.
    pub sources: Vec<IpAddr>,
    /// Certificates to trust instead of the system's, a PEM file.
    pub ca_file: Option<PathBuf>,
    /// Accept any certificate.
    pub insecure: bool,
    /// Longest body accepted, bytes; a longer one is a protocol failure.
    pub body_len_max: u64,
    /// Longest head of an answer, bytes.
    #[serde(default = "head_len_max")]
    pub head_len_max: u32,
    /// Headers of an answer at most; 1 to [`HEADERS_MAX`].
    #[serde(default = "headers_max")]
    pub headers_max: u32,
    /// Where HTTP/2 is used; `None` for HTTP/1.1 alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http2: Option<Http2>,
}

/// Longest head of an answer where the plan sets no other limit, bytes: as in browsers.
pub const HEAD_LEN_MAX_DEFAULT: u32 = 256 << 10;

/// Most headers of an answer where the plan sets no other limit.
pub const HEADERS_MAX_DEFAULT: u32 = 1000;

/// Most headers of an answer that a plan can allow.
pub const HEADERS_MAX: u32 = 20_000;

/// The limit of earlier versions, whose logs do not have it, bytes.
const fn head_len_max() -> u32 {
    64 << 10
}

/// The limit of earlier versions, whose logs do not have it.
const fn headers_max() -> u32 {
    128
}

/// HTTP/2: over TLS where the target chooses it (ALPN), else HTTP/1.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Http2 {
    /// Use it for `http://` targets as well, without negotiation.
    pub prior_knowledge: bool,
    /// Concurrent requests on one connection at most; 1 to [`STREAMS_MAX`].
    pub streams: u32,
}

/// Concurrent requests on one HTTP/2 connection at most.
pub const STREAMS_MAX: u32 = 100;

/// How much load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Load {
    /// Arrivals that do not wait for answers.
    Open {
        /// Rates over time.
        phases: Vec<LoadPhase>,
        /// Spread of arrivals.
        spacing: Spacing,
    },
    /// Users that each wait for the response, think, and send the next request.
    Closed {
        /// Connections, one user each.
        connections: u32,
        /// Pause between an answer and the next request.
        think: Duration,
        /// How long.
        lasting: Duration,
    },
    /// Users of journeys, each active until the load ends.
    Users {
        /// How many over time.
        phases: Vec<UserPhase>,
        /// Iterations of all users together, after which the load ends; `None` for no bound.
        iterations: Option<u64>,
    },
    /// Users of journeys that arrive at a rate, complete their journey and leave.
    Sessions {
        /// Rates over time, users per second.
        phases: Vec<LoadPhase>,
        /// Distribution of their arrivals.
        spacing: Spacing,
        /// Weights of the journeys in each phase, by index; empty, of a phase or of all, for the journeys' own.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        mixes: Vec<Vec<f64>>,
    },
    /// WebSockets, opened one after the other and held.
    WebSockets(WebSocketLoad),
}

/// The search of a plan (`find:`). With users or sessions as its unit, [`Plan::scenario`] defines what they do.
/// [`Plan::load`] then defines how they arrive, not how many: the distribution of sessions, the mix of journeys,
/// and how many users arrive in a second at most, by the steepest rise of its phases; without a rise, 50.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Find {
    /// The load that is searched for.
    pub unit: LoadUnit,
    /// Load of the first trial of the search, in the unit; `None` derives it from the response time.
    pub from: Option<f64>,
    /// Highest load to try, in the unit; `None` for the highest that the generator reaches.
    pub to: Option<f64>,
}

/// Unit of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadUnit {
    /// Requests due per second.
    #[default]
    RequestsPerSecond,
    /// Concurrent users.
    Users,
    /// Users that arrive per second.
    SessionsPerSecond,
}

impl LoadUnit {
    /// Whether it is the default, which run logs leave out.
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "the signature serde asks for"
    )]
    pub(crate) fn is_requests(&self) -> bool {
        *self == Self::RequestsPerSecond
    }

    /// The unit behind a number: `req/s`, `users`, `sessions/s`.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::RequestsPerSecond => "req/s",
            Self::Users => "users",
            Self::SessionsPerSecond => "sessions/s",
        }
    }
}

impl Load {
    /// How long requests become due.
    pub fn lasting(&self) -> Duration {
        match self {
            Self::Open { phases, .. } | Self::Sessions { phases, .. } => {
                Duration::from_nanos(phases.iter().map(|phase| phase.lasting_ns).sum())
            }
            Self::Users { phases, .. } => phases.iter().map(|phase| phase.lasting).sum(),
            Self::Closed { lasting, .. } => *lasting,
            Self::WebSockets(load) => load.lasting(),
        }
    }

    /// Weights of the journeys at its start, by index; empty for the journeys' own.
    pub fn mix(&self) -> &[f64] {
        match self {
            Self::Users { phases, .. } => phases.first().map_or(&[], |phase| &phase.mix),
            Self::Sessions { mixes, .. } => mixes.first().map_or(&[], Vec::as_slice),
            _ => &[],
        }
    }

    /// The WebSockets, if it is of these.
    pub fn websockets(&self) -> Option<&WebSocketLoad> {
        match self {
            Self::WebSockets(load) => Some(load),
            _ => None,
        }
    }

    /// Whether arrivals are independent of answers.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Open { .. } | Self::WebSockets(_))
    }
}

impl Plan {
    /// Whether WebSockets are opened, by flags or by users' steps.
    pub fn opens_websockets(&self) -> bool {
        let scenario = self.scenario.as_ref();
        self.load.websockets().is_some() || scenario.is_some_and(Scenario::has_sockets)
    }

    /// Whether broadcasts are received: over WebSockets and streams, or by polling.
    pub fn receives_broadcasts(&self) -> bool {
        let scenario = self.scenario.as_ref();
        self.opens_websockets() || scenario.is_some_and(Scenario::has_polls)
    }

    /// The plan as it may be stored and shown: secret headers and the body's content replaced.
    #[must_use]
    pub fn redacted(&self) -> Self {
        let mut plan = self.clone();
        for (name, value) in &mut plan.request.headers {
            *value = if redact::is_secret(name) {
                REDACTED.to_owned()
            } else {
                // A Referer, for instance.
                redact::text(value).into_owned()
            };
        }
        for path in &mut plan.request.paths {
            *path = redact::target(path).into_owned();
        }
        if !plan.request.body.is_empty() {
            plan.request.body = format!("[{} bytes]", self.request.body.len()).into_bytes();
        }
        if let Some(scenario) = &mut plan.scenario {
            scenario.redact();
        }
        if let Load::WebSockets(load) = &mut plan.load {
            load.redact();
        }
        if let Some(browser) = &mut plan.browser {
            browser.redact();
        }
        plan
    }
}

/// Versions and machine facts recorded with a run.
pub type Facts = BTreeMap<String, String>;

mod body_text {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(body: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&String::from_utf8_lossy(body))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<u8>, D::Error> {
        String::deserialize(deserializer).map(String::into_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_statuses_are_ranges() {
        let good = GoodStatus::default();
        assert!(
            good.contains(200) && good.contains(399) && !good.contains(400) && !good.contains(199)
        );
    }
}
