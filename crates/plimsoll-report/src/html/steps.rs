//! Steps, journeys and groups: their table, their times over the run, thresholds, and some failures in full.

use maud::{Markup, html};
use plimsoll_analysis::summary::breakdown::{Breakdown, ScopeMetrics};
use plimsoll_analysis::summary::given_up::GivenUpSummary;
use plimsoll_model::journey::Scenario;
use plimsoll_model::window::FailureSample;

use crate::answer;
use crate::chart::axis::clock;
use crate::chart::steps::StepCharts;
use crate::number::{count, micros};
use crate::printable::printable;
use crate::report::Report;
use crate::text::unbroken;

/// Most failures shown in full.
const FAILURES_MAX: usize = 20;

/// Most lines of processes shown.
const PROCESS_LINES_MAX: usize = 100;

/// Everything about steps; nothing without journeys.
pub(super) fn section(report: &Report<'_>) -> Markup {
    let Some(breakdown) = &report.summary.breakdown else {
        return html! {};
    };
    html! {
        section aria-labelledby="steps-heading" {
            h2 #steps-heading { "Steps" }
            @if let Some(users) = answer::users(report) { p.lead { "Users: " (unbroken(&users)) } }
            @if report.is_search() { p.lead { "Over the judged seconds of all valid trials together." } }
            p.lead {
                "Response times of good answers in ms, from the moment a user was ready to send the request. Steps marked " em { "once" }
                " run once per user before all others; they are counted over the whole run only."
            }
            (table("steps", "Steps", "label", &step_rows(breakdown)))
            @if breakdown.journeys.len() > 1 || !breakdown.groups.is_empty() {
                (table("journeys", "Journeys and groups", "label", &other_rows(breakdown)))
            }
        }
        (given_up(report))
        (processes(report))
        (thresholds(report))
        (over_time(report))
        (failures(report))
    }
}

/// A row: journey, label, mark, numbers.
pub(super) type StepRow<'a> = (&'a str, &'a str, String, &'a ScopeMetrics);

fn step_rows(breakdown: &Breakdown) -> Vec<StepRow<'_>> {
    let steps = breakdown.steps.iter().map(|step| {
        let mark = if step.once { "once" } else { "" };
        (
            step.journey.as_str(),
            step.label.as_str(),
            mark.to_owned(),
            &step.metrics,
        )
    });
    steps.collect()
}

fn other_rows(breakdown: &Breakdown) -> Vec<StepRow<'_>> {
    let journeys = breakdown.journeys.iter();
    let journeys = journeys.map(|row| {
        (
            row.name.as_str(),
            row.name.as_str(),
            "journey".to_owned(),
            &row.metrics,
        )
    });
    let groups = breakdown.groups.iter();
    let groups = groups.map(|row| {
        (
            row.journey.as_str(),
            row.name.as_str(),
            "group".to_owned(),
            &row.metrics,
        )
    });
    journeys.chain(groups).collect()
}

/// Names of the columns with numbers.
const NAMES: [&str; 10] = [
    "samples", "average", "p50", "p75", "p90", "p95", "p99", "errors", "/s", "bytes",
];

/// A table that the script can sort; without it, rows are in the order of the plan.
pub(super) fn table(id: &str, caption: &str, heading: &str, rows: &[StepRow<'_>]) -> Markup {
    let several = rows.iter().any(|row| row.0 != rows[0].0);
    html! {
        div.scroll tabindex="0" role="group" aria-label=(caption) {
            table.steps.sortable #{ "table-" (id) } {
                caption { (caption) }
                thead { tr {
                    th scope="col" { (heading) }
                    @if several { th.text scope="col" { "journey" } }
                    @for name in NAMES { th scope="col" { (name) } }
                } }
                tbody { @for (journey, label, mark, part) in rows {
                    tr {
                        th scope="row" {
                            span.label { (printable(label)) }
                            @if !mark.is_empty() { " " span.badge.possible { (mark) } }
                        }
                        @if several { td.text { (printable(journey)) } }
                        @for (text, value) in answer::step_cells(part) {
                            td data-value=[value] { (text) }
                        }
                    }
                } }
            }
        }
    }
}

/// Users who gave up waiting; nothing without any.
fn given_up(report: &Report<'_>) -> Markup {
    let rows = report.summary.breakdown.iter();
    let rows: Vec<&GivenUpSummary> = rows.flat_map(|breakdown| &breakdown.given_up).collect();
    if rows.is_empty() {
        return html! {};
    }
    html! {
        section aria-labelledby="gave-up-heading" {
            h2 #gave-up-heading { "Users who gave up" }
            p.lead {
                "Users who left because a step took longer than they wait (" code { "gives_up" } "), and how long they had waited, \
                 over the whole run. They count as lost; others took their places."
            }
            div.scroll tabindex="0" role="group" aria-labelledby="gave-up-heading" {
                table.thresholds {
                    thead { tr {
                        th scope="col" { "step" } th.text scope="col" { "journey" } th scope="col" { "users" }
                        th scope="col" { "p50" } th scope="col" { "p95" } th scope="col" { "longest" }
                    } }
                    tbody { @for row in &rows { tr {
                        th scope="row" {
                            (printable(&row.label))
                            @if row.once { " " span.badge.possible { "once" } }
                        }
                        td.text { (printable(&row.journey)) }
                        td { (count(row.users)) }
                        @for us in [row.waited_us.p50, row.waited_us.p95, row.waited_us.max] { td { (micros(us)) } }
                    } } }
                }
            }
        }
    }
}

/// The cost of external scripts, and their standard error.
fn processes(report: &Report<'_>) -> Markup {
    let sentences = answer::processes(report);
    if sentences.is_empty() {
        return html! {};
    }
    let windows = report.run.windows.iter();
    let lines: Vec<&String> = windows
        .flat_map(|window| window.processes.values())
        .flat_map(|process| &process.stderr)
        .take(PROCESS_LINES_MAX)
        .collect();
    html! {
        section aria-labelledby="processes-heading" {
            h2 #processes-heading { "Processes" }
            p.lead { "External programs that drive users. Time that users wait for them is not part of a response time." }
            ul { @for sentence in &sentences { li { (printable(sentence)) } } }
            @if !lines.is_empty() {
                details {
                    summary { "Standard error" }
                    pre tabindex="0" role="group" aria-label="Standard error of processes" {
                        code { @for line in lines { (printable(line)) "\n" } }
                    }
                }
            }
        }
    }
}

fn thresholds(report: &Report<'_>) -> Markup {
    let bounds = answer::bounds(report);
    let early = report.ended_early();
    if bounds.is_empty() && early.is_none() {
        return html! {};
    }
    html! {
        section aria-labelledby="thresholds-heading" {
            h2 #thresholds-heading { "Thresholds" }
            @if let Some(early) = early { p.notice { "The run " (early) "." } }
            @if !bounds.is_empty() {
                div.scroll tabindex="0" role="group" aria-labelledby="thresholds-heading" {
                    table.thresholds {
                        thead { tr {
                            th scope="col" { "threshold" } th scope="col" { "measured" } th.text scope="col" { "judgement" }
                        } }
                        tbody { @for bound in &bounds {
                            @let (class, word) = match bound.met {
                                Some(true) => ("pass", "✓ met"),
                                Some(false) => ("fail", "✗ missed"),
                                None => ("void", "? undecided"),
                            };
                            tr {
                                th scope="row" { (printable(&bound.name)) }
                                td { (bound.measured) }
                                td.text { span class={ "judged " (class) } { (word) } }
                            }
                        } }
                    }
                }
            }
        }
    }
}

fn over_time(report: &Report<'_>) -> Markup {
    let Some(charts) = StepCharts::of(report) else {
        return html! {};
    };
    html! {
        section aria-labelledby="steps-time-heading" {
            h2 #steps-time-heading { "Steps over time" }
            p.lead {
                "Response time of good answers, one chart per step, all with the same axes: "
                span.l-key.l-p95 {} " p95, " span.l-key.l-p50 {} " p50."
                @if charts.left_out() > 0 { " The " (charts.left_out()) " steps with the fewest samples are left out." }
            }
            (charts.draw())
            details {
                summary { "The same as a table" }
                div.scroll tabindex="0" role="group" aria-label="p95 of steps over time" { (charts.table()) }
            }
        }
    }
}

fn failures(report: &Report<'_>) -> Markup {
    let Some(scenario) = &report.run.header.plan.scenario else {
        return html! {};
    };
    let all = report.run.windows.iter();
    let samples: Vec<&FailureSample> = all
        .flat_map(|window| &window.failures)
        .take(FAILURES_MAX)
        .collect();
    if samples.is_empty() {
        return html! {};
    }
    html! {
        section aria-labelledby="failures-heading" {
            h2 #failures-heading { "Some failures in full" }
            p.lead { "The first failures observed, with expected and actual values." }
            ul.failures { @for sample in samples { li { (failure(scenario, sample)) } } }
        }
    }
}

fn failure(scenario: &Scenario, sample: &FailureSample) -> Markup {
    let info = sample
        .step
        .and_then(|id| scenario.steps.get(usize::try_from(id).ok()?));
    let label = info.map_or("outside of a step", |info| info.label.as_str());
    let second = u32::try_from(sample.at_us / 1_000_000).unwrap_or(u32::MAX);
    html! {
        p {
            strong { (printable(label)) } " at " (clock(second)) " " span.badge { (sample.outcome.name()) }
            @if sample.status > 0 { " HTTP " (sample.status) }
        }
        @if !sample.reason.is_empty() { p { (printable(&sample.reason)) } }
        @if !sample.body.is_empty() {
            pre tabindex="0" role="group" aria-label="Start of the response" { code { (printable(&sample.body)) } }
        }
    }
}
