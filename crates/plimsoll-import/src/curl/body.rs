//! Bodies: the `--data` family, forms and uploads.

use super::context::Context;
use super::invocation::{Datum, PlacedText, Transfer};
use super::options::DataKind;
use super::{files, form};
use crate::script::draft::BodyDraft;
use crate::script::encoding::COMPONENT;

/// A body with what its options say about headers.
#[derive(Clone, Debug)]
pub(super) struct CurlBody {
    pub(super) draft: BodyDraft,
    /// `Content-Type`, unless the command sets it.
    pub(super) media_type: Option<&'static str>,
    /// `Accept`, unless the command sets it.
    pub(super) accept: Option<&'static str>,
    /// The method, unless the command sets it.
    pub(super) method: &'static str,
}

/// The body of a transfer; `media_type` is that of its own headers.
pub(super) fn read(
    context: &mut Context<'_>,
    transfer: &Transfer,
    media_type: Option<&str>,
) -> Option<CurlBody> {
    if let Some(upload) = transfer.uploads.first() {
        lose_others(context, transfer);
        return Some(uploaded(context, transfer, upload, media_type));
    }
    if !transfer.form.is_empty() {
        if !transfer.data.is_empty() {
            lose_data(context, transfer);
        }
        return Some(CurlBody {
            draft: form::read(context, transfer),
            media_type: None,
            accept: None,
            method: "POST",
        });
    }
    if transfer.data.is_empty() || transfer.in_query {
        return None;
    }
    let is_json = transfer
        .data
        .iter()
        .any(|datum| datum.kind == DataKind::Json);
    let own = if is_json {
        "application/json"
    } else {
        "application/x-www-form-urlencoded"
    };
    let text = joined(context, transfer);
    let kind = media_type.unwrap_or(own);
    let text = context.secrets.body(&mut context.marks, kind, &text);
    Some(CurlBody {
        draft: BodyDraft::Text(context.marks.template(&text)),
        media_type: Some(own),
        accept: is_json.then_some("application/json"),
        method: "POST",
    })
}

/// All values of the `--data` family as they are sent.
pub(super) fn joined(context: &mut Context<'_>, transfer: &Transfer) -> String {
    let mut text = String::new();
    for (index, datum) in transfer.data.iter().enumerate() {
        if index > 0 && datum.kind != DataKind::Json {
            text.push('&');
        }
        let value = value(context, transfer, datum);
        text.push_str(&value);
    }
    text
}

fn value(context: &mut Context<'_>, transfer: &Transfer, datum: &Datum) -> String {
    let PlacedText { at, text } = &datum.value;
    let file = text.strip_prefix('@');
    match (datum.kind, file) {
        (DataKind::Raw, _) | (DataKind::Text | DataKind::Binary | DataKind::Json, None) => {
            text.clone()
        }
        (DataKind::UrlEncode, _) => url_encoded(context, transfer, &datum.value),
        (kind, Some(path)) => {
            let strips_breaks = kind == DataKind::Text;
            content(context, transfer, *at, path, strips_breaks)
        }
    }
}

/// The content of a file, or of standard input if the script has it.
pub(super) fn content(
    context: &mut Context<'_>,
    transfer: &Transfer,
    at: usize,
    path: &str,
    strips_breaks: bool,
) -> String {
    if path != "-" {
        return files::content(context, at, path, strips_breaks);
    }
    match &transfer.input {
        Some(input) if strips_breaks => input.replace(['\r', '\n', '\0'], ""),
        Some(input) => input.clone(),
        None => {
            context.lose(
                at,
                "what comes from standard input",
                "a plan has no standard input",
                "put it into a file, and name the file: @FILE",
            );
            String::new()
        }
    }
}

/// The five forms of `--data-urlencode`: `content`, `=content`, `name=content`, `@file`, `name@file`.
pub(super) fn url_encoded(
    context: &mut Context<'_>,
    transfer: &Transfer,
    value: &PlacedText,
) -> String {
    let PlacedText { at, text } = value;
    let (name, sent) = match text.find(['=', '@']) {
        Some(split) if text[split..].starts_with('=') => {
            (&text[..split], text[split + 1..].to_owned())
        }
        Some(split) => {
            let read = self::content(context, transfer, *at, &text[split + 1..], false);
            (&text[..split], read)
        }
        None => ("", text.clone()),
    };
    let secret = context
        .secrets
        .parameter(&mut context.marks, (name, &sent), Some("urlencode"));
    let encoded = match secret {
        Some(mark) => mark.to_string(),
        None => context
            .marks
            .percent_encoded(&sent, COMPONENT)
            .replace("%20", "+"),
    };
    if name.is_empty() {
        encoded
    } else {
        format!("{name}={encoded}")
    }
}

fn uploaded(
    context: &mut Context<'_>,
    transfer: &Transfer,
    upload: &PlacedText,
    media_type: Option<&str>,
) -> CurlBody {
    let path = if upload.text == "." {
        "-"
    } else {
        &upload.text
    };
    let text = content(context, transfer, upload.at, path, false);
    let kind = media_type.unwrap_or_default();
    let text = context.secrets.body(&mut context.marks, kind, &text);
    CurlBody {
        draft: BodyDraft::Text(context.marks.template(&text)),
        media_type: None,
        accept: None,
        method: "PUT",
    }
}

/// One request has one body: curl refuses several, or takes the last kind.
fn lose_others(context: &mut Context<'_>, transfer: &Transfer) {
    for more in transfer.uploads.iter().skip(1) {
        let what = format!("--upload-file {}", more.text);
        let remedy = "write a command for each file";
        context.lose(more.at, &what, "one file is sent to each URL", remedy);
    }
    for field in &transfer.form {
        let why = "a request that uploads a file has no form";
        let remedy = "write a command for each";
        context.lose(field.value.at, "--form", why, remedy);
    }
    if !transfer.in_query {
        lose_data(context, transfer);
    }
}

fn lose_data(context: &mut Context<'_>, transfer: &Transfer) {
    for datum in &transfer.data {
        context.lose(
            datum.value.at,
            "--data",
            "a request has one body, and another option sets it",
            "write a command for each",
        );
    }
}
