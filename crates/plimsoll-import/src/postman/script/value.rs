//! Values that expressions of a script have, as far as they are known without running it.

use std::borrow::Cow;
use std::collections::HashMap;

use oxc_ast::ast::{Argument, BinaryOperator, Expression};

use super::Check;

/// A value of a script.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::postman) enum ScriptValue {
    /// A JSON path in the answer.
    Json(String),
    /// A header of the answer.
    Header(String),
    /// A cookie.
    Cookie(String),
    /// The whole body.
    Body,
    Status,
    /// The word behind the status.
    Reason,
    /// Response time, milliseconds.
    Time,
    /// A text, or a number or boolean as one; variables are written `{{name}}`.
    Text(String),
    /// A list of texts.
    List(Vec<String>),
}

impl ScriptValue {
    /// The text, if it is one.
    pub(in crate::postman) fn into_text(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// A name of a chain such as `pm.response.json()`, with the arguments of its call.
#[derive(Debug)]
pub(super) struct Link<'e, 'a> {
    pub(super) name: Cow<'e, str>,
    pub(super) arguments: Option<&'e [Argument<'a>]>,
}

/// The names of a chain of members and calls, from its root.
pub(super) fn chain<'e, 'a>(expression: &'e Expression<'a>) -> Option<Vec<Link<'e, 'a>>> {
    let mut links = Vec::new();
    let mut at = expression.get_inner_expression();
    let mut arguments: Option<&'e [Argument<'a>]> = None;
    loop {
        if let Expression::CallExpression(call) = at {
            if arguments.is_some() {
                return None;
            }
            arguments = Some(&call.arguments);
            at = call.callee.get_inner_expression();
            continue;
        }
        if let Expression::ChainExpression(optional) = at {
            match &optional.expression {
                oxc_ast::ast::ChainElement::CallExpression(call) => {
                    if arguments.is_some() {
                        return None;
                    }
                    arguments = Some(&call.arguments);
                    at = call.callee.get_inner_expression();
                    continue;
                }
                other => {
                    let member = other.as_member_expression()?;
                    let name = member.static_property_name()?;
                    links.push(Link {
                        name: Cow::Borrowed(name),
                        arguments: arguments.take(),
                    });
                    at = member.object().get_inner_expression();
                    continue;
                }
            }
        }
        if let Expression::Identifier(root) = at {
            links.push(Link {
                name: Cow::Borrowed(root.name.as_str()),
                arguments,
            });
            links.reverse();
            return Some(links);
        }
        let member = at.as_member_expression()?;
        let name = match member.static_property_name() {
            Some(name) => Cow::Borrowed(name),
            None => Cow::Owned(index(at)?),
        };
        links.push(Link {
            name,
            arguments: arguments.take(),
        });
        at = member.object().get_inner_expression();
    }
}

/// The number of `[0]`.
fn index(expression: &Expression<'_>) -> Option<String> {
    let Expression::ComputedMemberExpression(member) = expression else {
        return None;
    };
    match member.expression.get_inner_expression() {
        Expression::NumericLiteral(number)
            if number.value >= 0.0 && number.value.fract() == 0.0 =>
        {
            Some(format!("[{}]", number.value))
        }
        _ => None,
    }
}

/// A JSON path with a further member; `[0]` is an index.
pub(super) fn member(path: &str, name: &str) -> String {
    if name.starts_with('[') && name.ends_with(']') {
        return format!("{path}{name}");
    }
    let is_plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if is_plain {
        format!("{path}.{name}")
    } else {
        let quoted = name.replace('\\', "\\\\").replace('\'', "\\'");
        format!("{path}['{quoted}']")
    }
}

/// Names of a script and their values.
#[derive(Debug, Default)]
pub(super) struct Aliases {
    known: HashMap<String, ScriptValue>,
    conditions: HashMap<String, Check>,
}

impl Aliases {
    pub(super) fn set(&mut self, name: &str, value: ScriptValue) {
        self.known.insert(name.to_owned(), value);
    }

    /// Notes that a name stands for a condition.
    pub(super) fn set_condition(&mut self, name: &str, check: Check) {
        self.conditions.insert(name.to_owned(), check);
    }

    /// The condition that a name stands for.
    pub(super) fn condition(&self, name: &str) -> Option<Check> {
        self.conditions.get(name).cloned()
    }

    /// The value of an expression, if it is known.
    pub(super) fn value(&self, expression: &Expression<'_>) -> Option<ScriptValue> {
        let text = |text: &str| Some(ScriptValue::Text(text.to_owned()));
        match expression.get_inner_expression() {
            Expression::StringLiteral(literal) => text(literal.value.as_str()),
            Expression::NumericLiteral(number) => text(&number.value.to_string()),
            Expression::BooleanLiteral(boolean) => text(&boolean.value.to_string()),
            Expression::NullLiteral(_) => text("null"),
            Expression::ArrayExpression(list) => {
                let items = list.elements.iter().map(|item| {
                    let item = item.as_expression()?;
                    self.value(item)?.into_text()
                });
                items.collect::<Option<Vec<_>>>().map(ScriptValue::List)
            }
            Expression::TemplateLiteral(template) => {
                let mut whole = String::new();
                for (index, quasi) in template.quasis.iter().enumerate() {
                    whole.push_str(quasi.value.cooked.as_ref()?.as_str());
                    if let Some(inner) = template.expressions.get(index) {
                        whole.push_str(&self.value(inner)?.into_text()?);
                    }
                }
                Some(ScriptValue::Text(whole))
            }
            Expression::BinaryExpression(sum) if sum.operator == BinaryOperator::Addition => {
                let left = self.value(&sum.left)?.into_text()?;
                let right = self.value(&sum.right)?.into_text()?;
                Some(ScriptValue::Text(left + &right))
            }
            Expression::LogicalExpression(either) => self.value(&either.left),
            Expression::NewExpression(_) => None,
            other => self.chained(&chain(other)?),
        }
    }

    /// The value of a chain.
    pub(super) fn chained(&self, links: &[Link<'_, '_>]) -> Option<ScriptValue> {
        let names: Vec<&str> = links.iter().map(|link| link.name.as_ref()).collect();
        let (value, rest) = match names.as_slice() {
            ["pm", "response", "json", ..] => (ScriptValue::Json("$".to_owned()), 3),
            ["pm", "response", "code", ..] | ["responseCode", "code", ..] => {
                (ScriptValue::Status, 3.min(names.len()))
            }
            ["pm", "response", "status"] | ["responseCode", "name"] => {
                (ScriptValue::Reason, names.len())
            }
            ["pm", "response", "responseTime"] => (ScriptValue::Time, 3),
            ["responseTime"] => (ScriptValue::Time, 1),
            ["pm", "response", "text"] => (ScriptValue::Body, 3),
            ["responseBody"] => (ScriptValue::Body, 1),
            ["pm", "response", "headers", "get"] => {
                (ScriptValue::Header(self.first(links.last()?)?), 4)
            }
            ["postman", "getResponseHeader"] => {
                (ScriptValue::Header(self.first(links.last()?)?), 2)
            }
            ["pm", "cookies", "get"] => (ScriptValue::Cookie(self.first(links.last()?)?), 3),
            [
                "pm",
                "environment" | "variables" | "collectionVariables" | "globals",
                "get",
            ]
            | ["postman", "getEnvironmentVariable" | "getGlobalVariable"] => {
                let name = self.first(links.last()?)?;
                (ScriptValue::Text(format!("{{{{{name}}}}}")), names.len())
            }
            ["pm", "variables", "replaceIn"] => (ScriptValue::Text(self.first(links.last()?)?), 3),
            ["Date", "now"] => (ScriptValue::Text("{{$__now_ms}}".to_owned()), 2),
            ["JSON", "parse", ..] => {
                let inner = links[1].arguments?.first()?.as_expression()?;
                match self.value(inner)? {
                    ScriptValue::Body => (ScriptValue::Json("$".to_owned()), 2),
                    _ => return None,
                }
            }
            ["String" | "Number" | "parseInt"] => {
                let inner = links[0].arguments?.first()?.as_expression()?;
                (self.value(inner)?, 1)
            }
            [name, ..] => (self.known.get(*name)?.clone(), 1),
            [] => return None,
        };
        links[rest.min(links.len())..]
            .iter()
            .try_fold(value, |value, link| match (value, link.arguments) {
                (value, Some([])) if matches!(link.name.as_ref(), "toString" | "trim") => {
                    Some(value)
                }
                (ScriptValue::Json(_), None) if link.name == "length" => None,
                (ScriptValue::Json(path), None) => {
                    Some(ScriptValue::Json(member(&path, &link.name)))
                }
                _ => None,
            })
    }

    /// The first argument of a call, if it is a text.
    pub(super) fn first(&self, link: &Link<'_, '_>) -> Option<String> {
        let argument = link.arguments?.first()?.as_expression()?;
        self.value(argument)?.into_text()
    }

    /// The value of the first argument of a call.
    pub(super) fn first_value(&self, link: &Link<'_, '_>) -> Option<ScriptValue> {
        let argument = link.arguments?.first()?.as_expression()?;
        self.value(argument)
    }
}
