//! Merges a schema into the constraints on a value.

use super::{Bound, Constraints, JsonType};
use crate::located::{Located, LocatedValue};
use crate::openapi::documents::{Documents, Node};
use crate::openapi::value::ExampleValue;

/// Deepest nesting of `allOf`, `oneOf`, `anyOf` and references of one value.
const DEPTH_MAX: usize = 24;
/// Most schemas of one value: each may name another twice.
const SCHEMAS_MAX: usize = 2_000;
/// Keywords that made-up values do not take into account.
const IGNORED: [&str; 12] = [
    "not",
    "if",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "contains",
    "propertyNames",
    "$dynamicRef",
    "$recursiveRef",
    "contentSchema",
    "unevaluatedProperties",
    "unevaluatedItems",
];

/// Adds what a schema requires.
pub(super) fn merge<'d>(
    into: &mut Constraints<'d>,
    documents: &'d Documents<'_>,
    schema: Node<'d>,
) {
    let mut merger = Merger {
        into,
        documents,
        open: Vec::new(),
        left: SCHEMAS_MAX,
    };
    merger.schema(schema, false);
}

struct Merger<'m, 'd, 's> {
    into: &'m mut Constraints<'d>,
    documents: &'d Documents<'s>,
    /// Schemas that are being merged, outermost first: one that contains itself adds nothing.
    open: Vec<Node<'d>>,
    left: usize,
}

impl<'d> Merger<'_, 'd, '_> {
    fn schema(&mut self, schema: Node<'d>, is_part: bool) {
        let is_open = self.open.iter().any(|open| open.is_same(schema));
        if self.open.len() >= DEPTH_MAX || self.left == 0 || is_open {
            return;
        }
        self.left -= 1;
        self.open.push(schema);
        self.reference(schema, is_part);
        self.examples(schema, is_part);
        self.types(schema);
        self.numbers(schema);
        self.texts(schema);
        self.lists(schema);
        self.maps(schema);
        self.marks(schema);
        for part in schema.get("allOf").into_iter().flat_map(Node::items) {
            self.schema(part, true);
        }
        for key in ["oneOf", "anyOf"] {
            if let Some(branches) = schema.get(key) {
                self.branches(key, branches);
            }
        }
        self.open.pop();
    }

    fn reference(&mut self, schema: Node<'d>, is_part: bool) {
        let Some(text) = schema.word("$ref") else {
            return;
        };
        if self.into.name.is_none() {
            self.into.name = text.rsplit(['/', '#']).next().map(str::to_owned);
        }
        // One step: the schema that it names may have keywords beside its own reference.
        match self.documents.target(schema, text) {
            Ok(target) => self.schema(target, is_part),
            Err(unresolved) => self.into.unresolved.push(unresolved),
        }
    }

    fn examples(&mut self, schema: Node<'d>, is_part: bool) {
        let listed = schema
            .get("examples")
            .into_iter()
            .flat_map(|examples| examples.items().take(1).collect::<Vec<_>>());
        let found: Vec<Node<'d>> = schema
            .get("const")
            .into_iter()
            .chain(schema.get("example"))
            .chain(listed)
            .chain(schema.get("default"))
            .filter(|node| node.value.value != LocatedValue::Null)
            .collect();
        let list = if is_part {
            &mut self.into.examples_of_parts
        } else {
            &mut self.into.examples
        };
        // Keywords beside a reference come before those of the schema that it names.
        list.splice(0..0, found);
        if let Some(choices) = schema.get("enum") {
            let choices: Vec<Node<'d>> = choices
                .items()
                .filter(|node| node.value.value != LocatedValue::Null)
                .collect();
            let kept = match self.into.choices.take() {
                Some(before) => before
                    .into_iter()
                    .filter(|choice| choices.iter().any(|other| is_equal(*choice, *other)))
                    .collect(),
                None => choices,
            };
            self.into.choices = Some(kept);
        }
    }

    fn types(&mut self, schema: Node<'d>) {
        let Some(node) = schema.get("type") else {
            return;
        };
        let words = node
            .text()
            .into_iter()
            .chain(node.items().filter_map(Node::text));
        let types: Vec<JsonType> = words.filter_map(JsonType::of).collect();
        self.into.is_nullable |= types.contains(&JsonType::Null) || schema.is_set("nullable");
        if types.is_empty() {
            return;
        }
        let kept = match self.into.types.take() {
            None => types,
            Some(before) => {
                let narrower = before.iter().flat_map(|narrow| {
                    types.iter().filter_map(move |other| {
                        if narrow.includes(*other) {
                            Some(*other)
                        } else {
                            other.includes(*narrow).then_some(*narrow)
                        }
                    })
                });
                let common: Vec<JsonType> = narrower.collect();
                if common.is_empty() { before } else { common }
            }
        };
        self.into.types = Some(kept);
    }

    fn numbers(&mut self, schema: Node<'d>) {
        let number = |key: &str| {
            schema.get(key).and_then(|node| match &node.value.value {
                LocatedValue::Number(text) => text.parse::<f64>().ok().filter(|n| n.is_finite()),
                _ => None,
            })
        };
        let into = &mut *self.into;
        // 3.0 has a flag beside the bound, 3.1 a bound of its own.
        for (key, flag, is_min) in [
            ("minimum", "exclusiveMinimum", true),
            ("maximum", "exclusiveMaximum", false),
        ] {
            let bounds = [
                number(key).map(|value| (value, schema.is_set(flag))),
                number(flag).map(|value| (value, true)),
            ];
            for (value, is_exclusive) in bounds.into_iter().flatten() {
                let new = Bound {
                    value,
                    is_exclusive,
                };
                let old = if is_min { &mut into.min } else { &mut into.max };
                let is_tighter = old.is_none_or(|old| {
                    let (is_beyond, is_before) = if is_min {
                        (value > old.value, value < old.value)
                    } else {
                        (value < old.value, value > old.value)
                    };
                    is_beyond || (is_exclusive && !is_before)
                });
                if is_tighter {
                    *old = Some(new);
                }
            }
        }
        if number("multipleOf").is_some_and(|step| step > 0.0) {
            into.multiple_of = schema
                .get("multipleOf")
                .and_then(|node| node.value.scalar());
        }
    }

    fn texts(&mut self, schema: Node<'d>) {
        let into = &mut *self.into;
        let words = [
            ("format", &mut into.format),
            ("contentEncoding", &mut into.encoding),
            ("contentMediaType", &mut into.media_type),
        ];
        for (key, slot) in words {
            if let Some(word) = schema.word(key) {
                *slot = Some(word);
            }
        }
        into.patterns.extend(schema.get("pattern"));
        raise(&mut into.min_len, whole(schema, "minLength"));
        lower(&mut into.max_len, whole(schema, "maxLength"));
    }

    fn lists(&mut self, schema: Node<'d>) {
        let into = &mut *self.into;
        if let Some(items) = schema.get("items") {
            into.items = Some(items);
        }
        if let Some(first) = schema.get("prefixItems") {
            into.first_items = first.items().collect();
        }
        raise(&mut into.min_items, whole(schema, "minItems"));
        lower(&mut into.max_items, whole(schema, "maxItems"));
        into.is_set |= schema.is_set("uniqueItems");
    }

    fn maps(&mut self, schema: Node<'d>) {
        let into = &mut *self.into;
        for (key, property) in schema.get("properties").into_iter().flat_map(Node::entries) {
            let known = into
                .properties
                .iter_mut()
                .find(|(name, _)| *name == key.text);
            match known {
                Some((_, list)) => list.push(property),
                None => into.properties.push((&key.text, vec![property])),
            }
        }
        for name in names(schema, "required") {
            if !into.required.contains(&name) {
                into.required.push(name);
            }
        }
        if let Some(additional) = schema.get("additionalProperties") {
            into.additional = Some(additional);
        }
        raise(&mut into.min_properties, whole(schema, "minProperties"));
        lower(&mut into.max_properties, whole(schema, "maxProperties"));
        if let Some(property) = schema
            .get("discriminator")
            .and_then(|node| node.word("propertyName"))
            && let Some(name) = self.into.name.clone()
        {
            let name = mapped(schema, &name).unwrap_or(name);
            self.into.discriminators.push((property, name));
        }
    }

    fn marks(&mut self, schema: Node<'d>) {
        let into = &mut *self.into;
        into.is_read_only |= schema.is_set("readOnly");
        into.is_deprecated |= schema.is_set("deprecated");
        if let Some(xml) = schema.get("xml") {
            into.xml = Some(xml);
        }
        for key in IGNORED {
            if let Some(node) = schema.get(key)
                && node.value.value != LocatedValue::Bool(true)
                && !(key.starts_with("unevaluated"))
            {
                into.ignored.push((key, node));
            }
        }
    }

    /// Takes the first branch that is not null. Of `oneOf`, the others must not hold as well.
    fn branches(&mut self, key: &str, branches: Node<'d>) {
        let all: Vec<Node<'d>> = branches.items().collect();
        self.into.is_nullable |= all.iter().any(|branch| is_null(*branch));
        let is_open = |branch: &&Node<'d>| {
            let target = self.documents.resolve(**branch).unwrap_or(**branch);
            !self.open.iter().any(|open| open.is_same(target)) && !is_null(target)
        };
        let Some(&first) = all.iter().find(is_open) else {
            return;
        };
        if let Some(property) = self
            .open
            .last()
            .and_then(|schema| schema.get("discriminator"))
            .and_then(|node| node.word("propertyName"))
            && let Some(reference) = first.word("$ref")
        {
            let schema = self.open[self.open.len() - 1];
            let name = reference.rsplit('/').next().unwrap_or(reference);
            let name = mapped(schema, name).unwrap_or_else(|| name.to_owned());
            self.into.discriminators.push((property, name));
        }
        self.schema(first, true);
        if key == "oneOf" {
            for other in all.iter().filter(|other| !other.is_same(first)) {
                let other = self.documents.resolve(*other).unwrap_or(*other);
                let more = names(other, "required");
                let own: Vec<&str> = more
                    .filter(|name| !self.into.required.contains(name))
                    .collect();
                self.into.forbidden.extend(own);
            }
        }
    }
}

/// The value of a discriminator that is mapped to the schema of this name.
fn mapped(schema: Node<'_>, name: &str) -> Option<String> {
    let mapping = schema.get("discriminator")?.get("mapping")?;
    mapping
        .entries()
        .find(|(_, target)| {
            let target = target.text().unwrap_or_default();
            target.rsplit('/').next() == Some(name)
        })
        .map(|(key, _)| key.text.clone())
}

fn is_null(schema: Node<'_>) -> bool {
    schema.word("type") == Some("null")
        || schema.get("enum").is_some_and(|choices| {
            let mut items = choices.items().peekable();
            items.peek().is_some() && items.all(|node| node.value.value == LocatedValue::Null)
        })
}

fn is_equal(first: Node<'_>, other: Node<'_>) -> bool {
    ExampleValue::from(first.value) == ExampleValue::from(other.value)
}

fn names<'d>(schema: Node<'d>, key: &str) -> impl Iterator<Item = &'d str> + use<'d> {
    let list: Vec<&'d str> = schema
        .get(key)
        .into_iter()
        .flat_map(|node| node.items().filter_map(Node::text).collect::<Vec<_>>())
        .collect();
    list.into_iter()
}

/// A count; some tools write it as `3.0`.
fn whole(schema: Node<'_>, key: &str) -> Option<u64> {
    let text = schema.value.get(key).and_then(Located::scalar)?;
    text.strip_suffix(".0").unwrap_or(&text).parse().ok()
}

fn raise(bound: &mut u64, new: Option<u64>) {
    *bound = (*bound).max(new.unwrap_or(0));
}

fn lower(bound: &mut Option<u64>, new: Option<u64>) {
    if let Some(new) = new {
        *bound = Some(bound.map_or(new, |old| old.min(new)));
    }
}
