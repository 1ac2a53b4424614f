//! Conditions of branches as a plan writes them, and those of chance.

use std::rc::Rc;

use super::answer::Answer;
use super::comparison::{Operator, Test};
use super::machine::Machine;
use super::text::Text;
use super::value::{Counted, Random, Value};

impl<'a> Machine<'a, '_> {
    /// The probability with which a condition holds, if it is one of chance.
    pub(super) fn chance_of(&mut self, test: &Test<'a>) -> Option<f64> {
        match test {
            Test::Chance(chance) => Some(*chance),
            Test::Compare(operator, Value::Random(random), Value::Number(bound))
                if !random.is_whole =>
            {
                let (low, high) = self
                    .bounds
                    .get(&random.id)
                    .copied()
                    .unwrap_or((random.low, random.high));
                let below = ((bound - low) / (high - low)).clamp(0.0, 1.0);
                Some(match operator {
                    Operator::Less | Operator::LessOrEqual => below,
                    Operator::Greater | Operator::GreaterOrEqual => 1.0 - below,
                    Operator::Equal => 0.0,
                    Operator::Unequal => 1.0,
                })
            }
            Test::Compare(operator, Value::Counter(counter), Value::Number(_)) => {
                let modulo = counter.modulo?;
                let share = 1.0 / super::number::of(usize::try_from(modulo).ok()?);
                let words = match counter.of {
                    Counted::User => "__VU",
                    Counted::Iteration | Counted::Total => "__ITER",
                };
                self.note(format!(
                    "a condition on {words} % {modulo} is a random branch of the same share in the plan"
                ));
                match operator {
                    Operator::Equal => Some(share),
                    Operator::Unequal => Some(1.0 - share),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// A condition as a plan has it.
    pub(super) fn condition(&mut self, test: &Test<'a>) -> Option<String> {
        match test {
            Test::Truthy(value) => self
                .length_condition(value, Operator::Greater, 0.0)
                .or_else(|| self.side(value, true)),
            Test::Compare(operator, value @ Value::Answer(..), Value::Number(bound))
                if is_length(value) =>
            {
                self.length_condition(value, *operator, *bound)
            }
            Test::Compare(operator, left, right) if right.is_nothing() || left.is_nothing() => {
                let value = if right.is_nothing() { left } else { right };
                let side = self.side(value, true)?;
                Some(match operator {
                    Operator::Equal => format!("not {side}"),
                    _ => side,
                })
            }
            Test::Compare(operator, Value::Counter(counter), right) if counter.modulo.is_none() => {
                let bound = super::number::whole(self.number(right)?)?.checked_sub(counter.plus)?;
                let (name, first) = match counter.of {
                    Counted::User => ("user", 0),
                    Counted::Iteration | Counted::Total => ("iteration", 1),
                };
                Some(format!(
                    "{{{{ {name} }}}} {} {}",
                    operator.sign(),
                    bound.checked_add(first)?
                ))
            }
            Test::Compare(operator, left, right) => {
                let (left, right) = (self.side(left, false)?, self.side(right, false)?);
                Some(format!("{left} {} {right}", operator.sign()))
            }
            Test::Includes(whole, part) => {
                let (whole, part) = (self.side(whole, false)?, self.side(part, false)?);
                Some(format!("{whole} contains {part}"))
            }
            Test::Matches(whole, regex) => {
                let whole = self.side(whole, false)?;
                Some(format!("{whole} matches {}", super::text::quoted(regex)?))
            }
            Test::Not(inner) => match &**inner {
                Test::Truthy(_) | Test::Includes(..) | Test::Matches(..) => {
                    Some(format!("not {}", self.condition(inner)?))
                }
                _ => None,
            },
            Test::OneOf(..) | Test::Chance(_) | Test::And(..) | Test::Or(..) => None,
        }
    }

    /// A condition on the number of items of a list: whether the last of them that must be there is there.
    fn length_condition(
        &mut self,
        value: &Value<'a>,
        operator: Operator,
        bound: f64,
    ) -> Option<String> {
        let Value::Answer(request, what) = value else {
            return None;
        };
        let Answer::Length(of) = &**what else {
            return None;
        };
        let Answer::Json(list) = &**of else {
            return None;
        };
        let bound = super::number::index(bound)?;
        let (least, holds) = match operator {
            Operator::Greater => (bound + 1, true),
            Operator::GreaterOrEqual => (bound, true),
            Operator::Less => (bound, false),
            Operator::LessOrEqual => (bound + 1, false),
            Operator::Equal if bound == 0 => (1, false),
            Operator::Unequal if bound == 0 => (1, true),
            Operator::Equal | Operator::Unequal => return None,
        };
        let item = Answer::Json(list.index(least.checked_sub(1)?));
        let side = self.side(&Value::Answer(*request, Rc::new(item)), true)?;
        Some(if holds { side } else { format!("not {side}") })
    }

    /// A side of a condition: one placeholder, or a text in quotes.
    fn side(&mut self, value: &Value<'a>, may_lack: bool) -> Option<String> {
        if let Value::Answer(request, what) = value {
            let hole = self.capture(*request, what)?;
            if may_lack {
                self.default_capture(*request, &hole.expression, &Text::default());
            }
            self.used.insert(hole.expression.clone());
            return Some(format!("{{{{ {} }}}}", hole.expression));
        }
        if matches!(
            value,
            Value::Unknown(_) | Value::Object(_) | Value::Function(_)
        ) {
            return None;
        }
        let text = self.text_of(value, 0);
        if let Some(constant) = text.constant() {
            return super::text::quoted(constant);
        }
        match text.pieces() {
            [super::text::Piece::Hole(_)] => Some(self.template(&text).as_str().to_owned()),
            _ => None,
        }
    }
}

/// Whether a value is the number of items of a list in a response.
fn is_length(value: &Value<'_>) -> bool {
    let Value::Answer(_, what) = value else {
        return false;
    };
    matches!(&**what, Answer::Length(of) if matches!(**of, Answer::Json(_)))
}

/// Whether a condition holds in the first iteration only.
pub(super) fn is_first_iteration(test: &Test<'_>) -> bool {
    let Test::Compare(operator, Value::Counter(counter), Value::Number(bound)) = test else {
        return matches!(test, Test::Not(inner) if matches!(&**inner, Test::Truthy(Value::Counter(counter)) if counter.of == Counted::Iteration && counter.plus == 0 && counter.modulo.is_none()));
    };
    counter.of == Counted::Iteration
        && counter.modulo.is_none()
        && match operator {
            Operator::Equal => super::number::whole(*bound) == Some(counter.plus),
            Operator::Less => super::number::whole(*bound) == Some(counter.plus + 1),
            _ => false,
        }
}

/// The comparison of a random number with a bound that a condition is.
pub(super) fn random_bound(test: &Test<'_>) -> Option<(Random, Operator, f64)> {
    match test {
        Test::Compare(operator, Value::Random(random), Value::Number(bound))
            if !random.is_whole =>
        {
            Some((*random, *operator, *bound))
        }
        _ => None,
    }
}
