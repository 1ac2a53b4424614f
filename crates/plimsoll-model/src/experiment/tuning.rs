//! Knobs: axes whose best levels are searched for, and constraints on them.
//!
//! The knobs of a [`Tuning`] are the axes of the design, in its order; a setting is a level for each of them. No setting is
//! listed: [`Tuning::violated`] judges the levels that a search proposes.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// Levels of a knob at most.
pub const KNOB_LEVELS_MAX: usize = 16;

/// Relative difference up to which two sides of a constraint are the same number.
const TOLERANCE: f64 = 1e-9;

/// What is searched.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tuning {
    /// The knobs, in the order of the axes.
    pub knobs: Vec<Knob>,
    /// What must hold between their levels.
    pub constraints: Vec<Constraint>,
    /// Numbers that the constraints use, by name: bytes, seconds, or plain numbers.
    pub quantities: BTreeMap<String, f64>,
}

/// An axis whose best level is searched for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Knob {
    /// Its name, that of the axis.
    pub name: String,
    /// Its levels, as a person wrote them.
    pub levels: Vec<String>,
    /// The levels as numbers: plain, bytes, or seconds; `None` for a level that is no number.
    pub numbers: Vec<Option<f64>>,
    /// Index of the level that stands today.
    pub default: usize,
    /// Index of a level that usually suffices, where it is known: the search tries it first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usual: Option<usize>,
    /// Whether the levels ascend, so that neighbours are alike; otherwise they are choices.
    pub is_ordered: bool,
    /// Whether the service restarts for another level.
    pub needs_restart: bool,
    /// What it does, for people.
    pub meaning: Option<String>,
}

/// What must hold between the levels of knobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Constraint {
    text: String,
    condition: ConstraintCondition,
}

/// What a constraint compares.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ConstraintCondition {
    /// Two numbers.
    Numbers {
        left: ConstraintTerm,
        relation: ConstraintRelation,
        right: ConstraintTerm,
    },
    /// The level of a knob.
    Level {
        knob: usize,
        level: usize,
        is_equal: bool,
    },
}

/// A number of a constraint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConstraintTerm {
    /// A number.
    Number(f64),
    /// The number of the level of the knob with this index.
    Knob(usize),
    /// The opposite of a number.
    Negative(Box<ConstraintTerm>),
    /// Arithmetic with two numbers.
    Operation {
        /// The left number.
        left: Box<ConstraintTerm>,
        /// The operator.
        operator: ConstraintOperator,
        /// The right number.
        right: Box<ConstraintTerm>,
    },
}

/// Arithmetic of constraints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConstraintOperator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
}

/// Relation of the two sides of a constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConstraintRelation {
    /// `<=`
    AtMost,
    /// `<`
    Below,
    /// `>=`
    AtLeast,
    /// `>`
    Above,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
}

impl Tuning {
    /// The levels that stand today.
    pub fn default_levels(&self) -> Vec<usize> {
        self.knobs.iter().map(|knob| knob.default).collect()
    }

    /// Whether all constraints hold for these levels, one for each knob.
    pub fn is_feasible(&self, levels: &[usize]) -> bool {
        self.violated(levels).is_none()
    }

    /// The text of the first constraint that does not hold for these levels, one for each knob.
    pub fn violated(&self, levels: &[usize]) -> Option<&str> {
        let mut constraints = self.constraints.iter();
        let violated = constraints.find(|constraint| !constraint.holds(&self.knobs, levels));
        violated.map(Constraint::text)
    }
}

impl Constraint {
    /// The constraint that two numbers have a relation.
    pub fn numbers(
        text: impl Into<String>,
        left: ConstraintTerm,
        relation: ConstraintRelation,
        right: ConstraintTerm,
    ) -> Self {
        Self {
            text: text.into(),
            condition: ConstraintCondition::Numbers {
                left,
                relation,
                right,
            },
        }
    }

    /// The constraint that a knob has a level, or that it does not have it.
    pub fn level(text: impl Into<String>, knob: usize, level: usize, is_equal: bool) -> Self {
        Self {
            text: text.into(),
            condition: ConstraintCondition::Level {
                knob,
                level,
                is_equal,
            },
        }
    }

    /// As a person wrote it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The indexes of the knobs in it.
    pub fn knobs(&self) -> BTreeSet<usize> {
        match &self.condition {
            ConstraintCondition::Level { knob, .. } => BTreeSet::from([*knob]),
            ConstraintCondition::Numbers { left, right, .. } => &left.knobs() | &right.knobs(),
        }
    }

    /// Whether it holds for these levels. One whose numbers are not defined there (by a division by zero) does not.
    pub fn holds(&self, knobs: &[Knob], levels: &[usize]) -> bool {
        match &self.condition {
            ConstraintCondition::Level {
                knob,
                level,
                is_equal,
            } => (levels.get(*knob) == Some(level)) == *is_equal,
            ConstraintCondition::Numbers { relation, .. } => self
                .sides(knobs, levels)
                .is_some_and(|(left, right)| relation.holds(left, right)),
        }
    }

    /// The numbers of its two sides; `None` where it compares no numbers, or where they are not defined.
    pub fn sides(&self, knobs: &[Knob], levels: &[usize]) -> Option<(f64, f64)> {
        match &self.condition {
            ConstraintCondition::Level { .. } => None,
            ConstraintCondition::Numbers { left, right, .. } => {
                Some((left.value(knobs, levels)?, right.value(knobs, levels)?))
            }
        }
    }
}

impl ConstraintTerm {
    /// The number for these levels; `None` where it is not defined.
    pub fn value(&self, knobs: &[Knob], levels: &[usize]) -> Option<f64> {
        let value = match self {
            Self::Number(value) => *value,
            Self::Knob(knob) => {
                let numbers = &knobs.get(*knob)?.numbers;
                numbers.get(*levels.get(*knob)?).copied().flatten()?
            }
            Self::Negative(term) => -term.value(knobs, levels)?,
            Self::Operation {
                left,
                operator,
                right,
            } => operator.apply(left.value(knobs, levels)?, right.value(knobs, levels)?),
        };
        value.is_finite().then_some(value)
    }

    /// The indexes of the knobs in it.
    pub fn knobs(&self) -> BTreeSet<usize> {
        match self {
            Self::Number(_) => BTreeSet::new(),
            Self::Knob(knob) => BTreeSet::from([*knob]),
            Self::Negative(term) => term.knobs(),
            Self::Operation { left, right, .. } => &left.knobs() | &right.knobs(),
        }
    }
}

impl ConstraintOperator {
    fn apply(self, left: f64, right: f64) -> f64 {
        match self {
            Self::Add => left + right,
            Self::Subtract => left - right,
            Self::Multiply => left * right,
            Self::Divide => left / right,
        }
    }
}

impl ConstraintRelation {
    fn holds(self, left: f64, right: f64) -> bool {
        let is_equal = (left - right).abs() <= TOLERANCE * left.abs().max(right.abs());
        match self {
            Self::AtMost => left < right || is_equal,
            Self::Below => left < right && !is_equal,
            Self::AtLeast => left > right || is_equal,
            Self::Above => left > right && !is_equal,
            Self::Equal => is_equal,
            Self::NotEqual => !is_equal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: f64 = (1_u64 << 30) as f64;

    fn knob(name: &str, levels: &[(&str, Option<f64>)]) -> Knob {
        Knob {
            name: name.to_owned(),
            levels: levels.iter().map(|(text, _)| (*text).to_owned()).collect(),
            numbers: levels.iter().map(|(_, number)| *number).collect(),
            default: 0,
            usual: None,
            is_ordered: true,
            needs_restart: false,
            meaning: None,
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

    /// `workers * 1GiB + buffers <= 8GiB` and `mode != fast`.
    fn tuning() -> Tuning {
        let used = operation(
            operation(
                ConstraintTerm::Knob(0),
                ConstraintOperator::Multiply,
                ConstraintTerm::Number(GIB),
            ),
            ConstraintOperator::Add,
            ConstraintTerm::Knob(1),
        );
        assert_eq!(used.knobs(), BTreeSet::from([0, 1]));
        let room = ConstraintTerm::Number(8.0 * GIB);
        let memory = Constraint::numbers("memory", used, ConstraintRelation::AtMost, room);
        let mut tuning = Tuning {
            knobs: vec![
                knob("workers", &[("2", Some(2.0)), ("4", Some(4.0))]),
                knob(
                    "buffers",
                    &[("4GiB", Some(4.0 * GIB)), ("5GiB", Some(5.0 * GIB))],
                ),
                knob("mode", &[("safe", None), ("fast", None)]),
            ],
            constraints: vec![memory, Constraint::level("mode", 2, 1, false)],
            quantities: BTreeMap::new(),
        };
        tuning.knobs[1].default = 1;
        tuning
    }

    #[test]
    fn the_first_constraint_that_does_not_hold_is_named() {
        let tuning = tuning();
        assert_eq!(tuning.default_levels(), [0, 1, 0]);
        assert!(tuning.is_feasible(&tuning.default_levels()));
        // Both sides are 8 GiB.
        assert_eq!(tuning.violated(&[1, 0, 0]), None);
        assert_eq!(tuning.violated(&[1, 1, 0]), Some("memory"));
        assert_eq!(tuning.violated(&[1, 1, 1]), Some("memory"));
        assert_eq!(tuning.violated(&[0, 0, 1]), Some("mode"));
        let sides = tuning.constraints[0].sides(&tuning.knobs, &[0, 0, 0]);
        assert_eq!(sides, Some((6.0 * GIB, 8.0 * GIB)));
        assert_eq!(tuning.constraints[1].sides(&tuning.knobs, &[0, 0, 0]), None);
    }

    #[test]
    fn what_is_not_defined_does_not_hold() {
        let number = ConstraintTerm::Number;
        let quotient = operation(number(1.0), ConstraintOperator::Divide, number(0.0));
        assert_eq!(quotient.value(&[], &[]), None);
        for relation in [ConstraintRelation::Below, ConstraintRelation::NotEqual] {
            let constraint = Constraint::numbers("", quotient.clone(), relation, number(9.0));
            assert!(!constraint.holds(&[], &[]));
        }
        // A choice has no number.
        assert_eq!(
            ConstraintTerm::Knob(2).value(&tuning().knobs, &[0, 0, 0]),
            None
        );
    }

    #[test]
    fn relations_forgive_rounding() {
        let sum = 0.1 + 0.2;
        let holds = |relation: ConstraintRelation| relation.holds(sum, 0.3);
        assert!(holds(ConstraintRelation::AtMost) && holds(ConstraintRelation::AtLeast));
        assert!(holds(ConstraintRelation::Equal) && !holds(ConstraintRelation::NotEqual));
        assert!(!holds(ConstraintRelation::Above) && !holds(ConstraintRelation::Below));
        assert!(ConstraintRelation::Below.holds(1.0, 2.0));
        assert!(ConstraintRelation::Above.holds(2.0, 1.0));
        assert!(ConstraintRelation::NotEqual.holds(2.0, 1.0));
        let opposite = ConstraintTerm::Negative(Box::new(ConstraintTerm::Number(2.0)));
        assert_eq!(opposite.value(&[], &[]), Some(-2.0));
    }
}
