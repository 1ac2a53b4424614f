//! Charts as SVG, drawn here so that a report reads without script and prints.
//!
//! A chart's own coordinates are per cent of its box and pixels for type and markers, so it fits a phone as well
//! as a page without shrinking its text. Lines live in a nested box that is stretched; its strokes are not.

pub(crate) mod axis;
pub(crate) mod bars;
pub(crate) mod day;
pub(crate) mod load;
pub(crate) mod panel;
pub(crate) mod runs;
pub(crate) mod scaling;
pub(crate) mod steps;
pub(crate) mod throughput;
pub(crate) mod timeline;

/// A share of the box as SVG and CSS understand it.
pub(crate) fn percent_of(share: f64) -> String {
    format!("{}%", number((share * 1e4).round() / 100.0))
}

/// A coordinate without needless digits.
pub(crate) fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
