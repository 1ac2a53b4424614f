//! Reads messages of steps: sent and expected ones.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use plimsoll_model::journey::{
    Capture, Expectation, OutgoingMessage, RequestBody, RequestStep, TextMatch, TextTemplate,
};

use crate::document::{DocumentNode, MapFields, NodeKind};
use crate::plan::answer::{json_path, regex};
use crate::plan::keywords::{AWAIT, MESSAGE};
use crate::plan::scope::{FILE_LEN_MAX, merge_literals};
use crate::plan::steps::Walk;

const AWAIT_VALID: &str = "any, a text that it contains, or json, contains, lacks, regex";

impl Walk<'_, '_> {
    /// A message that is sent.
    pub(super) fn outgoing_message(&mut self, node: &DocumentNode) -> Option<OutgoingMessage> {
        let plain = |text| OutgoingMessage {
            text,
            binary: false,
        };
        if !matches!(node.kind, NodeKind::Map(_)) {
            return self.scope.text(node, &self.reach).map(plain);
        }
        let reader = self.scope.reader;
        let fields = reader.fields(node, &MESSAGE)?;
        let (key, value) = reader.exactly_one(&fields, &["text", "json", "binary", "file"])?;
        if key.text != "file" {
            for (word, _) in fields.among(&["template", "bytes"]) {
                let message = format!("`{}` is not allowed with `{}`", word.text, key.text);
                reader.report_at(word.span.start, message, "only with `file`", None);
            }
        }
        match key.text.as_str() {
            "text" => self.scope.text(value, &self.reach).map(plain),
            "json" => match self.scope.json_body(value, &self.reach)? {
                RequestBody::Text { text, .. } => Some(plain(text)),
                _ => None,
            },
            "binary" => self.bytes(value),
            _ => self.file_message(&fields, value),
        }
    }

    fn bytes(&mut self, node: &DocumentNode) -> Option<OutgoingMessage> {
        let reader = self.scope.reader;
        let text = reader.word(node, "bytes in base64")?;
        let Ok(bytes) = STANDARD.decode(text.trim()) else {
            let valid = "base64 with its padding, such as AAEC/w==";
            reader.report(node, "invalid base64", valid);
            return None;
        };
        let piece = self
            .scope
            .input(&format!("base64 {text}"), || Some(bytes))?;
        Some(OutgoingMessage {
            text: merge_literals(vec![piece]),
            binary: true,
        })
    }

    fn file_message(
        &mut self,
        fields: &MapFields<'_>,
        node: &DocumentNode,
    ) -> Option<OutgoingMessage> {
        let reader = self.scope.reader;
        let path = reader.word(node, "a file name")?;
        let switch =
            |word: &str| fields.get(word).and_then(|node| reader.switch(node)) == Some(true);
        let binary = switch("bytes");
        let text = if switch("template") {
            self.scope.template_file(node, &path, &self.reach)?
        } else {
            let content = reader.file(node, &path, FILE_LEN_MAX)?;
            if !binary && std::str::from_utf8(&content).is_err() {
                let message = format!("`{path}` is not UTF-8");
                reader.report(node, message, "a UTF-8 file, or `bytes: true`");
                return None;
            }
            merge_literals(vec![self.scope.file(node.span.start, &path)?])
        };
        Some(OutgoingMessage { text, binary })
    }

    /// The expected message of a step, counted under its label.
    pub(super) fn awaited(
        &mut self,
        fields: &MapFields<'_>,
        node: &DocumentNode,
        label: &str,
    ) -> Option<RequestStep> {
        let label = self.label(fields, || label.to_owned());
        let id = self.count_step(label);
        let expectations = self.meant(node);
        let timeout = self.timeout(fields);
        let captures: Vec<Capture> = match fields.get("capture") {
            Some(node) => self.captures(node),
            None => Vec::new(),
        };
        Some(RequestStep {
            timeout: timeout?,
            captures,
            expectations: expectations?,
            ..crate::plan::request::plain_get(id, TextTemplate::literal("/"))
        })
    }

    /// Conditions on the expected message.
    pub(super) fn meant(&mut self, node: &DocumentNode) -> Option<Vec<Expectation>> {
        let reader = self.scope.reader;
        if !matches!(node.kind, NodeKind::Map(_)) {
            let text = reader.scalar(node, AWAIT_VALID)?;
            if text.is_empty() {
                reader.report(node, "the value is empty", AWAIT_VALID);
                return None;
            }
            if text == "any" {
                return Some(Vec::new());
            }
            let text = self.scope.text(node, &self.reach)?;
            return Some(vec![Expectation::Body(TextMatch::Contains(text))]);
        }
        let fields = reader.fields(node, &AWAIT)?;
        let mut meant = Vec::new();
        for (key, node) in fields.among(&["contains", "lacks", "regex"]) {
            for item in reader.one_or_more(node) {
                meant.push(Expectation::Body(match key.text.as_str() {
                    "contains" => TextMatch::Contains(self.scope.text(item, &self.reach)?),
                    "lacks" => TextMatch::Lacks(self.scope.text(item, &self.reach)?),
                    _ => TextMatch::Regex(regex(reader, item)?),
                }));
            }
        }
        if let Some(node) = fields.get("json") {
            for (name, value) in reader.entries(node, "JSON paths and values")? {
                let path = json_path(reader, name.span.start, &name.text);
                let wanted = self.scope.expected_match(value, &self.reach);
                meant.push(Expectation::Json(path?, wanted?));
            }
        }
        if meant.is_empty() {
            reader.report(node, "the value is empty", AWAIT_VALID);
            return None;
        }
        Some(meant)
    }
}
