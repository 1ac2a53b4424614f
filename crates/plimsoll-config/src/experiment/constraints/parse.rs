//! Parses a constraint: two terms with a relation, or a knob and its level.

use std::collections::BTreeSet;
use std::ops::Range;

use plimsoll_model::experiment::{
    Constraint, ConstraintOperator, ConstraintRelation, ConstraintTerm, Knob,
};
use plimsoll_model::price::HeldResources;

use super::super::numbers::Dimension;
use super::Quantities;
use super::tokens::{PlacedToken, RELATIONS_VALID, Token, tokens};
use crate::Problem;

/// Longest text of a constraint, bytes.
const TEXT_LEN_MAX: usize = 1000;
/// Operators and parentheses of a constraint at most: the log of an experiment has them nested.
const OPERATIONS_MAX: usize = 32;
/// Combinations of levels for which a divisor is checked.
const CHECKED_MAX: usize = 4096;

/// What names stand for.
pub(super) struct ConstraintNames<'n> {
    pub(super) knobs: &'n [Knob],
    /// What the levels of each knob count.
    pub(super) dimensions: Vec<Dimension>,
    pub(super) quantities: &'n Quantities,
    pub(super) machine: Option<HeldResources>,
}

/// A constraint, and what it was made of.
pub(super) struct ParsedConstraint {
    pub(super) constraint: Constraint,
    /// What its sides count.
    pub(super) dimension: Dimension,
    /// Names of the numbers in it that are no knobs.
    pub(super) used: BTreeSet<String>,
}

impl ConstraintNames<'_> {
    /// The number of a quantity, or of the machine.
    pub(super) fn number(&self, name: &str) -> Option<(f64, Dimension)> {
        let quantity = self.quantities.get(name).copied();
        quantity.or_else(|| {
            let machine = self.machine?;
            match name {
                "memory" if machine.memory > 0 => Some((machine.memory as f64, Dimension::SIZE)),
                "cpus" => Some((machine.cpus, Dimension::PLAIN)),
                _ => None,
            }
        })
    }

    fn knob(&self, name: &str) -> Option<usize> {
        self.knobs.iter().position(|knob| knob.name == name)
    }

    fn all(&self) -> Vec<&str> {
        let knobs = self.knobs.iter().map(|knob| knob.name.as_str());
        let quantities = self.quantities.keys().map(String::as_str);
        knobs.chain(quantities).chain(["memory", "cpus"]).collect()
    }
}

/// Parses a constraint.
pub(super) fn parse(text: &str, names: &ConstraintNames<'_>) -> Result<ParsedConstraint, Problem> {
    if text.len() > TEXT_LEN_MAX {
        let valid = format!("at most {TEXT_LEN_MAX} bytes");
        let message = "the constraint is too long";
        return Err(Problem::new(text, 0..0, message, valid));
    }
    let parser = Parser {
        text,
        names,
        tokens: tokens(text)?,
        at: 0,
        operations: 0,
        used: BTreeSet::new(),
    };
    let parsed = match parser.level_condition()? {
        Some((knob, level, is_equal)) => ParsedConstraint {
            constraint: Constraint::level(text, knob, level, is_equal),
            dimension: Dimension::PLAIN,
            used: BTreeSet::new(),
        },
        None => parser.comparison()?,
    };
    if parsed.constraint.knobs().is_empty() {
        let message = "the constraint has no knob";
        let knobs = names.knobs.iter().map(|knob| knob.name.as_str());
        let valid = format!("one of {} in it", knobs.collect::<Vec<_>>().join(", "));
        return Err(Problem::new(text, 0..text.len(), message, valid));
    }
    Ok(parsed)
}

/// A term, and what it counts.
struct CountedTerm {
    term: ConstraintTerm,
    dimension: Dimension,
}

struct Parser<'p> {
    text: &'p str,
    names: &'p ConstraintNames<'p>,
    tokens: Vec<PlacedToken<'p>>,
    /// The next token.
    at: usize,
    operations: usize,
    used: BTreeSet<String>,
}

impl<'p> Parser<'p> {
    /// `mode == fast` or `mode != fast`, of a knob that has words among its levels.
    fn level_condition(&self) -> Result<Option<(usize, usize, bool)>, Problem> {
        let [first, relation, last] = self.tokens.as_slice() else {
            return Ok(None);
        };
        let is_equal = match relation.token {
            Token::Relation(ConstraintRelation::Equal) => true,
            Token::Relation(ConstraintRelation::NotEqual) => false,
            _ => return Ok(None),
        };
        let Token::Name(name) = first.token else {
            return Ok(None);
        };
        let Some(knob) = self.names.knob(name) else {
            return Ok(None);
        };
        let found = &self.names.knobs[knob];
        let word = match last.token {
            Token::Quoted(word) => word,
            Token::Name(_) | Token::Number(..) if found.numbers.contains(&None) => {
                &self.text[last.span.clone()]
            }
            _ => return Ok(None),
        };
        let level = found.levels.iter().position(|level| level == word);
        let Some(level) = level else {
            let message = format!("`{name}` has no level `{word}`");
            let levels: Vec<&str> = found.levels.iter().map(String::as_str).collect();
            let problem = self.problem(&last.span, message, levels.join(", "));
            return Err(problem.with_nearest(&levels));
        };
        Ok(Some((knob, level, is_equal)))
    }

    fn comparison(mut self) -> Result<ParsedConstraint, Problem> {
        let left = self.sum()?;
        let Some(placed) = self.next() else {
            return Err(self.missing("the relation is missing", RELATIONS_VALID));
        };
        let Token::Relation(relation) = placed.token else {
            let message = format!("`{}` is not a relation", &self.text[placed.span.clone()]);
            return Err(self.problem(&placed.span, message, RELATIONS_VALID));
        };
        let right = self.sum()?;
        if let Some(rest) = self.next() {
            let message = format!("`{}` is unexpected", &self.text[rest.span.clone()]);
            return Err(self.problem(&rest.span, message, "one relation in a constraint"));
        }
        let dimension = self.fitting(&left, &right, &placed.span, "compared")?;
        Ok(ParsedConstraint {
            constraint: Constraint::numbers(self.text, left.term, relation, right.term),
            dimension,
            used: self.used,
        })
    }

    fn sum(&mut self) -> Result<CountedTerm, Problem> {
        let mut left = self.product()?;
        while let Some((operator, span)) = self.operator(&['+', '-'])? {
            let right = self.product()?;
            let dimension = self.fitting(&left, &right, &span, "added")?;
            left = CountedTerm {
                term: operation(left.term, operator, right.term),
                dimension,
            };
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<CountedTerm, Problem> {
        let mut left = self.signed()?;
        while let Some((operator, span)) = self.operator(&['*', '/'])? {
            let right = self.signed()?;
            let dimension = if operator == ConstraintOperator::Divide {
                self.check_divisor(&right.term, &span)?;
                left.dimension.of_quotient(right.dimension)
            } else {
                left.dimension.of_product(right.dimension)
            };
            left = CountedTerm {
                term: operation(left.term, operator, right.term),
                dimension,
            };
        }
        Ok(left)
    }

    /// A term with any number of minus signs before it.
    fn signed(&mut self) -> Result<CountedTerm, Problem> {
        let mut signs = 0;
        while self.operator(&['-'])?.is_some() {
            signs += 1;
        }
        let term = self.primary()?;
        Ok((0..signs).fold(term, |inner, _| CountedTerm {
            term: ConstraintTerm::Negative(Box::new(inner.term)),
            ..inner
        }))
    }

    fn primary(&mut self) -> Result<CountedTerm, Problem> {
        const VALID: &str = "a name, a number or (";
        let Some(placed) = self.next() else {
            return Err(self.missing("a number is missing", VALID));
        };
        match placed.token {
            Token::Number(number, dimension) => Ok(CountedTerm {
                term: ConstraintTerm::Number(number),
                dimension,
            }),
            Token::Name(name) => self.named(name, &placed.span),
            Token::Open => {
                self.count_operation(&placed.span)?;
                let inner = self.sum()?;
                match self.next() {
                    Some(PlacedToken {
                        token: Token::Close,
                        ..
                    }) => Ok(inner),
                    Some(other) => {
                        Err(self.problem(&other.span, "the parenthesis is not closed", ")"))
                    }
                    None => Err(self.missing("the parenthesis is not closed", ")")),
                }
            }
            Token::Quoted(_) | Token::Operator(_) | Token::Relation(_) | Token::Close => {
                let message = format!("`{}` is unexpected", &self.text[placed.span.clone()]);
                Err(self.problem(&placed.span, message, VALID))
            }
        }
    }

    /// The number of a name.
    fn named(&mut self, name: &str, span: &Range<usize>) -> Result<CountedTerm, Problem> {
        let names = self.names;
        if let Some(knob) = names.knob(name) {
            let found = &names.knobs[knob];
            let word = found.numbers.iter().position(Option::is_none);
            if let Some(level) = word.and_then(|level| found.levels.get(level)) {
                let message = format!("the level `{level}` of `{name}` is not a number");
                let valid = format!("{name} == '{level}' or {name} != '{level}', alone");
                return Err(self.problem(span, message, valid));
            }
            return Ok(CountedTerm {
                term: ConstraintTerm::Knob(knob),
                dimension: names.dimensions[knob],
            });
        }
        if let Some((number, dimension)) = names.number(name) {
            self.used.insert(name.to_owned());
            return Ok(CountedTerm {
                term: ConstraintTerm::Number(number),
                dimension,
            });
        }
        if ["memory", "cpus"].contains(&name) {
            let message = format!("the `{name}` of the machine is not known here");
            let valid = format!("a quantity, such as {name}: 16GiB");
            return Err(self.problem(span, message, valid));
        }
        let all = names.all();
        let mut valid = all.join(", ");
        if name.contains('-') {
            valid.push_str("; a subtraction has spaces around its minus");
        }
        let problem = self.problem(span, format!("unknown name `{name}`"), valid);
        Err(problem.with_nearest(&all))
    }

    /// The next token, if it is one of these operators.
    fn operator(
        &mut self,
        signs: &[char],
    ) -> Result<Option<(ConstraintOperator, Range<usize>)>, Problem> {
        let Some(PlacedToken {
            token: Token::Operator(sign),
            span,
        }) = self.tokens.get(self.at).cloned()
        else {
            return Ok(None);
        };
        if !signs.contains(&sign) {
            return Ok(None);
        }
        self.at += 1;
        self.count_operation(&span)?;
        let operator = match sign {
            '+' => ConstraintOperator::Add,
            '-' => ConstraintOperator::Subtract,
            '*' => ConstraintOperator::Multiply,
            _ => ConstraintOperator::Divide,
        };
        Ok(Some((operator, span)))
    }

    fn count_operation(&mut self, span: &Range<usize>) -> Result<(), Problem> {
        self.operations += 1;
        if self.operations > OPERATIONS_MAX {
            let message = "the constraint has too many operations";
            let valid =
                format!("at most {OPERATIONS_MAX}; name a quantity, or write two constraints");
            return Err(self.problem(span, message, valid));
        }
        Ok(())
    }

    /// What the sum or the comparison of two terms counts.
    fn fitting(
        &self,
        left: &CountedTerm,
        right: &CountedTerm,
        span: &Range<usize>,
        what: &str,
    ) -> Result<Dimension, Problem> {
        let (left, right) = (left.dimension, right.dimension);
        if left.fits(right) {
            return Ok(left.of_sum(right));
        }
        let message = format!("{} and {} are {what}", left.name(), right.name());
        let valid =
            "numbers of the same kind; sizes have B, kB, MiB or GiB, durations ms, s, m or h";
        Err(self.problem(span, message, valid))
    }

    /// Refuses a divisor that is zero for some levels.
    fn check_divisor(&self, divisor: &ConstraintTerm, span: &Range<usize>) -> Result<(), Problem> {
        let knobs = self.names.knobs;
        let members: Vec<usize> = divisor.knobs().into_iter().collect();
        let lens = members.iter().map(|knob| knobs[*knob].levels.len());
        let count = lens.fold(1_usize, usize::saturating_mul);
        // A larger product is judged when its levels are tried.
        let is_zero = |index: &usize| {
            divisor.value(knobs, &combination(knobs, &members, *index)) == Some(0.0)
        };
        let Some(index) = (0..count.min(CHECKED_MAX)).find(is_zero) else {
            return Ok(());
        };
        let levels = combination(knobs, &members, index);
        let settings = members.iter().map(|knob| {
            let found = &knobs[*knob];
            format!("{}={}", found.name, found.levels[levels[*knob]])
        });
        let settings: Vec<String> = settings.collect();
        let message = if settings.is_empty() {
            "division by zero".to_owned()
        } else {
            format!("division by zero with {}", settings.join(" "))
        };
        Err(self.problem(span, message, "a divisor that is not zero for any level"))
    }

    fn next(&mut self) -> Option<PlacedToken<'p>> {
        let token = self.tokens.get(self.at).cloned()?;
        self.at += 1;
        Some(token)
    }

    fn problem(
        &self,
        span: &Range<usize>,
        message: impl Into<String>,
        valid: impl Into<String>,
    ) -> Problem {
        Problem::new(self.text, span.clone(), message, valid)
    }

    /// Something is missing at the end.
    fn missing(&self, message: &str, valid: &str) -> Problem {
        self.problem(&(self.text.len()..self.text.len()), message, valid)
    }
}

fn operation(
    left: ConstraintTerm,
    operator: ConstraintOperator,
    right: ConstraintTerm,
) -> ConstraintTerm {
    let (left, right) = (Box::new(left), Box::new(right));
    ConstraintTerm::Operation {
        left,
        operator,
        right,
    }
}

/// The combination with this number of the levels of these knobs; the others have their defaults.
fn combination(knobs: &[Knob], members: &[usize], index: usize) -> Vec<usize> {
    let mut levels: Vec<usize> = knobs.iter().map(|knob| knob.default).collect();
    let mut rest = index;
    for member in members {
        let len = knobs[*member].levels.len().max(1);
        levels[*member] = rest % len;
        rest /= len;
    }
    levels
}
