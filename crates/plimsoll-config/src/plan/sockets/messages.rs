//! Reads messages of steps: sent and expected ones.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use plimsoll_model::journey::{
    Capture, Expectation, OutgoingMessage, RequestBody, RequestStep, TextMatch,
};

use crate::document::Shape::{Either, Free, MapOf, Of, OneOrMore, Template, Text};
use crate::document::{
    DocumentNode, KeywordTable, MapFields, NodeKind, SettingsMap as _, Shape, settings, switch,
    word,
};
use crate::plan::answer::{MATCHED, json_path, regex};
use crate::plan::scope::{FILE_LEN_MAX, merge_literals};
use crate::plan::steps::Walk;
use crate::plan::target::StepAddress;

const AWAIT_VALID: &str = "any, a text that it contains, or json, contains, lacks, regex";

/// A message that is sent.
pub(crate) const OUTGOING_MESSAGE: Shape = Either(&[Template, Of(&MESSAGE)]);
/// A message that is expected.
pub(crate) const AWAITED: Shape = Either(&[Template, Of(&AWAIT)]);

settings! {
    /// A message; one of text, json, binary, file.
    struct MessageSettings, MESSAGE "message" {
        /// A text.
        "text": Template;
        /// Any value, sent as JSON; placeholders within texts are escaped.
        "json": Free;
        /// Bytes, in base64.
        "binary": Text;
        /// File, relative to the folder of the plan file.
        "file": Text;
        /// With `file`: whether placeholders `{{ … }}` are replaced.
        is_template: bool = false, "template": switch();
        /// With `file`: sends a binary message. Default: text.
        is_binary: bool = false, "bytes": switch();
    }
}

/// Conditions on a message.
pub(crate) static AWAIT: KeywordTable = KeywordTable {
    name: "await",
    meaning: "Conditions on a message; all must hold.",
    words: &[
        word!(
            "json",
            MapOf(&MATCHED),
            "First value of each JSON path, such as the id of the sent message: `{ $.id: \"{{ id }}\" }`."
        ),
        word!(
            "contains",
            OneOrMore(&Template),
            "Text that the message must contain."
        ),
        word!(
            "lacks",
            OneOrMore(&Template),
            "Text that the message must not contain."
        ),
        word!(
            "regex",
            OneOrMore(&Text),
            "Regular expression that the message must match."
        ),
    ],
};

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
        let settings = MessageSettings::read(reader, fields);
        let text = if settings.is_template {
            self.scope.template_file(node, &path, &self.reach)?
        } else {
            let content = reader.file(node, &path, FILE_LEN_MAX)?;
            if !settings.is_binary && std::str::from_utf8(&content).is_err() {
                let message = format!("`{path}` is not UTF-8");
                reader.report(node, message, "a UTF-8 file, or `bytes: true`");
                return None;
            }
            merge_literals(vec![self.scope.file(node.span.start, &path)?])
        };
        Some(OutgoingMessage {
            text,
            binary: settings.is_binary,
        })
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
            ..crate::plan::request::plain_get(id, StepAddress::root(), Vec::new())
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
