//! The URLs of a plain load: a row each, or a row for each route where there are many.

use maud::{Markup, html};
use plimsoll_analysis::summary::urls::UrlSummary;
use plimsoll_model::url_rows::{OTHER, URL_ROWS_MAX};

use super::steps::{self, StepRow};
use crate::number::count;
use crate::report::Report;

/// The table of URLs; nothing with one URL, and with journeys.
pub(super) fn section(report: &Report<'_>) -> Markup {
    let urls = &report.summary.urls;
    if urls.is_empty() {
        return html! {};
    }
    let rows: Vec<StepRow<'_>> = urls
        .iter()
        .map(|row| ("", row.label.as_str(), mark(row), &row.metrics))
        .collect();
    html! {
        section aria-labelledby="urls-heading" {
            h2 #urls-heading { "URLs" }
            @if report.is_search() { p.lead { "Over the judged seconds of all valid trials together." } }
            p.lead {
                "Response times of good answers in ms, from the moment a request was due; bytes of bodies, without heads. "
                @if urls.iter().any(|row| row.urls > 1) {
                    "URLs that differ in a secret share a row; more than " (URL_ROWS_MAX) " are grouped by route."
                }
            }
            (steps::table("urls", "By URL, in the order of the plan", "URL", &rows))
        }
    }
}

/// How many URLs share a row.
fn mark(row: &UrlSummary) -> String {
    match row.urls {
        1 if row.label != OTHER => String::new(),
        urls => format!("{} URLs", count(urls)),
    }
}
