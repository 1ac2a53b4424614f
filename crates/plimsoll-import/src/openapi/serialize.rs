//! Writes values of parameters by their style (RFC 6570).

use super::parameter::{Parameter, Style};
use super::value::{Encoding, ExampleValue};
use crate::script::Template;

/// A value in a path.
pub(super) fn in_path(parameter: &Parameter<'_>, value: &ExampleValue) -> Template {
    let encoding = encoding_of(parameter);
    if parameter.is_json {
        return value.json(encoding);
    }
    let name = encoding.literal(parameter.name);
    match parameter.style {
        Style::Label => {
            let joint = if parameter.explodes { "." } else { "," };
            prefixed(".", &joined(value, parameter.explodes, joint, encoding))
        }
        Style::Matrix if parameter.explodes && is_composed(value) => {
            let pairs = pairs(&name, value, encoding);
            prefixed(";", &join(&pairs, ";"))
        }
        Style::Matrix => {
            let text = joined(value, false, ",", encoding);
            let mut whole = prefixed(";", &name);
            if !text.is_empty() {
                whole.push_literal("=");
                whole.push(&text);
            }
            whole
        }
        _ => joined(value, parameter.explodes, ",", encoding),
    }
}

/// `name=value` pairs in a query.
pub(super) fn in_query(parameter: &Parameter<'_>, value: &ExampleValue) -> Vec<Template> {
    let encoding = encoding_of(parameter);
    let name = Encoding::Component.literal(parameter.name);
    if parameter.is_json {
        return vec![pair(&name, &value.json(encoding))];
    }
    match parameter.style {
        Style::DeepObject => deep(&name, value, encoding),
        _ if parameter.explodes => pairs(&name, value, encoding),
        style => {
            let joint = match style {
                Style::SpaceDelimited => "%20",
                Style::PipeDelimited => "%7C",
                _ => ",",
            };
            vec![pair(&name, &joined(value, false, joint, encoding))]
        }
    }
}

/// A value of a header.
pub(super) fn in_header(parameter: &Parameter<'_>, value: &ExampleValue) -> Template {
    if parameter.is_json {
        return value.json(Encoding::Plain);
    }
    joined(value, parameter.explodes, ",", Encoding::Plain)
}

/// `name=value` in the header Cookie.
pub(super) fn in_cookie(parameter: &Parameter<'_>, value: &ExampleValue) -> Template {
    let name = Template::literal(parameter.name);
    let encoding = Encoding::Component;
    if parameter.is_json {
        return pair(&name, &value.json(encoding));
    }
    if parameter.explodes && matches!(value, ExampleValue::Map(_)) {
        return join(&pairs(&name, value, encoding), "; ");
    }
    pair(&name, &joined(value, false, ",", encoding))
}

/// Fields of a form, not encoded: of a property of the body with this style.
pub(super) fn fields(
    name: &str,
    value: &ExampleValue,
    (style, explodes): (Style, bool),
) -> Vec<(String, Template)> {
    match (style, value) {
        (Style::DeepObject, ExampleValue::List(_) | ExampleValue::Map(_)) => {
            let mut found = Vec::new();
            deep_fields(name.to_owned(), value, &mut found);
            found
        }
        (_, ExampleValue::List(items)) if explodes => items
            .iter()
            .map(|item| (name.to_owned(), item.plain(Encoding::Plain)))
            .collect(),
        (_, ExampleValue::List(_)) => {
            let joint = match style {
                Style::SpaceDelimited => " ",
                Style::PipeDelimited => "|",
                _ => ",",
            };
            vec![(
                name.to_owned(),
                joined(value, false, joint, Encoding::Plain),
            )]
        }
        _ => vec![(name.to_owned(), value.plain(Encoding::Plain))],
    }
}

fn encoding_of(parameter: &Parameter<'_>) -> Encoding {
    if parameter.allows_reserved {
        Encoding::Reserved
    } else {
        Encoding::Component
    }
}

fn is_composed(value: &ExampleValue) -> bool {
    matches!(value, ExampleValue::List(_) | ExampleValue::Map(_))
}

/// Items, or keys and values, in one text.
fn joined(value: &ExampleValue, explodes: bool, joint: &str, encoding: Encoding) -> Template {
    match value {
        ExampleValue::List(items) => {
            let texts: Vec<_> = items.iter().map(|item| item.plain(encoding)).collect();
            join(&texts, joint)
        }
        ExampleValue::Map(entries) => {
            let texts: Vec<_> = entries
                .iter()
                .map(|(key, value)| {
                    let mut text = encoding.literal(key);
                    text.push_literal(if explodes { "=" } else { joint });
                    text.push(&value.plain(encoding));
                    text
                })
                .collect();
            join(&texts, joint)
        }
        scalar => scalar.plain(encoding),
    }
}

/// One pair for each item, or for each key.
fn pairs(name: &Template, value: &ExampleValue, encoding: Encoding) -> Vec<Template> {
    match value {
        ExampleValue::List(items) => items
            .iter()
            .map(|item| pair(name, &item.plain(encoding)))
            .collect(),
        ExampleValue::Map(entries) => entries
            .iter()
            .map(|(key, value)| pair(&Encoding::Component.literal(key), &value.plain(encoding)))
            .collect(),
        scalar => vec![pair(name, &scalar.plain(encoding))],
    }
}

/// `name[key]=value` pairs.
fn deep(name: &Template, value: &ExampleValue, encoding: Encoding) -> Vec<Template> {
    match value {
        ExampleValue::Map(entries) => entries
            .iter()
            .flat_map(|(key, value)| {
                let mut inner = name.clone();
                inner.push_literal("%5B");
                inner.push(&Encoding::Component.literal(key));
                inner.push_literal("%5D");
                deep(&inner, value, encoding)
            })
            .collect(),
        other => pairs(name, other, encoding),
    }
}

/// The same for forms, where items of lists have their numbers.
fn deep_fields(name: String, value: &ExampleValue, found: &mut Vec<(String, Template)>) {
    match value {
        ExampleValue::Map(entries) => {
            for (key, value) in entries {
                deep_fields(format!("{name}[{key}]"), value, found);
            }
        }
        ExampleValue::List(items) => {
            for (place, item) in items.iter().enumerate() {
                deep_fields(format!("{name}[{place}]"), item, found);
            }
        }
        scalar => found.push((name, scalar.plain(Encoding::Plain))),
    }
}

fn pair(name: &Template, value: &Template) -> Template {
    let mut text = name.clone();
    text.push_literal("=");
    text.push(value);
    text
}

fn prefixed(prefix: &str, text: &Template) -> Template {
    let mut whole = Template::literal(prefix);
    whole.push(text);
    whole
}

/// Texts with a joint between them.
pub(super) fn join(texts: &[Template], joint: &str) -> Template {
    let mut whole = Template::default();
    for (place, text) in texts.iter().enumerate() {
        if place > 0 {
            whole.push_literal(joint);
        }
        whole.push(text);
    }
    whole
}

#[cfg(test)]
mod tests;
