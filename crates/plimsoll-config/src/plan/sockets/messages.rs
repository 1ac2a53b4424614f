//! Messages of steps: what is sent, and which one is awaited.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use plimsoll_model::journey::{Body, Capture, Expectation, Match, RequestStep, Saying, Text};

use crate::plan::answer::{json_path, regex};
use crate::plan::desk::Fields;
use crate::plan::names::{FILE_LEN_MAX, joined};
use crate::plan::steps::Walk;
use crate::plan::tree::{Kind, Node};
use crate::plan::words::{AWAIT, MESSAGE};

const AWAIT_VALID: &str = "any, a text that it contains, or json, contains, lacks, regex";

impl Walk<'_, '_> {
    /// A message that is sent.
    pub(super) fn said(&mut self, node: &Node) -> Option<Saying> {
        let plain = |text| Saying {
            text,
            binary: false,
        };
        if !matches!(node.kind, Kind::Map(_)) {
            return self.scene.text(node, &self.reach).map(plain);
        }
        let desk = self.scene.desk;
        let fields = desk.fields(node, &MESSAGE)?;
        let (key, value) = desk.exactly_one(&fields, &["text", "json", "binary", "file"])?;
        if key.text != "file" {
            for (word, _) in fields.among(&["template", "bytes"]) {
                let fault = format!("`{}` means nothing beside `{}`", word.text, key.text);
                desk.note(word.span.start, fault, "with file only", None);
            }
        }
        match key.text.as_str() {
            "text" => self.scene.text(value, &self.reach).map(plain),
            "json" => match self.scene.json_body(value, &self.reach)? {
                Body::Text { text, .. } => Some(plain(text)),
                _ => None,
            },
            "binary" => self.bytes(value),
            _ => self.file_said(&fields, value),
        }
    }

    fn bytes(&mut self, node: &Node) -> Option<Saying> {
        let desk = self.scene.desk;
        let text = desk.word(node, "bytes in base64")?;
        let Ok(bytes) = STANDARD.decode(text.trim()) else {
            let valid = "base64 with its padding, such as AAEC/w==";
            desk.fault(node, "these are no bytes in base64", valid);
            return None;
        };
        let piece = self
            .scene
            .input(&format!("base64 {text}"), || Some(bytes))?;
        Some(Saying {
            text: joined(vec![piece]),
            binary: true,
        })
    }

    fn file_said(&mut self, fields: &Fields<'_>, node: &Node) -> Option<Saying> {
        let desk = self.scene.desk;
        let path = desk.word(node, "the name of a file")?;
        let switch = |word: &str| fields.get(word).and_then(|node| desk.switch(node)) == Some(true);
        let binary = switch("bytes");
        let text = if switch("template") {
            self.scene.template_file(node, &path, &self.reach)?
        } else {
            let content = desk.file(node, &path, FILE_LEN_MAX)?;
            if !binary && std::str::from_utf8(&content).is_err() {
                let fault = format!("`{path}` is not text");
                desk.fault(node, fault, "UTF-8, or `bytes: true` beside it");
                return None;
            }
            joined(vec![self.scene.file(node.span.start, &path)?])
        };
        Some(Saying { text, binary })
    }

    /// The message that a step waits for, counted under its label.
    pub(super) fn awaited(
        &mut self,
        fields: &Fields<'_>,
        node: &Node,
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
            ..crate::plan::request::plain_get(id, Text::literal("/"))
        })
    }

    /// Which message is meant.
    pub(super) fn meant(&mut self, node: &Node) -> Option<Vec<Expectation>> {
        let desk = self.scene.desk;
        if !matches!(node.kind, Kind::Map(_)) {
            let text = desk.scalar(node, AWAIT_VALID)?;
            if text.is_empty() {
                desk.fault(node, "nothing is written", AWAIT_VALID);
                return None;
            }
            if text == "any" {
                return Some(Vec::new());
            }
            let text = self.scene.text(node, &self.reach)?;
            return Some(vec![Expectation::Body(Match::Contains(text))]);
        }
        let fields = desk.fields(node, &AWAIT)?;
        let mut meant = Vec::new();
        for (key, node) in fields.among(&["contains", "lacks", "regex"]) {
            for item in desk.one_or_more(node) {
                meant.push(Expectation::Body(match key.text.as_str() {
                    "contains" => Match::Contains(self.scene.text(item, &self.reach)?),
                    "lacks" => Match::Lacks(self.scene.text(item, &self.reach)?),
                    _ => Match::Regex(regex(desk, item)?),
                }));
            }
        }
        if let Some(node) = fields.get("json") {
            for (name, value) in desk.entries(node, "JSON paths and values")? {
                let path = json_path(desk, name.span.start, &name.text);
                let wanted = self.scene.wanted(value, &self.reach);
                meant.push(Expectation::Json(path?, wanted?));
            }
        }
        if meant.is_empty() {
            desk.fault(node, "nothing is written", AWAIT_VALID);
            return None;
        }
        Some(meant)
    }
}
