//! Makes values by their schemas.

mod number;
mod pattern;
mod text;

use super::chance::Chance;
use super::documents::{Documents, Node};
use super::schema::{Constraints, JsonType};
use super::value::ExampleValue;
use super::variables::Variables;
use crate::located::LocatedValue;

/// Deepest value that is made.
const DEPTH_MAX: usize = 16;
/// Deepest value in which properties that need not be there are.
const OPTIONAL_DEPTH_MAX: usize = 5;
/// Most values of one request that need not be there.
const OPTIONAL_MAX: usize = 400;
/// Most values of one request: each schema may require another twice.
const VALUES_MAX: usize = 5_000;
/// Most items of a list.
const ITEMS_MAX: u64 = 1000;
/// How often another value is made until it differs from the others of a set.
const DISTINCT_TRIES: usize = 50;

/// Makes the values of one request.
pub(super) struct Maker<'m, 'd, 's> {
    documents: &'d Documents<'s>,
    variables: &'m mut Variables<'d>,
    chance: Chance,
    /// Schemas whose values are being made.
    open: Vec<Node<'d>>,
    optional_left: usize,
    left: usize,
    /// Keywords that were not taken into account.
    pub(super) ignored: Vec<(&'static str, Node<'d>)>,
}

impl<'m, 'd, 's> Maker<'m, 'd, 's> {
    pub(super) fn new(
        documents: &'d Documents<'s>,
        variables: &'m mut Variables<'d>,
        chance: Chance,
    ) -> Self {
        Self {
            documents,
            variables,
            chance,
            open: Vec::new(),
            optional_left: OPTIONAL_MAX,
            left: VALUES_MAX,
            ignored: Vec::new(),
        }
    }

    /// A variable in the place of a value that cannot be made.
    pub(super) fn variable(&mut self, name: &str, at: Node<'d>, why: &str) -> ExampleValue {
        let meaning = format!("the value of {name}; {why}");
        ExampleValue::Variable(self.variables.value(name, at, meaning))
    }

    /// The same for a value that need not be a text.
    pub(super) fn json_variable(&mut self, name: &str, at: Node<'d>, why: &str) -> ExampleValue {
        let meaning = format!("the value of {name} as JSON; {why}");
        ExampleValue::JsonVariable(self.variables.value(name, at, meaning))
    }

    /// What a schema requires.
    pub(super) fn constraints(&self, schema: Node<'d>) -> Constraints<'d> {
        Constraints::of(self.documents, schema)
    }

    /// A value for `name`: an example of the schema, or made up; a variable where that is not possible.
    pub(super) fn value(&mut self, name: &str, schema: Node<'d>) -> ExampleValue {
        match self.make(name, &[schema]) {
            Some(value) => value,
            None => self.json_variable(
                name,
                schema,
                "its schema requires itself, or too many values",
            ),
        }
    }

    /// `None` if the schemas require a value within itself without end.
    fn make(&mut self, name: &str, schemas: &[Node<'d>]) -> Option<ExampleValue> {
        let constraints = Constraints::of_all(self.documents, schemas);
        self.made(name, schemas, &constraints)
    }

    fn made(
        &mut self,
        name: &str,
        schemas: &[Node<'d>],
        constraints: &Constraints<'d>,
    ) -> Option<ExampleValue> {
        self.left = self.left.checked_sub(1)?;
        if let Some(value) = constraints.example() {
            return Some(value);
        }
        if let Some(unresolved) = constraints.unresolved.first() {
            let why = format!(
                "$ref {} cannot be resolved: {}",
                unresolved.reference, unresolved.why
            );
            return Some(self.json_variable(name, unresolved.at, &why));
        }
        self.ignored.extend(&constraints.ignored);
        if let Some(choices) = &constraints.choices {
            let chosen = self.chance.pick(choices)?;
            return Some(constraints.fitted(ExampleValue::from(chosen.value)));
        }
        if self.open.len() >= DEPTH_MAX {
            return None;
        }
        let at = *schemas.first()?;
        self.open.push(self.documents.resolve(at).unwrap_or(at));
        let value = self.of_type(name, at, constraints);
        self.open.pop();
        value
    }

    fn of_type(
        &mut self,
        name: &str,
        at: Node<'d>,
        constraints: &Constraints<'d>,
    ) -> Option<ExampleValue> {
        let numeric = |made: Option<String>| made.map(ExampleValue::Number);
        let made = match constraints.json_type() {
            JsonType::Null => Some(ExampleValue::Null),
            JsonType::Boolean => Some(ExampleValue::Bool(self.chance.below(2) == 1)),
            JsonType::Integer => numeric(number::integer(constraints, &mut self.chance)),
            JsonType::Number => numeric(number::number(constraints, &mut self.chance)),
            JsonType::List => return self.list(name, constraints),
            JsonType::Map => return self.map(constraints),
            JsonType::Text => match text::text(constraints, &mut self.chance) {
                Ok(text) => Some(ExampleValue::Text(text)),
                Err(why) => {
                    let at = constraints.patterns.first().copied().unwrap_or(at);
                    return Some(self.variable(name, at, &why));
                }
            },
        };
        Some(made.unwrap_or_else(|| self.json_variable(name, at, "no number is within its bounds")))
    }

    fn list(&mut self, name: &str, constraints: &Constraints<'d>) -> Option<ExampleValue> {
        let min = constraints.min_items;
        let most = constraints.max_items.unwrap_or(u64::MAX);
        let ends_early = constraints
            .items
            .is_some_and(|items| items.value.value == LocatedValue::Bool(false));
        let first = constraints.first_items.len() as u64;
        let wanted = if ends_early {
            first
        } else {
            min.max(1).max(first)
        };
        let wanted = wanted.min(most);
        if min > ITEMS_MAX {
            return None;
        }
        let mut items: Vec<ExampleValue> = Vec::new();
        for place in 0..wanted {
            let schema = usize::try_from(place)
                .ok()
                .and_then(|place| constraints.first_items.get(place).copied())
                .or(constraints.items);
            match self.item(name, schema, constraints.is_set.then_some(&items)) {
                Some(item) => items.push(item),
                None if place >= min => break,
                None => return None,
            }
        }
        Some(ExampleValue::List(items))
    }

    /// An item that is none of `others`.
    fn item(
        &mut self,
        name: &str,
        schema: Option<Node<'d>>,
        others: Option<&Vec<ExampleValue>>,
    ) -> Option<ExampleValue> {
        let is_new = |value: &ExampleValue| others.is_none_or(|others| !others.contains(value));
        for _ in 0..DISTINCT_TRIES {
            let value = match schema {
                Some(schema) if self.is_open(schema) && self.open.len() >= OPTIONAL_DEPTH_MAX => {
                    return None;
                }
                Some(schema) => self.make(name, &[schema])?,
                None => {
                    ExampleValue::Text(text::text(&Constraints::default(), &mut self.chance).ok()?)
                }
            };
            if is_new(&value) {
                return Some(value);
            }
        }
        None
    }

    /// Whether a value of this schema is being made already.
    fn is_open(&self, schema: Node<'d>) -> bool {
        let target = self.documents.resolve(schema).unwrap_or(schema);
        self.open.iter().any(|open| open.is_same(target))
    }

    fn map(&mut self, constraints: &Constraints<'d>) -> Option<ExampleValue> {
        let mut entries: Vec<(String, ExampleValue)> = Vec::new();
        let most = constraints.max_properties.unwrap_or(u64::MAX);
        // Those that must be there come first where not all may be.
        let mut left = most.saturating_sub(constraints.required.len() as u64);
        for (name, schemas) in &constraints.properties {
            let property = Constraints::of_all(self.documents, schemas);
            if property.is_read_only {
                continue;
            }
            let is_required = constraints.required.contains(name);
            if !is_required {
                let is_left_out = left == 0
                    || property.is_deprecated
                    || constraints.forbidden.contains(name)
                    || !self.has_room_for(schemas);
                if is_left_out {
                    continue;
                }
                self.optional_left -= 1;
                left -= 1;
            }
            if is_required
                && property.is_nullable
                && schemas.iter().any(|schema| self.is_open(*schema))
            {
                entries.push(((*name).to_owned(), ExampleValue::Null));
                continue;
            }
            match self.made(name, schemas, &property) {
                Some(value) => entries.push(((*name).to_owned(), value)),
                None if is_required && property.is_nullable => {
                    entries.push(((*name).to_owned(), ExampleValue::Null));
                }
                None if is_required => return None,
                None => {}
            }
        }
        self.undeclared(constraints, &mut entries)?;
        for (property, name) in &constraints.discriminators {
            if let Some((_, value)) = entries.iter_mut().find(|(known, _)| known == property) {
                *value = ExampleValue::Text(name.clone());
            }
        }
        Some(ExampleValue::Map(entries))
    }

    /// Whether a property that need not be there is made.
    fn has_room_for(&self, schemas: &[Node<'d>]) -> bool {
        self.optional_left > 0
            && self.open.len() < OPTIONAL_DEPTH_MAX
            && !schemas.iter().any(|schema| self.is_open(*schema))
    }

    /// Properties that are required without a schema of their own, and as many as there must be.
    fn undeclared(
        &mut self,
        constraints: &Constraints<'d>,
        entries: &mut Vec<(String, ExampleValue)>,
    ) -> Option<()> {
        let schema = constraints
            .additional
            .filter(|node| matches!(node.value.value, LocatedValue::Map(_)));
        let is_closed = constraints
            .additional
            .is_some_and(|node| node.value.value == LocatedValue::Bool(false));
        let is_declared = |name: &str| {
            constraints
                .properties
                .iter()
                .any(|(known, _)| *known == name)
        };
        let mut names: Vec<String> = constraints
            .required
            .iter()
            .filter(|name| !is_declared(name))
            .map(|name| (*name).to_owned())
            .collect();
        let has_entries = !entries.is_empty() || !names.is_empty();
        let wished = u64::from(schema.is_some() && !has_entries && !constraints.is_read_only);
        let wanted = constraints.min_properties.max(wished).min(ITEMS_MAX);
        let mut number = 0;
        while !is_closed && ((entries.len() + names.len()) as u64) < wanted {
            number += 1;
            names.push(format!("key{number}"));
        }
        for name in names {
            match self.item(&name, schema, None) {
                Some(value) => entries.push((name, value)),
                None if constraints.required.contains(&name.as_str()) => return None,
                None => {}
            }
        }
        Some(())
    }
}
