//! Answers and messages that grow, and messages that are sent several times.

use maud::{Markup, html};
use plimsoll_analysis::payload;

use crate::printable::printable;
use crate::report::Report;

/// What was found of them over the whole run; empty where nothing was.
pub(super) fn section(report: &Report<'_>) -> Markup {
    let advice = payload::of(report.run);
    if advice.is_empty() {
        return html! {};
    }
    html! {
        section aria-labelledby="payload-heading" {
            h2 #payload-heading { "What the service sends" }
            ul {
                @for item in &advice {
                    li { (printable(&item.reason)) ": " (item.remedy) "." }
                }
            }
        }
    }
}
