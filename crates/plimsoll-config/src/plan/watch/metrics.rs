//! Reads a metrics endpoint in the format of Prometheus: its URL, and the series to scrape.

use plimsoll_model::component::{Component, ComponentAddress, ComponentKind, Selector};

use super::component;
use crate::document::{DocumentNode, DocumentReader};

/// Valid keys.
const WORDS: [&str; 3] = ["series", "url", "at"];
/// Default path of the endpoint.
const PATH: &str = "/metrics";
/// Maximum selectors per endpoint.
const SERIES_MAX: usize = 64;
const SERIES: &str = "names of series as the endpoint exposes them, with labels to select some of them, such as [node_load1, 'http_requests_total{code=\"500\"}', 'go_gc_*']";

/// Reads the component.
pub(super) fn page(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    kind: ComponentKind,
) -> Option<Component> {
    let valid = kind.valid_addresses();
    let unknown = reader.entries(node, valid)?.iter();
    let unknown: Vec<_> = unknown
        .filter(|(key, _)| !WORDS.contains(&key.text.as_str()))
        .collect();
    for (key, _) in &unknown {
        reader.unknown(&key.span, "key", &key.text, &WORDS);
    }
    if !unknown.is_empty() {
        // The missing key may be the misspelled one.
        return None;
    }
    let Some(url) = node.get("url").or(node.get("at")) else {
        reader.report(node, "`url` is missing", format!("url: {valid}"));
        return None;
    };
    let text = reader.word(url, valid)?;
    let page = text.strip_prefix("http://").and_then(component::page);
    let Some(ComponentAddress::Page { host, port, path }) = page else {
        let message = format!("`{text}` is not a metrics URL");
        reader.report(
            url,
            message,
            "a URL such as http://127.0.0.1:9100/metrics; https:// is not supported yet",
        );
        return None;
    };
    let series = match node.get("series") {
        Some(chosen) => chosen_series(reader, chosen)?,
        None => Vec::new(),
    };
    let path = if path == "/" { PATH.to_owned() } else { path };
    Some(Component {
        kind,
        place: ComponentAddress::Figures {
            host,
            port,
            path,
            series,
        },
        login: None,
    })
}

/// Reads selectors; without any, only known series are scraped.
fn chosen_series(reader: &DocumentReader<'_>, chosen: &DocumentNode) -> Option<Vec<Selector>> {
    let items = reader.one_or_more(chosen);
    if items.is_empty() || items.len() > SERIES_MAX {
        reader.report(
            chosen,
            format!("the list has {} series", items.len()),
            "1 to 64",
        );
        return None;
    }
    let mut series = Vec::new();
    for item in items {
        let text = reader.word(item, SERIES)?;
        match Selector::parse(&text) {
            Some(selector) => series.push(selector),
            None => reader.report(
                item,
                format!("`{text}` is not the name of a series"),
                SERIES,
            ),
        }
    }
    Some(series)
}
