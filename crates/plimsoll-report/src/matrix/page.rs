//! A matrix as one self-contained HTML file.

use maud::{Markup, html};

use super::object::counts;
use super::text::{level_text, notices, ranked, remark, sentence};
use super::{MatrixReport, charts, correlations, distributions, effects};
use crate::cost::CostObject;
use crate::history_page::day;
use crate::html::{StaticPage, page_banner};
use crate::number::{count, money, seconds, short, whole};
use crate::printable::printable;

/// Cells in the table of the page.
const CELLS_MAX: usize = 500;

/// The whole file.
pub fn render(report: &MatrixReport<'_>) -> String {
    let title = format!("matrix {}", printable(report.name));
    let main = html! {
        @for notice in notices(report) { p.notice { (notice) } }
        (answer(report))
        (cells(report))
        (effects_section(report))
        (laws(report))
        (section("distributions", "Distributions", &distributions::distributions(report)))
        (section("meters", "Meters of scalability", &super::meters::meters_section(report)))
        (section("correlations", "Settings and results", &correlations::correlations(report)))
    };
    StaticPage {
        title,
        is_experiment: true,
        banner: banner(report),
        main,
        made_from: "the log of the experiment",
        command: "plimsoll matrix",
    }
    .render()
}

fn banner(report: &MatrixReport<'_>) -> Markup {
    page_banner(&html! {
        div {
            strong { "Plimsoll" }
            span { "matrix " (printable(report.name)) }
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

fn answer(report: &MatrixReport<'_>) -> Markup {
    let trials = counts(report);
    html! {
        section.answer aria-labelledby="answer" {
            h1 #answer tabindex="-1" { (crate::text::unbroken(&sentence(report))) }
            dl.facts {
                div { dt { "cells" } dd { (count(report.cells.len() as u64)) small { (axes_text(report)) } } }
                div {
                    dt { "trials" }
                    dd { (count(trials.total)) small { (count(trials.failed)) " failed, " (count(trials.void)) " void" } }
                }
                div {
                    dt { "time" }
                    dd {
                        (seconds(whole(report.seconds())))
                        @if let Some(forecast) = report.forecast {
                            small { "forecast after the first block: " (seconds(whole(forecast.seconds))) }
                        }
                    }
                }
                @if let Some(spent) = &report.spent {
                    div {
                        dt { "price of the experiment" }
                        dd {
                            (money(spent.price)) " " (printable(&spent.currency))
                            @if let Some(price) = report.forecast.and_then(|forecast| forecast.price) {
                                small { "forecast after the first block: " (money(price)) }
                            }
                        }
                    }
                }
                div { dt { "seed" } dd { (report.seed) } }
            }
        }
    }
}

/// `3 workers × 2 cache`: the factors and their numbers of levels.
fn axes_text(report: &MatrixReport<'_>) -> String {
    let factors = report.input.factors.iter();
    let texts: Vec<String> = factors
        .map(|factor| format!("{} {}", factor.levels.len(), printable(&factor.name)))
        .collect();
    texts.join(" × ")
}

fn cells(report: &MatrixReport<'_>) -> Markup {
    let ranked = ranked(report);
    let prices = report.input.prices.as_ref().zip(report.price_unit);
    let metric = report.result.metric.as_deref().unwrap_or_default();
    let (cost_heads, costs) = cost_columns(report, &ranked);
    let content = html! {
        (charts::price_chart(report))
        div.scroll tabindex="0" role="group" aria-label="Cells" {
            table {
                thead { tr {
                    th scope="col" { "cell" }
                    th scope="col" { (MatrixReport::metric_text(metric)) }
                    @if let Some((_, unit)) = prices { th scope="col" { "price, " (unit) } }
                    th scope="col" { "trials" }
                    th.text scope="col" { "remarks" }
                    @for head in &cost_heads { th scope="col" { (head) } }
                } }
                tbody { @for (&cell, costs) in ranked.iter().zip(&costs).take(CELLS_MAX) {
                    @let result = &report.result.cells[cell];
                    tr.beaten[result.is_beaten] {
                        th scope="row" { (printable(&report.cell_text(cell))) }
                        td { (level_text(report, cell)) }
                        @if let Some((prices, _)) = prices {
                            td { (prices.get(cell).map_or_else(|| "–".to_owned(), |price| short(*price))) }
                        }
                        td { (result.measured) }
                        td.text { (remark(report, cell)) }
                        @for cost in costs { td { (cost) } }
                    }
                } }
            }
        }
        @if ranked.len() > CELLS_MAX {
            p.muted { (ranked.len() - CELLS_MAX) " more cells are in the table of trials." }
        }
        (reasons(report))
    };
    section("cells", "Cells", &content)
}

/// The costs at the line, one column for each that a cell has: heads, and the row of each cell.
fn cost_columns(report: &MatrixReport<'_>, cells: &[usize]) -> (Vec<String>, Vec<Vec<String>>) {
    let costs: Vec<Option<CostObject>> = cells.iter().map(|cell| report.cost(*cell)).collect();
    let known: Vec<_> = costs.iter().flatten().map(CostObject::columns).collect();
    let Some((first, currency)) = known.first().zip(costs.iter().flatten().next()) else {
        return (Vec::new(), vec![Vec::new(); cells.len()]);
    };
    let is_known = |column: &usize| known.iter().any(|columns| columns[*column].1.is_some());
    let shown: Vec<usize> = (0..first.len()).filter(is_known).collect();
    let head = |column: &usize| format!("{} {}", printable(&currency.currency), first[*column].0);
    let row = |cost: &Option<CostObject>| {
        let columns = cost.as_ref().map(CostObject::columns);
        let text = |column: &usize| {
            let estimate = columns.and_then(|columns| columns[*column].1);
            estimate.map_or_else(|| "–".to_owned(), |estimate| estimate.number())
        };
        shown.iter().map(text).collect()
    };
    let rows = costs.iter().map(row).collect();
    (shown.iter().map(head).collect(), rows)
}

/// Why trials failed or are void.
fn reasons(report: &MatrixReport<'_>) -> Markup {
    use super::TrialResult::{Failed, Measured, Void};
    let all = report
        .trials
        .iter()
        .filter_map(|trial| match &trial.result {
            Measured(_) => None,
            Failed(reason) => Some((trial, "failed", reason)),
            Void(reason) => Some((trial, "void", reason)),
        });
    let rows: Vec<_> = all.take(CELLS_MAX).collect();
    html! {
        @if !rows.is_empty() {
            details {
                summary { "Trials without a measurement" }
                div.scroll tabindex="0" role="group" aria-label="Trials without a measurement" {
                    table {
                        thead { tr {
                            th scope="col" { "trial" } th.text scope="col" { "cell" } th.text scope="col" { "why" }
                        } }
                        tbody { @for (trial, kind, reason) in &rows { tr {
                            th scope="row" { (trial.index) }
                            td.text { (printable(&report.cell_text(trial.cell))) }
                            td.text { (kind) ": " (printable(reason)) }
                        } } }
                    }
                }
            }
        }
    }
}

fn effects_section(report: &MatrixReport<'_>) -> Markup {
    let Some((main, beside)) = report.result.effects.split_first() else {
        return html! {};
    };
    let content = html! {
        p.lead {
            "Each change against the first level of its factor, in pairs of trials at equal levels of all others and in the same \
             block. It is better or worse when its whole interval is beyond 3 %, and it stays so when all changes of the table \
             are judged together (Holm); else it is undecided."
        }
        (effects::effects_table(report, &main.metric, &main.main))
        @if !main.interactions.is_empty() {
            h3 { "Interactions" }
            p.lead { "How much more two changes do together than both alone: no effect means that they add up." }
            (effects::effects_table(report, &main.metric, &main.interactions))
        }
        @for found in beside {
            details {
                summary { "Effects on " (MatrixReport::metric_text(&found.metric)) }
                (effects::effects_table(report, &found.metric, &found.main))
            }
        }
    };
    section("effects", "Effects", &content)
}

fn laws(report: &MatrixReport<'_>) -> Markup {
    let content = html! {
        @for law in &report.result.laws { (charts::law_chart(report, law)) }
    };
    section("laws", "Scaling", &content)
}
