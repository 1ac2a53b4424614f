//! Schemas: what `$ref`, `allOf` and the first branch of `oneOf` and `anyOf` require together.

mod merge;

use super::documents::{Documents, Node, Unresolved};
use super::value::ExampleValue;

/// A type of JSON Schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JsonType {
    Null,
    Boolean,
    Integer,
    Number,
    Text,
    List,
    Map,
}

impl JsonType {
    fn of(word: &str) -> Option<Self> {
        Some(match word {
            "null" => Self::Null,
            "boolean" => Self::Boolean,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "string" | "file" => Self::Text,
            "array" => Self::List,
            "object" => Self::Map,
            _ => return None,
        })
    }

    /// Whether a value of `other` may be one of this type.
    fn includes(self, other: Self) -> bool {
        self == other || (self == Self::Number && other == Self::Integer)
    }
}

/// A bound of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bound {
    pub(super) value: f64,
    pub(super) is_exclusive: bool,
}

/// What a schema requires of a value, all its parts together.
#[derive(Clone, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a keyword of its own"
)]
pub(super) struct Constraints<'d> {
    /// `None`: any.
    pub(super) types: Option<Vec<JsonType>>,
    pub(super) format: Option<&'d str>,
    pub(super) patterns: Vec<Node<'d>>,
    pub(super) encoding: Option<&'d str>,
    pub(super) media_type: Option<&'d str>,
    /// `const`, `example`, `examples` and `default`, the first preferred.
    pub(super) examples: Vec<Node<'d>>,
    /// Those of parts of `allOf` and the like: a part of an object is no example of the whole.
    pub(super) examples_of_parts: Vec<Node<'d>>,
    pub(super) choices: Option<Vec<Node<'d>>>,
    pub(super) min: Option<Bound>,
    pub(super) max: Option<Bound>,
    /// As written.
    pub(super) multiple_of: Option<String>,
    pub(super) min_len: u64,
    pub(super) max_len: Option<u64>,
    pub(super) items: Option<Node<'d>>,
    pub(super) first_items: Vec<Node<'d>>,
    pub(super) min_items: u64,
    pub(super) max_items: Option<u64>,
    pub(super) is_set: bool,
    pub(super) properties: Vec<(&'d str, Vec<Node<'d>>)>,
    pub(super) required: Vec<&'d str>,
    /// Properties that would make another branch of `oneOf` hold, too.
    pub(super) forbidden: Vec<&'d str>,
    pub(super) additional: Option<Node<'d>>,
    pub(super) min_properties: u64,
    pub(super) max_properties: Option<u64>,
    /// A property that names the schema, and the name.
    pub(super) discriminators: Vec<(&'d str, String)>,
    pub(super) is_nullable: bool,
    pub(super) is_read_only: bool,
    pub(super) is_deprecated: bool,
    /// `xml` of the schema.
    pub(super) xml: Option<Node<'d>>,
    /// Name of the schema, as the last part of its reference.
    pub(super) name: Option<String>,
    /// References that lead nowhere.
    pub(super) unresolved: Vec<Unresolved<'d>>,
    /// Keywords that made-up values do not take into account.
    pub(super) ignored: Vec<(&'static str, Node<'d>)>,
}

impl<'d> Constraints<'d> {
    /// What a schema requires.
    pub(super) fn of(documents: &'d Documents<'_>, schema: Node<'d>) -> Self {
        Self::of_all(documents, &[schema])
    }

    /// What several schemas require of one value.
    pub(super) fn of_all(documents: &'d Documents<'_>, schemas: &[Node<'d>]) -> Self {
        let mut constraints = Self::default();
        for schema in schemas {
            merge::merge(&mut constraints, documents, *schema);
        }
        constraints
    }

    /// The type of the values that are made: the first that is not null.
    pub(super) fn json_type(&self) -> JsonType {
        let known = self
            .types
            .iter()
            .flatten()
            .find(|kind| **kind != JsonType::Null);
        match known {
            Some(kind) => *kind,
            None if self.types.as_ref().is_some_and(|types| !types.is_empty()) => JsonType::Null,
            None => self.implied_type(),
        }
    }

    /// The type that the keywords are for.
    fn implied_type(&self) -> JsonType {
        let is_map = !self.properties.is_empty()
            || !self.required.is_empty()
            || self.additional.is_some()
            || self.min_properties > 0;
        let is_list = self.items.is_some() || !self.first_items.is_empty() || self.min_items > 0;
        let is_number = self.min.is_some() || self.max.is_some() || self.multiple_of.is_some();
        match () {
            () if is_map => JsonType::Map,
            () if is_list => JsonType::List,
            () if is_number => JsonType::Number,
            () => JsonType::Text,
        }
    }

    /// Whether a value of this type is allowed.
    pub(super) fn allows(&self, wanted: JsonType) -> bool {
        self.types
            .as_ref()
            .is_none_or(|types| types.iter().any(|kind| kind.includes(wanted)))
    }

    /// The value that the document gives: an example or the default. Read-only properties are for answers.
    pub(super) fn example(&self) -> Option<ExampleValue> {
        let is_map = self.json_type() == JsonType::Map;
        let parts = self.examples_of_parts.iter().filter(|_| !is_map);
        let node = self.examples.iter().chain(parts).next()?;
        let value = self.fitted(ExampleValue::from(node.value));
        // An empty example says less than the schema.
        (!value.is_empty() || self.properties.is_empty()).then_some(value)
    }

    /// A scalar as the type that the schema has: authors forget quotes, or set too many.
    pub(super) fn fitted(&self, value: ExampleValue) -> ExampleValue {
        match value {
            ExampleValue::Number(text)
                if !self.allows(JsonType::Number)
                    && !self.allows(JsonType::Integer)
                    && self.allows(JsonType::Text) =>
            {
                ExampleValue::Text(text)
            }
            ExampleValue::Bool(value)
                if !self.allows(JsonType::Boolean) && self.allows(JsonType::Text) =>
            {
                ExampleValue::Text(value.to_string())
            }
            ExampleValue::Text(text) if !self.allows(JsonType::Text) => self.unquoted(text),
            value => value,
        }
    }

    fn unquoted(&self, text: String) -> ExampleValue {
        let is_number = serde_json::from_str::<serde_json::Number>(&text).is_ok();
        let is_whole = text.parse::<i64>().is_ok();
        match text.as_str() {
            "true" | "false" if self.allows(JsonType::Boolean) => {
                ExampleValue::Bool(text == "true")
            }
            _ if is_number && self.allows(JsonType::Number) => ExampleValue::Number(text),
            _ if is_number && is_whole && self.allows(JsonType::Integer) => {
                ExampleValue::Number(text)
            }
            _ => ExampleValue::Text(text),
        }
    }
}
