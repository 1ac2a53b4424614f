//! The report as one self-contained HTML file.
//!
//! Every chart is SVG and has a table beside it. The script only adds a cursor and zoom; without it,
//! and in print, the report is complete. A content security policy prevents the file from loading anything.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use plimsoll_analysis::summary::users::UsersSummary;
use plimsoll_analysis::whole_search::Carries;
use plimsoll_model::run::Run;

use crate::answer;
use crate::chart::timeline::TimeChart;
use crate::chart::{bars, load};
use crate::comparison;
use crate::cost::CostObject;
use crate::number::{count, load as load_of, micros, percent, rate, reading, short};
use crate::printable::printable;
use crate::report::Report;
use crate::text::unbroken;

mod findings;
mod machines;
mod pages;
mod patience;
mod payload;
mod phases;
mod repeat;
mod statements;
mod static_page;
mod steps;
mod tables;
mod throughput;
mod traces;
mod traffic;
mod urls;
mod websockets;
mod workers;

pub(crate) use static_page::{StaticPage, page_banner};

const CSS: &str = include_str!("../assets/report.css");
const SCRIPT: &str = include_str!("../assets/report.js");
const SORT: &str = include_str!("../assets/sort.js");

/// No external resources; style and script are inline.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

/// Points of a time series in a chart.
const PICTURE_POINTS: u32 = 600;
/// Rows of the same series as a table.
const TABLE_POINTS: u32 = 60;

/// The whole file.
pub fn render(report: &Report<'_>) -> String {
    page(report, &html! {})
}

/// The report of the last of several runs, with a comparison of all below its result; empty without runs.
pub fn render_comparison(runs: &[(&str, &Run)]) -> String {
    let reports: Vec<(&str, Report<'_>)> = runs
        .iter()
        .map(|&(label, run)| (label, Report::of(run)))
        .collect();
    match reports.last() {
        Some((_, last)) => page(last, &comparison_section(&reports)),
        None => String::new(),
    }
}

fn comparison_section(reports: &[(&str, Report<'_>)]) -> Markup {
    let rows = comparison::rows(reports);
    let (heading, runs) = rows
        .split_first()
        .map_or((&[][..], &[][..]), |(first, rest)| (first.as_slice(), rest));
    html! {
        section aria-labelledby="comparison-title" {
            h2 #comparison-title { "Before and after" }
            @if let Some(gain) = comparison::gain(reports) { p { (unbroken(&gain)) } }
            div.scroll tabindex="0" role="group" aria-label="Before and after" {
                table.comparison {
                    thead {
                        tr {
                            @for (index, name) in heading.iter().enumerate() {
                                th.text[index + 1 == heading.len()] scope="col" { (name) }
                            }
                        }
                    }
                    tbody {
                        @for run in runs {
                            tr {
                                @if let Some((label, cells)) = run.split_first() {
                                    th scope="row" { (label) }
                                    @for (index, cell) in cells.iter().enumerate() {
                                    td.text[index + 1 == cells.len()] { (cell) }
                                }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The head of a self-contained page, with the style that all pages share; `policy` is what its content may do.
pub(crate) fn page_head(title: &str, policy: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta http-equiv="Content-Security-Policy" content=(policy);
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            meta name="referrer" content="no-referrer";
            title { (title) }
            style { (PreEscaped(CSS)) }
        }
    }
}

fn page(report: &Report<'_>, comparison: &Markup) -> String {
    let timeline = TimeChart::of(report, PICTURE_POINTS);
    let name = printable(&report.run.header.plan.name);
    let title = format!("{} {name} – Plimsoll", report.run.header.command);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (page_head(&title, POLICY))
            body {
                a.skip href="#answer" { "Skip to the answer" }
                (banner(report))
                main {
                    (void_notice(report))
                    (answer_section(report))
                    (comparison)
                    (load_section(report))
                    (throughput::section(report))
                    (findings::section(report))
                    (machines::section(report))
                    (workers::section(report))
                    (traces::section(report))
                    (statements::section(report))
                    (payload::section(report))
                    (steps::section(report))
                    (urls::section(report))
                    (phases::section(report))
                    (websockets::section(report))
                    (pages::section(report))
                    (time_section(report, timeline.as_ref()))
                    (patience::section(report))
                    (classes_section(report))
                    (traffic::section(report))
                    (tables::outcomes_section(report))
                    (tables::setup_section(report))
                }
                footer { p { "Generated by Plimsoll from the run log alone; to reproduce it, run " code { "plimsoll report" } "." } }
                @if let Some(timeline) = &timeline {
                    (timeline.data())
                    script { (PreEscaped(SCRIPT)) }
                }
                @if has_sortable_table(report) { script { (PreEscaped(SORT)) } }
            }
        }
    };
    page.into_string()
}

/// Whether the page has a table that its script can sort.
fn has_sortable_table(report: &Report<'_>) -> bool {
    report.summary.breakdown.is_some() || !report.summary.urls.is_empty()
}

fn banner(report: &Report<'_>) -> Markup {
    let header = &report.run.header;
    page_banner(&html! {
        div {
            strong { "Plimsoll" }
            span { (header.command) " of " (printable(&header.plan.target.url)) }
        }
        time datetime=(header.started_at) { (moment(&header.started_at)) }
    })
}

/// A moment in readable form, if valid: `2026-11-21 18:00 UTC`.
fn moment(rfc3339: &str) -> String {
    match (rfc3339.get(..10), rfc3339.get(11..16)) {
        (Some(day), Some(clock)) if rfc3339.ends_with('Z') => format!("{day} {clock} UTC"),
        _ => printable(rfc3339),
    }
}

fn void_notice(report: &Report<'_>) -> Markup {
    let void = &report.summary.void;
    html! {
        @if !void.is_empty() {
            section.notice.void aria-labelledby="void-title" {
                h2 #void-title { "This measurement is void" }
                p { "This is not a result about the target. The data below helps to find the cause." }
                ul { @for reason in void { li { (reason) } } }
            }
        }
        @if report.run.header.plan.transport.insecure {
            p.notice { "Certificates were not checked (" code { "--insecure" } "): the identity of the server is not verified." }
        }
        @if report.run.ending.is_none() {
            p.notice { "The log is truncated: the report covers it up to that point." }
        }
    }
}

fn answer_section(report: &Report<'_>) -> Markup {
    let facts = facts(report);
    let sentence = unbroken(&answer::sentence(report));
    html! {
        section.answer aria-labelledby="answer" {
            h1 #answer tabindex="-1" { (sentence) }
            @if !facts.is_empty() {
                dl.facts {
                    @for (name, value, note) in &facts {
                        div { dt { (name) } dd { (value) @if !note.is_empty() { small { (note) } } } }
                    }
                }
            }
            @if let Some(statement) = report.statement() { p.statement { (unbroken(&statement)) } }
            @if let Some(search) = &report.run.search {
                ul.remarks { @for remark in answer::remarks(&search.remarks, report.unit()) { li { (unbroken(&remark)) } } }
            }
        }
    }
}

/// The key numbers below the result: name, value, note.
fn facts(report: &Report<'_>) -> Vec<(&'static str, String, String)> {
    let summary = &report.summary;
    let mut facts = Vec::new();
    if let Some(answer) = answer::required_answer(report) {
        let carried = match answer.carries {
            Carries::Yes => "yes",
            Carries::No => "no",
            Carries::WithinInterval => "undecided",
        };
        facts.push((
            "carries it",
            carried.to_owned(),
            answer.required.subject.clone(),
        ));
        if let Some(margin) = &answer.margin {
            facts.push(("margin", answer::margin_text(margin), String::new()));
        }
    }
    if let Some(line) = report.load_line() {
        let fresh = format!(
            "{} of {} fresh trials passed",
            line.confirmed_passes, line.confirmed_trials
        );
        facts.push(("verified", load_of(line.verified, line.unit), fresh));
        let interval = format!("90 %: {} to {}", short(line.low), short(line.high));
        facts.push(("load line", load_of(line.median, line.unit), interval));
        facts.push(("set by", comparison::set_by(report), String::new()));
        if let Some(cost) = CostObject::of(report) {
            facts.push(("cost", cost.text(), "90 %, that of the line".to_owned()));
        }
    } else if let Some(known) = report.estimate() {
        let interval = format!("90 %: {} to {}", short(known.low), short(known.high));
        facts.push(("about", load_of(known.median, report.unit()), interval));
        facts.push(("confirmed", "no".to_owned(), String::new()));
    } else if !report.is_search() && summary.requests > 0 {
        let users = report.users();
        let offered = match users {
            // The offered load of users follows from the responses.
            Some(_) => String::new(),
            None => format!("of {} offered", rate(summary.offered)),
        };
        facts.extend(users.map(users_fact));
        facts.push(("completed", rate(summary.completed), offered));
        if let Some(times) = &summary.response_us {
            let rest = format!("p50 {}, p99 {}", micros(times.p50), micros(times.p99));
            facts.push(("p95", micros(times.p95), rest));
        }
        let failed = format!(
            "{} of {}",
            count(summary.outcomes.failed()),
            count(summary.requests)
        );
        facts.push(("failed", percent(summary.error_share()), failed));
    }
    if let Some(objective) = report.objective() {
        facts.push(("objective", unbroken(&objective), String::new()));
    }
    facts
}

fn users_fact(users: UsersSummary) -> (&'static str, String, String) {
    let lost = match users.lost {
        0 => String::new(),
        lost => format!(", {} lost", count(lost)),
    };
    let note = format!("{} on average{lost}", short(users.mean));
    ("users at most", count(users.max), note)
}

fn load_section(report: &Report<'_>) -> Markup {
    let Some(chart) = load::chart(report) else {
        return html! {};
    };
    html! {
        section aria-labelledby="load-heading" {
            h2 #load-heading { "Load against response time" }
            p.lead {
                "Every trial is one mark. The band is the 90 % interval of the load line; a mark on the upper edge means \
                 that the quantile fell on a failure. Pale marks served another purpose than finding the line."
            }
            ul.legend {
                @for (name, text) in [("pass", "passed"), ("fail", "failed"), ("void", "void")] {
                    li { svg.key width="16" height="16" viewBox="-8 -8 16 16" aria-hidden="true" {
                        g class={ "mark " (name) } { (load::symbol(name)) }
                    } (text) }
                }
            }
            (chart)
            details { summary { "All trials as a table" } div.scroll tabindex="0" role="group" aria-label="All trials" { (tables::trials_table(report)) } }
        }
    }
}

fn time_section(report: &Report<'_>, timeline: Option<&TimeChart>) -> Markup {
    let Some(timeline) = timeline else {
        return html! {};
    };
    let merged = timeline.step_s() > 1;
    html! {
        section aria-labelledby="time-heading" {
            h2 #time-heading { "Over time" }
            p.lead {
                "Time of the run as minutes and seconds. "
                @if merged {
                    "Each point covers " (timeline.step_s()) " s: percentiles of merged histograms, rates and CPU as means; \
                     the highest second of CPU, and the highest number of connections and requests in flight and of bytes of memory. "
                }
                @if !report.trials.is_empty() {
                    "The strip has a bar for each trial, tall where it failed; seconds of failed trials are shaded."
                }
            }
            div.timeline #timeline {
                (timeline.draw(&report.trials))
            }
            @if let Some(table) = TimeChart::of(report, TABLE_POINTS) {
                details { summary { "The same as a table" } div.scroll tabindex="0" role="group" aria-label="Values over time" { (table.table()) } }
            }
            (peaks(report))
            @if !report.run.notes.is_empty() {
                details {
                    summary { "Notes made during the run" }
                    ul { @for (second, text) in &report.run.notes { li { (crate::chart::axis::clock(*second)) " " (printable(text)) } } }
                }
            }
        }
    }
}

/// Means and peaks of CPU and TCP states.
fn peaks(report: &Report<'_>) -> Markup {
    let resources = &report.summary.resources;
    html! {
        @if !resources.is_empty() {
            details {
                summary { "Means and highest seconds" }
                div.scroll tabindex="0" role="group" aria-label="Means and highest seconds" { table {
                    caption { "CPU as a share of all CPUs, and TCP sockets of the machine by state, over the whole run" }
                    thead { tr { @for name in ["resource", "mean", "highest", "at"] { th scope="col" { (name) } } } }
                    tbody { @for resource in resources { tr {
                        th scope="row" { (printable(&resource.series.name).replace('_', " ")) }
                        @for value in [resource.mean, resource.max] { td { (reading(value, &resource.unit)) } }
                        td { (crate::chart::axis::clock(resource.max_second)) }
                    } } }
                } }
            }
        }
    }
}

fn classes_section(report: &Report<'_>) -> Markup {
    let rows = tables::classes_by_rate(report);
    if rows.is_empty() {
        return html! {};
    }
    let headings = rows[0].1.named();
    html! {
        section aria-labelledby="classes-heading" {
            h2 #classes-heading { "Distribution of response times" }
            div.scroll tabindex="0" role="group" aria-labelledby="classes-heading" {
                table.classes {
                    thead { tr {
                        th scope="col" { "offered" }
                        th scope="col" { "share of the requests" }
                        @for (index, (name, _)) in headings.iter().enumerate() {
                            th scope="col" { span class={ "swatch c" (index) } {} (name) }
                        }
                    } }
                    tbody {
                        @for (offered, classes) in &rows {
                            @let named = classes.named();
                            @let total = classes.total().max(1) as f64;
                            tr {
                                th scope="row" { (load_of(*offered, report.unit())) }
                                td.wide { (bars::stacked(&[
                                    ("c0", &named[0].0, named[0].1),
                                    ("c1", &named[1].0, named[1].1),
                                    ("c2", &named[2].0, named[2].1),
                                    ("c3", &named[3].0, named[3].1),
                                ])) }
                                @for (_, number) in &named { td { (percent(*number as f64 / total)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}
