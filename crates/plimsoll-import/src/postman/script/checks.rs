//! Assertions of a script as conditions of an answer.

use oxc_ast::ast::{BinaryOperator, CallExpression, Expression};

use super::value::{Aliases, Link, ScriptValue, chain};
use super::{Check, Match};

/// Words of chai that change nothing.
const CHAIN_WORDS: [&str; 13] = [
    "to", "be", "been", "is", "that", "which", "and", "has", "have", "with", "at", "of", "deep",
];

/// Statuses by the words that Postman has for them.
const STATUS_WORDS: [(&str, &str); 15] = [
    ("ok", "200"),
    ("accepted", "202"),
    ("badRequest", "400"),
    ("unauthorized", "401"),
    ("forbidden", "403"),
    ("notFound", "404"),
    ("rateLimited", "429"),
    ("info", "1xx"),
    ("success", "2xx"),
    ("redirection", "3xx"),
    ("clientError", "4xx"),
    ("serverError", "5xx"),
    ("error", "4xx"),
    ("created", "201"),
    ("withoutContent", "204"),
];

/// Statuses by their reason phrase.
const REASONS: [(&str, &str); 14] = [
    ("ok", "200"),
    ("created", "201"),
    ("accepted", "202"),
    ("no content", "204"),
    ("moved permanently", "301"),
    ("found", "302"),
    ("not modified", "304"),
    ("bad request", "400"),
    ("unauthorized", "401"),
    ("forbidden", "403"),
    ("not found", "404"),
    ("conflict", "409"),
    ("unprocessable entity", "422"),
    ("internal server error", "500"),
];

/// The conditions of `pm.response.to…` or `pm.expect(…)…`; `None` if it is not known.
pub(super) fn assertion(aliases: &Aliases, links: &[Link<'_, '_>]) -> Option<Vec<Check>> {
    let is_response = links.get(1)?.name == "response";
    let subject = if is_response {
        None
    } else {
        Some(aliases.first_value(links.get(1)?)?)
    };
    let mut words = links[2..]
        .iter()
        .filter(|link| link.arguments.is_some() || !CHAIN_WORDS.contains(&link.name.as_ref()))
        .peekable();
    let is_negated = words.next_if(|link| link.name == "not").is_some();
    let mut checks = Vec::new();
    while let Some(link) = words.next() {
        // `a("string")` and `an("object")` tell the type of a value: a value is there.
        let has_more = words.peek().is_some();
        checks.push(match &subject {
            None => of_response(aliases, link, is_negated)?,
            Some(subject) => of_value(aliases, subject, link, is_negated, has_more)?,
        });
    }
    (!checks.is_empty()).then_some(checks)
}

fn of_response(aliases: &Aliases, link: &Link<'_, '_>, is_negated: bool) -> Option<Check> {
    if is_negated {
        return match link.name.as_ref() {
            "error" => Some(Check::Statuses(vec!["2xx".to_owned(), "3xx".to_owned()])),
            _ => None,
        };
    }
    match link.name.as_ref() {
        "status" => status(aliases.first(link)?),
        "header" => {
            let name = aliases.first(link)?;
            let value = link
                .arguments?
                .get(1)
                .and_then(|value| value.as_expression());
            let condition = match value {
                Some(value) => Match::Equals(aliases.value(value)?),
                None => Match::Present(true),
            };
            Some(Check::Header(name, condition))
        }
        "json" if link.arguments.is_none() => Some(Check::Header(
            "Content-Type".to_owned(),
            Match::Contains(ScriptValue::Text("json".to_owned())),
        )),
        "jsonBody" => {
            let path = if link.arguments?.is_empty() {
                "$".to_owned()
            } else {
                format!("$.{}", aliases.first(link)?)
            };
            Some(Check::Json(path, Match::Present(true)))
        }
        word => {
            let (_, status) = STATUS_WORDS.iter().find(|(known, _)| *known == word)?;
            Some(Check::Statuses(vec![(*status).to_owned()]))
        }
    }
}

/// A status as a number or as its reason phrase.
fn status(text: String) -> Option<Check> {
    if text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(Check::Statuses(vec![text]));
    }
    let lower = text.to_ascii_lowercase();
    let (_, status) = REASONS.iter().find(|(reason, _)| *reason == lower)?;
    Some(Check::Statuses(vec![(*status).to_owned()]))
}

fn of_value(
    aliases: &Aliases,
    subject: &ScriptValue,
    link: &Link<'_, '_>,
    is_negated: bool,
    has_more: bool,
) -> Option<Check> {
    let word = link.name.as_ref();
    let value = aliases.first_value(link);
    let is_equality = matches!(word, "equal" | "equals" | "eql" | "eq");
    let is_part = matches!(
        word,
        "include" | "includes" | "contain" | "contains" | "string"
    );
    match (subject, word) {
        (ScriptValue::Status | ScriptValue::Reason, _) if is_equality && !is_negated => {
            status(value?.into_text()?)
        }
        (ScriptValue::Status, "oneOf") if !is_negated => match value? {
            ScriptValue::List(list) => Some(Check::Statuses(list)),
            _ => None,
        },
        (ScriptValue::Time, "below" | "lessThan" | "lt" | "most" | "lte") if !is_negated => {
            Some(Check::Within(value?.into_text()?.parse().ok()?))
        }
        (ScriptValue::Body, _) if is_part => Some(if is_negated {
            Check::Lacks(value?)
        } else {
            Check::Contains(value?)
        }),
        (ScriptValue::Json(path), _) => {
            let condition = json(aliases, link, value, is_negated, has_more)?;
            let path = if word == "property" {
                super::value::member(path, &aliases.first(link)?)
            } else {
                path.clone()
            };
            Some(Check::Json(path, condition))
        }
        (ScriptValue::Header(name), _) => {
            let condition = match word {
                _ if is_negated => return None,
                _ if is_equality => Match::Equals(value?),
                _ if is_part => Match::Contains(value?),
                "exist" | "ok" => Match::Present(true),
                _ => return None,
            };
            Some(Check::Header(name.clone(), condition))
        }
        _ => None,
    }
}

/// The condition of a JSON value; `None` if it is not known.
fn json(
    aliases: &Aliases,
    link: &Link<'_, '_>,
    value: Option<ScriptValue>,
    is_negated: bool,
    has_more: bool,
) -> Option<Match> {
    let is_text = |value: &ScriptValue| matches!(value, ScriptValue::Text(_));
    let value = value.filter(is_text);
    let word = link.name.as_ref();
    if matches!(word, "a" | "an") && !is_negated && !has_more {
        return Some(Match::Present(true));
    }
    Some(match (word, is_negated) {
        ("equal" | "equals" | "eql" | "eq", false) => Match::Equals(value?),
        ("include" | "includes" | "contain" | "contains", false) => Match::Contains(value?),
        ("property", false) => {
            let second = link
                .arguments?
                .get(1)
                .and_then(|value| value.as_expression());
            match second {
                Some(second) => Match::Equals(aliases.value(second).filter(is_text)?),
                None => Match::Present(true),
            }
        }
        ("exist" | "ok", false) | ("undefined" | "null" | "empty", true) => Match::Present(true),
        ("property", true) | ("exist" | "undefined", _) => Match::Present(false),
        ("true", false) => Match::Equals(ScriptValue::Text("true".to_owned())),
        ("false", false) => Match::Equals(ScriptValue::Text("false".to_owned())),
        _ => return None,
    })
}

/// The condition of `tests["…"] = …`.
pub(super) fn condition(aliases: &Aliases, expression: &Expression<'_>) -> Option<Check> {
    match expression.get_inner_expression() {
        Expression::BinaryExpression(both) => {
            let left = aliases.value(&both.left)?;
            let right = aliases.value(&both.right)?;
            match (left, both.operator) {
                (
                    ScriptValue::Status,
                    BinaryOperator::StrictEquality | BinaryOperator::Equality,
                ) => status(right.into_text()?),
                (ScriptValue::Time, BinaryOperator::LessThan | BinaryOperator::LessEqualThan) => {
                    Some(Check::Within(right.into_text()?.parse().ok()?))
                }
                (
                    ScriptValue::Json(path),
                    BinaryOperator::StrictEquality | BinaryOperator::Equality,
                ) => Some(Check::Json(path, Match::Equals(right))),
                _ => None,
            }
        }
        Expression::Identifier(name) => aliases.condition(name.name.as_str()),
        other => {
            if let Expression::CallExpression(call) = other
                && let Some(check) = tested(aliases, call)
            {
                return Some(check);
            }
            let links = chain(other)?;
            let names: Vec<&str> = links.iter().map(|link| link.name.as_ref()).collect();
            if let [.., "hasOwnProperty"] = names.as_slice() {
                let (last, object) = links.split_last()?;
                let ScriptValue::Json(path) = aliases.chained(object)? else {
                    return None;
                };
                let path = super::value::member(&path, &aliases.first(last)?);
                return Some(Check::Json(path, Match::Present(true)));
            }
            match names.as_slice() {
                ["responseBody", "has" | "includes"] => {
                    Some(Check::Contains(aliases.first_value(links.last()?)?))
                }
                _ => None,
            }
        }
    }
}

/// `/pattern/.test(json.value)`, if the pattern means the same in a plan.
fn tested(aliases: &Aliases, call: &CallExpression<'_>) -> Option<Check> {
    let Expression::StaticMemberExpression(member) = call.callee.get_inner_expression() else {
        return None;
    };
    let Expression::RegExpLiteral(literal) = member.object.get_inner_expression() else {
        return None;
    };
    if member.property.name != "test" || !literal.regex.flags.is_empty() {
        return None;
    }
    let pattern = literal.regex.pattern.text.as_str();
    regex::Regex::new(pattern).ok()?;
    let [argument] = call.arguments.as_slice() else {
        return None;
    };
    match aliases.value(argument.as_expression()?)? {
        ScriptValue::Json(path) => Some(Check::Json(path, Match::Regex(pattern.to_owned()))),
        _ => None,
    }
}
