//! Distributions of a duration: the think times of a plan, and the values of flags.

use plimsoll_model::distribution::DurationDistribution;

use crate::document::Shape::{Duration, Either, ListOf, Number};
use crate::document::{
    DocumentNode, DocumentReader, FileError, KeywordTable, NodeKind, Surroundings, word,
};
use crate::{Problem, units};

/// What is valid as a distribution in a plan.
const VALID: &str =
    "2s, 1s..15s, { exponential: 5s }, { normal: [5s, 1s] } or { lognormal: [5s, 0.5] }";
/// What is valid as the value of a flag.
const FLAG_VALID: &str =
    "80ms, 60ms..120ms, 'exponential: 80ms', 'normal: [80ms, 10ms]' or 'lognormal: [80ms, 0.3]'";

/// Distributions of a duration.
pub(crate) static THINK: KeywordTable = KeywordTable {
    name: "think",
    meaning: "Distribution of a think time, or of the time that users wait before they give up; one of these.",
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

/// `80ms`, `60ms..120ms`, or a distribution as in a plan, with or without its braces: `lognormal: [80ms, 0.3]`.
///
/// # Errors
/// When it is none of these, or a duration in it is invalid.
pub fn distribution(text: &str) -> Result<DurationDistribution, Problem> {
    let reader = DocumentReader::new(text, &ValueOfFlag);
    let read = reader
        .root()
        .and_then(|node| duration_distribution(&reader, &node));
    reader.finish(read).map_err(|errors| {
        let Some(first) = errors.list().first() else {
            return Problem::new(text, 0..text.len(), "not a distribution", FLAG_VALID);
        };
        // The value of a flag has one line, except where somebody insists.
        let at = if first.line == 1 {
            text.char_indices().nth(first.column - 1)
        } else {
            None
        };
        let start = at.map_or(text.len(), |(start, _)| start);
        // The problem repeats the whole value itself.
        let repeated = format!("in `{text}`: ");
        let message = first.message.strip_prefix(repeated.as_str());
        let message = message.unwrap_or(first.message.as_str());
        Problem {
            nearest: first.nearest.clone(),
            ..Problem::new(text, start..text.len(), message, FLAG_VALID)
        }
    })
}

/// A distribution as a flag is written.
pub fn distribution_text(distribution: &DurationDistribution) -> String {
    let text = units::duration_text;
    match *distribution {
        DurationDistribution::Fixed(length) => text(length),
        DurationDistribution::Uniform(from, to) => format!("{}..{}", text(from), text(to)),
        DurationDistribution::Exponential(mean) => format!("exponential: {}", text(mean)),
        DurationDistribution::Normal(mean, deviation) => {
            format!("normal: [{}, {}]", text(mean), text(deviation))
        }
        DurationDistribution::LogNormal(median, sigma) => {
            format!("lognormal: [{}, {sigma}]", text(median))
        }
    }
}

/// `2s`, `1s..15s`, or a distribution.
pub(crate) fn duration_distribution(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
) -> Option<DurationDistribution> {
    match &node.kind {
        NodeKind::Map(_) => {
            let fields = reader.fields(node, &THINK)?;
            let (key, value) = reader.exactly_one(&fields, &THINK.names())?;
            if key.text == "exponential" {
                return reader
                    .duration_above_zero(value)
                    .map(DurationDistribution::Exponential);
            }
            let [middle, spread] = reader.one_or_more(value) else {
                reader.report(value, "not a list of two values", VALID);
                return None;
            };
            let middle = reader.duration_above_zero(middle);
            if key.text == "normal" {
                let spread = reader.duration(spread)?;
                return Some(DurationDistribution::Normal(middle?, spread));
            }
            let spread = reader.number(spread)?;
            Some(DurationDistribution::LogNormal(middle?, spread))
        }
        NodeKind::List(_) | NodeKind::Scalar { .. } => reader.value(node, VALID, |text| {
            let Some((low, high)) = text.split_once("..") else {
                return units::duration(text).map(DurationDistribution::Fixed);
            };
            let read = |bound: &str| units::duration(bound.trim());
            let at = text.len() - high.trim_start().len();
            let low = read(low).map_err(|problem| problem.within(text, 0))?;
            let high = read(high).map_err(|problem| problem.within(text, at))?;
            if low > high {
                let message = "the second duration is shorter than the first";
                return Err(Problem::new(text, at..text.len(), message, VALID));
            }
            Ok(DurationDistribution::Uniform(low, high))
        }),
    }
}

/// A flag has neither files nor an environment.
struct ValueOfFlag;

impl Surroundings for ValueOfFlag {
    fn file(&self, _: &str, _: u64) -> Result<Vec<u8>, FileError> {
        Err(FileError::Unreadable("a flag names no files".to_owned()))
    }

    fn variable(&self, _: &str) -> Option<String> {
        None
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn flags_have_the_grammar_of_plans() {
        let ms = Duration::from_millis;
        for (text, expected) in [
            ("0", DurationDistribution::Fixed(Duration::ZERO)),
            ("80ms", DurationDistribution::Fixed(ms(80))),
            (
                "60ms..120ms",
                DurationDistribution::Uniform(ms(60), ms(120)),
            ),
            (
                "exponential: 80ms",
                DurationDistribution::Exponential(ms(80)),
            ),
            (
                "{ normal: [80ms, 10ms] }",
                DurationDistribution::Normal(ms(80), ms(10)),
            ),
            (
                "lognormal: [80ms, 0.3]",
                DurationDistribution::LogNormal(ms(80), 0.3),
            ),
        ] {
            assert_eq!(distribution(text), Ok(expected), "{text}");
            let written = distribution_text(&expected);
            assert_eq!(distribution(&written), Ok(expected), "{written}");
        }
    }

    #[test]
    fn what_is_no_distribution_is_named_with_its_place() {
        for (wrong, at, message) in [
            ("", 0, ""),
            ("80", 2, "the unit is missing"),
            ("80ms..60ms", 6, "shorter"),
            ("lognromal: [80ms, 0.3]", 0, "lognromal"),
            ("lognormal: [80ms]", 11, "not a list of two values"),
            ("exponential: soon", 13, "not a number"),
        ] {
            let problem = distribution(wrong).unwrap_err();
            assert_eq!(problem.span.start, at, "{wrong}: {problem}");
            assert!(problem.message.contains(message), "{wrong}: {problem}");
            assert!(problem.valid.contains("lognormal"), "{wrong}: {problem}");
        }
        let misspelt = distribution("lognromal: [80ms, 0.3]").unwrap_err();
        assert_eq!(misspelt.nearest.as_deref(), Some("lognormal"));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,24}") {
            let _ = distribution(&text);
        }
    }
}
