//! Trials of an experiment as moments.

use plimsoll_model::redact;
use serde_json::Value;

use crate::record::{Moment, MomentKind, Record};

/// Metrics of a trial in its sentence.
const METRICS_MAX: usize = 8;

/// The trial that ended, from a line of the log of an experiment; `None` for other lines.
pub(crate) fn trial_ended(line: &str, now_ms: u64) -> Option<Record> {
    let line: Value = serde_json::from_str(line).ok()?;
    let record = line.get("trial_ended")?;
    let (trial, outcome) = (&record["trial"], record["outcome"].as_object()?);
    let (kind, content) = outcome.iter().next()?;
    let of_trial = |name: &str| trial[name].as_u64();
    let what = match content {
        Value::Object(metrics) => {
            let metrics = metrics.iter().take(METRICS_MAX);
            let metrics = metrics.filter_map(|(name, value)| {
                let value = value.as_f64()?;
                Some(format!("{name} {value:.4}"))
            });
            metrics.collect::<Vec<_>>().join(", ")
        }
        other => redact::text(other.as_str()?).into_owned(),
    };
    let text = format!(
        "Trial {} of block {}, cell {}, {}: {kind}: {what}",
        of_trial("index")? + 1,
        of_trial("block")? + 1,
        of_trial("cell")?,
        trial["role"].as_str()?,
    );
    let lasted_ms = record["ended_ms"]
        .as_u64()
        .zip(record["began_ms"].as_u64())
        .map_or(0, |(ended, began)| ended.saturating_sub(began));
    Some(Record::Moment(Moment {
        kind: MomentKind::Trial,
        from_ms: now_ms.saturating_sub(lasted_ms),
        to_ms: now_ms,
        text,
    }))
}
