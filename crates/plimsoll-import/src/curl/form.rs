//! `--form`: parts of a multipart body.

use super::body::content;
use super::context::Context;
use super::files;
use super::invocation::{FormField, PlacedText, Transfer};
use crate::script::draft::{BodyDraft, PartContent, PartDraft};

/// Media types that curl knows by the ending of a file.
const MEDIA_TYPES: [(&str, &str); 10] = [
    (".gif", "image/gif"),
    (".jpg", "image/jpeg"),
    (".jpeg", "image/jpeg"),
    (".png", "image/png"),
    (".svg", "image/svg+xml"),
    (".txt", "text/plain"),
    (".htm", "text/html"),
    (".html", "text/html"),
    (".pdf", "application/pdf"),
    (".xml", "application/xml"),
];

/// The parts of a transfer's form.
pub(super) fn read(context: &mut Context<'_>, transfer: &Transfer) -> BodyDraft {
    let mut parts = Vec::new();
    for field in &transfer.form {
        parts.extend(part(context, transfer, field));
    }
    BodyDraft::Multipart(parts)
}

fn part(context: &mut Context<'_>, transfer: &Transfer, field: &FormField) -> Option<PartDraft> {
    let PlacedText { at, text } = &field.value;
    let at = *at;
    let Some((name, value)) = text.split_once('=') else {
        context.lose(
            at,
            &format!("--form {text}"),
            "it has no `=`, and curl refuses it",
            "write NAME=VALUE",
        );
        return None;
    };
    let mut part = PartDraft {
        name: context.marks.shown(name),
        content: PartContent::Text(crate::script::Template::default()),
        file_name: None,
        media_type: None,
    };
    if field.is_literal {
        part.content = literal(context, name, value);
        return Some(part);
    }
    if value.starts_with('(') || name.is_empty() {
        context.lose(
            at,
            &format!("--form {text}"),
            "a plan has no parts within parts",
            "write a part for each of them",
        );
        return None;
    }
    let kind = value.chars().next().filter(|c| matches!(c, '@' | '<'));
    let rest = if kind.is_some() { &value[1..] } else { value };
    let (value, parameters) = word(rest);
    apply(context, at, &mut part, parameters);
    match kind {
        Some('@') if value.contains(',') && context.script.files.bytes(&value).is_err() => {
            context.lose(
                at,
                &format!("--form {text}"),
                "a plan cannot send several files in one part",
                "write --form once for each file",
            );
            return None;
        }
        Some('@') => file(context, transfer, at, &mut part, &value),
        Some(_) => {
            let text = content(context, transfer, at, &value, false);
            part.content = literal(context, name, &text);
        }
        None => part.content = literal(context, name, &value),
    }
    Some(part)
}

fn literal(context: &mut Context<'_>, name: &str, value: &str) -> PartContent {
    let secret = context
        .secrets
        .parameter(&mut context.marks, (name, value), None);
    let text = secret.map_or_else(|| value.to_owned(), |mark| mark.to_string());
    PartContent::Text(context.marks.template(&text))
}

/// A part with the content of a file. One that is not there is sent empty, under its name.
fn file(
    context: &mut Context<'_>,
    transfer: &Transfer,
    at: usize,
    part: &mut PartDraft,
    path: &str,
) {
    let own = path.rsplit(['/', '\\']).next().unwrap_or_default();
    let own = context.marks.shown(own);
    if part.media_type.is_none() {
        let lower = own.to_ascii_lowercase();
        let known = MEDIA_TYPES.iter().find(|(end, _)| lower.ends_with(end));
        let kind = known.map_or("application/octet-stream", |(_, kind)| kind);
        part.media_type = Some(kind.to_owned());
    }
    if path == "-" {
        let text = content(context, transfer, at, path, false);
        part.content = PartContent::Text(context.marks.template(&text));
    } else if let Some(name) = files::part(context, at, path) {
        part.content = PartContent::File(name);
    }
    part.file_name.get_or_insert(own);
}

/// The value of a part, in quotes or up to a semicolon, and its parameters behind it.
fn word(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(';').unwrap_or(text.len());
        return (text[..end].trim_end().to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut chars = quoted.char_indices();
    while let Some((index, c)) = chars.next() {
        match c {
            '"' => {
                let rest = quoted[index + 1..].trim_start();
                if rest.is_empty() || rest.starts_with(';') {
                    return (value, rest);
                }
                break;
            }
            '\\' => match chars.next() {
                Some((_, escaped @ ('"' | '\\'))) => value.push(escaped),
                Some((_, other)) => {
                    value.push('\\');
                    value.push(other);
                }
                None => {}
            },
            c => value.push(c),
        }
    }
    // A quote that does not enclose the whole value is part of it.
    let end = text.find(';').unwrap_or(text.len());
    (text[..end].to_owned(), &text[end..])
}

/// `;type=…`, `;filename=…`, `;headers=…`, `;encoder=…`.
fn apply(context: &mut Context<'_>, at: usize, part: &mut PartDraft, parameters: &str) {
    let mut rest = parameters;
    while let Some(behind) = rest.strip_prefix(';') {
        let behind = behind.trim_start();
        let (name, value) = match behind.split_once('=') {
            Some((name, value)) if !name.contains(';') => (name, value),
            _ => ("", behind),
        };
        let (value, more) = word(value);
        let shown = context.marks.shown(&value);
        match (name, &mut part.media_type) {
            ("type", None) => part.media_type = Some(shown),
            ("filename", _) => part.file_name = Some(shown),
            ("headers" | "encoder", _) => context.lose(
                at,
                &format!(";{name}={value}"),
                "a part of a plan has a name, a file name and a type",
                "write the whole body into a file, and send it with --data-binary @FILE",
            ),
            // What follows a type is part of it, such as `;charset=utf-8`.
            (_, Some(media_type)) => {
                media_type.push(';');
                if !name.is_empty() {
                    media_type.push_str(name);
                    media_type.push('=');
                }
                media_type.push_str(&shown);
            }
            (_, None) => context.lose(
                at,
                &format!(";{}", &behind[..behind.len() - more.len()]),
                "curl reads a part up to the semicolon",
                "use --form-string, or put the value in quotes: NAME=\"a;b\"",
            ),
        }
        rest = more;
    }
}
