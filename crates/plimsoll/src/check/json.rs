//! The objects of `check --json`, with their published schema.

use std::collections::BTreeMap;

use plimsoll_model::journey::Scenario;
use plimsoll_probe::advice::{Advice, Demand};
use plimsoll_report::pretty;
use schemars::JsonSchema;
use serde::Serialize;

/// Version of [`CheckObject`]. A field may be added (raise the minor number).
const FORMAT_VERSION: &str = "1.1";
/// Version of [`PlanCheckObject`].
const PLAN_FORMAT_VERSION: &str = "1.0";

/// The output of `plimsoll check --json`: the limits of a host, or a plan that is valid.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(title = "plimsoll check --json")]
#[expect(
    dead_code,
    reason = "it is the schema of both outputs; each is printed by itself"
)]
pub(crate) enum CheckOutput<'a> {
    Limits(CheckObject<'a>),
    Plan(PlanCheckObject<'a>),
}

/// Which limits of this host and of the components of the service bind, for which demand.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Check")]
pub(crate) struct CheckObject<'a> {
    /// Version of this object, `major.minor`.
    format_version: &'static str,
    /// Every setting that could be read: those too low first, in the order in which they bind.
    limits: Vec<CheckedLimit<'a>>,
    /// What the limits were compared with.
    demand: CheckedDemand<'a>,
    /// Users that the demand was given for; absent where nobody gave their number.
    #[serde(skip_serializing_if = "Option::is_none")]
    users: Option<u64>,
}

/// One setting of this host, or of a component of the service.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Limit")]
struct CheckedLimit<'a> {
    /// The setting, such as `net.core.somaxconn`.
    name: &'a str,
    /// Its value.
    current: &'a str,
    /// The advised value.
    advised: &'a str,
    /// Its effect, with numbers.
    why: &'a str,
    /// Number of users at which it binds; null where their number is not what it limits.
    binds_at: Option<u64>,
    /// Whether the current value suffices.
    ok: bool,
    /// It costs time or safety, but limits no number of users.
    hint: bool,
}

/// What the users need at once, on average.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Demand")]
struct CheckedDemand<'a> {
    /// Users at once.
    users: u64,
    /// Requests per second of all of them.
    requests_per_s: f64,
    /// Requests of all of them that are in progress at once.
    in_flight: f64,
    /// Connections of all of them.
    connections: f64,
    /// CPU seconds that their requests take in a second; null where that was not measured.
    cpus: Option<f64>,
    /// Where the numbers come from.
    source: &'a str,
}

impl<'a> CheckObject<'a> {
    pub(super) fn of(advice: &'a [Advice], demand: &'a Demand) -> Self {
        let limit = |row: &'a Advice| CheckedLimit {
            name: &row.name,
            current: &row.current,
            advised: &row.advised,
            why: &row.why,
            binds_at: row.binds_at,
            ok: row.ok,
            hint: row.is_hint,
        };
        Self {
            format_version: FORMAT_VERSION,
            limits: advice.iter().map(limit).collect(),
            demand: CheckedDemand {
                users: demand.users,
                requests_per_s: demand.rate,
                in_flight: demand.in_flight,
                connections: demand.connections,
                cpus: demand.cpus,
                source: &demand.source,
            },
            users: demand.is_given.then_some(demand.users),
        }
    }
}

/// A plan file that is valid.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PlanCheck")]
pub(crate) struct PlanCheckObject<'a> {
    /// Version of this object, `major.minor`.
    format_version: &'static str,
    /// Name of the plan.
    plan: &'a str,
    /// URL of its target.
    target: &'a str,
    /// Names of its journeys.
    journeys: Vec<&'a str>,
    /// Labels of its steps.
    steps: Vec<&'a str>,
    /// Rows of its data, by name.
    data: BTreeMap<&'a str, u64>,
}

impl<'a> PlanCheckObject<'a> {
    pub(super) fn of(plan: &'a str, target: &'a str, scenario: &'a Scenario) -> Self {
        let journeys = scenario.journeys.iter();
        let steps = scenario.steps.iter();
        let feeds = scenario.feeds.iter();
        Self {
            format_version: PLAN_FORMAT_VERSION,
            plan,
            target,
            journeys: journeys.map(|journey| journey.name.as_str()).collect(),
            steps: steps.map(|step| step.label.as_str()).collect(),
            data: feeds.map(|feed| (feed.name.as_str(), feed.rows)).collect(),
        }
    }
}

/// The schema of both objects.
pub(crate) fn schema() -> String {
    pretty::schema::<CheckOutput<'_>>()
}
