//! What capacity is worth: the load line per core, and what a million requests cost at it.
//!
//! Prices are those of the plan, resources those of the machine in the run file: where the service is on another machine
//! than the load generator, a plan prices machines, not CPUs.

use plimsoll_analysis::experiment::cost::{Estimate, per_million};
use plimsoll_model::plan::LoadUnit;
use plimsoll_model::price::HeldResources;
use plimsoll_model::run::Run;

use super::ComparedSide;
use crate::number::short;
use crate::report::Report;

/// Cost of a million requests at the load line.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CapacityCost {
    /// Cost with its interval: that of the line, 90 %.
    pub(super) estimate: Estimate,
    /// Currency, as in the plan.
    pub(super) currency: String,
}

impl CapacityCost {
    /// The cost on a side; `None` without a price, and without a line in requests.
    pub(super) fn of(side: &ComparedSide<'_>) -> Option<Self> {
        let report = side.report.as_ref()?;
        let line = report
            .load_line()
            .filter(|line| line.unit == LoadUnit::RequestsPerSecond)?;
        let price = report.run.header.plan.price.as_ref()?;
        let held = per_million(
            Estimate {
                value: line.median,
                low: line.low,
                high: line.high,
            },
            price.per_hour(held(report.run)),
        )?;
        let requests = 1e6 * price.per_request(bytes_by_request(report.run));
        Some(Self {
            estimate: Estimate {
                value: held.value + requests,
                low: held.low + requests,
                high: held.high + requests,
            },
            currency: price.currency.clone(),
        })
    }

    /// `0.42 EUR (0.4 to 0.45)`.
    pub(super) fn text(&self) -> String {
        let Estimate { value, low, high } = self.estimate;
        format!(
            "{} {} ({} to {})",
            short(value),
            self.currency,
            short(low),
            short(high)
        )
    }
}

/// The load line by core that may be used; `None` without a line, and where the cores are not known.
pub(super) fn line_per_core(side: &ComparedSide<'_>) -> Option<f64> {
    let report: &Report<'_> = side.report.as_ref()?;
    let line = report.load_line()?;
    let cores = cores(report.run).filter(|cores| *cores > 0.0)?;
    Some(line.median / cores)
}

fn cores(run: &Run) -> Option<f64> {
    let fact = |name: &str| run.header.host.get(name)?.parse::<f64>().ok();
    let allowed = fact("cores_allowed").or_else(|| fact("cores"))?;
    Some(fact("cgroup_cpu_quota").map_or(allowed, |quota| quota.min(allowed)))
}

fn held(run: &Run) -> HeldResources {
    let memory = run.header.host.get("memory_bytes");
    HeldResources {
        machines: 1.0,
        cpus: cores(run).unwrap_or(0.0),
        memory: memory.and_then(|bytes| bytes.parse().ok()).unwrap_or(0),
    }
}

/// Bytes that the service sent, by request.
fn bytes_by_request(run: &Run) -> f64 {
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
