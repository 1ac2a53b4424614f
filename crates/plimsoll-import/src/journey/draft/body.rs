//! Bodies: forms and JSON are structured, others are text or a file.

use serde_json::Value as Json;

mod form;

use super::{Drafter, FORM_FIELD, PlanValue, ValueLocation};
use crate::heuristics;
use crate::recording::{FormField, Payload, RecordedExchange, RecordingLoss, media_type_of};
use crate::yaml::{YamlEntry, YamlItem, YamlNode};
use crate::{DataFile, FileContent};

/// Longest JSON body written as YAML, bytes; a longer one stays text.
const JSON_LEN_MAX: usize = 64 << 10;
/// Deepest JSON body written as YAML.
const JSON_DEPTH_MAX: usize = 16;
/// Most digits of a number that are kept whatever they are.
const DIGITS_KEPT: usize = 15;
/// Longest name of a file of a body, characters, without its number.
const FILE_NAME_LEN_MAX: usize = 60;
/// Longest name used as a YAML key, bytes: keys are limited to 1024 characters, escapes included.
const KEY_LEN_MAX: usize = 100;

impl Drafter<'_> {
    pub(super) fn body(&mut self, exchange: &RecordedExchange) {
        let Some(payload) = &exchange.payload else {
            if !matches!(exchange.method.as_str(), "GET" | "HEAD" | "DELETE") {
                // What has a media type has a body, unless its length says otherwise.
                let sent = exchange.header("content-length").map_or_else(
                    || exchange.header("content-type").is_some(),
                    |length| length != "0",
                );
                if sent {
                    self.lose("the recording lacks the body of this request: add it".to_owned());
                }
            }
            return;
        };
        if matches!(exchange.method.as_str(), "GET" | "HEAD") {
            return;
        }
        if payload
            .text
            .as_ref()
            .is_some_and(|text| text.contains('\u{fffd}'))
        {
            self.lose(
                "the body holds U+FFFD, which stands for bytes that the recorder could not write, or for half of an emoji"
                    .to_owned(),
            );
        }
        let kind = media_type_of(&payload.media_type);
        let entry = match kind.as_str() {
            "application/x-www-form-urlencoded" => self.form_body(payload),
            "multipart/form-data" if has_keys(&payload.fields) => {
                Some(self.multipart(&payload.fields))
            }
            _ if kind.contains("json") => self.json(payload),
            _ => None,
        };
        self.step.body = entry.or_else(|| self.text_body(payload));
    }

    fn text_body(&mut self, payload: &Payload) -> Option<YamlEntry> {
        let text = match &payload.bytes {
            Some(bytes) => self.file(bytes, "body.bin")?,
            None => heuristics::literal(payload.text.as_deref().unwrap_or_default()),
        };
        (!text.is_empty()).then(|| YamlEntry::new("body", YamlNode::text(text)))
    }

    /// A template of bytes that are no text; `None` where the plan has no folder for their file.
    fn file(&mut self, bytes: &[u8], name: &str) -> Option<String> {
        let Some(files) = &mut self.files else {
            self.lose(
                "the body of this request is not UTF-8 and needs a file: import with --out DIR"
                    .to_owned(),
            );
            return None;
        };
        let number = files.len() + 1;
        let name = format!("bodies/{number}-{}", file_name(name));
        files.push(DataFile {
            name: name.clone(),
            content: FileContent::Bytes(bytes.to_vec()),
        });
        Some(format!("{{{{ file('{name}') }}}}"))
    }

    /// Notes what the step lacks.
    pub(super) fn lose(&mut self, sentence: String) {
        self.losses.push(RecordingLoss {
            place: self.place,
            what: format!(
                "{} {}: {sentence}",
                self.step.method.to_uppercase(),
                self.path
            ),
        });
        self.step.notes.push(sentence);
    }

    fn field(&mut self, field: &FormField) -> PlanValue {
        let site = ValueLocation {
            what: FORM_FIELD,
            name: &field.name,
        };
        self.value(site, &field.value)
    }

    fn multipart(&mut self, fields: &[FormField]) -> YamlEntry {
        let mut entries: Vec<YamlEntry> = Vec::new();
        for field in fields {
            let value = self.multipart_field(field);
            form::add(&mut entries, &field.name, value);
        }
        YamlEntry::new("multipart", YamlNode::Map(entries))
    }

    fn multipart_field(&mut self, field: &FormField) -> YamlNode {
        if let Some(name) = field.file_name.as_ref().filter(|name| !name.is_empty())
            && field.value.is_empty()
        {
            self.lose(format!(
                "the recording lacks the content of the file {name:?}: add it"
            ));
        }
        let of_bytes = field.bytes.as_ref().and_then(|bytes| {
            let name = field.file_name.as_deref().unwrap_or(&field.name);
            self.file(bytes, name)
        });
        let content = of_bytes.unwrap_or_else(|| match &field.file_name {
            Some(_) => heuristics::literal(&field.value),
            None => self.field(field).as_text(),
        });
        if field.file_name.is_none() && field.media_type.is_none() {
            return YamlNode::text(content);
        }
        let mut entries = vec![YamlEntry::new("text", YamlNode::text(content))];
        if let Some(name) = &field.file_name {
            let name = if name.is_empty() { "empty" } else { name };
            entries.push(YamlEntry::new("name", YamlNode::text(name)));
        }
        if let Some(media_type) = &field.media_type {
            entries.push(YamlEntry::new("type", YamlNode::text(media_type)));
        }
        YamlNode::Map(entries)
    }

    fn json(&mut self, payload: &Payload) -> Option<YamlEntry> {
        let text = payload.text.as_deref()?;
        let json: Json = serde_json::from_str(text).ok()?;
        if !is_whole(text, &json) {
            return None;
        }
        let is_scalar = !(json.is_object() || json.is_array());
        let needs_text = is_scalar
            || text.len() > JSON_LEN_MAX
            || depth(&json) > JSON_DEPTH_MAX
            || !has_short_keys(&json)
            || self.has_numeric_hole(&json, "json");
        if needs_text {
            let mut raw = String::new();
            self.json_text(&json, "json", &mut raw);
            return Some(YamlEntry::new("body", YamlNode::text(raw)));
        }
        let key = if is_graphql(&json) { "graphql" } else { "json" };
        let mut entries = match self.json_node(&json, "json") {
            YamlNode::Map(entries) => entries,
            other => return Some(YamlEntry::new("json", other)),
        };
        if key == "graphql" {
            entries.retain(|entry| entry.value != YamlNode::plain("null"));
            for entry in entries
                .iter_mut()
                .filter(|entry| entry.key == "operationName")
            {
                "operation".clone_into(&mut entry.key);
            }
        }
        Some(YamlEntry::new(key, YamlNode::Map(entries)))
    }

    /// Whether a number of the body came from a response: YAML would turn it into a text.
    fn has_numeric_hole(&mut self, json: &Json, name: &str) -> bool {
        match json {
            Json::Number(number) => self
                .finder
                .expression(self.at, name, &number.to_string())
                .is_some(),
            Json::Array(items) => items.iter().any(|item| self.has_numeric_hole(item, name)),
            Json::Object(members) => members
                .iter()
                .any(|(key, member)| self.has_numeric_hole(member, key)),
            _ => false,
        }
    }

    fn json_node(&mut self, json: &Json, name: &str) -> YamlNode {
        match json {
            Json::String(text) => YamlNode::text(self.json_value(name, text).as_text()),
            Json::Array(items) => YamlNode::List(
                items
                    .iter()
                    .map(|item| YamlItem::from(self.json_node(item, name)))
                    .collect(),
            ),
            Json::Object(members) => YamlNode::Map(
                members
                    .iter()
                    .map(|(key, member)| YamlEntry::new(key, self.json_node(member, key)))
                    .collect(),
            ),
            other => YamlNode::plain(other),
        }
    }

    /// JSON with placeholders as text.
    fn json_text(&mut self, json: &Json, name: &str, out: &mut String) {
        match json {
            Json::String(text) => match self.json_value(name, text) {
                PlanValue::Literal(_) => out.push_str(&heuristics::literal(&json.to_string())),
                PlanValue::Expression(expression) => {
                    out.push_str("\"{{ json(");
                    out.push_str(&expression);
                    out.push_str(") }}\"");
                }
            },
            Json::Number(number) => {
                match self.finder.expression(self.at, name, &number.to_string()) {
                    Some(expression) => out.push_str(&PlanValue::Expression(expression).as_text()),
                    None => out.push_str(&number.to_string()),
                }
            }
            Json::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    out.push_str(if index > 0 { ", " } else { "" });
                    self.json_text(item, name, out);
                }
                out.push(']');
            }
            Json::Object(members) => {
                out.push('{');
                for (index, (key, member)) in members.iter().enumerate() {
                    // Adjacent braces would open a placeholder.
                    out.push_str(if index > 0 { ", " } else { " " });
                    out.push_str(&heuristics::literal(&Json::from(key.as_str()).to_string()));
                    out.push_str(": ");
                    self.json_text(member, key, out);
                }
                out.push_str(" }");
            }
            other => out.push_str(&other.to_string()),
        }
    }

    fn json_value(&mut self, name: &str, text: &str) -> PlanValue {
        let site = ValueLocation {
            what: "JSON member",
            name,
        };
        self.value(site, text)
    }
}

/// Whether there are fields, and their names are valid keys.
fn has_keys(fields: &[FormField]) -> bool {
    !fields.is_empty() && fields.iter().all(|field| field.name.len() <= KEY_LEN_MAX)
}

/// A name for a file of a body: letters, digits and dots of the name that it was sent with.
fn file_name(sent: &str) -> String {
    let own = sent.rsplit(['/', '\\']).next().unwrap_or_default();
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') {
            c
        } else {
            '-'
        }
    };
    own.chars().take(FILE_NAME_LEN_MAX).map(plain).collect()
}

fn is_graphql(json: &Json) -> bool {
    let Some(members) = json.as_object() else {
        return false;
    };
    let known = members
        .keys()
        .all(|key| matches!(key.as_str(), "query" | "variables" | "operationName"));
    let starts = |query: &str| {
        ["query", "mutation", "subscription", "{", "fragment"]
            .iter()
            .any(|start| query.trim_start().starts_with(start))
    };
    known && json["query"].as_str().is_some_and(starts)
}

fn depth(json: &Json) -> usize {
    match json {
        Json::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Json::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

fn has_short_keys(json: &Json) -> bool {
    match json {
        Json::Array(items) => items.iter().all(has_short_keys),
        Json::Object(members) => members
            .iter()
            .all(|(key, member)| key.len() <= KEY_LEN_MAX && has_short_keys(member)),
        _ => true,
    }
}

/// Whether the parsed values are all of the text: JSON may have a name twice, and numbers of any length.
fn is_whole(text: &str, json: &Json) -> bool {
    let outside = outside_of_strings(text);
    let is_kept = |number: &str| {
        number.parse::<i64>().is_ok()
            || number.parse::<u64>().is_ok()
            || number.bytes().filter(u8::is_ascii_digit).count() <= DIGITS_KEPT
    };
    let is_of_number = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E');
    outside.matches(':').count() == members(json)
        && outside.split(|c: char| !is_of_number(c)).all(is_kept)
}

/// Members of all objects.
fn members(json: &Json) -> usize {
    match json {
        Json::Array(items) => items.iter().map(members).sum(),
        Json::Object(map) => map.len() + map.values().map(members).sum::<usize>(),
        _ => 0,
    }
}

/// Valid JSON without its strings.
fn outside_of_strings(text: &str) -> String {
    let mut out = String::new();
    let mut is_inside = false;
    let mut is_escaped = false;
    for c in text.chars() {
        let is_plain = !std::mem::take(&mut is_escaped);
        match c {
            '"' if is_plain => is_inside = !is_inside,
            '\\' if is_plain && is_inside => is_escaped = true,
            _ if is_inside => {}
            c => out.push(c),
        }
    }
    out
}
