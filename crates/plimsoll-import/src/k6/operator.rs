//! Operators: exact on what is known, and as templates or conditions on what is known at run time.

use std::rc::Rc;

use oxc_ast::ast::{BinaryExpression, BinaryOperator, UnaryOperator};

use super::comparison::{Operator, Test};
use super::machine::{Machine, TEXT_LEN_MAX};
use super::number;
use super::value::{Counter, Random, Value};

impl<'a> Machine<'a, '_> {
    pub(super) fn binary_expression(
        &mut self,
        binary: &'a BinaryExpression<'a>,
        scope: usize,
    ) -> Value<'a> {
        let left = self.evaluate(&binary.left, scope);
        let right = self.evaluate(&binary.right, scope);
        let at = binary.span.start;
        let operator = match binary.operator {
            BinaryOperator::Equality | BinaryOperator::StrictEquality => Operator::Equal,
            BinaryOperator::Inequality | BinaryOperator::StrictInequality => Operator::Unequal,
            BinaryOperator::LessThan => Operator::Less,
            BinaryOperator::LessEqualThan => Operator::LessOrEqual,
            BinaryOperator::GreaterThan => Operator::Greater,
            BinaryOperator::GreaterEqualThan => Operator::GreaterOrEqual,
            BinaryOperator::In => return self.has_key(&left, &right),
            BinaryOperator::Instanceof => return Value::unknown("`instanceof` is not followed"),
            arithmetic => return self.arithmetic(arithmetic, &left, &right, at),
        };
        self.compare(operator, &left, &right)
    }

    fn has_key(&mut self, key: &Value<'a>, object: &Value<'a>) -> Value<'a> {
        let Some(key) = key.as_str().map(ToOwned::to_owned) else {
            return Value::unknown("`in` with a name that is known only at run time");
        };
        match object {
            Value::Object(_) => Value::Bool(object.field(&key).is_some()),
            Value::Answer(..) => {
                let member = self.member(object, &key, 0);
                Value::Test(Rc::new(Test::Compare(
                    Operator::Unequal,
                    member,
                    Value::Undefined,
                )))
            }
            _ => Value::unknown("`in` on a value that is known only at run time"),
        }
    }

    /// A comparison.
    pub(super) fn compare(
        &mut self,
        operator: Operator,
        left: &Value<'a>,
        right: &Value<'a>,
    ) -> Value<'a> {
        if let Some(known) = self.known_comparison(operator, left, right) {
            return Value::Bool(known);
        }
        if let Value::Unknown(why) = left {
            return Value::Unknown(Rc::clone(why));
        }
        if let Value::Unknown(why) = right {
            return Value::Unknown(Rc::clone(why));
        }
        // `text.indexOf(part) > -1`.
        if let (Value::Test(test), Value::Number(number)) = (left, right) {
            let is_found = matches!(
                operator,
                Operator::Unequal | Operator::Greater | Operator::GreaterOrEqual
            );
            if *number <= 0.0 {
                let test = if is_found {
                    Rc::clone(test)
                } else {
                    test.opposite()
                };
                return Value::Test(test);
            }
        }
        for (side, other, operator) in [(left, right, operator), (right, left, operator.mirrored())]
        {
            if let (Value::Random(random), Value::Number(bound)) = (side, other) {
                return Value::Test(Rc::new(Self::chance(*random, operator, *bound)));
            }
        }
        Value::Test(Rc::new(Test::Compare(
            operator,
            left.clone(),
            right.clone(),
        )))
    }

    fn known_comparison(
        &self,
        operator: Operator,
        left: &Value<'a>,
        right: &Value<'a>,
    ) -> Option<bool> {
        let is_equality = matches!(operator, Operator::Equal | Operator::Unequal);
        if is_equality && (left.is_nothing() || right.is_nothing()) {
            let other = if left.is_nothing() { right } else { left };
            let is_nothing = match other {
                Value::Undefined | Value::Null | Value::Variable(_, None) => true,
                Value::Answer(_, what) if !matches!(**what, super::answer::Answer::Whole) => {
                    return None;
                }
                Value::Unknown(_) => return None,
                _ => false,
            };
            return Some(is_nothing == (operator == Operator::Equal));
        }
        if let (Some(left), Some(right)) = (self.number(left), self.number(right)) {
            return Some(operator.holds(left, right));
        }
        let (left, right) = (self.known_text(left)?, self.known_text(right)?);
        Some(match operator {
            Operator::Equal => left == right,
            Operator::Unequal => left != right,
            Operator::Less => left < right,
            Operator::LessOrEqual => left <= right,
            Operator::Greater => left > right,
            Operator::GreaterOrEqual => left >= right,
        })
    }

    /// The share of a random number's values for which a comparison holds.
    fn chance(random: Random, operator: Operator, bound: f64) -> Test<'a> {
        if random.is_whole {
            return Test::Compare(operator, Value::Random(random), Value::Number(bound));
        }
        match operator {
            Operator::Less | Operator::LessOrEqual => {
                Test::Compare(Operator::Less, Value::Random(random), Value::Number(bound))
            }
            Operator::Greater | Operator::GreaterOrEqual => Test::Compare(
                Operator::GreaterOrEqual,
                Value::Random(random),
                Value::Number(bound),
            ),
            Operator::Equal => Test::Chance(0.0),
            Operator::Unequal => Test::Chance(1.0),
        }
    }

    /// `+ - * / %` and the bitwise operators.
    pub(super) fn arithmetic(
        &mut self,
        operator: BinaryOperator,
        left: &Value<'a>,
        right: &Value<'a>,
        at: u32,
    ) -> Value<'a> {
        let is_addition = operator == BinaryOperator::Addition;
        if is_addition && (is_texty(left) || is_texty(right)) {
            let mut text = self.text_of(left, at);
            let other = self.text_of(right, at);
            let len: usize = [&text, &other]
                .iter()
                .filter_map(|text| text.constant().map(str::len))
                .sum();
            if len > TEXT_LEN_MAX {
                return Value::unknown("a text is longer than 4 MiB");
            }
            text.push(&other);
            return Value::Text(Rc::new(text));
        }
        if let (Some(left), Some(right)) = (self.number(left), self.number(right)) {
            return Value::Number(calculated(operator, left, right));
        }
        if let Some(value) = self.symbolic(operator, left, right) {
            return value;
        }
        for side in [left, right] {
            if let Value::Unknown(why) = side {
                return Value::Unknown(Rc::clone(why));
            }
        }
        Value::unknown("arithmetic with values that are known only at run time")
    }

    /// Arithmetic with a counter or a random number and a constant.
    fn symbolic(
        &mut self,
        operator: BinaryOperator,
        left: &Value<'a>,
        right: &Value<'a>,
    ) -> Option<Value<'a>> {
        match (left, right) {
            (Value::Counter(counter), other) => {
                let constant = number::whole(self.number(other)?)?;
                counter_result(*counter, operator, constant).map(Value::Counter)
            }
            (other, Value::Counter(counter)) if operator == BinaryOperator::Addition => {
                let constant = number::whole(self.number(other)?)?;
                counter_result(*counter, operator, constant).map(Value::Counter)
            }
            (Value::Random(random), other) => {
                let constant = self.number(other)?;
                self.scaled(*random, operator, constant)
            }
            (other, Value::Random(random)) => {
                let constant = self.number(other)?;
                match operator {
                    BinaryOperator::Addition | BinaryOperator::Multiplication => {
                        self.scaled(*random, operator, constant)
                    }
                    BinaryOperator::Subtraction => {
                        let negative =
                            self.scaled(*random, BinaryOperator::Multiplication, -1.0)?;
                        let Value::Random(negative) = negative else {
                            return None;
                        };
                        self.scaled(negative, BinaryOperator::Addition, constant)
                    }
                    _ => None,
                }
            }
            // `list[random % n]`, a length that is known at run time.
            (Value::Answer(request, what), _) if operator == BinaryOperator::Subtraction => {
                Some(Value::Answer(*request, Rc::clone(what)))
            }
            _ => None,
        }
    }

    fn scaled(&mut self, random: Random, operator: BinaryOperator, by: f64) -> Option<Value<'a>> {
        let (low, high) = match operator {
            BinaryOperator::Addition => (random.low + by, random.high + by),
            BinaryOperator::Subtraction => (random.low - by, random.high - by),
            BinaryOperator::Multiplication if !random.is_whole => {
                (random.low * by, random.high * by)
            }
            BinaryOperator::Division if !random.is_whole && by != 0.0 => {
                (random.low / by, random.high / by)
            }
            // Whole numbers times a factor are thinned out; as a pause that makes no difference.
            BinaryOperator::Multiplication => {
                return Some(self.random(random.low * by, random.high * by, false));
            }
            BinaryOperator::Division if by != 0.0 => {
                return Some(self.random(random.low / by, random.high / by, false));
            }
            BinaryOperator::BitwiseOR if number::same(by, 0.0) => {
                return Some(self.rounded(random, f64::floor));
            }
            _ => return None,
        };
        Some(self.random(low.min(high), low.max(high), random.is_whole))
    }

    /// A random number made whole.
    pub(super) fn rounded(&mut self, random: Random, round: fn(f64) -> f64) -> Value<'a> {
        if random.is_whole {
            return Value::Random(random);
        }
        let low = round(random.low);
        // The upper bound itself never occurs.
        let high = round(random.high - random.high.abs().max(1.0) * 1e-12).max(low);
        self.random(low, high, true)
    }

    pub(super) fn unary(
        &mut self,
        operator: UnaryOperator,
        value: &Value<'a>,
        at: u32,
    ) -> Value<'a> {
        match operator {
            UnaryOperator::LogicalNot => match (value.truth(), Test::of(value)) {
                (Some(truth), _) => Value::Bool(!truth),
                (None, _) if matches!(value, Value::Unknown(_)) => value.clone(),
                (None, Some(test)) => Value::Test(test.opposite()),
                (None, None) => Value::unknown("a condition that is known only at run time"),
            },
            UnaryOperator::UnaryNegation => self.arithmetic(
                BinaryOperator::Multiplication,
                value,
                &Value::Number(-1.0),
                at,
            ),
            UnaryOperator::UnaryPlus => match self.number(value) {
                Some(number) => Value::Number(number),
                None => value.clone(),
            },
            UnaryOperator::BitwiseNot => match self.number(value) {
                Some(number) => Value::Number(f64::from(!number::bits(number))),
                None => Value::unknown("`~` of a value that is known only at run time"),
            },
            UnaryOperator::Typeof => type_name(value).map_or_else(
                || Value::unknown("`typeof` of a value that is known only at run time"),
                Value::text,
            ),
            UnaryOperator::Void => Value::Undefined,
            UnaryOperator::Delete => Value::Bool(true),
        }
    }
}

/// Whether `+` puts texts together.
fn is_texty(value: &Value<'_>) -> bool {
    matches!(
        value,
        Value::Text(_)
            | Value::File(_)
            | Value::Variable(..)
            | Value::Row(_)
            | Value::List(_)
            | Value::Object(_)
            | Value::Url(_)
            | Value::Answer(..)
    )
}

fn counter_result(counter: Counter, operator: BinaryOperator, by: i64) -> Option<Counter> {
    if counter.modulo.is_some() {
        return None;
    }
    match operator {
        BinaryOperator::Addition => Some(Counter {
            plus: counter.plus.checked_add(by)?,
            ..counter
        }),
        BinaryOperator::Subtraction => Some(Counter {
            plus: counter.plus.checked_sub(by)?,
            ..counter
        }),
        BinaryOperator::Remainder if by > 0 => Some(Counter {
            modulo: Some(by),
            ..counter
        }),
        _ => None,
    }
}

fn calculated(operator: BinaryOperator, left: f64, right: f64) -> f64 {
    let (a, b) = (number::bits(left), number::bits(right));
    let shift = b.rem_euclid(32).unsigned_abs();
    match operator {
        BinaryOperator::Addition => left + right,
        BinaryOperator::Subtraction => left - right,
        BinaryOperator::Multiplication => left * right,
        BinaryOperator::Division => left / right,
        BinaryOperator::Remainder => left % right,
        BinaryOperator::Exponential => left.powf(right),
        BinaryOperator::ShiftLeft => f64::from(a.wrapping_shl(shift)),
        BinaryOperator::ShiftRight => f64::from(a.wrapping_shr(shift)),
        BinaryOperator::ShiftRightZeroFill => f64::from(a.cast_unsigned().wrapping_shr(shift)),
        BinaryOperator::BitwiseOR => f64::from(a | b),
        BinaryOperator::BitwiseXOR => f64::from(a ^ b),
        BinaryOperator::BitwiseAnd => f64::from(a & b),
        _ => f64::NAN,
    }
}

fn type_name(value: &Value<'_>) -> Option<&'static str> {
    Some(match value {
        Value::Undefined | Value::Variable(_, None) => "undefined",
        Value::Bool(_) | Value::Test(_) => "boolean",
        Value::Number(_) | Value::Counter(_) | Value::Random(_) => "number",
        Value::Text(_) | Value::Variable(_, Some(_)) => "string",
        Value::Function(_) => "function",
        Value::Null | Value::List(_) | Value::Object(_) => "object",
        _ => return None,
    })
}
