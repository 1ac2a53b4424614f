//! Parameters of an operation: which are sent, and with which value.

use super::documents::{Documents, Node};
use super::make::Maker;
use super::value::ExampleValue;
use crate::located::LocatedValue;

/// Where a parameter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Location {
    Path,
    Query,
    /// The whole query string (3.2).
    QueryString,
    Header,
    Cookie,
}

impl Location {
    fn of(word: &str) -> Option<Self> {
        Some(match word {
            "path" => Self::Path,
            "query" => Self::Query,
            "querystring" => Self::QueryString,
            "header" => Self::Header,
            "cookie" => Self::Cookie,
            _ => return None,
        })
    }

    fn default_style(self) -> Style {
        match self {
            Self::Path | Self::Header => Style::Simple,
            Self::Query | Self::QueryString | Self::Cookie => Style::Form,
        }
    }
}

/// How lists and objects are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Simple,
    Label,
    Matrix,
    Form,
    SpaceDelimited,
    PipeDelimited,
    DeepObject,
}

impl Style {
    pub(super) fn of(word: &str) -> Option<Self> {
        Some(match word {
            "simple" => Self::Simple,
            "label" => Self::Label,
            "matrix" => Self::Matrix,
            "form" | "cookie" => Self::Form,
            "spaceDelimited" => Self::SpaceDelimited,
            "pipeDelimited" => Self::PipeDelimited,
            "deepObject" => Self::DeepObject,
            _ => return None,
        })
    }
}

/// A parameter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameter<'d> {
    pub(super) node: Node<'d>,
    pub(super) name: &'d str,
    pub(super) location: Location,
    pub(super) style: Style,
    pub(super) explodes: bool,
    pub(super) allows_reserved: bool,
    /// Whether its value is a text of JSON.
    pub(super) is_json: bool,
}

/// Headers that a plan does not set.
const OWN_HEADERS: [&str; 3] = ["content-length", "transfer-encoding", "connection"];

impl<'d> Parameter<'d> {
    /// Why no request can have this parameter, if that is so.
    fn unsendable(&self) -> Option<String> {
        if self.location != Location::Header {
            return None;
        }
        let is_token =
            |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if self.name.is_empty() || !self.name.bytes().all(is_token) {
            return Some(format!("`{}` is not a name of a header", self.name));
        }
        OWN_HEADERS
            .iter()
            .any(|name| name.eq_ignore_ascii_case(self.name))
            .then(|| format!("the load generator sets {} itself", self.name))
    }

    /// Of a parameter object.
    fn of(node: Node<'d>) -> Option<Self> {
        let location = Location::of(node.word("in")?)?;
        let style = node
            .word("style")
            .and_then(Style::of)
            .unwrap_or_else(|| location.default_style());
        let explodes = match node.get("explode").map(|node| &node.value.value) {
            Some(LocatedValue::Bool(explodes)) => *explodes,
            _ => matches!(style, Style::Form | Style::DeepObject),
        };
        let media_type = content(node).map(|(name, _)| name);
        Some(Self {
            node,
            name: node.word("name")?,
            location,
            style,
            explodes,
            allows_reserved: node.is_set("allowReserved"),
            is_json: media_type.is_some_and(|name| name.contains("json")),
        })
    }

    /// Whether it is always sent.
    pub(super) fn is_required(&self) -> bool {
        self.location == Location::Path || self.node.is_set("required")
    }

    fn schema(&self) -> Option<Node<'d>> {
        let of_content = || content(self.node).and_then(|(_, media)| media.get("schema"));
        self.node.get("schema").or_else(of_content)
    }

    /// The value that is sent: one that the document gives; for required parameters also one by the schema.
    pub(super) fn value(
        &self,
        documents: &'d Documents<'_>,
        maker: &mut Maker<'_, 'd, '_>,
    ) -> Option<ExampleValue> {
        if !self.is_required() && self.node.is_set("deprecated") {
            return None;
        }
        let given = given(documents, self.node).or_else(|| {
            let (_, media) = content(self.node)?;
            given(documents, media)
        });
        let schema = self.schema();
        if let Some(value) = given {
            let value = match schema {
                Some(schema) => maker.constraints(schema).fitted(value),
                None => value,
            };
            if !self.is_hole(&value) {
                return Some(value);
            }
        }
        let Some(schema) = schema else {
            return self
                .is_required()
                .then(|| maker.variable(self.name, self.node, "the parameter has no schema"));
        };
        if !self.is_required() && !has_example(documents, schema) {
            return None;
        }
        let value = maker.value(self.name, schema);
        if self.is_hole(&value) {
            return Some(maker.variable(self.name, self.node, "an empty text ends the path"));
        }
        Some(value)
    }

    /// Whether a path would lack a segment.
    fn is_hole(&self, value: &ExampleValue) -> bool {
        self.location == Location::Path
            && match value {
                ExampleValue::Text(text) => text.is_empty(),
                ExampleValue::Null => true,
                value => value.is_empty(),
            }
    }
}

/// The one media type of a parameter's `content`.
fn content(node: Node<'_>) -> Option<(&str, Node<'_>)> {
    let (key, media) = node.get("content")?.entries().next()?;
    Some((&key.text, media))
}

/// `example`, or the first of `examples`, of a parameter or media type.
pub(super) fn given<'d>(documents: &'d Documents<'_>, node: Node<'d>) -> Option<ExampleValue> {
    if let Some(example) = node.get("example") {
        return Some(ExampleValue::from(example.value));
    }
    let examples = node.get("examples")?;
    let values = examples.entries().filter_map(|(_, example)| {
        let example = documents.resolve(example).ok()?;
        // 3.2 has a value that is data, and one that is written out.
        example.get("value").or_else(|| example.get("dataValue"))
    });
    let mut values = values.map(|node| ExampleValue::from(node.value));
    values.next()
}

/// Whether a schema has a value of its own that is worth sending; a default need not be sent.
fn has_example<'d>(documents: &'d Documents<'_>, schema: Node<'d>) -> bool {
    let schema = documents.resolve(schema).unwrap_or(schema);
    ["const", "example", "examples"]
        .iter()
        .any(|key| schema.get(key).is_some())
}

/// The parameters of an operation and of its path, which the operation's override; and those that cannot be read.
pub(super) fn parameters<'d>(
    documents: &'d Documents<'_>,
    item: Node<'d>,
    operation: Node<'d>,
) -> (Vec<Parameter<'d>>, Vec<(Node<'d>, String)>) {
    let mut list: Vec<Parameter<'d>> = Vec::new();
    let mut unreadable = Vec::new();
    for owner in [item, operation] {
        for node in owner.get("parameters").into_iter().flat_map(Node::items) {
            let parameter = match documents.resolve(node) {
                Ok(resolved) => Parameter::of(resolved),
                Err(unresolved) => {
                    let why = format!(
                        "$ref {} cannot be resolved: {}",
                        unresolved.reference, unresolved.why
                    );
                    unreadable.push((unresolved.at, why));
                    continue;
                }
            };
            let Some(parameter) = parameter else {
                let why =
                    "it needs a `name`, and `in` with path, query, header or cookie".to_owned();
                unreadable.push((node, why));
                continue;
            };
            if let Some(why) = parameter.unsendable() {
                unreadable.push((node, why));
                continue;
            }
            let known = list
                .iter_mut()
                .find(|known| (known.name, known.location) == (parameter.name, parameter.location));
            match known {
                Some(known) => *known = parameter,
                None => list.push(parameter),
            }
        }
    }
    (list, unreadable)
}
