//! Reads a profile of demand: rates, or the summary of a log.

use plimsoll_model::price::DEMAND_PARTS_MAX;
use serde_json::Value;

use crate::document::{DocumentNode, DocumentReader, NodeKind};
use crate::units;

/// Largest summary of a log, bytes.
const LOG_LEN_MAX: u64 = 64 << 20;
const VALID: &str = "rates such as [20/s, 40/s], or the log.json of `plimsoll log --out DIR`";

/// The rates of a profile; empty when it is invalid, which is reported.
pub(crate) fn demand(reader: &DocumentReader<'_>, node: &DocumentNode) -> Vec<f64> {
    let rates = match &node.kind {
        NodeKind::List(items) => items
            .iter()
            .map(|item| reader.value(item, "a rate such as 40/s", units::rate))
            .collect::<Option<Vec<f64>>>(),
        NodeKind::Map(_) | NodeKind::Scalar { .. } => of_log(reader, node),
    };
    let Some(rates) = rates else {
        return Vec::new();
    };
    if rates.is_empty() || rates.len() > DEMAND_PARTS_MAX {
        let message = format!("the demand has {} parts", rates.len());
        let valid = format!(
            "1 to {DEMAND_PARTS_MAX} parts, a week of minutes; use hours, or a shorter log"
        );
        reader.report(node, message, valid);
        return Vec::new();
    }
    rates
}

/// Rates by minute in the summary of a log.
fn of_log(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Vec<f64>> {
    let path = reader.word(node, VALID)?;
    let content = reader.file(node, &path, LOG_LEN_MAX)?;
    let rates = serde_json::from_slice(&content)
        .ok()
        .and_then(|log: Value| rates_of(&log));
    if rates.is_none() {
        reader.report(node, format!("`{path}` is not the summary of a log"), VALID);
    }
    rates
}

/// Minutes with requests have their number; the quiet ones between are in the span of the log alone. Their order does not
/// matter for what a month costs. Where the log tells which requests a cache answered, only the others count.
fn rates_of(log: &Value) -> Option<Vec<f64>> {
    let minutes = log["requests_by_minute"].as_array()?;
    let count = |name: &str| -> Option<Vec<f64>> {
        minutes.iter().map(|minute| minute[name].as_f64()).collect()
    };
    let (all, reach) = (count("requests")?, count("reach_service")?);
    let total: f64 = all.iter().sum();
    let per_second = log["requests_per_second"].as_f64()?;
    let span = if per_second > 0.0 {
        total / per_second / 60.0
    } else {
        0.0
    };
    let counted = if reach.iter().sum::<f64>() > 0.0 {
        reach
    } else {
        all
    };
    let mut rates: Vec<f64> = counted.iter().map(|requests| requests / 60.0).collect();
    // One beyond the limit is enough to be refused.
    while (rates.len() as f64) < span.floor() && rates.len() <= DEMAND_PARTS_MAX {
        rates.push(0.0);
    }
    Some(rates)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_log_has_rates_by_minute_and_its_quiet_minutes() {
        let minute =
            |requests: u32, reach: u32| json!({ "requests": requests, "reach_service": reach });
        // 180 requests in five minutes, of which two had some.
        let log = json!({
            "requests_per_second": 0.6,
            "requests_by_minute": [minute(120, 60), minute(60, 30)],
        });
        assert_eq!(rates_of(&log).unwrap(), [1.0, 0.5, 0.0, 0.0, 0.0]);
        let unknown = json!({
            "requests_per_second": 2.0,
            "requests_by_minute": [minute(120, 0)],
        });
        assert_eq!(rates_of(&unknown).unwrap(), [2.0]);
        assert_eq!(rates_of(&json!({ "requests": 1 })), None);
    }
}
