//! JSON texts, exactly as `JSON.stringify` writes them.

use std::fmt::Write as _;

use super::machine::Machine;
use super::number;
use super::text::{Piece, Text};
use super::value::Value;
use crate::heuristics;

/// Deepest nesting of a value.
const DEPTH_MAX: usize = 64;

/// How a value is laid out.
#[derive(Clone, Copy)]
struct Layout<'l> {
    indent: &'l str,
    depth: usize,
    at: u32,
}

impl<'a> Machine<'a, '_> {
    /// `JSON.stringify(value, null, indent)`.
    pub(super) fn stringified(&mut self, value: &Value<'a>, indent: &str, at: u32) -> Text {
        let mut out = Text::default();
        let layout = Layout {
            indent,
            depth: 0,
            at,
        };
        self.write_json(value, layout, &mut out);
        out
    }

    fn write_json(&mut self, value: &Value<'a>, layout: Layout<'_>, out: &mut Text) {
        if layout.depth > DEPTH_MAX || !self.work(layout.at) {
            out.push_str("null");
            return;
        }
        match value {
            Value::Undefined | Value::Null | Value::Function(_) | Value::Native(_) => {
                out.push_str("null");
            }
            Value::Bool(value) => out.push_str(&value.to_string()),
            Value::Number(number) if !number.is_finite() => out.push_str("null"),
            Value::Number(number) => out.push_str(&number::shown(*number)),
            Value::List(list) => {
                let items = list.items.borrow().clone();
                let items: Vec<(Option<String>, Value<'a>)> =
                    items.into_iter().map(|item| (None, item)).collect();
                self.write_items(&items, ('[', ']'), layout, out);
            }
            Value::Object(object) => {
                let fields = object.borrow().fields.clone();
                let fields: Vec<(Option<String>, Value<'a>)> = fields
                    .into_iter()
                    .filter(|(_, value)| {
                        !matches!(
                            value,
                            Value::Undefined | Value::Function(_) | Value::Native(_)
                        )
                    })
                    .map(|(key, value)| (Some(key), value))
                    .collect();
                self.write_items(&fields, ('{', '}'), layout, out);
            }
            Value::Row(row) if matches!(row.example, Value::Object(_)) => {
                let fields: Vec<(Option<String>, Value<'a>)> = row
                    .example
                    .entries()
                    .into_iter()
                    .map(|(key, _)| {
                        let member = self.member(value, &key, layout.at);
                        (Some(key), member)
                    })
                    .collect();
                self.write_items(&fields, ('{', '}'), layout, out);
            }
            other => {
                if let Value::Answer(_, what) = other {
                    let words = what.words();
                    self.lose(
                        layout.at,
                        format!("the type of {words} in JSON"),
                        "it is known only at run time; the plan sends a text",
                        "remove the quotes around the placeholder if it is a number",
                    );
                }
                let text = self.text_of(other, layout.at);
                write_text(&text, out);
            }
        }
    }

    fn write_items(
        &mut self,
        items: &[(Option<String>, Value<'a>)],
        brackets: (char, char),
        layout: Layout<'_>,
        out: &mut Text,
    ) {
        let line = |depth: usize| {
            if layout.indent.is_empty() {
                String::new()
            } else {
                format!("\n{}", layout.indent.repeat(depth))
            }
        };
        out.push_str(&brackets.0.to_string());
        for (index, (key, value)) in items.iter().enumerate() {
            if index > 0 {
                out.push_str(",");
            }
            out.push_str(&line(layout.depth + 1));
            if let Some(key) = key {
                out.push_str(&format!("\"{}\":", escaped(key)));
                if !layout.indent.is_empty() {
                    out.push_str(" ");
                }
            }
            let value = match key {
                Some(key) => self.without_secret(key, value),
                None => value.clone(),
            };
            let inner = Layout {
                depth: layout.depth + 1,
                ..layout
            };
            self.write_json(&value, inner, out);
        }
        if !items.is_empty() {
            out.push_str(&line(layout.depth));
        }
        out.push_str(&brackets.1.to_string());
    }

    /// A password or token that the script has as it is: the plan reads it from the environment.
    pub(super) fn without_secret(&mut self, name: &str, value: &Value<'a>) -> Value<'a> {
        let Some(secret) = value.as_str().filter(|text| !text.is_empty()) else {
            return value.clone();
        };
        if !heuristics::names_password(name) && !heuristics::names_secret(name) {
            return value.clone();
        }
        let secret = secret.to_owned();
        Value::Text(std::rc::Rc::new(self.secret(name, &secret)))
    }

    /// A secret as a variable of the environment; equal ones share it.
    pub(super) fn secret(&mut self, name: &str, secret: &str) -> Text {
        let known = self.secrets.iter().find(|(value, _)| value == secret);
        if let Some((_, variable)) = known {
            return Text::hole(super::text::Hole::stable(format!("env('{variable}')")));
        }
        let base = heuristics::slot_name(name).to_ascii_uppercase();
        let variable = heuristics::free_name(base, |name| {
            !self.secrets.iter().any(|(_, known)| known == name)
        });
        self.secrets.push((secret.to_owned(), variable.clone()));
        self.note(format!(
            "a secret of the script is not in the plan: set {variable} in the environment to its value of `{name}`"
        ));
        Text::hole(super::text::Hole::stable(format!("env('{variable}')")))
    }
}

/// A text within quotes of JSON; a lone number without.
fn write_text(text: &Text, out: &mut Text) {
    if let [Piece::Hole(hole)] = text.pieces()
        && hole.is_number
    {
        out.push(text);
        return;
    }
    out.push_str("\"");
    for piece in text.pieces() {
        match piece {
            Piece::Literal(literal) => out.push_str(&escaped(literal)),
            Piece::Hole(hole) => {
                let is_plain = hole.is_number || hole.expression.starts_with("uuid(");
                let expression = if is_plain {
                    hole.expression.clone()
                } else {
                    format!("json({})", hole.expression)
                };
                out.push(&Text::hole(super::text::Hole {
                    expression,
                    ..hole.clone()
                }));
            }
        }
    }
    out.push_str("\"");
}

/// A text with the escapes of `JSON.stringify`.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn texts_are_escaped_as_javascript_does() {
        assert_eq!(escaped("a\"\\\n\u{1}é/"), "a\\\"\\\\\\n\\u0001é/");
    }
}
