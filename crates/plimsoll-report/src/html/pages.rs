//! Pages as people wait for them: what browsers measured beside the load.

use maud::{Markup, html};
use plimsoll_analysis::summary::browser::{BrowserSummary, PageSummary, VisitQuantiles};

use crate::number::{bytes, count, load, micros, percent, score, short};
use crate::printable::printable;
use crate::report::Report;

/// Columns of times: name, and the quantiles of a page.
type TimeColumn = (&'static str, fn(&PageSummary) -> Option<VisitQuantiles>);

const TIMES: [TimeColumn; 5] = [
    ("first byte", |page| page.first_byte_us),
    ("first paint", |page| page.first_contentful_paint_us),
    ("largest paint", |page| page.largest_contentful_paint_us),
    ("blocked", |page| page.blocking_us),
    ("page ready", |page| page.ready_us),
];

/// The tables of pages; nothing without a browser.
pub(super) fn section(report: &Report<'_>) -> Markup {
    let Some(browser) = &report.summary.browser else {
        return html! {};
    };
    html! {
        section aria-labelledby="pages-heading" {
            h2 #pages-heading { "Pages in browsers" }
            @if report.is_search() { p.lead { "Over the judged seconds of all valid trials together." } }
            p.lead {
                (count(browser.all.visits)) " visits ended, of " (users(browser)) " in "
                (product(report)) ", each without cookies and without a cache. A page is ready when its load event has ended, and \
                half a second without requests, long tasks and larger paints begins."
                @if let (Some(mean), Some(most)) = (browser.cpu, browser.cpu_max) {
                    " The browsers used " (percent(mean)) " of the CPU of the generator's machine, at most " (percent(most)) " in a second."
                }
            }
            @if browser.all.visits > 0 {
                (times(browser))
                (loads(browser))
                (weights(browser))
                (failed(browser))
            }
        }
    }
}

fn users(browser: &BrowserSummary) -> String {
    crate::number::users(u64::from(browser.users))
}

/// Name and version of the browser.
fn product(report: &Report<'_>) -> String {
    let product = report.run.header.versions.get("browser");
    product.map_or_else(|| "a browser".to_owned(), |product| printable(product))
}

/// Every page, and all of them together.
fn rows(browser: &BrowserSummary) -> Vec<(String, &PageSummary)> {
    let pages = browser.pages.iter();
    let pages = pages.map(|(page, summary)| (printable(page), summary));
    let all = (
        match browser.pages.len() {
            0 => "the page".to_owned(),
            _ => "all pages".to_owned(),
        },
        &browser.all,
    );
    pages.chain([all]).collect()
}

fn times(browser: &BrowserSummary) -> Markup {
    html! {
        div.scroll tabindex="0" role="group" aria-label="Times of pages" {
            table {
                caption { "From the beginning of a visit: 75th percentile, and below it median and highest; the layout shift is a score" }
                thead { tr {
                    th scope="col" { "page" } th scope="col" { "visits" } th scope="col" { "failed" }
                    @for (name, _) in TIMES { th scope="col" { (name) } }
                    th scope="col" { "long tasks" } th scope="col" { "layout shift" }
                } }
                tbody { @for (name, page) in rows(browser) { tr {
                    th scope="row" { (name) }
                    td { (count(page.visits)) }
                    td { (count(page.failed_visits())) }
                    @for (_, pick) in TIMES { td { (quantiles(pick(page))) } }
                    td { (page.long_tasks_per_visit().map_or_else(|| "–".to_owned(), short)) }
                    td { (scores(page.layout_shift_ppm)) }
                } } }
            }
        }
    }
}

fn quantiles(quantiles: Option<VisitQuantiles>) -> Markup {
    html! {
        @if let Some(us) = quantiles {
            (micros(us.p75)) br; small { (micros(us.p50)) " – " (micros(us.max)) }
        } @else { "–" }
    }
}

/// The same of scores in millionths.
fn scores(quantiles: Option<VisitQuantiles>) -> Markup {
    let text = |ppm| short(score(ppm));
    html! {
        @if let Some(ppm) = quantiles {
            (text(ppm.p75)) br; small { (text(ppm.p50)) " – " (text(ppm.max)) }
        } @else { "–" }
    }
}

/// Pages at each load; nothing without trials.
fn loads(browser: &BrowserSummary) -> Markup {
    if browser.loads.is_empty() {
        return html! {};
    }
    html! {
        div.scroll tabindex="0" role="group" aria-label="Pages by load" {
            table {
                caption { "All pages by load: 75th percentile, and below it median and highest" }
                thead { tr {
                    @for name in ["load", "visits", "failed", "largest paint", "layout shift", "page ready"] { th scope="col" { (name) } }
                } }
                tbody { @for at in &browser.loads { tr {
                    th scope="row" { (load(at.load, at.unit)) }
                    td { (count(at.pages.visits)) }
                    td { (count(at.pages.failed_visits())) }
                    td { (quantiles(at.pages.largest_contentful_paint_us)) }
                    td { (scores(at.pages.layout_shift_ppm)) }
                    td { (quantiles(at.pages.ready_us)) }
                } } }
            }
        }
    }
}

fn weights(browser: &BrowserSummary) -> Markup {
    html! {
        div.scroll tabindex="0" role="group" aria-label="Weight of pages" {
            table {
                caption { "What a page consists of: medians; nodes as sent are those of the document before scripts changed it" }
                thead { tr {
                    @for name in ["page", "nodes", "of these, as sent", "requests", "bytes", "of these, the document"] { th scope="col" { (name) } }
                } }
                tbody { @for (name, page) in rows(browser) { @if let Some(weight) = &page.weight { tr {
                    th scope="row" { (name) }
                    td { (count(weight.nodes)) }
                    td { (count(weight.document_nodes)) }
                    td { (count(weight.requests)) }
                    td { (bytes(weight.bytes)) }
                    td { (bytes(weight.document_bytes)) }
                } } } }
            }
        }
    }
}

/// Visits and resources that failed, and those of other hosts; nothing if there are none.
fn failed(browser: &BrowserSummary) -> Markup {
    let all = &browser.all;
    html! {
        @if !all.failures.is_empty() {
            p { "Visits that failed, by reason: "
                @for (index, (reason, number)) in all.failures.iter().enumerate() {
                    @if index > 0 { ", " } (printable(reason)) " (" (count(*number)) ")"
                } "." }
        }
        @if all.resources_failed > 0 {
            p { (count(all.resources_failed)) " resources failed, most often:" }
            ul { @for (url, reason, number) in &all.failed {
                li { (printable(url)) ": " (printable(reason)) " (" (count(*number)) ")" }
            } }
        }
        @if all.resources_blocked > 0 {
            p.muted {
                (count(all.resources_blocked)) " resources of other hosts were not requested: the plan does not name them ("
                code { "hosts" } " below " code { "browser" } ")."
            }
        }
    }
}
