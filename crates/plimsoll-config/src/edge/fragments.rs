//! ESI: which pages a route assembles from fragments, and the limits of a page.

use std::time::Duration;

use super::answer_keywords::FRAGMENTS;
use super::answers::size;
use crate::document::{DocumentNode, DocumentReader, NodeKind};

/// Which pages are assembled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FragmentPages {
    /// All HTML, and others with `Surrogate-Control`.
    #[default]
    Html,
    /// Only pages with `Surrogate-Control`.
    Said,
}

/// How a route assembles pages from fragments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fragments {
    /// Which pages.
    pub pages: FragmentPages,
    /// Maximum fragments per client request, nested ones included.
    pub most: u32,
    /// Maximum nesting depth.
    pub depth: u32,
    /// Maximum size of a page, or compressed fragment, that is parsed, bytes.
    pub len_max: u64,
    /// Time-out of a fragment, after which the page continues without it.
    pub timeout: Duration,
}

impl Default for Fragments {
    fn default() -> Self {
        Self {
            pages: FragmentPages::default(),
            most: 64,
            depth: 3,
            len_max: 1 << 20,
            timeout: Duration::from_secs(10),
        }
    }
}

/// Reads `fragments:`; `false` disables it.
pub(super) fn fragments(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Fragments> {
    if matches!(node.kind, NodeKind::Scalar { .. }) {
        return reader.switch(node)?.then(Fragments::default);
    }
    let fields = reader.fields(node, &FRAGMENTS)?;
    let defaults = Fragments::default();
    let pages = [("html", FragmentPages::Html), ("said", FragmentPages::Said)];
    let count = |word: &str, most: u32| {
        fields
            .get(word)
            .and_then(|node| reader.count32(node, 1..=most))
    };
    let timeout = fields.get("timeout").and_then(|node| {
        let time = reader.duration_above_zero(node)?;
        if time > Duration::from_hours(1) {
            reader.report(node, format!("{time:?} is out of range"), "1ms to 1h");
        }
        Some(time)
    });
    Some(Fragments {
        pages: fields
            .get("pages")
            .and_then(|node| reader.one_of(node, &pages))
            .unwrap_or_default(),
        most: count("most", 1000).unwrap_or(defaults.most),
        depth: count("depth", 10).unwrap_or(defaults.depth),
        len_max: size(reader, &fields, "size", 1024, 64 << 20).unwrap_or(defaults.len_max),
        timeout: timeout.unwrap_or(defaults.timeout),
    })
}
