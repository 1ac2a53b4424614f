//! Bodies of requests, by media type.

use super::documents::{Documents, Node};
use super::make::Maker;
use super::parameter::{Style, given};
use super::schema::Constraints;
use super::serialize::fields;
use super::value::{Encoding, ExampleValue};
use super::xml;
use crate::script::Template;
use crate::script::draft::{BodyDraft, PartContent, PartDraft};

/// A body.
pub(super) struct Body {
    pub(super) draft: BodyDraft,
    /// The header Content-Type, if the plan would not send it by itself.
    pub(super) media_type: Option<String>,
}

/// Why an operation has no body.
pub(super) struct BodyLoss<'d> {
    pub(super) at: Node<'d>,
    pub(super) what: String,
    pub(super) why: String,
}

/// How a media type is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum MediaKind {
    Json,
    Form,
    Multipart,
    Text,
    Xml,
    Bytes,
}

impl MediaKind {
    fn of(essence: &str) -> Self {
        match essence {
            "application/json" | "*/*" | "application/*" => Self::Json,
            "application/x-www-form-urlencoded" => Self::Form,
            "application/xml" | "text/xml" => Self::Xml,
            _ if essence.ends_with("+json") || essence.ends_with("/json") => Self::Json,
            _ if essence.ends_with("+xml") => Self::Xml,
            _ if essence.starts_with("multipart/") => Self::Multipart,
            _ if essence.starts_with("text/") => Self::Text,
            _ => Self::Bytes,
        }
    }
}

/// The body of a request body object: of its media types the one that is most common in plans.
pub(super) fn body<'d>(
    documents: &'d Documents<'_>,
    maker: &mut Maker<'_, 'd, '_>,
    node: Node<'d>,
) -> Result<Body, BodyLoss<'d>> {
    let node = documents.resolve(node).map_err(|unresolved| BodyLoss {
        at: unresolved.at,
        what: format!("requestBody $ref {}", unresolved.reference),
        why: format!("it cannot be resolved: {}", unresolved.why),
    })?;
    let types = node.get("content").into_iter().flat_map(Node::entries);
    let chosen = types.min_by_key(|(key, _)| {
        let essence = essence(&key.text);
        (MediaKind::of(&essence), essence != "application/json")
    });
    let Some((key, media)) = chosen else {
        return Err(BodyLoss {
            at: node,
            what: "requestBody".to_owned(),
            why: "it has no `content`".to_owned(),
        });
    };
    let media = documents.resolve(media).unwrap_or(media);
    let schema = media.get("schema");
    let value =
        given(documents, media).or_else(|| schema.map(|schema| maker.value("body", schema)));
    let kind = MediaKind::of(&essence(&key.text));
    let value = value.unwrap_or_else(|| {
        let why = "it has neither example nor schema";
        if kind == MediaKind::Json {
            maker.json_variable("body", media, why)
        } else {
            maker.variable("body", media, why)
        }
    });
    let sent = |media_type: &str| Some(concrete(media_type));
    match kind {
        MediaKind::Json => Ok(json(&value, &key.text)),
        MediaKind::Form => Ok(form(media, &value)),
        MediaKind::Multipart => Ok(multipart(documents, maker, media, &value, &key.text)),
        MediaKind::Xml => {
            let text = match (&value, schema) {
                (
                    ExampleValue::Text(_)
                    | ExampleValue::Variable(_)
                    | ExampleValue::JsonVariable(_),
                    _,
                )
                | (_, None) => value.plain(Encoding::Plain),
                (value, Some(schema)) => xml::document(documents, schema, value),
            };
            Ok(Body {
                draft: BodyDraft::Text(text),
                media_type: sent(&key.text),
            })
        }
        MediaKind::Text | MediaKind::Bytes => Ok(Body {
            draft: BodyDraft::Text(value.plain(Encoding::Plain)),
            media_type: sent(&key.text),
        }),
    }
}

/// A media type without parameters, in small letters.
pub(super) fn essence(media_type: &str) -> String {
    let essence = media_type.split(';').next().unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}

/// A media type that can be sent: of a range, a common member.
fn concrete(media_type: &str) -> String {
    match essence(media_type).as_str() {
        "*/*" | "application/*" => "application/json".to_owned(),
        "text/*" => "text/plain".to_owned(),
        "image/*" => "image/png".to_owned(),
        essence if essence.ends_with("/*") => "application/octet-stream".to_owned(),
        _ => media_type.trim().to_owned(),
    }
}

fn json(value: &ExampleValue, media_type: &str) -> Body {
    let media_type = concrete(media_type);
    let draft = match value.yaml() {
        Some(node) => BodyDraft::Json(node),
        // An example may be JSON as a text.
        None => match value {
            ExampleValue::Text(text) if is_json_container(text) => {
                BodyDraft::Text(Template::literal(text))
            }
            value => BodyDraft::Text(value.json(Encoding::Plain)),
        },
    };
    let is_implied = matches!(draft, BodyDraft::Json(_)) && media_type == "application/json";
    Body {
        draft,
        media_type: (!is_implied).then_some(media_type),
    }
}

fn is_json_container(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
        && serde_json::from_str::<serde_json::Value>(text).is_ok()
}

fn form(media: Node<'_>, value: &ExampleValue) -> Body {
    let entries = match value {
        ExampleValue::Map(entries) => entries.as_slice(),
        // An example that is written out.
        _ => {
            return Body {
                draft: BodyDraft::Text(value.plain(Encoding::Plain)),
                media_type: Some("application/x-www-form-urlencoded".to_owned()),
            };
        }
    };
    let fields = entries
        .iter()
        .flat_map(|(name, value)| fields(name, value, style(media, name)))
        .collect();
    Body {
        draft: BodyDraft::Form(fields),
        media_type: None,
    }
}

/// Style and explode of a property of a form.
fn style(media: Node<'_>, name: &str) -> (Style, bool) {
    let encoding = media.get("encoding").and_then(|node| node.get(name));
    let style = encoding
        .and_then(|node| node.word("style"))
        .and_then(Style::of)
        .unwrap_or(Style::Form);
    let explodes = match encoding.and_then(|node| node.get("explode")) {
        Some(node) => node.value.is_true(),
        None => matches!(style, Style::Form | Style::DeepObject),
    };
    (style, explodes)
}

fn multipart<'d>(
    documents: &'d Documents<'_>,
    maker: &mut Maker<'_, 'd, '_>,
    media: Node<'d>,
    value: &ExampleValue,
    media_type: &str,
) -> Body {
    let ExampleValue::Map(entries) = value else {
        return Body {
            draft: BodyDraft::Text(value.plain(Encoding::Plain)),
            media_type: Some(concrete(media_type)),
        };
    };
    let schema = media.get("schema").map(|schema| maker.constraints(schema));
    let mut parts = Vec::new();
    for (name, value) in entries {
        let property = schema.as_ref().and_then(|schema| {
            let (_, schemas) = schema.properties.iter().find(|(known, _)| known == name)?;
            Some(Constraints::of_all(documents, schemas))
        });
        let encoding = media.get("encoding").and_then(|node| node.get(name));
        if let Some(headers) = encoding.and_then(|node| node.get("headers")) {
            maker.ignored.push(("headers of encoding", headers));
        }
        let media_type = encoding
            .and_then(|node| node.word("contentType"))
            .and_then(|types| types.split(',').next())
            .map(concrete);
        match value {
            // Each item is a part of its own.
            ExampleValue::List(items) => {
                let of_item = property.as_ref().and_then(|property| property.items);
                let of_item = of_item.map(|schema| maker.constraints(schema));
                for item in items {
                    parts.push(part(name, item, of_item.as_ref(), media_type.clone()));
                }
            }
            value => parts.push(part(name, value, property.as_ref(), media_type)),
        }
    }
    Body {
        draft: BodyDraft::Multipart(parts),
        media_type: None,
    }
}

fn part(
    name: &str,
    value: &ExampleValue,
    schema: Option<&Constraints<'_>>,
    media_type: Option<String>,
) -> PartDraft {
    let is_file = schema.is_some_and(|schema| {
        schema.format == Some("binary")
            || (schema.media_type.is_some() && schema.encoding.is_none())
    });
    let of_schema = schema
        .and_then(|schema| schema.media_type)
        .map(str::to_owned);
    let is_object = matches!(value, ExampleValue::Map(_));
    let media_type = media_type
        .or(of_schema)
        .or_else(|| is_object.then(|| "application/json".to_owned()))
        .or_else(|| is_file.then(|| "application/octet-stream".to_owned()));
    PartDraft {
        name: name.to_owned(),
        content: PartContent::Text(value.plain(Encoding::Plain)),
        file_name: is_file.then(|| "file.bin".to_owned()),
        media_type,
    }
}
