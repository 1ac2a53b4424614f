//! Named limits with their evidence drawn.

use maud::{Markup, html};
use plimsoll_analysis::findings;
use plimsoll_model::finding::{Evidence, Finding};

use crate::answer::not_known;
use crate::chart::{bars, timeline};
use crate::json::certainty_name;
use crate::number::reading;
use crate::printable::printable;
use crate::report::Report;
use crate::text::unbroken;
use plimsoll_analysis::summary::timeline::levels_of;

/// Points of the small chart of a series.
const SPARK_POINTS: u32 = 150;

/// The limits that set the line.
pub(super) fn section(report: &Report<'_>) -> Markup {
    let named = &report.run.findings;
    if named.is_empty() && !report.is_search() {
        return html! { (failures(report)) };
    }
    let spans = spans(report);
    html! {
        section aria-labelledby="findings-heading" {
            h2 #findings-heading {
                @if report.is_search() { "What sets the line" } @else { "What was at its limit" }
            }
            @if named.is_empty() {
                p { (unbroken(&not_known(report))) }
            } @else {
                p.lead {
                    "Each series at low load (B), at the highest load that passed (P) and at the lowest that failed (F). \
                     The tick marks the bound that was crossed."
                }
                ol.findings { @for finding in named { li { (article(report, finding, &spans)) } } }
            }
            @if let Some(next) = &report.forecast {
                p.next {
                    strong { "Next: " } (unbroken(&next.sentence)) " "
                    span class={ "badge " (certainty_name(next.certainty)) } { (certainty_name(next.certainty)) }
                }
            }
            @if let Some(scaling) = &report.scaling {
                p.next { strong { "How it scales: " } (unbroken(&scaling.sentence)) " (" (unbroken(&scaling.basis)) ")" }
            }
        }
        (failures(report))
    }
}

/// What failed requests have in common.
fn failures(report: &Report<'_>) -> Markup {
    html! {
        @if let Some(failures) = &report.failures {
            section aria-labelledby="common-heading" {
                h2 #common-heading { "What the failures have in common" }
                p { (unbroken(&failures.sentence)) "." }
            }
        }
    }
}

/// Seconds of the stretches B, P and F.
fn spans(report: &Report<'_>) -> Vec<(&'static str, (u32, u32))> {
    let stretches = findings::stretches(report.run);
    let base = stretches.base.iter().map(|&span| ("base", span));
    let passing = stretches.passing.map(|span| ("passing", span));
    let failing = stretches.failing.map(|span| ("failing", span));
    base.chain(passing).chain(failing).collect()
}

fn article(report: &Report<'_>, finding: &Finding, spans: &[(&'static str, (u32, u32))]) -> Markup {
    html! {
        article {
            h3 {
                (printable(&finding.limit)) " "
                span class={ "badge " (certainty_name(finding.certainty)) } { (certainty_name(finding.certainty)) }
            }
            p { (unbroken(&finding.sentence)) }
            p.remedy { strong { "What to do: " } (unbroken(&finding.remedy)) }
            @if let Some(tried) = &finding.intervention {
                p.tried { strong { "Tried: " } (unbroken(&tried.sentence)) "." }
            }
            @if let Some(rule) = &finding.consequence_of {
                p.muted {
                    "A consequence of " (printable(rule))
                    @if let Some(machine) = &finding.consequence_of_machine { " on " (printable(machine)) }
                    ": fix that first."
                }
            }
            div.scroll tabindex="0" role="group" aria-label="Evidence" {
                table.evidence {
                    thead { tr {
                        th scope="col" { "evidence" }
                        th scope="col" { "B" } th scope="col" { "P" } th scope="col" { "F" }
                        th scope="col" { "over the run" }
                    } }
                    tbody { @for line in &finding.evidence { (evidence(report, line, spans)) } }
                }
            }
            p.muted { "rule " (printable(&finding.rule)) ", score " (crate::number::short(finding.score)) }
        }
    }
}

fn evidence(report: &Report<'_>, line: &Evidence, spans: &[(&'static str, (u32, u32))]) -> Markup {
    let values = [
        ("base", line.base),
        ("passing", line.passing),
        ("failing", line.failing),
    ];
    let highest = values
        .iter()
        .filter_map(|value| value.1)
        .chain(line.bound)
        .fold(0.0, f64::max);
    let share = |value: f64| if highest > 0.0 { value / highest } else { 0.0 };
    html! {
        tr {
            th scope="row" {
                (printable(&line.label))
                code { (printable(&line.series)) }
                @if let Some(bound) = line.bound { small { "bound " (printable(&reading(bound, &line.unit))) } }
            }
            @for (class, value) in values {
                td {
                    @match value {
                        Some(value) => {
                            (printable(&reading(value, &line.unit)))
                            (bars::value(class, share(value), line.bound.filter(|_| highest > 0.0).map(share)))
                        }
                        None => { span.muted { "not measured" } }
                    }
                }
            }
            td.wide { (spark(report, &line.series, spans)) }
        }
    }
}

fn spark(report: &Report<'_>, series: &str, spans: &[(&'static str, (u32, u32))]) -> Markup {
    let Some(values) = report.run.readings.values(series) else {
        return html! { span.muted { "–" } };
    };
    let seconds = report.run.readings.seconds();
    let end = seconds.last().map_or(0, |second| second + 1);
    let step_s = end.div_ceil(SPARK_POINTS).max(1);
    let rows = seconds.iter().copied().zip(values.iter().copied());
    // The maximum of each step: a short peak must not vanish.
    let points: Vec<(u32, f64)> = levels_of(rows, step_s)
        .into_iter()
        .map(|(second, level)| (second, level.max))
        .collect();
    // Pauses between trials are part of the axis, not gaps of the series.
    timeline::spark(&points, step_s, spans)
}
