//! Conditions: `{{ stock }} > 0`.

use std::ops::Range;

use plimsoll_model::journey::{Condition, Operator, TextPiece, TextTemplate};

use super::answer::regex_at;
use super::scope::{PlanScope, VisibleSlots};
use crate::document::{DocumentNode, Spot};

const VALID: &str = "one comparison such as {{ stock }} > 0, with ==, !=, <, <=, >, >=, contains or matches, or \
                     {{ name }} alone";

/// Comparison operators; longer ones precede their prefixes. The last field tells whether the result is negated.
const OPERATORS: [(&str, Operator, bool); 13] = [
    ("==", Operator::Equal, false),
    ("!=", Operator::Equal, true),
    ("<=", Operator::LessOrEqual, false),
    (">=", Operator::GreaterOrEqual, false),
    ("=~", Operator::Matches, false),
    ("!~", Operator::Matches, true),
    ("<", Operator::Less, false),
    (">", Operator::Greater, false),
    ("=", Operator::Equal, false),
    (" not contains ", Operator::Contains, true),
    (" contains ", Operator::Contains, false),
    (" not matches ", Operator::Matches, true),
    (" matches ", Operator::Matches, false),
];

impl PlanScope<'_> {
    /// Reads a condition.
    pub(crate) fn condition(
        &mut self,
        node: &DocumentNode,
        reach: &VisibleSlots,
    ) -> Option<Condition> {
        let text = self.reader.scalar(node, VALID)?;
        let spot = Spot::of(node, text);
        let (negated, start) = negation(text);
        let found = operators(text, start);
        if found.len() > 1 || has_words(text, start) {
            let at = found.get(1).map_or(start, |(range, _, _)| range.start);
            let words = (
                "the condition has more than one comparison".to_owned(),
                VALID.to_owned(),
            );
            spot.report(self.reader, at, words, None);
            return None;
        }
        let Some((range, operator, opposite)) = found.into_iter().next() else {
            let left = self.side(spot, start..text.len(), reach)?;
            self.must_vary(node, &[&left])?;
            return Some(Condition {
                left,
                operator: Operator::Truthy,
                right: TextTemplate::default(),
                negated,
            });
        };
        let left = self.side(spot, start..range.start, reach);
        let right = self.side(spot, range.end..text.len(), reach);
        let (left, right) = (left?, right?);
        self.must_vary(node, &[&left, &right])?;
        if operator == Operator::Matches {
            let Some(expression) = right.as_literal() else {
                let message = "a regular expression must be constant".to_owned();
                spot.report(self.reader, range.end, (message, VALID.to_owned()), None);
                return None;
            };
            regex_at(
                self.reader,
                spot.place(self.reader, range.end),
                expression.to_owned(),
            )?;
        }
        Some(Condition {
            left,
            operator,
            right,
            negated: negated != opposite,
        })
    }

    /// One side, without the space and the quotes around it.
    fn side(
        &mut self,
        spot: Spot<'_>,
        range: Range<usize>,
        reach: &VisibleSlots,
    ) -> Option<TextTemplate> {
        let written = &spot.text[range.clone()];
        let start = range.start + (written.len() - written.trim_start().len());
        let end = start + written.trim().len();
        let trimmed = &spot.text[start..end];
        let quoted = trimmed.len() >= 2
            && ['\'', '"']
                .iter()
                .any(|quote| trimmed.starts_with(*quote) && trimmed.ends_with(*quote));
        let inner = if quoted {
            start + 1..end - 1
        } else {
            start..end
        };
        if trimmed.is_empty() {
            let words = (
                "one side of the comparison is missing".to_owned(),
                VALID.to_owned(),
            );
            spot.report(self.reader, start, words, None);
            return None;
        }
        self.text_at(spot.slice(inner), reach)
    }

    fn must_vary(&self, node: &DocumentNode, sides: &[&TextTemplate]) -> Option<()> {
        let constant = |text: &&&TextTemplate| {
            text.pieces
                .iter()
                .all(|piece| matches!(piece, TextPiece::Literal(_)))
        };
        if sides.iter().filter(constant).count() == sides.len() {
            self.reader.report(node, "the condition is constant", VALID);
            return None;
        }
        Some(())
    }
}

/// Whether `not` or `!` stands before it, and where it begins.
fn negation(text: &str) -> (bool, usize) {
    for sign in ["not ", "!"] {
        if let Some(rest) = text.trim_start().strip_prefix(sign) {
            return (true, text.len() - rest.len());
        }
    }
    (false, 0)
}

/// Bytes of the text outside placeholders and quotes.
fn outside(text: &str, start: usize) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut from = start;
    let mut at = start;
    while at < text.len() {
        let rest = &text[at..];
        let skipped = if rest.starts_with("{{") {
            rest.find("}}").map_or(rest.len(), |end| end + 2)
        } else if let Some(quote @ (b'\'' | b'"')) = rest.bytes().next() {
            rest[1..]
                .find(char::from(quote))
                .map_or(rest.len(), |end| end + 2)
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
            continue;
        };
        ranges.push(from..at);
        at += skipped;
        from = at;
    }
    ranges.push(from..text.len());
    ranges
}

fn operators(text: &str, start: usize) -> Vec<(Range<usize>, Operator, bool)> {
    let mut found = Vec::new();
    for range in outside(text, start) {
        let mut at = range.start;
        while at < range.end {
            let rest = &text[at..range.end];
            match OPERATORS.iter().find(|(sign, _, _)| rest.starts_with(sign)) {
                Some((sign, operator, opposite)) => {
                    found.push((at..at + sign.len(), *operator, *opposite));
                    at += sign.len();
                }
                None => at += rest.chars().next().map_or(1, char::len_utf8),
            }
        }
    }
    found
}

/// Whether comparisons are joined by `and` or `or`.
fn has_words(text: &str, start: usize) -> bool {
    outside(text, start).into_iter().any(|range| {
        let segment = &text[range];
        [" and ", " or ", "&&", "||"]
            .iter()
            .any(|word| segment.contains(word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_found_outside_holes_and_quotes() {
        let check = |text: &str, expected: &[&str]| {
            let found = operators(text, 0);
            let signs: Vec<&str> = found
                .iter()
                .map(|(range, _, _)| &text[range.clone()])
                .collect();
            assert_eq!(signs, expected, "{text}");
        };
        check("{{ a }} >= 0", &[">="]);
        check("{{ pick('<', '>') }} == 'a<b'", &["=="]);
        check("{{ a }} contains x", &[" contains "]);
        check("{{ a }}", &[]);
        check("{{ a }} > 1 < 2", &[">", "<"]);
        check("\u{20ac}{{", &[]);
    }
}
