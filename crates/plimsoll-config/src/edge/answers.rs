//! Reads the settings of responses: fallback, waiting page, compression.

use std::time::Duration;

use super::answer_keywords::{COMPRESS, FALLBACK, WAITING};
use super::routes::is_visible;
use super::{Captured, Compress, CompressCoding, Fallback, LearnedFallback, WaitingRoomConfig};
use crate::document::{DocumentNode, DocumentReader, MapFields, NodeKind};
use crate::units;

/// Maximum size of a fallback, bytes.
const FALLBACK_LEN_MAX: u64 = 16 << 20;
/// Maximum size of a waiting page, bytes.
const WAITING_LEN_MAX: u64 = 1 << 20;
/// Default of the maximum size of a learned page.
const LEARNED_FALLBACK_LEN_MAX: u64 = 1 << 20;

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
    let every = fields
        .get("every")
        .and_then(|node| reader.duration_above_zero(node));
    let learned_fallback = LearnedFallback {
        captured: fields
            .get("captured")
            .and_then(|node| captured(reader, node)),
        header: fields
            .get("header")
            .and_then(|node| header_name(reader, node)),
        len_max: size(reader, &fields, "size", 1, FALLBACK_LEN_MAX)
            .unwrap_or(LEARNED_FALLBACK_LEN_MAX),
        every: every.unwrap_or(Duration::from_mins(1)),
    };
    let learns = learned_fallback.captured.is_some() || learned_fallback.header.is_some();
    (page, learns.then_some(learned_fallback))
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

fn header_name(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<String> {
    let valid = "a header name such as X-Plimsoll-Shell";
    let name = reader.word(node, valid)?;
    let is_name = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    if !is_name {
        reader.report(node, format!("`{name}` is not a header name"), valid);
    }
    is_name.then_some(name)
}

/// A size within bounds.
pub(super) fn size(
    reader: &DocumentReader<'_>,
    fields: &MapFields<'_>,
    word: &str,
    least: u64,
    most: u64,
) -> Option<u64> {
    let node = fields.get(word)?;
    let size = reader.value(node, "a size such as 64KiB", units::size)?;
    if (least..=most).contains(&size) {
        return Some(size);
    }
    let valid = format!("{least} to {most} bytes");
    reader.report(node, format!("{size} bytes are out of range"), valid);
    None
}

/// Reads `waiting:`; `false` disables it.
pub(super) fn waiting(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
) -> Option<WaitingRoomConfig> {
    if matches!(node.kind, NodeKind::Scalar { .. }) {
        return reader.switch(node)?.then(WaitingRoomConfig::default);
    }
    let fields = reader.fields(node, &WAITING)?;
    let defaults = WaitingRoomConfig::default();
    let page = fields.get("page").and_then(|node| {
        let name = reader.word(node, "a file")?;
        let content = reader.file(node, &name, WAITING_LEN_MAX)?;
        let page = String::from_utf8(content).ok();
        if page.is_none() {
            reader.report(
                node,
                format!("`{name}` is not UTF-8"),
                "an HTML page in UTF-8",
            );
        }
        page
    });
    let time = |word: &str, least: u64| {
        let node = fields.get(word)?;
        let time = reader.duration_above_zero(node)?;
        if time < Duration::from_secs(least) || time > Duration::from_hours(24) {
            let valid = format!("{least}s to 24h");
            reader.report(node, format!("{time:?} is out of range"), valid);
            return None;
        }
        Some(time)
    };
    let most = fields
        .get("most")
        .and_then(|node| reader.count32(node, 1..=1_000_000));
    Some(WaitingRoomConfig {
        page,
        most: most.unwrap_or(defaults.most),
        retry: time("retry", 1).unwrap_or(defaults.retry),
        stay: time("stay", 1).unwrap_or(defaults.stay),
    })
}

/// Reads `compress:`; `false` disables it.
pub(super) fn compress(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Compress> {
    if matches!(node.kind, NodeKind::Scalar { .. }) {
        return reader.switch(node)?.then(Compress::default);
    }
    let fields = reader.fields(node, &COMPRESS)?;
    let mut compress = Compress::default();
    if let Some(node) = fields.get("codings") {
        let names = [
            ("zstd", CompressCoding::Zstd),
            ("br", CompressCoding::Brotli),
            ("gzip", CompressCoding::Gzip),
        ];
        let items = reader.one_or_more(node).iter();
        compress.codings = items
            .filter_map(|node| reader.one_of(node, &names))
            .collect();
        if compress.codings.is_empty() {
            reader.report(
                node,
                "the list of codings is empty",
                "a list of zstd, br, gzip",
            );
        }
    }
    if let Some(level) = fields
        .get("level")
        .and_then(|node| reader.count32(node, 1..=9))
    {
        compress.level = level;
    }
    if let Some(node) = fields.get("types") {
        let items = reader.one_or_more(node).iter();
        compress.types = items.filter_map(|node| media_type(reader, node)).collect();
    }
    compress.len_min = size(reader, &fields, "least", 0, 1 << 30).unwrap_or(compress.len_min);
    if let Some(node) = fields.get("cpu")
        && let Some(share) = reader.value(node, "a share such as 50%", units::share)
    {
        compress.cpu_share = share;
    }
    Some(compress)
}

fn media_type(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<String> {
    let valid = "a media type such as text/html, or text/*";
    let text = reader.word(node, valid)?.to_ascii_lowercase();
    let is_type = text.split_once('/').is_some_and(|(kind, subtype)| {
        !kind.is_empty() && !subtype.is_empty() && !subtype.contains(['/', ';', ' '])
    });
    if !is_type {
        reader.report(node, format!("`{text}` is not a media type"), valid);
    }
    is_type.then_some(text)
}
