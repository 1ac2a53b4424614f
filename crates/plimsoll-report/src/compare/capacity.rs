//! What capacity is worth: the load line per core, and what a million requests cost at it.
//!
//! Prices are those of the plan, resources those of the machine in the run file: where the service is on another machine
//! than the load generator, a plan prices machines, not CPUs.

use plimsoll_analysis::experiment::cost::{Estimate, per_million};
use plimsoll_model::plan::LoadUnit;

use super::ComparedSide;
use crate::cost::{bytes_by_request, cores, held};
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
