//! What a load line costs by the prices of the plan, with the interval of the line carried through.
//!
//! Resources are those of the machine in the run file: where the service is on another machine than the load generator, a plan
//! prices machines, not CPUs.

use plimsoll_analysis::experiment::cost::demand::{Demand, UnitPrice};
use plimsoll_analysis::experiment::cost::{Estimate, per_million, per_thousand_users};
use plimsoll_model::plan::LoadUnit;
use plimsoll_model::price::{HeldResources, Price};
use plimsoll_model::run::Run;
use schemars::JsonSchema;
use serde::Serialize;

use crate::number::money;
use crate::report::Report;

/// Cost at the load line.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "LineCost")]
pub struct CostObject {
    /// Currency, as in the plan.
    pub currency: String,
    /// What the resources cost that are held, per hour.
    pub per_hour: f64,
    /// Cost of a million requests; null for a line in users.
    pub per_million_requests: Option<CostEstimate>,
    /// Cost of a thousand users for an hour within the objective; null for a line in requests.
    pub per_thousand_users_hour: Option<CostEstimate>,
    /// Cost of a month at the demand that the price names, where machines come and go with it; null without demand.
    pub per_month: Option<CostEstimate>,
    /// What of it is for the last percent of the requests: what would be saved if peaks were cut so that 99 % are served.
    pub last_percent_per_month: Option<CostEstimate>,
}

/// A cost with the interval of the line: 90 % of a search, 95 % of a cell of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "CostEstimate")]
pub struct CostEstimate {
    /// The cost.
    pub value: f64,
    /// Lower end, at the upper end of the line.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl CostObject {
    /// The cost of a search; `None` without a price or a line.
    pub fn of(report: &Report<'_>) -> Option<Self> {
        let (run, line) = (report.run, report.load_line()?);
        let price = run.header.plan.price.as_ref()?;
        let priced = PricedLine {
            level: Estimate {
                value: line.median,
                low: line.low,
                high: line.high,
            },
            unit: line.unit,
            price,
            per_hour: price.per_hour(held(run)),
            bytes_by_request: bytes_by_request(run),
        };
        Self::at_line(&priced)
    }

    /// The cost at a line; `None` when it is not positive.
    pub(crate) fn at_line(line: &PricedLine<'_>) -> Option<Self> {
        let requests = 1e6 * line.price.per_request(line.bytes_by_request);
        let is_in_requests = line.unit == LoadUnit::RequestsPerSecond;
        let per_million = is_in_requests
            .then(|| per_million(line.level, line.per_hour))
            .flatten()
            .map(|cost| cost.plus(requests));
        let of_users = (line.unit == LoadUnit::Users)
            .then(|| per_thousand_users(line.level, line.per_hour))
            .flatten();
        let month = is_in_requests.then(|| Month::of(line)).flatten();
        (per_million.is_some() || of_users.is_some()).then(|| Self {
            currency: line.price.currency.clone(),
            per_hour: line.per_hour,
            per_million_requests: per_million.map(CostEstimate::from),
            per_thousand_users_hour: of_users.map(CostEstimate::from),
            per_month: month.map(|month| month.whole.into()),
            last_percent_per_month: month.map(|month| month.last_percent.into()),
        })
    }

    /// The costs for columns of a table: what each is of, without the currency, and its value where it is known.
    pub(crate) fn columns(&self) -> [(&'static str, Option<CostEstimate>); 4] {
        [
            ("per million requests", self.per_million_requests),
            ("per 1,000 users and hour", self.per_thousand_users_hour),
            ("per month", self.per_month),
            ("per month, last percent", self.last_percent_per_month),
        ]
    }

    /// In words: `0.42 EUR (0.4 to 0.45) per million requests`.
    pub fn text(&self) -> String {
        let costs = [
            (self.per_million_requests, "per million requests"),
            (
                self.per_thousand_users_hour,
                "per thousand users and hour, without requests and traffic",
            ),
            (self.per_month, "per month at the demand"),
            (
                self.last_percent_per_month,
                "of it for the last percent of the requests",
            ),
        ];
        let texts: Vec<String> = costs
            .into_iter()
            .filter_map(|(cost, per)| Some(format!("{} {per}", cost?.text(&self.currency))))
            .collect();
        texts.join("; ")
    }
}

impl CostEstimate {
    /// `0.42 (0.4 to 0.45)`, without the currency.
    pub(crate) fn number(&self) -> String {
        let (value, low, high) = (money(self.value), money(self.low), money(self.high));
        format!("{value} ({low} to {high})")
    }

    /// `0.42 EUR (0.4 to 0.45)`.
    pub(crate) fn text(&self, currency: &str) -> String {
        let (value, low, high) = (money(self.value), money(self.low), money(self.high));
        format!("{value} {currency} ({low} to {high})")
    }
}

impl From<Estimate> for CostEstimate {
    fn from(estimate: Estimate) -> Self {
        Self {
            value: estimate.value,
            low: estimate.low,
            high: estimate.high,
        }
    }
}

/// What a month costs at the demand of a price.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Month {
    whole: Estimate,
    /// Of this, for the last percent of the requests.
    last_percent: Estimate,
}

impl Month {
    /// `None` without demand.
    fn of(line: &PricedLine<'_>) -> Option<Self> {
        let demand = Demand::new(line.price.demand.clone())?;
        let unit = UnitPrice {
            hour: line.per_hour,
            request: line.price.per_request(line.bytes_by_request),
        };
        Some(Self {
            whole: demand.month(line.level, unit)?,
            last_percent: demand.last_percent(line.level, unit)?,
        })
    }
}

/// A load line, and the prices of what carries it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PricedLine<'p> {
    pub(crate) level: Estimate,
    pub(crate) unit: LoadUnit,
    pub(crate) price: &'p Price,
    /// Price of the resources that are held.
    pub(crate) per_hour: f64,
    /// Bytes that the service sends, by request.
    pub(crate) bytes_by_request: f64,
}

/// Cores that may be used.
pub(crate) fn cores(run: &Run) -> Option<f64> {
    let fact = |name: &str| run.header.host.get(name)?.parse::<f64>().ok();
    let allowed = fact("cores_allowed").or_else(|| fact("cores"))?;
    Some(fact("cgroup_cpu_quota").map_or(allowed, |quota| quota.min(allowed)))
}

/// What the machine of the run file has.
pub(crate) fn held(run: &Run) -> HeldResources {
    let memory = run.header.host.get("memory_bytes");
    HeldResources {
        machines: 1.0,
        cpus: cores(run).unwrap_or(0.0),
        memory: memory.and_then(|bytes| bytes.parse().ok()).unwrap_or(0),
    }
}

/// Bytes that the service sent, by request.
pub(crate) fn bytes_by_request(run: &Run) -> f64 {
    let (mut bytes, mut requests) = (0, 0);
    for window in &run.windows {
        bytes += window.bytes_in;
        requests += window.completed();
    }
    if requests == 0 {
        0.0
    } else {
        bytes as f64 / requests as f64
    }
}
