//! Compression of responses.

use crate::document::Shape::{OneOf, OneOrMore, Text};
use crate::document::{
    DocumentNode, DocumentReader, SettingsMap as _, count, settings, share, size,
};

settings! {
    /// Response compression for clients that accept it. `true` selects all defaults.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Compress, COMPRESS "compress" {
        /// Codings in order of preference among those that a client accepts equally. Default: zstd, br, gzip.
        codings: Vec<CompressCoding> = CODINGS.map(|(_, coding)| coding).to_vec(),
            "codings": OneOrMore(&OneOf(&["zstd", "br", "gzip"])) => codings;
        /// Compression level: 1 is fastest, 9 is smallest.
        level: u32 = 4, "level": count(1..=9);
        /// Media types: `text/html`, `text/*`. Default: text, scripts, JSON, XML, SVG and uncompressed fonts.
        /// `text/event-stream` only if named.
        types: Vec<String> = TYPES.map(str::to_owned).to_vec(), "types": OneOrMore(&Text) => each media_type;
        /// Minimum size; smaller responses are not compressed.
        len_min: u64 = 1 << 10, "least": size(0..=1 << 30);
        /// Share of an event loop's time above which further responses are not compressed.
        cpu_share: f64 = 0.5, "cpu": share("a share such as 50%");
    }
}

impl Default for Compress {
    fn default() -> Self {
        Self::defaults()
    }
}

/// A content coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompressCoding {
    /// RFC 8878.
    Zstd,
    /// RFC 7932.
    Brotli,
    /// RFC 1952.
    Gzip,
}

/// Codings by name, in the default order of preference.
const CODINGS: [(&str, CompressCoding); 3] = [
    ("zstd", CompressCoding::Zstd),
    ("br", CompressCoding::Brotli),
    ("gzip", CompressCoding::Gzip),
];

/// Media types that are compressed by default.
const TYPES: [&str; 23] = [
    "text/html",
    "text/css",
    "text/plain",
    "text/javascript",
    "text/xml",
    "text/csv",
    "text/markdown",
    "text/vtt",
    "application/javascript",
    "application/json",
    "application/ld+json",
    "application/manifest+json",
    "application/problem+json",
    "application/xml",
    "application/xhtml+xml",
    "application/rss+xml",
    "application/atom+xml",
    "application/wasm",
    "image/svg+xml",
    "image/x-icon",
    "image/bmp",
    "font/ttf",
    "font/otf",
];

fn codings(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Vec<CompressCoding>> {
    let items = reader.one_or_more(node).iter();
    let codings: Vec<_> = items
        .filter_map(|node| reader.one_of(node, &CODINGS))
        .collect();
    if codings.is_empty() {
        reader.report(
            node,
            "the list of codings is empty",
            "a list of zstd, br, gzip",
        );
        return None;
    }
    Some(codings)
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
