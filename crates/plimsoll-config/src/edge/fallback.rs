//! Fallbacks: what a route answers when its pool has no capacity.

use std::time::Duration;

use super::routes::is_visible;
use crate::document::Shape::Text;
use crate::document::{
    DocumentNode, DocumentReader, NodeKind, SettingsMap as _, settings, size, text, time,
};

/// Maximum size of a fallback, bytes.
const FALLBACK_LEN_MAX: u64 = 16 << 20;

/// A cheap response instead of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fallback {
    /// Source, for messages.
    pub name: String,
    /// Its content.
    pub content: Vec<u8>,
    /// Its media type.
    pub media_type: String,
}

settings! {
    /// Fallback page that browsers get when the pool has no capacity.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct LearnedFallback, FALLBACK "fallback" {
        /// HTML file. A page learned from the origin takes precedence.
        "file": Text;
        /// URL in the route's pool, `/shell` or `http://a.example/shell`. Fetched at start and at each interval; the
        /// last good response is served.
        captured: Option<Captured> = None, "captured": Text => captured;
        /// Name of a response header with which the origin marks a page as the fallback for a path pattern:
        /// `X-Plimsoll-Shell: /news/*`. The edge removes it.
        header: Option<String> = None,
            "header": text("a header name such as X-Plimsoll-Shell").that(is_header_name, "a header name");
        /// Interval of fetches; also the shortest interval between two updates from marked responses.
        every: Duration = Duration::from_mins(1), "every": time();
        /// Maximum size of a learned page.
        len_max: u64 = 1 << 20, "size": size(1..=FALLBACK_LEN_MAX);
    }
}

/// A page of a route's pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    /// Value of the `Host` header; `None` is that of the server.
    pub host: Option<String>,
    /// Path and query.
    pub target: String,
}

impl Fallback {
    /// A fallback with the content of a file; its extension gives the media type.
    pub fn new(name: &str, content: Vec<u8>) -> Self {
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
        let media_type = match ending.to_ascii_lowercase().as_str() {
            "json" => "application/json",
            "txt" => "text/plain; charset=utf-8",
            _ => "text/html; charset=utf-8",
        };
        Self {
            name: name.to_owned(),
            content,
            media_type: media_type.to_owned(),
        }
    }
}

/// The fallback for browsers when the pool of a route has no capacity: a file, and where it is learned from the origin.
pub(super) fn fallback(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
) -> (Option<Fallback>, Option<LearnedFallback>) {
    if matches!(node.kind, NodeKind::Scalar { .. }) {
        return (file(reader, node), None);
    }
    let Some(fields) = reader.fields(node, &FALLBACK) else {
        return (None, None);
    };
    let known = fields.among(&["file", "captured", "header"]);
    if known.is_empty() && !fields.misspells(&["file", "captured", "header"]) {
        let valid = "file: shell.html, captured: /shell, or header: X-Plimsoll-Shell";
        reader.report(node, "the source of the fallback is missing", valid);
    }
    let page = fields.get("file").and_then(|node| file(reader, node));
    let learned = LearnedFallback::read(reader, &fields);
    let learns = learned.captured.is_some() || learned.header.is_some();
    (page, learns.then_some(learned))
}

fn file(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Fallback> {
    let name = reader.word(node, "a file")?;
    let content = reader.file(node, &name, FALLBACK_LEN_MAX)?;
    Some(Fallback::new(&name, content))
}

fn captured(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Captured> {
    let valid = "a path such as /shell, or http://a.example/shell, of the route's pool";
    let text = reader.word(node, valid)?;
    let (host, target) = if text.starts_with('/') {
        (None, text.as_str())
    } else {
        let rest = text.strip_prefix("http://");
        let rest = rest.filter(|rest| !rest.is_empty() && !rest.starts_with('/'));
        let Some(rest) = rest else {
            reader.report(node, format!("`{text}` is not a URL of the pool"), valid);
            return None;
        };
        let at = rest.find('/').unwrap_or(rest.len());
        (Some(rest[..at].to_owned()), &rest[at..])
    };
    if !is_visible(&text) || text.contains('#') {
        reader.report(node, "the path has no spaces and no `#`", valid);
        return None;
    }
    let target = if target.is_empty() { "/" } else { target };
    Some(Captured {
        host,
        target: target.to_owned(),
    })
}

fn is_header_name(name: &str) -> bool {
    name.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}
