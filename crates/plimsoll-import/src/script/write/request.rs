//! A request of a draft as a step of a plan.

use std::collections::HashSet;

use super::{origin, templates};
use crate::script::Template;
use crate::script::draft::{
    BodyDraft, CaptureDraft, CaptureSource, ExpectDraft, MatchDraft, PartContent, PartDraft,
    PickDraft, RequestDraft, duration,
};
use crate::yaml::{YamlEntry, YamlNode};

pub(super) fn request(draft: &RequestDraft, main: &Template) -> Vec<YamlEntry> {
    let method = draft.method.to_ascii_lowercase();
    let is_page = draft.with_resources || !draft.resources.is_empty();
    let key = if is_page && matches!(method.as_str(), "get" | "post") {
        "page"
    } else {
        method.as_str()
    };
    let mut entries = vec![YamlEntry::new(key, YamlNode::text(url(draft, main)))];
    if key == "page" {
        entries.push(YamlEntry::new("resources", resources(draft, main)));
    }
    if let Some(label) = &draft.label {
        entries.push(YamlEntry::new("label", YamlNode::text(label)));
    }
    let raw = draft.body.as_ref().and_then(raw_multipart);
    if let Some((media_type, text)) = raw {
        let mut headers = draft.headers.clone();
        headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
        headers.push(("content-type".to_owned(), Template::literal(&media_type)));
        entries.extend(templates("headers", &headers));
        entries.push(YamlEntry::new("body", YamlNode::text(text.as_str())));
    } else {
        entries.extend(templates("headers", &draft.headers));
        entries.extend(draft.body.as_ref().map(body));
    }
    if let Some(follow) = draft.follow {
        entries.push(YamlEntry::new("follow", YamlNode::plain(follow)));
    }
    if let Some(timeout) = draft.timeout {
        entries.push(YamlEntry::new(
            "timeout",
            YamlNode::plain(duration(timeout)),
        ));
    }
    entries.extend(expect(&draft.expect));
    if !draft.captures.is_empty() {
        entries.push(YamlEntry::new(
            "capture",
            YamlNode::map(
                draft
                    .captures
                    .iter()
                    .map(|draft| (draft.name.clone(), capture(draft))),
            ),
        ));
    }
    entries
}

/// Resources of a page: `found`, or its own list; a plain GET is its URL alone.
fn resources(draft: &RequestDraft, main: &Template) -> YamlNode {
    if draft.resources.is_empty() {
        return YamlNode::text("found");
    }
    let listed = draft.resources.iter().map(|resource| {
        let mut entries = request(resource, main);
        match entries.as_slice() {
            [only] if only.key == "get" => entries.remove(0).value,
            _ => YamlNode::Map(entries),
        }
    });
    let found = draft.with_resources.then(|| YamlNode::text("found"));
    YamlNode::list(found.into_iter().chain(listed))
}

/// A path with one slash first: two begin a host.
fn one_slash(path: &str) -> &str {
    let extra = path.len() - path.trim_start_matches('/').len();
    &path[extra.saturating_sub(1)..]
}

/// The path alone for the plan's target, else the whole URL.
fn url(draft: &RequestDraft, main: &Template) -> String {
    let path = one_slash(draft.url.path.as_str());
    if draft.url.origin == *main || draft.url.origin.is_empty() {
        return if path.is_empty() { "/" } else { path }.to_owned();
    }
    format!("{}{path}", origin::with_defaults(draft.url.origin.as_str()))
}

fn body(draft: &BodyDraft) -> YamlEntry {
    match draft {
        BodyDraft::Text(text) => YamlEntry::new("body", YamlNode::text(text.as_str())),
        BodyDraft::Form(fields) => YamlEntry::new("form", form(fields)),
        BodyDraft::Multipart(parts) => YamlEntry::new("multipart", multipart(parts)),
        BodyDraft::Json(value) => YamlEntry::new("json", value.clone()),
        BodyDraft::File {
            path,
            media_type,
            is_template,
        } => {
            let mut entries = vec![YamlEntry::new("file", YamlNode::text(path))];
            if *is_template {
                entries.push(YamlEntry::new("template", YamlNode::plain(true)));
            }
            entries.extend(
                media_type
                    .as_ref()
                    .map(|kind| YamlEntry::new("type", YamlNode::text(kind))),
            );
            YamlEntry::new("body", YamlNode::Map(entries))
        }
    }
}

/// Fields of the same name become a list in the place of the first one.
fn form(fields: &[(String, Template)]) -> YamlNode {
    grouped(
        fields
            .iter()
            .map(|(name, value)| (name.as_str(), YamlNode::text(value.as_str()))),
    )
}

/// Separates the parts of a body that is written as a text.
const BOUNDARY: &str = "plimsoll-5f1c7d2ab94e";

/// A multipart body with several parts of one name, which a map cannot have, as its media type and text.
fn raw_multipart(draft: &BodyDraft) -> Option<(String, Template)> {
    let BodyDraft::Multipart(parts) = draft else {
        return None;
    };
    let mut names = HashSet::new();
    if parts.iter().all(|part| names.insert(&part.name)) {
        return None;
    }
    let quoted = |name: &str| {
        let name = name.replace('"', "%22");
        name.replace('\r', "%0D").replace('\n', "%0A")
    };
    let mut text = Template::default();
    for part in parts {
        let mut head = format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{}\"",
            quoted(&part.name)
        );
        let own_name = match &part.content {
            PartContent::File(path) => Some(path.rsplit('/').next().unwrap_or_default()),
            PartContent::Text(_) => None,
        };
        let file_name = part.file_name.as_deref().or(own_name);
        if let Some(name) = file_name {
            for piece in ["; filename=\"", &quoted(name), "\""] {
                head.push_str(piece);
            }
        }
        let default = file_name.map(|_| "application/octet-stream");
        if let Some(media_type) = part.media_type.as_deref().or(default) {
            head.push_str("\r\nContent-Type: ");
            head.push_str(media_type);
        }
        head.push_str("\r\n\r\n");
        text.push_literal(&head);
        match &part.content {
            PartContent::Text(content) => text.push(content),
            PartContent::File(path) => text.push(&Template::expression(&format!("file('{path}')"))),
        }
        text.push_literal("\r\n");
    }
    text.push_literal(&format!("--{BOUNDARY}--\r\n"));
    Some((format!("multipart/form-data; boundary={BOUNDARY}"), text))
}

fn multipart(parts: &[PartDraft]) -> YamlNode {
    grouped(parts.iter().map(|part| (part.name.as_str(), content(part))))
}

fn grouped<'n>(values: impl Iterator<Item = (&'n str, YamlNode)>) -> YamlNode {
    let mut groups: Vec<(&str, Vec<YamlNode>)> = Vec::new();
    for (name, value) in values {
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, list)) => list.push(value),
            None => groups.push((name, vec![value])),
        }
    }
    YamlNode::map(groups.into_iter().map(|(name, mut values)| {
        let value = if values.len() == 1 {
            values.remove(0)
        } else {
            YamlNode::list(values)
        };
        (name, value)
    }))
}

fn content(part: &PartDraft) -> YamlNode {
    let mut entries = Vec::new();
    match &part.content {
        PartContent::Text(text) if part.file_name.is_none() && part.media_type.is_none() => {
            return YamlNode::text(text.as_str());
        }
        PartContent::Text(text) => {
            entries.push(YamlEntry::new("text", YamlNode::text(text.as_str())));
        }
        PartContent::File(path) => entries.push(YamlEntry::new("file", YamlNode::text(path))),
    }
    let texts = [("name", &part.file_name), ("type", &part.media_type)];
    for (key, text) in texts {
        entries.extend(
            text.as_ref()
                .map(|text| YamlEntry::new(key, YamlNode::text(text))),
        );
    }
    YamlNode::Map(entries)
}

fn expect(draft: &ExpectDraft) -> Option<YamlEntry> {
    let mut entries = Vec::new();
    match draft.statuses.as_slice() {
        [] => {}
        [single] => entries.push(YamlEntry::new("status", YamlNode::plain(single))),
        several => entries.push(YamlEntry::new(
            "status",
            YamlNode::list(several.iter().map(YamlNode::plain)),
        )),
    }
    let texts = |values: &[Template]| {
        YamlNode::list(values.iter().map(|value| YamlNode::text(value.as_str())))
    };
    if !draft.contains.is_empty() {
        entries.push(YamlEntry::new("contains", texts(&draft.contains)));
    }
    if !draft.lacks.is_empty() {
        entries.push(YamlEntry::new("lacks", texts(&draft.lacks)));
    }
    if !draft.regex.is_empty() {
        entries.push(YamlEntry::new(
            "regex",
            YamlNode::list(draft.regex.iter().map(YamlNode::text)),
        ));
    }
    for (key, conditions) in [("json", &draft.json), ("header", &draft.headers)] {
        if !conditions.is_empty() {
            let conditions = conditions
                .iter()
                .map(|(name, condition)| (name.clone(), match_node(condition)));
            entries.push(YamlEntry::new(key, YamlNode::map(conditions)));
        }
    }
    if let Some(within) = draft.within {
        entries.push(YamlEntry::new("within", YamlNode::plain(duration(within))));
    }
    (!entries.is_empty()).then(|| YamlEntry::new("expect", YamlNode::Map(entries)))
}

fn match_node(condition: &MatchDraft) -> YamlNode {
    match condition {
        MatchDraft::Equals(text) => YamlNode::text(text.as_str()),
        MatchDraft::Contains(text) => YamlNode::map([("contains", YamlNode::text(text.as_str()))]),
        MatchDraft::Regex(text) => YamlNode::map([("regex", YamlNode::text(text))]),
        MatchDraft::Present(present) => YamlNode::map([("present", YamlNode::plain(present))]),
    }
}

fn capture(draft: &CaptureDraft) -> YamlNode {
    let mut entries = match &draft.source {
        CaptureSource::Regex(text) => vec![("regex", YamlNode::text(text))],
        CaptureSource::Json(path) => vec![("json", YamlNode::text(path))],
        CaptureSource::Css {
            selector,
            attribute,
        } => {
            let mut entries = vec![("css", YamlNode::text(selector))];
            entries.extend(
                attribute
                    .as_ref()
                    .map(|name| ("attribute", YamlNode::text(name))),
            );
            entries
        }
        CaptureSource::Header(name) => vec![("header", YamlNode::text(name))],
        CaptureSource::Cookie(name) => vec![("cookie", YamlNode::text(name))],
    };
    match draft.pick {
        PickDraft::First => {}
        PickDraft::Last => entries.push(("pick", YamlNode::text("last"))),
        PickDraft::Random => entries.push(("pick", YamlNode::text("random"))),
        PickDraft::Nth(number) => entries.push(("pick", YamlNode::plain(number))),
    }
    if let Some(default) = &draft.default {
        entries.push(("default", YamlNode::text(default.as_str())));
    }
    if let [("regex", text)] = entries.as_slice() {
        return text.clone();
    }
    YamlNode::map(entries)
}
