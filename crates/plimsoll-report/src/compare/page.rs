//! A comparison as one self-contained HTML file.

use maud::{Markup, html};
use plimsoll_analysis::experiment::comparison::{ComparedMetric, Comparison};
use plimsoll_analysis::experiment::effect::EffectVerdict;

use super::chart::charts;
use super::sentence::{
    CandidateAnswer, candidate_answer, capacity, change, evidence, headline, interval, limits,
    value, verdict_text,
};
use super::{ComparedRuns, ComparedSide};
use crate::history_page::metric_label;
use crate::html::{StaticPage, page_banner};
use crate::number::{percent, short};
use crate::printable::printable;
use crate::text::unbroken;

/// The whole file.
pub fn render(runs: &ComparedRuns<'_>) -> String {
    let sides: Vec<&ComparedSide<'_>> = runs.sides().collect();
    let main = html! {
        (answer_section(runs))
        @for (index, (candidate, comparison)) in runs.candidates.iter().enumerate() {
            (comparison_section(runs, index, candidate, comparison))
        }
        @if runs.candidates.len() > 1 { (ranking_section(runs)) }
        @if !runs.usual.is_empty() { (usual_section(runs)) }
        @if let Some(charts) = charts(&sides) {
            section aria-labelledby="charts-heading" {
                h2 #charts-heading { "Throughput and response time by load" }
                (charts)
            }
        }
    };
    StaticPage {
        title: "compare".to_owned(),
        is_experiment: true,
        banner: banner(runs),
        main,
        made_from: "the run files alone",
        command: "plimsoll compare",
    }
    .render()
}

fn banner(runs: &ComparedRuns<'_>) -> Markup {
    let names: Vec<String> = runs.sides().map(|side| printable(&side.name)).collect();
    page_banner(&html! {
        div { strong { "Plimsoll" } span { "compare " (names.join(", ")) } }
    })
}

fn answer_section(runs: &ComparedRuns<'_>) -> Markup {
    let margin = runs.deciding().1.margin();
    html! {
        section.answer aria-labelledby="answer" {
            h1 #answer tabindex="-1" { (unbroken(&headline(runs))) }
            @for (candidate, comparison) in &runs.candidates { (candidate_paragraph(runs, candidate, comparison)) }
            dl.facts {
                div { dt { "verdict" } dd { (verdict(runs)) } }
                div { dt { "a difference that does not matter" } dd { (percent(margin)) } }
                @if let Some(blocks) = runs.blocks {
                    div { dt { "blocks" } dd { (blocks.valid) small { (blocks.void) " void" } } }
                }
            }
            @if runs.candidates.iter().any(|(_, comparison)| !comparison.metrics().is_empty()) {
                p.lead { (capitalised(&evidence(runs))) "." }
            }
        }
    }
}

/// By how much a candidate differs; with several candidates, which one.
fn candidate_paragraph(
    runs: &ComparedRuns<'_>,
    candidate: &ComparedSide<'_>,
    comparison: &Comparison,
) -> Markup {
    let CandidateAnswer { headline, detail } = candidate_answer(runs, candidate, comparison);
    let is_single = runs.candidates.len() == 1;
    html! {
        @if is_single && !detail.is_empty() {
            p { (unbroken(&capitalised(&detail))) "." }
        }
        @if !is_single {
            p { strong { (unbroken(&headline)) } @if !detail.is_empty() { ": " (unbroken(&detail)) } "." }
        }
    }
}

/// A text that begins a sentence; names of metrics such as `p95` stay as they are.
fn capitalised(text: &str) -> String {
    let is_metric =
        text.starts_with('p') && text[1..].starts_with(|letter: char| letter.is_ascii_digit());
    let mut letters = text.chars();
    match letters.next() {
        Some(first) if !is_metric => first.to_uppercase().chain(letters).collect(),
        _ => text.to_owned(),
    }
}

fn verdict(runs: &ComparedRuns<'_>) -> &'static str {
    if runs.is_void() {
        "void"
    } else if runs.is_across_machines {
        "across machines"
    } else {
        runs.verdict().name()
    }
}

fn comparison_section(
    runs: &ComparedRuns<'_>,
    index: usize,
    candidate: &ComparedSide<'_>,
    comparison: &Comparison,
) -> Markup {
    let id = format!("candidate-{index}");
    html! {
        section aria-labelledby=(id) {
            h2 id=(id) { (printable(&candidate.name)) " against " (printable(&runs.baseline.name)) }
            @for reason in comparison.void() { p.notice.void { (printable(reason)) } }
            @if !comparison.differences().is_empty() {
                table.facts-table {
                    caption { "What differs in what was measured" }
                    thead { tr { th scope="col" {} th.text scope="col" { (printable(&runs.baseline.name)) } th.text scope="col" { (printable(&candidate.name)) } } }
                    tbody { @for difference in comparison.differences() {
                        tr {
                            th scope="row" { (difference.what()) }
                            td.text { (printable(difference.baseline())) }
                            td.text { (printable(difference.candidate())) }
                        }
                    } }
                }
            }
            @if !comparison.metrics().is_empty() {
                (table(runs, candidate, "metric", comparison.metrics().iter().map(|metric| {
                    (metric.definition.label.to_owned(), metric)
                })))
            }
            @for (_, text) in capacity(&runs.baseline, candidate) { p { (printable(&text)) } }
            @if let Some(text) = limits(&runs.baseline, candidate) { p { strong { "Limit: " } (text) } }
            @if !comparison.steps().is_empty() {
                h3 { "By step" }
                (table(runs, candidate, "step", comparison.steps().iter().flat_map(|step| {
                    step.metrics.iter().map(|metric| {
                        (format!("{} {}", printable(&step.key.1), metric.definition.label), metric)
                    })
                })))
            }
        }
    }
}

fn table<'m>(
    runs: &ComparedRuns<'_>,
    candidate: &ComparedSide<'_>,
    first: &str,
    rows: impl Iterator<Item = (String, &'m ComparedMetric)>,
) -> Markup {
    html! {
        div.scroll tabindex="0" role="group" aria-label={ "Values by " (first) } {
            table.comparison {
                thead { tr {
                    th scope="col" { (first) }
                    th scope="col" { (printable(&runs.baseline.name)) }
                    th scope="col" { (printable(&candidate.name)) }
                    th scope="col" { "change" }
                    th scope="col" { "verdict" }
                    th scope="col" { "95 % interval" }
                } }
                tbody { @for (label, metric) in rows {
                    tr {
                        th scope="row" { (label) }
                        td { (value(metric, metric.baseline, &runs.baseline)) }
                        td { (value(metric, metric.candidate, candidate)) }
                        td { (change(metric)) }
                        td { span class={ "judged " (class(metric.verdict)) } { (verdict_text(metric.verdict, runs.is_across_machines)) } }
                        td { (interval(metric).unwrap_or_else(|| "–".to_owned())) }
                    }
                } }
            }
        }
    }
}

fn class(verdict: EffectVerdict) -> &'static str {
    match verdict {
        EffectVerdict::Better | EffectVerdict::Same => "pass",
        EffectVerdict::Worse => "fail",
        EffectVerdict::Undecided | EffectVerdict::TooFew => "void",
    }
}

fn ranking_section(runs: &ComparedRuns<'_>) -> Markup {
    html! {
        section aria-labelledby="ranking-heading" {
            h2 #ranking-heading { "In order" }
            p.lead {
                "By the geometric mean of the ratios to " (printable(&runs.baseline.name))
                ", each oriented so that more is better; the order does not depend on that side. The lowest ratio shows what the mean hides."
            }
            div.scroll tabindex="0" role="group" aria-labelledby="ranking-heading" {
                table {
                    thead { tr { @for name in ["", "geometric mean", "95 % interval", "lowest ratio"] { th scope="col" { (name) } } } }
                    tbody { @for (index, side) in runs.ranking().iter().enumerate() {
                        tr {
                            th scope="row" { (index + 1) ". " (printable(runs.name_of(side))) }
                            td { (short(side.score)) }
                            td { @match side.interval.filter(|_| side.candidate.is_some()) {
                                Some((low, high)) => { (short(low)) " to " (short(high)) }
                                None => { "–" }
                            } }
                            td { @match side.lowest {
                                Some((name, ratio)) => { (metric_label(name)) " " (short(ratio)) }
                                None => { "–" }
                            } }
                        }
                    } }
                }
            }
        }
    }
}

fn usual_section(runs: &ComparedRuns<'_>) -> Markup {
    html! {
        section aria-labelledby="usual-heading" {
            h2 #usual-heading { "The same trials by rules in common use" }
            p.lead { "They decide nothing here: the first two know nothing of blocks, the last takes requests for independent trials." }
            table.facts-table {
                tbody {
                    @for usual in &runs.usual { tr { th scope="row" { (usual.rule) } td.text { (usual.verdict.name()) } } }
                    tr { th scope="row" { "blocks of trials in turn (this page)" } td.text { (verdict(runs)) } }
                }
            }
        }
    }
}
