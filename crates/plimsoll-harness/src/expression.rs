//! Places for results in the texts of a page's data file: `{FIELD STATISTIC DIGITS}`.
//!
//! - FIELD is a number or a text of the runs; one that no run of the chapter has is a parameter of the chapter.
//!   `FIELD/PEER` is the ratio to a peer in the same round, since rounds differ more than what is measured does;
//!   `FIELD-PEER` is the difference. Of several peers, separated by commas, the one beside which the value is highest
//!   counts.
//! - STATISTIC is `median` (the default), `min`, `max`, `sum`, `spread` (median with the smallest and largest) or `peer` (the
//!   name of the peer).
//! - DIGITS behind the point: none by default.

use anyhow::{Context as _, Result, bail};

use crate::sample::Outcome;
use crate::spread::Spread;

/// Where the values of an expression come from.
pub struct Scope<'a> {
    /// The subject.
    pub outcome: &'a Outcome,
    /// All subjects of the chapter.
    pub all: &'a [Outcome],
    /// Parameters of the chapter, as text.
    pub parameter: &'a dyn Fn(&str) -> Option<String>,
    /// Names of subjects on the page.
    pub name: &'a dyn Fn(&str) -> String,
}

impl Scope<'_> {
    /// Fills a text in; `None` if a value of it was not measured.
    ///
    /// # Errors
    ///
    /// If an expression of it is not valid.
    pub fn fill(&self, text: &str) -> Result<Option<String>> {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let Some((expression, after)) = after.split_once('}') else {
                bail!("`{text}`: a brace is not closed");
            };
            let Some(value) = self.show(expression)? else {
                return Ok(None);
            };
            filled += before;
            filled += &value;
            rest = after;
        }
        Ok(Some(filled + rest))
    }

    /// Whether a condition such as `cpu_us/nginx median <= 0.9` holds; `None` if it was not measured.
    ///
    /// # Errors
    ///
    /// If it is not valid.
    pub fn holds(&self, condition: &str) -> Result<Option<bool>> {
        let words: Vec<&str> = condition.split_whitespace().collect();
        let [field, statistic, operator, limit] = words[..] else {
            bail!("`{condition}` is not FIELD STATISTIC OPERATOR LIMIT");
        };
        let holds: fn(f64, f64) -> bool = match operator {
            "<=" => |value, limit| value <= limit,
            "<" => |value, limit| value < limit,
            ">=" => |value, limit| value >= limit,
            ">" => |value, limit| value > limit,
            _ => bail!("`{condition}`: unknown operator {operator}; valid: <=, <, >=, >"),
        };
        let limit = match limit.parse::<f64>() {
            Ok(limit) => Some(limit),
            Err(_) => (self.parameter)(limit).and_then(|text| text.parse().ok()),
        };
        let limit = limit.with_context(|| {
            format!("`{condition}`: its limit is neither a number nor a parameter of the chapter")
        })?;
        let value = statistic_of(statistic)
            .with_context(|| format!("`{condition}`: valid: median, min, max, sum"))?;
        Ok(self
            .spread(field)
            .map(|spread| holds(value(&spread), limit)))
    }

    fn show(&self, expression: &str) -> Result<Option<String>> {
        let mut words = expression.split_whitespace();
        let field = words.next().unwrap_or_default();
        let (mut statistic, mut digits) = ("median", 0);
        for word in words {
            match word.parse::<usize>() {
                Ok(number) => digits = number,
                Err(_) => statistic = word,
            }
        }
        let value = match statistic {
            "spread" | "peer" => None,
            _ => Some(statistic_of(statistic).with_context(|| {
                format!("`{expression}`: valid: median, min, max, sum, spread, peer")
            })?),
        };
        if let Some(text) = self.outcome.text(field) {
            return Ok(Some(text.to_owned()));
        }
        // What was measured is never what was asked for, also where a subject of the chapter could not be measured.
        if !self.all.iter().any(|it| it.has_number(field))
            && let Some(text) = (self.parameter)(field)
        {
            return Ok(Some(text));
        }
        Ok(self.spread(field).map(|found| match value {
            Some(value) => format!("{:.digits$}", value(&found)),
            None if statistic == "peer" => (self.name)(found.2),
            None => found.0.show(digits),
        }))
    }

    /// Values of a field with their sum, and the peer that counts.
    fn spread<'t>(&self, field: &'t str) -> Option<FieldValue<'t>> {
        let operator = field.find(['/', '-']);
        let (name, peers) = operator.map_or((field, ""), |at| (&field[..at], &field[at + 1..]));
        let ours = self.outcome.numbers(name);
        if operator.is_none() {
            let sum = ours.iter().map(|(_, value)| value).sum();
            return Some((
                Spread::of(ours.into_iter().map(|(_, value)| value))?,
                sum,
                "",
            ));
        }
        let is_ratio = field.contains('/');
        let against = |peer: &str| {
            let theirs = self
                .all
                .iter()
                .find(|it| it.subject() == peer)?
                .numbers(name);
            let pairs = ours.iter().filter_map(|(round, value)| {
                let (_, other) = theirs.iter().find(|(of, _)| of == round)?;
                Some(if is_ratio {
                    value / other
                } else {
                    value - other
                })
            });
            Spread::of(pairs)
        };
        peers
            .split(',')
            .filter_map(|peer| Some((against(peer)?, 0.0, peer)))
            .max_by(|worst, other| worst.0.median.total_cmp(&other.0.median))
    }
}

/// Values of a field, their sum, and the peer that counts.
type FieldValue<'t> = (Spread, f64, &'t str);

fn statistic_of(name: &str) -> Option<fn(&FieldValue<'_>) -> f64> {
    Some(match name {
        "median" => |found| found.0.median,
        "min" => |found| found.0.min,
        "max" => |found| found.0.max,
        "sum" => |found| found.1,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Sample;

    fn outcome(subject: &str, costs: &[f64]) -> Outcome {
        let mut outcome = Outcome::new(subject);
        for (round, cost) in (1..).zip(costs) {
            let sample = Sample::default()
                .with("cpu_us", *cost)
                .text("after", "1, 2");
            outcome.take(round, Ok(sample));
        }
        outcome
    }

    fn check(work: impl FnOnce(&Scope<'_>)) {
        let all = [
            outcome("a", &[5.0, 10.0, 6.0]),
            outcome("b", &[10.0, 20.0, 6.0]),
            outcome("c", &[20.0, 40.0]),
            outcome("none", &[]),
        ];
        work(&Scope {
            outcome: &all[0],
            all: &all,
            parameter: &|name| {
                ["limit", "cpu_us"]
                    .contains(&name)
                    .then(|| "0.9".to_owned())
            },
            name: &|subject| subject.to_uppercase(),
        });
    }

    #[test]
    fn texts_are_filled_with_values_and_ratios_of_the_same_round() {
        check(|scope| {
            let filled = |text: &str| scope.fill(text).unwrap();
            assert_eq!(filled("{cpu_us spread 1} µs").unwrap(), "6.0 (5.0-10.0) µs");
            assert_eq!(filled("{cpu_us/b spread 2}").unwrap(), "0.50 (0.50-1.00)");
            assert_eq!(filled("{cpu_us-c} {cpu_us sum}").unwrap(), "-22 21");
            assert_eq!(
                filled("{cpu_us/c,b 2} {cpu_us/c,b peer}").unwrap(),
                "0.50 B"
            );
            assert_eq!(filled("{after}; {limit}").unwrap(), "1, 2; 0.9");
            assert_eq!(filled("{cpu_us/none 1}"), None);
            assert_eq!(filled("{other}"), None);
            assert_eq!(filled("{cpu_us}").unwrap(), "6");
            let unmeasured = Scope {
                outcome: &scope.all[3],
                ..*scope
            };
            assert_eq!(unmeasured.fill("{cpu_us}").unwrap(), None);
            assert_eq!(unmeasured.fill("{limit}").unwrap().unwrap(), "0.9");
            // Also where nothing was measured.
            assert!(scope.fill("{other mode}").is_err());
        });
    }

    #[test]
    fn conditions_hold_or_are_open() {
        check(|scope| {
            assert_eq!(scope.holds("cpu_us/b median <= limit").unwrap(), Some(true));
            assert_eq!(scope.holds("cpu_us max < 10").unwrap(), Some(false));
            assert_eq!(scope.holds("cpu_us/none median <= 1").unwrap(), None);
            for wrong in [
                "cpu_us < 1",
                "cpu_us median = 1",
                "cpu_us mode < 1",
                "cpu_us max < x",
            ] {
                assert!(scope.holds(wrong).is_err(), "{wrong}");
            }
        });
    }
}
