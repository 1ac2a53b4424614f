//! Objectives: `p95 < 500ms, errors < 1%`, and in the notation of k6 `p(95)<500, rate<0.01`.

use plimsoll_model::objective::{LatencyBound, Objective};

use crate::problem::split_trimmed;
use crate::{Problem, units};

const VALID: &str = "a list such as `p95 < 500ms, errors < 1%`";
const WORDS: [&str; 13] = [
    "p50",
    "p90",
    "p95",
    "p99",
    "p99.9",
    "median",
    "errors",
    "rate",
    "max",
    "min",
    "avg",
    "reach",
    "broadcast",
];
/// Maximum bounds in one objective.
const BOUNDS_MAX: usize = 16;

enum ObjectiveMetric {
    Quantile(f64),
    Mean,
    Errors,
}

/// Reads an objective.
///
/// # Errors
/// The first part that cannot be read, with its column.
pub fn objective(text: &str) -> Result<Objective, Problem> {
    let objective = threshold(text)?;
    let has = |quantile: f64| {
        let mut bounds = objective.latency.iter();
        bounds.any(|bound| (bound.quantile - quantile).abs() < f64::EPSILON)
    };
    let refused = |words: &[&str], message: &str, valid: &str| {
        let lower = text.to_lowercase();
        let word = words.iter().find(|word| lower.contains(**word));
        let at = word.and_then(|word| lower.find(word)).unwrap_or(0);
        let len = word.map_or(0, |word| word.len());
        Err(Problem::new(
            text,
            at..(at + len).min(text.len()),
            message,
            valid,
        ))
    };
    if objective.mean_us_max.is_some() {
        let message = "an objective on the average hides slow responses";
        let valid = "med or a percentile, such as med < 200ms, p95 < 500ms; `avg` in thresholds and abort rules";
        return refused(&["average", "mean", "avg"], message, valid);
    }
    if has(0.0) {
        let message = "an objective on the minimum hides all other responses";
        let valid = "a percentile such as p95; `min` in thresholds and abort rules";
        return refused(&["min"], message, valid);
    }
    if has(1.0) {
        let message = "the maximum is a single outlier and too noisy for a load search";
        let valid = "a percentile such as p99.9; `max` in thresholds and abort rules";
        return refused(&["max"], message, valid);
    }
    Ok(objective)
}

/// Reads a threshold of a scope, judged over all of its responses: unlike an objective it may also have
/// `max < 2s`, `min < 50ms` and `avg < 200ms`.
///
/// # Errors
/// The first part that cannot be read, with its column.
pub fn threshold(text: &str) -> Result<Objective, Problem> {
    let mut objective = Objective {
        latency: Vec::new(),
        errors_max: None,
        ..Objective::default()
    };
    for (offset, clause) in split_trimmed(text, ',') {
        bound(clause, &mut objective).map_err(|problem| problem.within(text, offset))?;
    }
    if objective.latency.len() + objective.broadcast.len() > BOUNDS_MAX {
        return Err(Problem::new(
            text,
            0..text.len(),
            "there are too many bounds",
            "at most 16 bounds",
        ));
    }
    Ok(objective)
}

fn bound(clause: &str, objective: &mut Objective) -> Result<(), Problem> {
    if let Some(rest) = strip_word(clause, "reach") {
        return reach(clause, rest, objective);
    }
    if let Some(rest) = strip_word(clause, "broadcast") {
        return broadcast(clause, rest, objective);
    }
    let Some(at) = clause.find('<') else {
        let message = if clause.is_empty() {
            "the value is empty"
        } else {
            "`<` is missing"
        };
        return Err(Problem::new(clause, 0..clause.len(), message, VALID));
    };
    let written = clause[..at].trim();
    let right = clause[at + 1..]
        .strip_prefix('=')
        .unwrap_or(&clause[at + 1..]);
    let value = right.trim();
    let value_at = clause.len() - right.trim_start().len();
    match metric(clause, written)? {
        ObjectiveMetric::Errors if objective.errors_max.is_some() => Err(Problem::new(
            clause,
            0..written.len(),
            "duplicate bound on errors",
            "one bound on errors",
        )),
        ObjectiveMetric::Errors => {
            let max = units::share(value).map_err(|problem| problem.within(clause, value_at))?;
            objective.errors_max = Some(max);
            Ok(())
        }
        ObjectiveMetric::Mean if objective.mean_us_max.is_some() => Err(Problem::new(
            clause,
            0..written.len(),
            "duplicate bound on the average",
            "one bound on the average",
        )),
        ObjectiveMetric::Mean => {
            let max = microseconds(value).map_err(|problem| problem.within(clause, value_at))?;
            objective.mean_us_max = Some(max);
            Ok(())
        }
        ObjectiveMetric::Quantile(quantile) => {
            let within_us =
                microseconds(value).map_err(|problem| problem.within(clause, value_at))?;
            objective.latency.push(LatencyBound {
                quantile,
                within_us,
            });
            Ok(())
        }
    }
}

/// The bound after a metric.
fn strip_word<'a>(clause: &'a str, word: &str) -> Option<&'a str> {
    let start = clause.get(..word.len())?;
    let rest = clause.get(word.len()..)?;
    let ends = !rest.starts_with(|c: char| c.is_alphanumeric());
    (start.eq_ignore_ascii_case(word) && ends).then_some(rest)
}

/// `reach > 99.99%`.
fn reach(clause: &str, rest: &str, objective: &mut Objective) -> Result<(), Problem> {
    const VALID: &str = "reach > 99.99%";
    if objective.reach_min.is_some() {
        let message = "duplicate bound on reach";
        return Err(Problem::new(clause, 0..5, message, "one bound on reach"));
    }
    let at = clause.len() - rest.trim_start().len();
    let Some(value) = rest.trim_start().strip_prefix('>') else {
        let message = "reach needs a lower bound";
        return Err(Problem::new(clause, at..clause.len(), message, VALID));
    };
    let value = value.strip_prefix('=').unwrap_or(value);
    let value_at = clause.len() - value.trim_start().len();
    let min = units::share(value.trim()).map_err(|problem| problem.within(clause, value_at))?;
    objective.reach_min = Some(min);
    Ok(())
}

/// `broadcast p99 < 500ms`.
fn broadcast(clause: &str, rest: &str, objective: &mut Objective) -> Result<(), Problem> {
    const VALID: &str = "a percentile of broadcasts, such as broadcast p99 < 500ms";
    let at = clause.len() - rest.trim_start().len();
    let mut of_it = Objective::default();
    bound(rest.trim_start(), &mut of_it).map_err(|problem| problem.within(clause, at))?;
    if of_it.latency.is_empty() {
        let message = "broadcasts support percentiles only";
        return Err(Problem::new(clause, at..clause.len(), message, VALID));
    }
    objective.broadcast.append(&mut of_it.latency);
    Ok(())
}

/// A latency bound; a bare number is in milliseconds, as in k6.
fn microseconds(value: &str) -> Result<u64, Problem> {
    let bare = !value.is_empty()
        && value
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let lasting = if bare {
        units::duration_above_zero(&format!("{value}ms")).map_err(|mut problem| {
            value.clone_into(&mut problem.input);
            problem.span = 0..value.len();
            problem
        })?
    } else {
        units::duration_above_zero(value)?
    };
    match u64::try_from(lasting.as_micros()) {
        Ok(us) if us > 0 => Ok(us),
        _ => Err(Problem::new(
            value,
            0..value.len(),
            "the duration is too short",
            "1us or more",
        )),
    }
}

fn metric(clause: &str, written: &str) -> Result<ObjectiveMetric, Problem> {
    let lower = written.to_lowercase();
    match lower.as_str() {
        "errors" | "error" | "rate" | "http_req_failed" => return Ok(ObjectiveMetric::Errors),
        "median" | "med" => return Ok(ObjectiveMetric::Quantile(0.5)),
        "max" => return Ok(ObjectiveMetric::Quantile(1.0)),
        "min" => return Ok(ObjectiveMetric::Quantile(0.0)),
        "avg" | "mean" | "average" => return Ok(ObjectiveMetric::Mean),
        _ => {}
    }
    let span = 0..written.len();
    let Some(number) = lower.strip_prefix('p') else {
        let message = "neither a percentile nor `errors`";
        return Err(Problem::new(clause, span, message, VALID).with_nearest(&WORDS));
    };
    let number = number.trim_start_matches('(').trim_end_matches(')');
    match number.parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent < 100.0 => {
            Ok(ObjectiveMetric::Quantile(percent / 100.0))
        }
        Ok(_) => {
            let valid = "above p0 and below p100, such as p95 or p99.9";
            Err(Problem::new(clause, span, "no such percentile", valid))
        }
        Err(_) => Err(Problem::new(clause, span, "not a percentile", VALID).with_nearest(&WORDS)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn people_and_k6_write_the_same() {
        let ours = objective("p95 < 500ms, errors < 1%").unwrap();
        assert_eq!(
            ours.latency,
            [LatencyBound {
                quantile: 0.95,
                within_us: 500_000
            }]
        );
        assert_eq!(ours.errors_max, Some(0.01));
        assert_eq!(objective("p(95)<500, rate<0.01").unwrap(), ours);
    }

    #[test]
    fn broadcasts_are_bounded_by_time_and_reach() {
        let read = objective("broadcast p99 < 500ms, reach > 99.99%, errors < 1%").unwrap();
        assert_eq!(read.broadcast.len(), 1);
        assert!((read.reach_min.unwrap() - 0.9999).abs() < 1e-12);
        assert!(read.latency.is_empty());
        assert_eq!(objective(&read.to_string()).unwrap(), read);
        for (text, at, word) in [
            ("reach < 99%", 6..11, "lower bound"),
            ("reach > 101%", 8..12, "above 100%"),
            ("reach > 9%, reach > 8%", 12..17, "duplicate"),
            ("broadcast errors < 1%", 10..21, "percentiles"),
            ("broadcast p99 < 5 parsec", 18..24, "unit"),
        ] {
            let problem = objective(text).unwrap_err();
            assert_eq!(problem.span, at, "{problem}");
            assert!(problem.to_string().contains(word), "{problem}");
        }
    }

    #[test]
    fn several_percentiles_and_fine_ones() {
        let objective = objective("p50<20ms,p99.9 <= 1.5s").unwrap();
        assert_eq!(objective.latency[1].within_us, 1_500_000);
        assert!((objective.latency[1].quantile - 0.999).abs() < 1e-12);
        assert_eq!(objective.errors_max, None);
    }

    #[test]
    fn the_slowest_answer_is_for_thresholds() {
        let read = threshold("max<2000, med<200").unwrap();
        assert!((read.latency[0].quantile - 1.0).abs() < 1e-12);
        assert_eq!(read.to_string(), "max < 2000ms, p50 < 200ms");
        let all = threshold("avg<200, min<=5ms, rate<0.05").unwrap();
        assert_eq!(
            (all.mean_us_max, all.errors_max),
            (Some(200_000), Some(0.05))
        );
        assert_eq!(all.to_string(), "min < 5ms, avg < 200ms, errors < 5%");
        assert_eq!(threshold(&all.to_string()).unwrap(), all);
        assert!(
            threshold("avg<1, mean<2")
                .unwrap_err()
                .to_string()
                .contains("duplicate")
        );
        for (text, at) in [("p95<1s, avg<200", 8..11), ("min<5", 0..3)] {
            assert_eq!(objective(text).unwrap_err().span, at);
        }
        let problem = objective("med < 1s, max < 2s").unwrap_err();
        assert_eq!(problem.span, 10..13);
        assert!(
            objective("avg<200")
                .unwrap_err()
                .to_string()
                .contains("med")
        );
    }

    #[test]
    fn faults_point_into_the_text() {
        let check = |text: &str, at: &str, word: &str| {
            let problem = objective(text).unwrap_err();
            assert_eq!(&problem.input, text);
            assert_eq!(&text[problem.span.clone()], at, "{problem}");
            assert!(problem.to_string().contains(word), "{problem}");
        };
        check("p95 < 500ms, erors < 1%", "erors", "did you mean `errors`");
        check("p95 < 500 parsec", "parsec", "unknown unit");
        check("p100 < 1s", "p100", "no such percentile");
        check("p95 500ms", "p95 500ms", "`<` is missing");
        check("", "", "empty");
        check("p95 < 0ms", "0ms", "above zero");
        check("errors < 1%, errors < 2%", "errors", "duplicate");
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,40}") {
            if let Err(problem) = objective(&text) {
                let _ = problem.to_string();
            }
        }

        #[test]
        fn what_is_written_out_is_read_back(percent in 1_u32..999, us in 1_u64..100_000_000, errors in 0_u32..100) {
            let written = Objective {
                latency: vec![LatencyBound { quantile: f64::from(percent) / 1000.0, within_us: us }],
                errors_max: Some(f64::from(errors) / 100.0), ..Objective::default() };
            let read = objective(&written.to_string()).unwrap();
            prop_assert_eq!(read.latency[0].within_us, us);
            prop_assert!((read.latency[0].quantile - written.latency[0].quantile).abs() < 1e-6);
            prop_assert!((read.errors_max.unwrap() - written.errors_max.unwrap()).abs() < 1e-6);
        }
    }
}
