//! Reads think times.

use plimsoll_model::journey::ThinkTime;

use crate::Problem;
use crate::document::Shape::{Duration, Either, ListOf, Number};
use crate::document::{DocumentNode, DocumentReader, KeywordTable, NodeKind, word};
use crate::units;

/// Distributions of think time.
pub(crate) static THINK: KeywordTable = KeywordTable {
    name: "think",
    meaning: "Distribution of the think time; one of these.",
    words: &[
        word!(
            "exponential",
            Duration,
            "Exponential with this mean, truncated at ten times the mean."
        ),
        word!(
            "normal",
            ListOf(&Duration),
            "Normal: mean and standard deviation, truncated at 0."
        ),
        word!(
            "lognormal",
            ListOf(&Either(&[Duration, Number])),
            "Log-normal: median, and standard deviation of the logarithm."
        ),
    ],
};

/// `2s`, `1s..15s`, or a distribution.
pub(super) fn think_time(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<ThinkTime> {
    const VALID: &str =
        "2s, 1s..15s, { exponential: 5s }, { normal: [5s, 1s] } or { lognormal: [5s, 0.5] }";
    match &node.kind {
        NodeKind::Map(_) => {
            let fields = reader.fields(node, &THINK)?;
            let (key, value) = reader.exactly_one(&fields, &THINK.names())?;
            if key.text == "exponential" {
                return reader
                    .duration_above_zero(value)
                    .map(ThinkTime::Exponential);
            }
            let [middle, spread] = reader.one_or_more(value) else {
                reader.report(value, "not a list of two values", VALID);
                return None;
            };
            let middle = reader.duration_above_zero(middle);
            if key.text == "normal" {
                return Some(ThinkTime::Normal(middle?, reader.duration(spread)?));
            }
            Some(ThinkTime::LogNormal(middle?, reader.number(spread)?))
        }
        NodeKind::List(_) | NodeKind::Scalar { .. } => reader.value(node, VALID, |text| {
            let Some((low, high)) = text.split_once("..") else {
                return units::duration(text).map(ThinkTime::Fixed);
            };
            let read = |bound: &str| units::duration(bound.trim());
            let at = text.len() - high.trim_start().len();
            let low = read(low).map_err(|problem| problem.within(text, 0))?;
            let high = read(high).map_err(|problem| problem.within(text, at))?;
            if low > high {
                let message = "the second duration is shorter than the first";
                return Err(Problem::new(text, at..text.len(), message, VALID));
            }
            Ok(ThinkTime::Uniform(low, high))
        }),
    }
}
