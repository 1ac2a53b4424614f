//! A page of figures in the format of Prometheus: where it is, and which of its series are taken.

use plimsoll_model::component::{Component, ComponentAddress, ComponentKind, Selector};

use super::super::reader::DocumentReader;
use super::super::tree::DocumentNode;
use super::component::place;
use super::valid::valid;

/// What it may say.
const WORDS: [&str; 3] = ["series", "url", "at"];
/// Where the page is when only its server is said.
const PATH: &str = "/metrics";
/// Selectors of one page.
const SERIES_MAX: usize = 64;
const SERIES: &str = "names of series as the page writes them, with labels where only some are meant, such as \
    [node_load1, 'http_requests_total{code=\"500\"}', 'go_gc_*']";

/// Reads it.
pub(super) fn page(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Component> {
    let valid = valid(ComponentKind::Prometheus);
    let unknown = reader.entries(node, valid)?.iter();
    let unknown: Vec<_> = unknown
        .filter(|(key, _)| !WORDS.contains(&key.text.as_str()))
        .collect();
    for (key, _) in &unknown {
        reader.unknown(&key.span, "the word", &key.text, &WORDS);
    }
    if !unknown.is_empty() {
        // What lacks may stand there under another name.
        return None;
    }
    let Some(url) = node.get("url").or(node.get("at")) else {
        reader.report(node, "where it is is not said", format!("url: {valid}"));
        return None;
    };
    let text = reader.word(url, valid)?;
    let Some((ComponentAddress::Page { host, port, path }, _)) =
        place(ComponentKind::Prometheus, &text)
    else {
        let message = format!("`{text}` is not where a page of figures is");
        reader.report(
            url,
            message,
            "an address such as http://127.0.0.1:9100/metrics; https:// is not asked yet",
        );
        return None;
    };
    let series = match node.get("series") {
        Some(chosen) => chosen_series(reader, chosen)?,
        None => Vec::new(),
    };
    let path = if path == "/" { PATH.to_owned() } else { path };
    Some(Component {
        kind: ComponentKind::Prometheus,
        place: ComponentAddress::Figures {
            host,
            port,
            path,
            series,
        },
        login: None,
    })
}

/// Selectors; without any, only what is known by its name is taken.
fn chosen_series(reader: &DocumentReader<'_>, chosen: &DocumentNode) -> Option<Vec<Selector>> {
    let items = reader.one_or_more(chosen);
    if items.is_empty() || items.len() > SERIES_MAX {
        reader.report(
            chosen,
            format!("{} series are named", items.len()),
            "1 to 64",
        );
        return None;
    }
    let mut series = Vec::new();
    for item in items {
        let text = reader.word(item, SERIES)?;
        match Selector::parse(&text) {
            Some(selector) => series.push(selector),
            None => reader.report(item, format!("`{text}` names no series"), SERIES),
        }
    }
    Some(series)
}
