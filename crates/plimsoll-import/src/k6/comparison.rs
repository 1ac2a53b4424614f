//! Conditions that are known at run time.

use std::rc::Rc;

use super::value::Value;

/// A condition.
#[derive(Clone, Debug)]
pub(super) enum Test<'a> {
    Compare(Operator, Value<'a>, Value<'a>),
    Truthy(Value<'a>),
    /// Whether a text contains another.
    Includes(Value<'a>, Value<'a>),
    Matches(Value<'a>, Rc<str>),
    /// Whether a value is one of these.
    OneOf(Value<'a>, Vec<Value<'a>>),
    /// True with this probability.
    Chance(f64),
    Not(Rc<Test<'a>>),
    And(Rc<Test<'a>>, Rc<Test<'a>>),
    Or(Rc<Test<'a>>, Rc<Test<'a>>),
}

/// An operator of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Operator {
    /// As a plan has it.
    pub(super) fn sign(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::Unequal => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }

    /// The operator that holds when this one does not.
    pub(super) fn opposite(self) -> Self {
        match self {
            Self::Equal => Self::Unequal,
            Self::Unequal => Self::Equal,
            Self::Less => Self::GreaterOrEqual,
            Self::LessOrEqual => Self::Greater,
            Self::Greater => Self::LessOrEqual,
            Self::GreaterOrEqual => Self::Less,
        }
    }

    /// The operator with its sides exchanged.
    pub(super) fn mirrored(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            same => same,
        }
    }

    /// Whether it holds between two numbers.
    pub(super) fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Self::Equal => super::number::same(left, right),
            Self::Unequal => !super::number::same(left, right),
            Self::Less => left < right,
            Self::LessOrEqual => left <= right,
            Self::Greater => left > right,
            Self::GreaterOrEqual => left >= right,
        }
    }
}

impl<'a> Test<'a> {
    /// What a value means as a condition; `None` if it is known already.
    pub(super) fn of(value: &Value<'a>) -> Option<Rc<Self>> {
        match value {
            Value::Test(test) => Some(Rc::clone(test)),
            other if other.truth().is_none() => Some(Rc::new(Self::Truthy(other.clone()))),
            _ => None,
        }
    }

    /// The opposite, with `not` as far inside as it goes.
    pub(super) fn opposite(self: &Rc<Self>) -> Rc<Self> {
        Rc::new(match &**self {
            Self::Compare(operator, left, right) => {
                Self::Compare(operator.opposite(), left.clone(), right.clone())
            }
            Self::Chance(chance) => Self::Chance(1.0 - chance),
            Self::Not(inner) => return Rc::clone(inner),
            Self::And(left, right) => Self::Or(left.opposite(), right.opposite()),
            Self::Or(left, right) => Self::And(left.opposite(), right.opposite()),
            _ => Self::Not(Rc::clone(self)),
        })
    }
}
