//! A page of figures in the format of Prometheus: where it is, and which of its series are taken.

use plimsoll_model::part::{Part, PartKind, PartPlace, Selector};

use super::super::desk::Desk;
use super::super::tree::Node;
use super::part::place;
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
pub(super) fn page(desk: &Desk<'_>, node: &Node) -> Option<Part> {
    let valid = valid(PartKind::Prometheus);
    let unknown = desk.entries(node, valid)?.iter();
    let unknown: Vec<_> = unknown
        .filter(|(key, _)| !WORDS.contains(&key.text.as_str()))
        .collect();
    for (key, _) in &unknown {
        desk.unknown(&key.span, "the word", &key.text, &WORDS);
    }
    if !unknown.is_empty() {
        // What lacks may stand there under another name.
        return None;
    }
    let Some(url) = node.get("url").or(node.get("at")) else {
        desk.fault(node, "where it is is not said", format!("url: {valid}"));
        return None;
    };
    let text = desk.word(url, valid)?;
    let Some((PartPlace::Page { host, port, path }, _)) = place(PartKind::Prometheus, &text) else {
        let fault = format!("`{text}` is not where a page of figures is");
        desk.fault(
            url,
            fault,
            "an address such as http://127.0.0.1:9100/metrics; https:// is not asked yet",
        );
        return None;
    };
    let series = match node.get("series") {
        Some(chosen) => chosen_series(desk, chosen)?,
        None => Vec::new(),
    };
    let path = if path == "/" { PATH.to_owned() } else { path };
    Some(Part {
        kind: PartKind::Prometheus,
        place: PartPlace::Figures {
            host,
            port,
            path,
            series,
        },
        login: None,
    })
}

/// Selectors; without any, only what is known by its name is taken.
fn chosen_series(desk: &Desk<'_>, chosen: &Node) -> Option<Vec<Selector>> {
    let items = desk.one_or_more(chosen);
    if items.is_empty() || items.len() > SERIES_MAX {
        desk.fault(
            chosen,
            format!("{} series are named", items.len()),
            "1 to 64",
        );
        return None;
    }
    let mut series = Vec::new();
    for item in items {
        let text = desk.word(item, SERIES)?;
        match Selector::parse(&text) {
            Some(selector) => series.push(selector),
            None => desk.fault(item, format!("`{text}` names no series"), SERIES),
        }
    }
    Some(series)
}
