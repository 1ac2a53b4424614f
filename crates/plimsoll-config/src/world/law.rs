//! Distributions of a time in a world: as in a plan, or in words: `exponential 8ms`.

use std::time::Duration;

use plimsoll_model::distribution::DurationDistribution;

use crate::distribution::{THINK, distribution, duration_distribution};
use crate::document::{DocumentNode, DocumentReader, NodeKind, Shape};
use crate::problem::split_trimmed;
use crate::{Problem, units};

/// Longest mean of a distribution, s.
pub const LAW_S_MAX: f64 = 3600.0;

/// How a distribution is written.
pub(super) const LAW: Shape = Shape::Either(&[Shape::Text, Shape::Of(&THINK)]);

const VALID: &str = "8ms, 5ms..12ms, exponential 8ms, normal 8ms 2ms, lognormal 8ms 0.5 (median and spread), or a map such as \
     { lognormal: [8ms, 0.5] }";
const MEAN_VALID: &str = "a mean of at most 1h";
/// Words with which a distribution begins.
const WORDS: [&str; 5] = ["fixed", "uniform", "exponential", "normal", "lognormal"];

/// Reads a distribution.
pub(super) fn law(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
) -> Option<DurationDistribution> {
    if let NodeKind::Scalar { .. } = node.kind {
        return reader.value(node, VALID, law_of_text);
    }
    let law = duration_distribution(reader, node)?;
    if !is_short(&law) {
        reader.report(node, "the mean of the distribution is too long", MEAN_VALID);
        return None;
    }
    Some(law)
}

/// Reads `8ms`, `5ms..12ms`, `exponential 8ms`, `normal 8ms 2ms` or `lognormal 8ms 0.5`; or as a flag of `plimsoll link`:
/// `lognormal: [8ms, 0.5]`.
///
/// # Errors
/// When it is none of these, a duration in it is invalid, or its mean is above an hour.
pub fn law_of_text(text: &str) -> Result<DurationDistribution, Problem> {
    let is_worded = text.starts_with(|first: char| first.is_ascii_alphabetic());
    let law = if is_worded && !text.contains(':') {
        law_of_words(text)?
    } else {
        distribution(text)?
    };
    if !is_short(&law) {
        let message = "the mean of the distribution is too long";
        return Err(Problem::new(text, 0..text.len(), message, MEAN_VALID));
    }
    Ok(law)
}

/// Not so for a mean that is not a number.
fn is_short(law: &DurationDistribution) -> bool {
    law.mean_s() <= LAW_S_MAX
}

fn law_of_words(text: &str) -> Result<DurationDistribution, Problem> {
    let mut words = split_trimmed(text, ' ').filter(|(_, word)| !word.is_empty());
    let (at, word) = words.next().unwrap_or((0, ""));
    if !WORDS.contains(&word) {
        let message = "unknown distribution";
        return Err(Problem::new(text, at..at + word.len(), message, VALID).with_nearest(&WORDS));
    }
    let mut take = |what: &str| {
        words.next().ok_or_else(|| {
            let message = format!("the {what} is missing");
            Problem::new(text, text.len()..text.len(), message, VALID)
        })
    };
    let time = |(at, word): (usize, &str)| -> Result<Duration, Problem> {
        units::duration_above_zero(word).map_err(|problem| problem.within(text, at))
    };
    let law = match word {
        "fixed" => DurationDistribution::Fixed(time(take("time")?)?),
        "uniform" => {
            let (at, range) = take("range")?;
            distribution(range).map_err(|problem| problem.within(text, at))?
        }
        "exponential" => DurationDistribution::Exponential(time(take("mean")?)?),
        "normal" => {
            let mean = time(take("mean")?)?;
            DurationDistribution::Normal(mean, time(take("standard deviation")?)?)
        }
        _ => {
            let median = time(take("median")?)?;
            let (at, spread) = take("spread")?;
            let sigma = spread
                .parse::<f64>()
                .ok()
                .filter(|sigma| (0.0..=5.0).contains(sigma));
            let sigma = sigma.ok_or_else(|| {
                let message = "the spread is not a number from 0 to 5";
                Problem::new(text, at..at + spread.len(), message, VALID)
            })?;
            DurationDistribution::LogNormal(median, sigma)
        }
    };
    match words.next() {
        None => Ok(law),
        Some((at, word)) => {
            let message = "unexpected text behind the distribution";
            Err(Problem::new(text, at..at + word.len(), message, VALID))
        }
    }
}
