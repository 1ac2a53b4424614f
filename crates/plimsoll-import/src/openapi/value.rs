//! Values for parameters and bodies: examples of the document, or made up by a schema.

use std::fmt::Write as _;

use percent_encoding::{AsciiSet, utf8_percent_encode};

use crate::located::{Located, LocatedValue};
use crate::script::Template;
use crate::script::encoding::COMPONENT;
use crate::yaml::{YamlEntry, YamlNode};

/// Deepest value that is written as YAML below a step; a plan has 64 levels.
const YAML_DEPTH_MAX: usize = 32;

/// As [`COMPONENT`], where reserved characters are allowed and mean nothing else.
const RESERVED: &AsciiSet = &COMPONENT
    .remove(b':')
    .remove(b'/')
    .remove(b'?')
    .remove(b'[')
    .remove(b']')
    .remove(b'@')
    .remove(b'!')
    .remove(b'$')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b',')
    .remove(b';')
    .remove(b'=');

/// How a value is encoded where it is inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Plain,
    /// Percent-encoded, as a part of a URL.
    Component,
    /// Percent-encoded but for reserved characters.
    Reserved,
}

impl Encoding {
    pub(super) fn literal(self, text: &str) -> Template {
        match self {
            Self::Plain => Template::literal(text),
            Self::Component => Template::literal(&utf8_percent_encode(text, COMPONENT).to_string()),
            Self::Reserved => Template::literal(&utf8_percent_encode(text, RESERVED).to_string()),
        }
    }

    fn expression(self, expression: &str) -> Template {
        match self {
            Self::Plain => Template::expression(expression),
            Self::Component | Self::Reserved => {
                Template::expression(&format!("urlencode({expression})"))
            }
        }
    }
}

/// A value for a request.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ExampleValue {
    Null,
    Bool(bool),
    /// In the notation of JSON.
    Number(String),
    Text(String),
    /// What only the author knows: a variable of the environment.
    Variable(String),
    /// The same for what need not be a text: its variable holds JSON.
    JsonVariable(String),
    List(Vec<Self>),
    Map(Vec<(String, Self)>),
}

impl From<&Located> for ExampleValue {
    fn from(node: &Located) -> Self {
        match &node.value {
            LocatedValue::Null => Self::Null,
            LocatedValue::Bool(value) => Self::Bool(*value),
            LocatedValue::Number(text) => Self::Number(json_number(text)),
            LocatedValue::Text(text) => Self::Text(text.clone()),
            LocatedValue::List(items) => Self::List(items.iter().map(Self::from).collect()),
            LocatedValue::Map(entries) => Self::Map(
                entries
                    .iter()
                    .map(|(key, value)| (key.text.clone(), Self::from(value)))
                    .collect(),
            ),
        }
    }
}

/// A number in the notation of JSON: YAML also has `+1`, `.5`, `5.` and `007`.
fn json_number(text: &str) -> String {
    let (sign, rest) = match text.strip_prefix(['+', '-']) {
        Some(rest) if text.starts_with('-') => ("-", rest),
        Some(rest) => ("", rest),
        None => ("", text),
    };
    let mantissa_len = rest.find(['e', 'E']).unwrap_or(rest.len());
    let (mantissa, exponent) = rest.split_at(mantissa_len);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{whole}{point}{fraction}{exponent}")
}

impl ExampleValue {
    /// A text, number or boolean as text; nothing of any other value.
    pub(super) fn scalar(&self, encoding: Encoding) -> Option<Template> {
        Some(match self {
            Self::Null => Template::default(),
            Self::Bool(value) => encoding.literal(&value.to_string()),
            Self::Number(text) | Self::Text(text) => encoding.literal(text),
            Self::Variable(name) | Self::JsonVariable(name) => {
                encoding.expression(&format!("env('{name}')"))
            }
            Self::List(_) | Self::Map(_) => return None,
        })
    }

    /// As JSON.
    pub(super) fn json(&self, encoding: Encoding) -> Template {
        let mut pieces = JsonPieces {
            encoding,
            done: Template::default(),
            literal: String::new(),
        };
        pieces.value(self);
        pieces.finish()
    }

    /// As text: a scalar as it is, anything else as JSON.
    pub(super) fn plain(&self, encoding: Encoding) -> Template {
        self.scalar(encoding).unwrap_or_else(|| self.json(encoding))
    }

    /// As the value of a step's `json`, if it can be one.
    pub(super) fn yaml(&self) -> Option<YamlNode> {
        // A text there is JSON already.
        if !matches!(self, Self::List(_) | Self::Map(_)) {
            return None;
        }
        self.yaml_node(YAML_DEPTH_MAX)
    }

    fn yaml_node(&self, depth: usize) -> Option<YamlNode> {
        let below = depth.checked_sub(1)?;
        Some(match self {
            Self::Null => YamlNode::plain("null"),
            Self::Bool(value) => YamlNode::plain(value),
            Self::Number(text) if is_finite(text) => YamlNode::plain(text),
            // In a plan's `json` it would become a text.
            Self::Number(_) | Self::JsonVariable(_) => return None,
            Self::Text(_) | Self::Variable(_) => {
                YamlNode::text(self.plain(Encoding::Plain).as_str())
            }
            Self::List(items) => {
                let items: Option<Vec<_>> =
                    items.iter().map(|item| item.yaml_node(below)).collect();
                YamlNode::list(items?)
            }
            Self::Map(entries) => {
                let entries: Option<Vec<_>> = entries
                    .iter()
                    .map(|(key, value)| {
                        // A key of this name merges maps.
                        let key = (key != "<<").then_some(key)?;
                        Some(YamlEntry::new(key, value.yaml_node(below)?))
                    })
                    .collect();
                YamlNode::Map(entries?)
            }
        })
    }

    /// Whether it is a map or list without values.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::List(items) => items.is_empty(),
            Self::Map(entries) => entries.is_empty(),
            _ => false,
        }
    }
}

fn is_finite(number: &str) -> bool {
    number.parse::<f64>().is_ok_and(f64::is_finite)
}

/// JSON between placeholders.
struct JsonPieces {
    encoding: Encoding,
    done: Template,
    literal: String,
}

impl JsonPieces {
    fn value(&mut self, value: &ExampleValue) {
        match value {
            ExampleValue::Null => self.literal.push_str("null"),
            ExampleValue::Bool(value) => {
                let _ = write!(self.literal, "{value}");
            }
            ExampleValue::Number(text) => self.literal.push_str(text),
            ExampleValue::Text(text) => self.text(text),
            ExampleValue::Variable(name) => {
                self.literal.push('"');
                self.flush();
                let escaped = self.encoding.expression(&format!("json(env('{name}'))"));
                self.done.push(&escaped);
                self.literal.push('"');
            }
            ExampleValue::JsonVariable(name) => {
                self.flush();
                let whole = self.encoding.expression(&format!("env('{name}')"));
                self.done.push(&whole);
            }
            ExampleValue::List(items) => {
                self.literal.push('[');
                for (place, item) in items.iter().enumerate() {
                    self.comma(place);
                    self.value(item);
                }
                self.literal.push(']');
            }
            ExampleValue::Map(entries) => {
                self.literal.push('{');
                for (place, (key, value)) in entries.iter().enumerate() {
                    self.comma(place);
                    self.text(key);
                    self.literal.push(':');
                    self.value(value);
                }
                self.literal.push('}');
            }
        }
    }

    fn comma(&mut self, place: usize) {
        if place > 0 {
            self.literal.push(',');
        }
    }

    fn text(&mut self, text: &str) {
        let quoted = serde_json::Value::from(text).to_string();
        self.literal.push_str(&quoted);
    }

    fn flush(&mut self) {
        self.done.push(&self.encoding.literal(&self.literal));
        self.literal.clear();
    }

    fn finish(mut self) -> Template {
        self.flush();
        self.done
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::located;

    fn value(yaml: &str) -> ExampleValue {
        ExampleValue::from(&located::yaml(yaml).unwrap())
    }

    #[test]
    fn numbers_become_numbers_of_json() {
        let check =
            |yaml: &str, json: &str| assert_eq!(value(yaml).json(Encoding::Plain).as_str(), json);
        check("+1", "1");
        check("-.5", "-0.5");
        check("5.", "5");
        check("007", "7");
        check("-0.50e+3", "-0.50e+3");
        check("0", "0");
        check("12345678901234567890123", "12345678901234567890123");
    }

    #[test]
    fn variables_are_escaped_where_they_are_inserted() {
        let value = ExampleValue::Map(vec![
            ("a\"".to_owned(), ExampleValue::Variable("ID".to_owned())),
            ("b".to_owned(), ExampleValue::Text("{{x}}\n".to_owned())),
        ]);
        assert_eq!(
            value.json(Encoding::Plain).as_str(),
            r#"{"a\"":"{{ json(env('ID')) }}","b":"{{ pick('{{') }}x}}\n"}"#
        );
        let tree = ExampleValue::JsonVariable("TREE".to_owned());
        let list = ExampleValue::List(vec![tree.clone(), ExampleValue::Null]);
        assert_eq!(
            list.json(Encoding::Plain).as_str(),
            "[{{ env('TREE') }},null]"
        );
        assert!(list.yaml().is_none() && tree.yaml().is_none());
        let text = format!("{:?}", value.yaml().unwrap());
        assert!(text.contains("{{ env('ID') }}"), "{text}");
    }

    #[test]
    fn what_a_plan_would_read_as_something_else_is_no_yaml() {
        assert!(value("[1e999]").yaml().is_none());
        let merging = ExampleValue::Map(vec![("<<".to_owned(), ExampleValue::Null)]);
        assert!(merging.yaml().is_none());
        assert!(value("\"text\"").yaml().is_none());
    }

    fn any_value() -> impl Strategy<Value = ExampleValue> {
        let leaf = prop_oneof![
            Just(ExampleValue::Null),
            any::<bool>().prop_map(ExampleValue::Bool),
            any::<i64>().prop_map(|number| ExampleValue::Number(number.to_string())),
            "[ -z|~é\n\t]{0,8}".prop_map(ExampleValue::Text),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(ExampleValue::List),
                prop::collection::btree_map("[a-z{]{1,4}", inner, 0..4)
                    .prop_map(|map| ExampleValue::Map(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn json_comes_back(value in any_value()) {
            let text = value.json(Encoding::Plain).as_str().replace("{{ pick('{{') }}", "{{");
            prop_assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{}", text);
            prop_assert_eq!(ExampleValue::from(&located::yaml(&text).unwrap()), value);
        }
    }
}
