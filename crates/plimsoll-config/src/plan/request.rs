//! Reads requests: method, URL, headers, and the rest.

use std::time::Duration;

use plimsoll_model::journey::{RequestBody, RequestStep, StepId, TextPiece, TextTemplate};

use super::scope::{PlanScope, VisibleSlots};
use super::steps::Walk;
use super::target::StepAddress;
use crate::document::{DocumentKey, DocumentNode, DocumentReader, MapFields};
use crate::login;

/// Redirects followed by `follow: true`.
const FOLLOW_TRUE: u32 = 10;
pub(crate) const FOLLOW_MAX: u32 = 50;

/// A request for a URL, with these headers and nothing more.
pub(crate) fn plain_get(
    id: StepId,
    address: StepAddress,
    headers: Vec<(String, TextTemplate)>,
) -> RequestStep {
    RequestStep {
        id,
        method: "GET".to_owned(),
        headers: address.headers(headers),
        url: address.url,
        body: RequestBody::Empty,
        follow: 0,
        timeout: None,
        captures: Vec::new(),
        expectations: Vec::new(),
    }
}

impl Walk<'_, '_> {
    /// The request of a step; all of its keys are read, whichever are invalid.
    pub(crate) fn request(
        &mut self,
        fields: &MapFields<'_>,
        method: &str,
        url: &DocumentNode,
    ) -> Option<RequestStep> {
        let reader = self.scope.reader;
        let method = method.to_ascii_uppercase();
        let written = reader.scalar(url, "a path such as /login, or an absolute URL");
        let label = match fields.get("label") {
            Some(node) => reader.word(node, "a name"),
            None => written.map(|url| format!("{method} {}", login::removed(url))),
        };
        let id = self.count_step(label.unwrap_or_default());
        let address = self.scope.url(url, &self.reach);
        let headers = match fields.get("headers") {
            Some(node) => self.scope.headers(node, &self.reach),
            None => Vec::new(),
        };
        let body = self.scope.body(fields, &self.reach);
        let address = address.map(|address| (address.headers(headers), address.url));
        let follow = fields
            .get("follow")
            .map_or(Some(0), |node| follow(reader, node));
        let timeout: Option<Option<Duration>> = fields.get("timeout").map_or(Some(None), |node| {
            reader.duration_above_zero(node).map(Some)
        });
        let expectations = match fields.get("expect") {
            Some(node) => self.scope.expectations(node, &self.reach),
            None => Vec::new(),
        };
        let captures = match fields.get("capture") {
            Some(node) => self.captures(node),
            None => Vec::new(),
        };
        let (headers, url) = address?;
        Some(RequestStep {
            id,
            method,
            url,
            headers,
            body: body?,
            follow: follow?,
            timeout: timeout?,
            captures,
            expectations,
        })
    }
}

fn follow(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<u32> {
    match reader.text(node, "true, false, or 0 to 50")?.as_str() {
        "true" => Some(FOLLOW_TRUE),
        "false" => Some(0),
        _ => reader.count32(node, 0..=FOLLOW_MAX),
    }
}

impl PlanScope<'_> {
    /// Headers in the order of the file.
    pub(crate) fn headers(
        &mut self,
        node: &DocumentNode,
        reach: &VisibleSlots,
    ) -> Vec<(String, TextTemplate)> {
        let Some(entries) = self.reader.entries(node, "names and values") else {
            return Vec::new();
        };
        let mut headers = Vec::new();
        for (key, value) in entries {
            let text = self.text(value, reach);
            if !self.is_header(key) {
                continue;
            }
            let Some(text) = text else { continue };
            let has_control = |text: &str| text.chars().any(|c| c.is_control() && c != '\t');
            let is_invalid = text
                .pieces
                .iter()
                .any(|piece| matches!(piece, TextPiece::Literal(text) if has_control(text)));
            if is_invalid {
                let message = format!(
                    "the value of the header `{}` contains a control character",
                    key.text
                );
                self.reader
                    .report(value, message, "one line of visible characters");
            }
            headers.push((key.text.clone(), text));
        }
        headers
    }

    fn is_header(&self, key: &DocumentKey) -> bool {
        let name = key.text.to_ascii_lowercase();
        let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if name.is_empty() || !name.bytes().all(token) {
            let message = format!("`{}` is not a header name", key.text);
            let valid = "letters, digits and -, such as Accept-Language";
            self.reader.report_at(key.span.start, message, valid, None);
            return false;
        }
        if ["content-length", "transfer-encoding", "connection"].contains(&name.as_str()) {
            let message = format!("the header `{}` is set by Plimsoll", key.text);
            self.reader
                .report_at(key.span.start, message, "any other header", None);
            return false;
        }
        true
    }
}
