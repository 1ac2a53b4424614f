//! Bodies of requests, in the six modes that Postman has.

use super::context::Context;
use super::variables::Place;
use crate::FileContent;
use crate::located::{Located, LocatedValue};
use crate::script::draft::{BodyDraft, PartContent, PartDraft};
use crate::script::encoding::COMPONENT;
use crate::script::{Marks, Template};
use crate::{DataFile, located};

/// Media types by the language of a raw body.
const LANGUAGES: [(&str, &str); 5] = [
    ("json", "application/json"),
    ("xml", "application/xml"),
    ("html", "text/html"),
    ("javascript", "application/javascript"),
    ("text", "text/plain"),
];

/// Media types by the ending of a file.
const ENDINGS: [(&str, &str); 22] = [
    ("bin", "application/octet-stream"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("gif", "image/gif"),
    ("gz", "application/gzip"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "application/javascript"),
    ("json", "application/json"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("txt", "text/plain"),
    ("webp", "image/webp"),
    ("xml", "application/xml"),
    ("yaml", "text/yaml"),
    ("yml", "text/yaml"),
    ("zip", "application/zip"),
];

/// A body, and its media type unless the request sets one.
#[derive(Clone, Debug)]
pub(super) struct PostmanBody {
    pub(super) draft: BodyDraft,
    pub(super) media_type: Option<String>,
}

/// The body of a request; `own` is the media type that its headers set.
pub(super) fn read(
    context: &mut Context<'_>,
    body: &Located,
    own: Option<&str>,
) -> Option<PostmanBody> {
    if is_off(body) {
        return None;
    }
    let mode = body.get("mode").and_then(Located::text)?;
    let entry = body.get(mode)?;
    match mode {
        "raw" => raw(context, body, entry, own),
        "urlencoded" => Some(form(context, entry)),
        "formdata" => Some(multipart(context, entry)),
        "file" => file(context, entry),
        "graphql" => graphql(context, entry),
        other => {
            context.lose(
                entry.at,
                &format!("body.mode {other}"),
                "Postman has no such mode",
                "valid: raw, urlencoded, formdata, file, graphql",
            );
            None
        }
    }
}

/// Whether an entry is switched off.
pub(super) fn is_off(entry: &Located) -> bool {
    entry.get("disabled").is_some_and(Located::is_true)
}

fn raw(
    context: &mut Context<'_>,
    body: &Located,
    entry: &Located,
    own: Option<&str>,
) -> Option<PostmanBody> {
    let text = entry.scalar()?;
    if text.is_empty() {
        return None;
    }
    let language = body
        .path(&["options", "raw", "language"])
        .and_then(Located::text);
    let by_language = LANGUAGES.iter().find(|(name, _)| Some(*name) == language);
    let media_type = by_language.map_or("text/plain", |(_, media_type)| media_type);
    let text = context.resolved(entry.at, &text, Place::Text);
    let kind = own.unwrap_or(media_type);
    let text = context.secrets.body(&mut context.marks, kind, &text);
    Some(PostmanBody {
        draft: BodyDraft::Text(context.marks.template(&text)),
        media_type: Some(media_type.to_owned()),
    })
}

/// Name, value and place of the entries of a form that are switched on.
fn fields<'l>(context: &mut Context<'_>, list: &'l Located) -> Vec<(&'l Located, String, String)> {
    let on = list.items().iter().filter(|entry| !is_off(entry));
    let mut fields = Vec::new();
    for entry in on {
        let text = |key: &str| entry.get(key).and_then(Located::scalar).unwrap_or_default();
        let name = context.resolved(entry.at, &text("key"), Place::Text);
        let value = context.resolved(entry.at, &text("value"), Place::Text);
        fields.push((entry, name, value));
    }
    fields
}

/// Fields of one name are sent together, in the place of the first, as Postman does.
fn form(context: &mut Context<'_>, list: &Located) -> PostmanBody {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    // v2.0 has the encoded text.
    let text = if let Some(text) = list.text() {
        context.resolved(list.at, text, Place::Text)
    } else {
        for (_, name, value) in fields(context, list) {
            let secret =
                context
                    .secrets
                    .parameter(&mut context.marks, (&name, &value), Some("urlencode"));
            let value = match secret {
                Some(mark) => mark.to_string(),
                None => context.marks.percent_encoded(&value, COMPONENT),
            };
            let pair = format!(
                "{}={value}",
                context.marks.percent_encoded(&name, COMPONENT)
            );
            match groups.iter_mut().find(|(known, _)| *known == name) {
                Some((_, pairs)) => pairs.push(pair),
                None => groups.push((name, vec![pair])),
            }
        }
        let pairs: Vec<String> = groups.into_iter().flat_map(|(_, pairs)| pairs).collect();
        pairs.join("&")
    };
    PostmanBody {
        draft: BodyDraft::Text(context.marks.template(&text)),
        media_type: Some("application/x-www-form-urlencoded".to_owned()),
    }
}

fn multipart(context: &mut Context<'_>, list: &Located) -> PostmanBody {
    let mut parts = Vec::new();
    for (entry, name, value) in fields(context, list) {
        if Marks::are_in(&name) {
            context.lose(
                entry.at,
                &format!("formdata {name}"),
                "the name of a part must be constant",
                "write the name itself",
            );
            continue;
        }
        let text = |key: &str| entry.get(key).and_then(Located::text).map(str::to_owned);
        let part = PartDraft {
            name: name.clone(),
            content: PartContent::Text(Template::default()),
            file_name: text("fileName"),
            media_type: text("contentType").filter(|kind| !kind.is_empty()),
        };
        if entry.get("type").and_then(Located::text) == Some("file") || entry.get("src").is_some() {
            parts.extend(file_parts(context, entry, &part));
            continue;
        }
        let secret = context
            .secrets
            .parameter(&mut context.marks, (&name, &value), None);
        let value = secret.map_or(value, |mark| mark.to_string());
        parts.push(PartDraft {
            content: PartContent::Text(context.marks.template(&value)),
            ..part
        });
    }
    PostmanBody {
        draft: BodyDraft::Multipart(parts),
        media_type: None,
    }
}

/// A part for each file of an entry.
fn file_parts(context: &mut Context<'_>, entry: &Located, part: &PartDraft) -> Vec<PartDraft> {
    let sources: Vec<&Located> = match entry.get("src") {
        Some(source) if source.text().is_some() => vec![source],
        Some(list) => list.items().iter().collect(),
        None => Vec::new(),
    };
    if sources.is_empty() {
        context.lose(
            entry.at,
            &format!("the file of formdata {}", part.name),
            "no file was chosen in Postman",
            "choose one there, or write { file: NAME } into the plan",
        );
    }
    let mut parts = Vec::new();
    for source in sources {
        let Some(path) = source.text() else { continue };
        let own = path.rsplit(['/', '\\']).next().unwrap_or_default();
        let mut file_part = part.clone();
        file_part
            .media_type
            .get_or_insert_with(|| media_type_of(own).to_owned());
        file_part.file_name.get_or_insert_with(|| own.to_owned());
        if let Some(name) = file_name(context, source.at, path) {
            file_part.content = PartContent::File(name);
        }
        parts.push(file_part);
    }
    parts
}

fn media_type_of(name: &str) -> &'static str {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let ending = ending.to_ascii_lowercase();
    ENDINGS
        .iter()
        .find(|(known, _)| *known == ending)
        .map_or("application/octet-stream", |(_, kind)| kind)
}

/// The name in the plan of a file that the collection names. One that is not there is lost.
fn file_name(context: &mut Context<'_>, at: usize, path: &str) -> Option<String> {
    // Postman keeps the absolute path of whoever made the collection; newman takes the working folder.
    let own = path.rsplit(['/', '\\']).next().unwrap_or_default();
    let found = [path, own]
        .into_iter()
        .find(|path| context.script.files.bytes(path).is_ok());
    let Some(found) = found else {
        context.lose(
            at,
            &format!("the content of {path}"),
            "there is no such file beside the collection",
            "put the file there, then import again",
        );
        return None;
    };
    let name: String = own
        .chars()
        .filter(|c| !c.is_control() && !matches!(c, '\'' | '"'))
        .collect();
    let source = FileContent::Copy(found.to_owned());
    if context.files.iter().all(|file| file.content != source) {
        context.files.push(DataFile {
            name: name.clone(),
            content: source,
        });
    }
    Some(name)
}

fn file(context: &mut Context<'_>, entry: &Located) -> Option<PostmanBody> {
    let source = entry.get("src").filter(|source| source.text().is_some());
    let Some(source) = source else {
        if let Some(text) = entry.get("content").and_then(Located::scalar) {
            let text = context.resolved(entry.at, &text, Place::Text);
            return Some(PostmanBody {
                draft: BodyDraft::Text(context.marks.template(&text)),
                media_type: None,
            });
        }
        context.lose(
            entry.at,
            "body.file",
            "no file was chosen in Postman",
            "choose one there, or write body: { file: NAME } into the plan",
        );
        return None;
    };
    let path = source.text()?;
    let name = file_name(context, source.at, path)?;
    Some(PostmanBody {
        media_type: Some(media_type_of(&name).to_owned()),
        draft: BodyDraft::File {
            path: name,
            media_type: None,
            is_template: false,
        },
    })
}

/// `{"query": …, "operationName": …, "variables": …}`, the variables as they are written.
fn graphql(context: &mut Context<'_>, entry: &Located) -> Option<PostmanBody> {
    let query = entry.get("query").and_then(Located::scalar)?;
    let query = context.resolved(entry.at, &query, Place::Text);
    let quoted = |context: &mut Context<'_>, text: &str| {
        let inner = context.marks.mapped(text, "json", |literal| {
            let quoted = serde_json::Value::from(literal).to_string();
            quoted[1..quoted.len() - 1].to_owned()
        });
        format!("\"{inner}\"")
    };
    let mut text = format!("{{\"query\":{}", quoted(context, &query));
    if let Some(operation) = entry.get("operationName").and_then(Located::text)
        && !operation.is_empty()
    {
        let operation = context.resolved(entry.at, operation, Place::Text);
        text.push_str(",\"operationName\":");
        text.push_str(&quoted(context, &operation));
    }
    if let Some(variables) = entry.get("variables") {
        let written = match &variables.value {
            LocatedValue::Text(text) => text.trim().to_owned(),
            LocatedValue::Map(_) | LocatedValue::List(_) => located::to_json(variables),
            _ => String::new(),
        };
        if !written.is_empty() {
            let written = context.resolved(variables.at, &written, Place::Text);
            text.push_str(",\"variables\":");
            text.push_str(&context.secrets.json(&mut context.marks, &written));
        }
    }
    text.push('}');
    Some(PostmanBody {
        draft: BodyDraft::Text(context.marks.template(&text)),
        media_type: Some("application/json".to_owned()),
    })
}
