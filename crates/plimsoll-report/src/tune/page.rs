//! A search of settings as one self-contained HTML file.

use maud::{Markup, html};

use super::object::counts;
use super::rows::{self, TriedRow, line_text, user_row_text};
use super::text::{notices, searched, sentence};
use super::{TuneReport, chart};
use crate::history_page::day;
use crate::html::{StaticPage, page_banner};
use crate::number::{count, percent, seconds, users, whole};
use crate::printable::printable;
use crate::text::unbroken;

/// Settings in the table of the page.
const TRIED_MAX: usize = 500;

/// The whole file.
pub fn render(report: &TuneReport<'_>) -> String {
    let main = html! {
        @for notice in notices(report) { p.notice { (notice) } }
        (answer(report))
        (section("settings", "Settings", &knobs(report)))
        @if !report.users.is_empty() { (section("users", "Users and settings", &user_rows(report))) }
        (section("tried", "What was tried", &tried(report)))
        (section("without", "Trials without a measurement", &without_measurement(report)))
    };
    StaticPage {
        title: format!("tune {}", printable(report.name)),
        is_experiment: true,
        banner: banner(report),
        main,
        made_from: "the log of the experiment",
        command: "plimsoll tune",
    }
    .render()
}

fn banner(report: &TuneReport<'_>) -> Markup {
    page_banner(&html! {
        div {
            strong { "Plimsoll" }
            span { "tune " (printable(report.name)) }
        }
        time datetime=(report.started_at) { (printable(&day(report.started_at))) }
    })
}

/// A section, unless it is empty.
fn section(id: &str, title: &str, content: &Markup) -> Markup {
    html! {
        @if !content.0.is_empty() {
            section aria-labelledby=(id) { h2 id=(id) { (title) } (content) }
        }
    }
}

fn answer(report: &TuneReport<'_>) -> Markup {
    let counts = counts(report);
    let best = report.outcome.best.as_ref();
    html! {
        section.answer aria-labelledby="answer" {
            h1 #answer tabindex="-1" { (unbroken(&sentence(report))) }
            dl.facts {
                @if let Some(baseline) = report.baseline().0 {
                    div { dt { "load line as it stands" } dd { (report.line_text(baseline)) } }
                }
                @if let Some(best) = best {
                    div {
                        dt { @if report.is_adopted() { "load line after the change" } @else { "best so far" } }
                        dd { (rows::best_line_text(report, best)) small { (rows::best_gain_text(best)) } }
                    }
                }
                @if let Some(limit) = report.next_limit {
                    div { dt { "next limit" } dd { (printable(limit)) } }
                }
                div {
                    dt { "trials" }
                    dd { (count(counts.total)) small { (count(counts.failed)) " failed, " (count(counts.void)) " void" } }
                }
                div { dt { "time" } dd { (seconds(whole(report.seconds()))) } }
                div { dt { "put back" } dd { @if report.undone { "everything" } @else { "not everything" } } }
                div { dt { "seed" } dd { (report.seed) } }
            }
            @if report.is_adopted() && report.applied.is_empty() {
                p { "To make it permanent: " code { (printable(report.apply_command)) } }
            }
            @let searched = searched(report);
            @if !searched.is_empty() { p { "Load line " (searched) "." } }
            @if !report.outcome.unshown.is_empty() {
                p {
                    "The gain is that of all changes together. Of those marked \"not shown to matter\" nobody knows whether they add to it: \
                     these settings were not measured without one of them alone, or carried as much."
                }
            }
            @for text in report.applied { p { "Applied: " (printable(text)) } }
            @for text in report.by_hand { p { "By hand: " (printable(text)) } }
        }
    }
}

fn knobs(report: &TuneReport<'_>) -> Markup {
    html! {
        p.lead {
            "The difference to what stands. Importance is the share of a knob in the differences between all settings that were \
             tried; a knob whose change gains less than 1 % went back."
        }
        div.scroll tabindex="0" role="group" aria-label="Settings" {
            table {
                thead { tr {
                    th scope="col" { "knob" } th.text scope="col" { "stands" } th.text scope="col" { "change to" }
                    th scope="col" { "importance" } th.text scope="col" { "remarks" }
                } }
                tbody { @for row in rows::knobs(report) { tr {
                    th scope="row" { (printable(&row.name)) }
                    td.text { (printable(&row.from)) }
                    td.text { @if let Some(to) = &row.to { strong { (printable(to)) } } @else { "–" } }
                    td { (row.importance.map_or_else(|| "–".to_owned(), percent)) }
                    td.text { (row.remark) }
                } } }
            }
        }
    }
}

fn user_rows(report: &TuneReport<'_>) -> Markup {
    html! {
        p.lead { "The smallest settings that carry so many users with a margin of 15 %, each confirmed by a trial of that many users." }
        div.scroll tabindex="0" role="group" aria-label="Users and settings" {
            table {
                thead { tr { th scope="col" { "users" } th.text scope="col" { "settings" } } }
                tbody { @for row in report.users { tr {
                    th scope="row" { (users(row.users.into())) }
                    td.text { (printable(&user_row_text(report, row))) }
                } } }
            }
        }
    }
}

fn tried(report: &TuneReport<'_>) -> Markup {
    let mut rows = rows::tried(report);
    let line = |row: &TriedRow| row.line.unwrap_or(0.0);
    rows.sort_by(|a, b| line(b).total_cmp(&line(a)));
    html! {
        @if !rows.is_empty() {
            (chart::chart(report))
            div.scroll tabindex="0" role="group" aria-label="What was tried" {
                table {
                    thead { tr {
                        th scope="col" { "setting" } th scope="col" { "load line" } th scope="col" { "trials" }
                        th.text scope="col" { "remarks" }
                    } }
                    tbody { @for row in rows.iter().take(TRIED_MAX) { tr {
                        th scope="row" { (printable(&report.setting_text(&row.levels))) }
                        td { (line_text(report, row)) }
                        td { (row.trials) }
                        td.text { (printable(&row.remark)) }
                    } } }
                }
            }
            @if rows.len() > TRIED_MAX { p.muted { (rows.len() - TRIED_MAX) " more are in the log." } }
        }
    }
}

/// Why trials failed or are void.
fn without_measurement(report: &TuneReport<'_>) -> Markup {
    let trials = report.trials.iter();
    let rows: Vec<_> = trials
        .filter_map(|trial| Some((trial, trial.reason.as_ref()?)))
        .take(TRIED_MAX)
        .collect();
    html! {
        @if !rows.is_empty() {
            div.scroll tabindex="0" role="group" aria-label="Trials without a measurement" {
                table {
                    thead { tr {
                        th scope="col" { "trial" } th.text scope="col" { "for" } th.text scope="col" { "setting" }
                        th.text scope="col" { "why" }
                    } }
                    tbody { @for (trial, reason) in &rows { tr {
                        th scope="row" { (trial.index) }
                        td.text { (trial.purpose) }
                        td.text { (printable(&report.setting_text(&trial.levels))) }
                        td.text { (printable(reason)) }
                    } } }
                }
            }
        }
    }
}
