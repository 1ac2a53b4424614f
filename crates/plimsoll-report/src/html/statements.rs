//! The most expensive statements of the watched databases.

use maud::{Markup, html};
use plimsoll_analysis::statements::{self, StatementUse};

use crate::number::{percent, short};
use crate::printable::printable;
use crate::report::Report;

/// Their table; empty where no database counts statements.
pub(super) fn section(report: &Report<'_>) -> Markup {
    let uses = statements::of(report.run);
    if uses.is_empty() {
        return html! {};
    }
    html! {
        section aria-labelledby="statements-heading" {
            h2 #statements-heading { "The statements that cost most" }
            p.lead {
                "Statement statistics of the databases over the whole run, without parameter values. Shares refer to the time of the statements that were counted by name. Calls per request are based on this run's requests; other clients may have used the database too."
            }
            div.scroll tabindex="0" role="group" aria-labelledby="statements-heading" {
                table.evidence {
                    thead { tr {
                        th scope="col" { "statement" }
                        th scope="col" { "share of the time" }
                        th scope="col" { "calls per s" }
                        th scope="col" { "per request" }
                        th scope="col" { "ms each" }
                        th scope="col" { "rows each" }
                        th.text scope="col" { "what stands out" }
                    } }
                    tbody { @for use_of in uses.iter().take(statements::STATEMENTS_MAX) { (row(use_of)) } }
                }
            }
            @let advice = statements::advice(&uses);
            @if !advice.is_empty() {
                h3 { "More advice on these statements" }
                ul {
                    @for index in &advice {
                        li {
                            (printable(&index.reason)) ": " (printable(&index.remedy)) "."
                            @if let Some(sql) = &index.sql {
                                pre tabindex="0" role="group" aria-label="Statements that do it" {
                                    code { @for line in sql.lines() { (printable(line)) "\n" } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn row(usage: &StatementUse) -> Markup {
    html! {
        tr {
            th scope="row" { code { (printable(&usage.statement)) } small { (printable(&usage.at)) } }
            td { (percent(usage.share)) }
            td { (short(usage.calls)) }
            td { @match usage.calls_per_request { Some(calls) => { (short(calls)) } None => { "–" } } }
            td { (short(usage.each_ms)) }
            td { (short(usage.rows)) }
            td.text {
                @for remark in remarks(usage) { p { (printable(&remark)) } }
                @if let Some(index) = &usage.index { p { "missing index: " code { (printable(index)) } } }
                @if let Some((without, with)) = usage.with_index {
                    p { "with it the planner estimates a cost of " (short(with)) " in place of " (short(without)) " (tried by HypoPG)" }
                }
            }
        }
    }
}

/// Remarkable numbers, as text.
fn remarks(usage: &StatementUse) -> Vec<String> {
    /// Calls per request above which a statement is repeated.
    const REPEATED: f64 = 10.0;
    /// Rows examined per row returned above which most were examined in vain.
    const IN_VAIN: f64 = 100.0;
    /// Rows sorted per call above which it is mentioned.
    const SORTED: f64 = 1000.0;
    let above = |value: Option<f64>, bound: f64| value.filter(|&value| value > bound);
    let mut remarks = Vec::new();
    if let Some(calls) = above(usage.calls_per_request, REPEATED) {
        remarks.push(format!("repeated {} times in each request", short(calls)));
    }
    if let Some(rows) = above(usage.examined_per_row, IN_VAIN) {
        remarks.push(format!("{} rows examined per row returned", short(rows)));
    }
    if let Some(share) = above(usage.without_index, 0.0) {
        remarks.push(format!("{} of the calls without an index", percent(share)));
    }
    if let Some(rows) = above(usage.sorted, SORTED) {
        remarks.push(format!("{} rows sorted each time", short(rows)));
    }
    if let Some(tables) = above(usage.on_disk, 0.0) {
        remarks.push(format!(
            "{} temporary tables on disk each time",
            short(tables)
        ));
    }
    if let Some(bytes) = above(usage.spilt, 0.0) {
        remarks.push(format!(
            "{} MiB written to temporary files each time",
            short(bytes / 1_048_576.0)
        ));
    }
    if let Some(plan) = &usage.plan {
        remarks.push(format!("plan: {plan}"));
    }
    remarks
}
