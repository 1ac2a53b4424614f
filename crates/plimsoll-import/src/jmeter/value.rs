//! Values of a JMeter plan: texts with parts that are known only at run time.

use percent_encoding::percent_decode_str;
use url::form_urlencoded::byte_serialize;

use crate::script::Template;

/// A text of a JMeter plan after its variables and functions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Value {
    parts: Vec<ValuePart>,
}

/// A part of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ValuePart {
    Text(String),
    /// An environment variable of the plan: a property of JMeter.
    Environment {
        name: String,
        default: Option<String>,
    },
    /// An expression of plans.
    Expression(String),
}

impl Value {
    pub(super) fn text(text: impl Into<String>) -> Self {
        let mut value = Self::default();
        value.push_text(&text.into());
        value
    }

    pub(super) fn expression(text: impl Into<String>) -> Self {
        Self {
            parts: vec![ValuePart::Expression(text.into())],
        }
    }

    /// An environment variable. A default that cannot be quoted takes its place.
    pub(super) fn environment(name: impl Into<String>, default: Option<String>) -> Self {
        let quotable = |text: &String| !(text.contains('\'') && text.contains('"'));
        match default {
            Some(text) if !quotable(&text) => Self::text(text),
            default => Self {
                parts: vec![ValuePart::Environment {
                    name: name.into(),
                    default,
                }],
            },
        }
    }

    pub(super) fn push_text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if let Some(ValuePart::Text(before)) = self.parts.last_mut() {
            before.push_str(text);
        } else {
            self.parts.push(ValuePart::Text(text.to_owned()));
        }
    }

    pub(super) fn push(&mut self, other: Self) {
        for part in other.parts {
            match part {
                ValuePart::Text(text) => self.push_text(&text),
                part => self.parts.push(part),
            }
        }
    }

    /// Length of its parts in bytes.
    pub(super) fn len(&self) -> usize {
        let length = |part: &ValuePart| match part {
            ValuePart::Text(text) | ValuePart::Expression(text) => text.len(),
            ValuePart::Environment { name, default } => {
                name.len() + default.as_ref().map_or(0, String::len)
            }
        };
        self.parts.iter().map(length).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The text, if nothing in it is known only later.
    pub(super) fn literal(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [ValuePart::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The text with the defaults of its environment variables.
    pub(super) fn constant(&self) -> Option<String> {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                ValuePart::Text(more) => text.push_str(more),
                ValuePart::Environment {
                    default: Some(default),
                    ..
                } => text.push_str(default),
                ValuePart::Environment { .. } | ValuePart::Expression(_) => return None,
            }
        }
        Some(text)
    }

    /// Whether it has an environment variable.
    pub(super) fn has_environment(&self) -> bool {
        let is_environment = |part: &ValuePart| matches!(part, ValuePart::Environment { .. });
        self.parts.iter().any(is_environment)
    }

    /// Whether a user, an iteration or an answer changes it.
    pub(super) fn varies(&self) -> bool {
        let is_expression = |part: &ValuePart| matches!(part, ValuePart::Expression(_));
        self.parts.iter().any(is_expression)
    }

    /// The text with which it begins.
    pub(super) fn start(&self) -> &str {
        match self.parts.first() {
            Some(ValuePart::Text(text)) => text,
            _ => "",
        }
    }

    /// Whether it begins a path: with a slash, or with a value of which that is expected.
    pub(super) fn begins_path(&self) -> bool {
        match self.parts.first() {
            Some(ValuePart::Text(text)) => text.starts_with('/'),
            Some(ValuePart::Environment { default, .. }) => {
                default.as_ref().is_some_and(|text| text.starts_with('/'))
            }
            Some(ValuePart::Expression(_)) => true,
            None => false,
        }
    }

    /// Without a text with which it begins.
    pub(super) fn without_start(&self, start: &str) -> Self {
        let mut value = self.clone();
        if let Some(ValuePart::Text(text)) = value.parts.first_mut()
            && let Some(rest) = text.strip_prefix(start)
        {
            *text = rest.to_owned();
        }
        value
            .parts
            .retain(|part| !matches!(part, ValuePart::Text(text) if text.is_empty()));
        value
    }

    /// Whether any constant part contains a text.
    pub(super) fn contains(&self, text: &str) -> bool {
        let has = |part: &ValuePart| matches!(part, ValuePart::Text(own) if own.contains(text));
        self.parts.iter().any(has)
    }

    /// As one argument of a function of plans, if it is that simple.
    pub(super) fn argument(&self) -> Option<String> {
        match self.parts.as_slice() {
            [] => Some("''".to_owned()),
            [ValuePart::Text(text)] => quoted(text),
            [part] => Some(expression(part)),
            _ => None,
        }
    }

    /// As a text of a plan.
    pub(super) fn template(&self) -> Template {
        let mut template = Template::default();
        for part in &self.parts {
            match part {
                ValuePart::Text(text) => template.push_literal(text),
                part => template.push(&Template::expression(&expression(part))),
            }
        }
        template
    }

    /// Encoded as Java's `URLEncoder` does it: spaces become `+`.
    pub(super) fn form_encoded(&self) -> Self {
        self.mapped(
            |text| byte_serialize(text.as_bytes()).collect(),
            |part| format!("urlencode({})", expression(part)),
        )
    }

    /// Constant parts without their percent encoding, as Java's `URLDecoder` does it.
    pub(super) fn form_decoded(&self) -> Self {
        let decode = |text: &str| {
            let spaced = text.replace('+', " ");
            percent_decode_str(&spaced).decode_utf8_lossy().into_owned()
        };
        self.mapped(decode, expression)
    }

    /// Constant parts changed; `{{`, spaces and the like that a path must not have are encoded.
    pub(super) fn as_path(&self) -> Self {
        self.mapped(path_text, expression)
    }

    /// Variables of the environment whose default is empty have none.
    pub(super) fn required(&self) -> Self {
        let mut value = self.clone();
        for part in &mut value.parts {
            if let ValuePart::Environment { default, .. } = part {
                *default = default.take().filter(|text| !text.is_empty());
            }
        }
        value
    }

    /// Without defaults that are references of `JMeter` itself: no site has such a name.
    pub(super) fn without_references(mut self) -> Self {
        for part in &mut self.parts {
            if let ValuePart::Environment { default, .. } = part {
                *default = default.take().filter(|text| !text.contains("${"));
            }
        }
        self
    }

    /// On one line, without space around it.
    pub(super) fn one_line(&self) -> Self {
        let line = |text: &str| {
            let lines: Vec<&str> = text
                .split(['\r', '\n'])
                .filter(|line| !line.is_empty())
                .collect();
            lines
                .join(" ")
                .replace(|c: char| c.is_control() && c != '\t', " ")
        };
        match self.literal() {
            Some(text) => Self::text(line(text).trim()),
            None => self.mapped(line, expression),
        }
    }

    fn mapped(&self, text: impl Fn(&str) -> String, other: impl Fn(&ValuePart) -> String) -> Self {
        let mut value = Self::default();
        for part in &self.parts {
            match part {
                ValuePart::Text(own) => value.push_text(&text(own)),
                // An expression that stays as it is remains an environment variable.
                part if other(part) == expression(part) => value.parts.push(part.clone()),
                part => value.parts.push(ValuePart::Expression(other(part))),
            }
        }
        value
    }

    /// Splits at the first of these characters in a constant part; that character begins the second half.
    pub(super) fn split_at(&self, marks: &[char]) -> (Self, Self) {
        let (mut before, mut after) = (Self::default(), Self::default());
        let mut is_found = false;
        for part in &self.parts {
            match part {
                ValuePart::Text(text) if !is_found => match text.find(marks) {
                    Some(at) => {
                        before.push_text(&text[..at]);
                        after.push_text(&text[at..]);
                        is_found = true;
                    }
                    None => before.push_text(text),
                },
                part if is_found => after.push(Self {
                    parts: vec![part.clone()],
                }),
                part => before.parts.push(part.clone()),
            }
        }
        (before, after)
    }
}

/// A part as an expression of plans.
fn expression(part: &ValuePart) -> String {
    match part {
        ValuePart::Text(text) => quoted(text).unwrap_or_else(|| "''".to_owned()),
        ValuePart::Environment { name, default } => match default.as_deref().and_then(quoted) {
            Some(default) => format!("env('{name}', {default})"),
            None => format!("env('{name}')"),
        },
        ValuePart::Expression(text) => text.clone(),
    }
}

/// A text in quotes of plans, which know no escapes.
pub(super) fn quoted(text: &str) -> Option<String> {
    let quote = ['\'', '"']
        .into_iter()
        .find(|quote| !text.contains(*quote))?;
    Some(format!("{quote}{text}{quote}"))
}

/// What a URL must not have as it is: spaces, controls, fragments, braces that would open a placeholder.
fn path_text(text: &str) -> String {
    use std::fmt::Write as _;

    let mut encoded = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_whitespace()
            || c.is_control()
            || matches!(c, '{' | '}' | '#' | '"' | '<' | '>' | '|' | '^' | '`')
        {
            for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                let _ = write!(encoded, "%{byte:02X}");
            }
        } else {
            encoded.push(c);
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_encoded_as_java_does_it() {
        let mut value = Value::text("a b&ü");
        value.push(Value::expression("token"));
        let encoded = value.form_encoded().template();
        assert_eq!(encoded.as_str(), "a+b%26%C3%BC{{ urlencode(token) }}");
        assert_eq!(Value::text("a+b%26").form_decoded(), Value::text("a b&"));
        let property = Value::environment("HOST", Some("it's".to_owned()));
        assert_eq!(property.template().as_str(), "{{ env('HOST', \"it's\") }}");
        assert_eq!(property.constant().as_deref(), Some("it's"));
        assert_eq!(property.as_path(), property);
        let (before, after) = Value::text("/a?b#c").split_at(&['?', '#']);
        assert_eq!((before, after), (Value::text("/a"), Value::text("?b#c")));
    }
}
