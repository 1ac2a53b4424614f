//! Conditions of `if`.

use plimsoll_model::journey::{self, Operator};
use regex::bytes::Regex;

use super::expect::contains;
use super::extract::regex;
use super::text::{CompiledText, TemplateValues};

/// A compiled condition.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    left: CompiledText,
    test: Test,
    negated: bool,
}

#[derive(Clone, Debug)]
enum Test {
    Matches(Regex),
    Compare(Operator, CompiledText),
}

impl Condition {
    /// # Errors
    /// What is wrong with its regular expression.
    pub(crate) fn new(condition: &journey::Condition) -> Result<Self, String> {
        let test = if condition.operator == Operator::Matches {
            let pattern = condition.right.as_literal();
            let pattern = pattern
                .ok_or("placeholders are not allowed in the regular expression of a condition")?;
            Test::Matches(regex(pattern)?)
        } else {
            Test::Compare(condition.operator, CompiledText::new(&condition.right))
        };
        Ok(Self {
            left: CompiledText::new(&condition.left),
            test,
            negated: condition.negated,
        })
    }

    pub(crate) fn feeds(&self, found: &mut Vec<u32>) {
        self.left.feeds(found);
        if let Test::Compare(_, right) = &self.test {
            right.feeds(found);
        }
    }

    pub(crate) fn holds(&self, values: &mut TemplateValues<'_>) -> bool {
        let left = self.left.filled(values);
        let holds = match &self.test {
            Test::Matches(regex) => regex.is_match(&left),
            Test::Compare(operator, right) => compare(*operator, &left, &right.filled(values)),
        };
        holds != self.negated
    }
}

fn compare(operator: Operator, left: &[u8], right: &[u8]) -> bool {
    let order = || match (number(left), number(right)) {
        (Some(left), Some(right)) => left.total_cmp(&right),
        _ => left.cmp(right),
    };
    match operator {
        Operator::Truthy => !matches!(left, b"" | b"0" | b"false"),
        Operator::Equal => left == right,
        Operator::Less => order().is_lt(),
        Operator::LessOrEqual => order().is_le(),
        Operator::Greater => order().is_gt(),
        Operator::GreaterOrEqual => order().is_ge(),
        Operator::Contains => contains(left, right),
        // Compiled apart.
        Operator::Matches => false,
    }
}

fn number(text: &[u8]) -> Option<f64> {
    let number: f64 = std::str::from_utf8(text).ok()?.trim().parse().ok()?;
    number.is_finite().then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::journey::Inputs;
    use plimsoll_model::seed::Seed;

    #[track_caller]
    fn check(left: &str, operator: Operator, right: &str, expected: bool) {
        for negated in [false, true] {
            let condition = Condition::new(&journey::Condition {
                left: journey::TextTemplate::literal(left),
                operator,
                right: journey::TextTemplate::literal(right),
                negated,
            })
            .unwrap();
            let mut values = TemplateValues {
                slots: &[],
                rows: &[],
                inputs: &Inputs::default(),
                user: 1,
                iteration: 1,
                unix_ns: 0,
                random: &mut Seed(1).generator(),
            };
            assert_eq!(condition.holds(&mut values), expected != negated);
        }
    }

    #[test]
    fn texts_are_compared_as_documented() {
        for (text, truthy) in [("", false), ("0", false), ("false", false), ("no", true)] {
            check(text, Operator::Truthy, "", truthy);
        }
        check("a", Operator::Equal, "a", true);
        check("9", Operator::Less, "10", true);
        check("9a", Operator::Less, "10", false);
        check("10.0", Operator::LessOrEqual, "10", true);
        check("b", Operator::Greater, "a", true);
        check("2", Operator::GreaterOrEqual, "3", false);
        check("abc", Operator::Contains, "bc", true);
        check("abc", Operator::Matches, "^a.c$", true);
    }
}
