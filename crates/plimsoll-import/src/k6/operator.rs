//! Operators: exact on what is known, and as templates or conditions on what is known at run time.

use std::rc::Rc;

use oxc_ast::ast::{BinaryExpression, BinaryOperator, UnaryOperator};

use super::answer::Answer;
use super::comparison::{Operator, Test};
use super::machine::{Machine, TEXT_LEN_MAX};
use super::number;
use super::text::{Hole, Text, quoted};
use super::value::{Counted, Counter, Random, Value};

impl<'a> Machine<'a, '_> {
    /// A value as text.
    pub(super) fn text_of(&mut self, value: &Value<'a>, at: u32) -> Text {
        match value {
            Value::Undefined => Text::literal("undefined"),
            Value::Null => Text::literal("null"),
            Value::Bool(value) => Text::literal(value.to_string()),
            Value::Number(number) => Text::literal(number::shown(*number)),
            Value::Text(text) => (**text).clone(),
            Value::File(file) => match &file.text {
                Some(text) => Text::literal(&**text),
                None => self.missing(&file.path, "the content of a binary file", at),
            },
            Value::List(list) => {
                let items = list.items.borrow().clone();
                if !self.work(at) || !self.enter(at) {
                    return Text::default();
                }
                let text = self.joined(&items, &Text::literal(","), at);
                self.leave();
                text
            }
            Value::Url(url) => url.0.clone(),
            Value::Regex(regex) => Text::literal(format!("/{regex}/")),
            Value::Variable(name, default) => self.variable_text(name, default.as_deref(), at),
            Value::Counter(counter) => self.counter_text(*counter, at),
            Value::Random(random) => self.random_text(*random, at),
            Value::Row(row) => self.row_text(row, at),
            Value::Answer(request, what) => match self.capture(*request, what) {
                Some(hole) => Text::hole(hole),
                None if matches!(&**what, Answer::Other(name) if name == "url") => {
                    self.note(
                        "res.url is the URL of the request in the plan, also after a redirect",
                    );
                    self.requests
                        .get(*request)
                        .map(|request| request.url.clone())
                        .unwrap_or_default()
                }
                None => self.missing("value", &format!("{} in a text", what.words()), at),
            },
            Value::Object(_) => Text::literal("[object Object]"),
            Value::Native(path) if &**path == "Date()" => {
                self.lose(
                    at,
                    "a date as text",
                    "a plan has the time as seconds or milliseconds only",
                    "use `{{ now() }}` or `{{ now_ms() }}`, or write a fixed date",
                );
                Text::hole(Hole::volatile("now()"))
            }
            Value::Unknown(why) => {
                let why = why.to_string();
                self.missing("value", &why, at)
            }
            Value::Function(_)
            | Value::Native(_)
            | Value::Test(_)
            | Value::Part(_)
            | Value::Socket(_) => {
                self.missing("value", "a function or condition used as a text", at)
            }
        }
    }

    /// A value that nobody knows: a variable of the environment, without which the plan does not run.
    pub(super) fn missing(&mut self, hint: &str, what: &str, at: u32) -> Text {
        let key = (self.module, at, what.to_owned());
        let known = self.missing_names.get(&key).cloned();
        let name = known.unwrap_or_else(|| format!("K6_{}", self.slot(hint).to_ascii_uppercase()));
        self.missing_names.insert(key, name.clone());
        self.lose(
            at,
            what,
            "the value is known only when the script runs",
            &format!("set the environment variable {name}, or write the value in place of it"),
        );
        Text::hole(Hole::stable(format!("env('{name}')")))
    }

    fn variable_text(&mut self, name: &str, default: Option<&str>, at: u32) -> Text {
        if let Some(value) = self.variables.get(name) {
            return Text::literal(value.clone());
        }
        let Some(written) = quoted(name) else {
            return self.missing(
                "variable",
                "a variable with braces or quotes in its name",
                at,
            );
        };
        let expression = match default.map(quoted) {
            None => format!("env({written})"),
            Some(Some(default)) => format!("env({written}, {default})"),
            Some(None) => {
                self.lose(
                    at,
                    format!("the default of __ENV.{name}"),
                    "a plan cannot quote it",
                    &format!("set {name} when the plan runs"),
                );
                format!("env({written})")
            }
        };
        Text::hole(Hole {
            likely: Some(Rc::from(default.unwrap_or_default())),
            ..Hole::stable(expression)
        })
    }

    fn counter_text(&mut self, counter: Counter, at: u32) -> Text {
        let (expression, first, words) = match counter.of {
            Counted::User => ("user", 0, "__VU"),
            Counted::Iteration => ("iteration", 1, "__ITER"),
            Counted::Total => ("iteration", 1, "exec.scenario.iterationInTest"),
        };
        if counter.plus != first || counter.modulo.is_some() || counter.of == Counted::Total {
            let remedy = format!(
                "the plan has `{{{{ {expression} }}}}`, which counts from 1; adapt the text to that"
            );
            self.lose(
                at,
                format!("arithmetic with {words}"),
                "a plan has `user` and `iteration`, which count from 1, and no arithmetic",
                &remedy,
            );
        }
        Text::hole(Hole::stable(expression).number())
    }

    fn random_text(&mut self, random: Random, at: u32) -> Text {
        if let Some(name) = self.random_slots.get(&random.id) {
            return Text::hole(Hole::stable(name.clone()).number());
        }
        if !random.is_whole {
            self.lose(
                at,
                "Math.random() in a text",
                "a plan draws whole numbers only",
                "use Math.floor(Math.random() * N), or `{{ random_int(0, 1000000) }}`",
            );
            return Text::hole(Hole::volatile("random_int(0, 1000000)").number());
        }
        let (low, high) = (number::shown(random.low), number::shown(random.high));
        Text::hole(Hole::volatile(format!("random_int({low}, {high})")).number())
    }

    /// Texts of values with another between them.
    pub(super) fn joined(&mut self, items: &[Value<'a>], between: &Text, at: u32) -> Text {
        let mut text = Text::default();
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                text.push(between);
            }
            if !item.is_nothing() {
                let part = self.text_of(item, at);
                text.push(&part);
            }
        }
        text
    }

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

    /// A text that is known now; that of a variable is its default.
    pub(super) fn known_text(&self, value: &Value<'a>) -> Option<String> {
        match value {
            Value::Text(text) => text.likely(),
            Value::Variable(name, default) => match self.variables.get(&**name) {
                Some(value) => Some(value.clone()),
                None => default.as_ref().map(ToString::to_string),
            },
            Value::Bool(value) => Some(value.to_string()),
            _ => None,
        }
    }

    /// A number that is known now.
    pub(super) fn number(&self, value: &Value<'a>) -> Option<f64> {
        match value {
            Value::Number(number) => Some(*number),
            Value::Bool(value) => Some(f64::from(u8::from(*value))),
            Value::Null => Some(0.0),
            Value::Variable(..) | Value::Text(_) => {
                let number = number::parsed(&self.known_text(value)?);
                (!number.is_nan()).then_some(number)
            }
            _ => None,
        }
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
