//! A history as one self-contained HTML file.

use maud::{Markup, html};

use super::phrases::{
    answer_word, commit_range, counted, day, headline, metric_label, quantity, relative,
};
use super::series::section;
use super::{ChangeObject, GateAnswer, HistoryObject};
use crate::html::{StaticPage, page_banner};
use crate::printable::printable;
use crate::text::unbroken;

/// The whole file.
pub fn render(object: &HistoryObject) -> String {
    let main = html! {
        @for damaged in &object.damaged {
            p.notice { "Line " (damaged.line) " of the history cannot be read: " (printable(&damaged.what)) }
        }
        (answer(object))
        (changes(object))
        @for (index, series) in object.series.iter().enumerate() {
            (section(object, index, series))
        }
    };
    StaticPage {
        title: "history".to_owned(),
        is_experiment: true,
        banner: banner(object),
        main,
        made_from: "the history alone",
        command: "plimsoll history",
    }
    .render()
}

fn banner(object: &HistoryObject) -> Markup {
    page_banner(&html! {
        div {
            strong { "Plimsoll" }
            span { "history of " (counted(object.points.len(), "run")) }
        }
        @if let (Some(first), Some(last)) = (object.points.first(), object.points.last()) {
            time datetime=(printable(&last.at)) { (printable(&day(&first.at))) " to " (printable(&day(&last.at))) }
        }
    })
}

fn answer(object: &HistoryObject) -> Markup {
    html! {
        section.answer aria-labelledby="answer" {
            h1 #answer tabindex="-1" { (headline(&object.gate)) }
            @if object.gate.series.is_empty() { p { (unbroken(&object.gate.sentence)) "." } }
            @for gate in &object.gate.series {
                @let series = &object.series[gate.series];
                p {
                    strong { (printable(&series.command)) " of " (printable(&series.name)) } ": "
                    span class={ "judged " (answer_class(gate.verdict)) } { (answer_word(gate.verdict)) }
                    @if gate.verdict == GateAnswer::Passed {
                        ", " (counted(gate.compared, "metric")) " compared over " (counted(series.runs, "run"))
                    }
                }
                @if !gate.reasons.is_empty() {
                    ul.remarks { @for reason in &gate.reasons { li { (unbroken(reason)) } } }
                }
            }
        }
    }
}

fn answer_class(answer: GateAnswer) -> &'static str {
    match answer {
        GateAnswer::Passed => "pass",
        GateAnswer::Regressed => "fail",
        GateAnswer::Undecided | GateAnswer::Void => "void",
    }
}

fn changes(object: &HistoryObject) -> Markup {
    let mut newest: Vec<&ChangeObject> = object.changes.iter().collect();
    newest.sort_by_key(|change| std::cmp::Reverse(change.point));
    html! {
        section aria-labelledby="changes" {
            h2 #changes { "Changes" }
            p.lead {
                "A change is a new level, or a slow slide. A single run between two equal levels is a spike, and no change"
                @if !object.spikes.is_empty() { "; " (counted(object.spikes.len(), "spike")) " left out" }
                "."
            }
            @if newest.is_empty() { p { "No change." } }
            @else {
                div.scroll tabindex="0" role="group" aria-label="Changes" {
                    table {
                        thead { tr {
                            @for name in ["at", "run", "metric"] { th.text scope="col" { (name) } }
                            @for name in ["before", "after", "difference", "p-value"] { th scope="col" { (name) } }
                            th.text scope="col" { "commits" }
                        } }
                        tbody { @for change in newest { (change_row(object, change)) } }
                    }
                }
            }
        }
    }
}

fn change_row(object: &HistoryObject, change: &ChangeObject) -> Markup {
    let name = &change.metric;
    let (class, word) = match change.worse {
        Some(true) => ("judged fail", " worse"),
        Some(false) => ("judged pass", " better"),
        None => ("judged", ""),
    };
    html! {
        tr {
            th scope="row" { (printable(&day(&change.at))) }
            td.text { (printable(&object.series[change.series].name)) }
            td.text { (printable(&metric_label(name))) @if change.kind == "slide" { small { "slide" } } }
            td { (quantity(name, change.before)) }
            td { (quantity(name, change.after)) }
            td { span class=(class) { (relative(change.before, change.after)) (word) } }
            td { (p_value(change.p)) }
            td.text { @if let Some(range) = &change.commits { code { (printable(&commit_range(range))) } } }
        }
    }
}

fn p_value(p: f64) -> String {
    if p < 0.0001 {
        return "< 0.0001".to_owned();
    }
    format!("{p:.4}")
}
