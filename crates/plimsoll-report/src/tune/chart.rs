//! Load lines of all trials over time: how the search went, and how much the machine varied.

use maud::{Markup, html};
use plimsoll_analysis::tuning::Score;

use super::{TuneReport, TuneTrial};
use crate::chart::axis::Axis;
use crate::chart::percent_of;
use crate::number::short;
use crate::printable::printable;

/// Seconds of a minute, the unit of time.
const MINUTE_S: f64 = 60.0;

/// The chart; nothing without a measured line.
pub(super) fn chart(report: &TuneReport<'_>) -> Markup {
    let line = |trial: &TuneTrial| match trial.score {
        Score::Line(line) | Score::AtLeast(line) => Some(line),
        Score::Failed | Score::Void => None,
    };
    // A full search finds a lower line than a load that rises.
    let measured = report.trials.iter().filter(|trial| !trial.is_search);
    let measured: Vec<(&TuneTrial, f64)> = measured
        .filter_map(|trial| Some((trial, line(trial)?)))
        .collect();
    if measured.is_empty() {
        return html! {};
    }
    let begin_min = |trial: &TuneTrial| trial.began_s / MINUTE_S;
    let x = Axis::linear_from_zero(measured.iter().map(|(trial, _)| begin_min(trial)));
    let y = Axis::linear_from_zero(measured.iter().map(|(_, line)| *line));
    let stands = report.default_levels();
    html! {
        div.axis-title { "load line of each trial, " (report.load_unit) }
        ul.legend {
            li { svg.key width="14" height="14" { g.mark.void { rect x="3" y="3" width="8" height="8" {} } } "the settings that stand" }
            li { svg.key width="16" height="14" { g.mark.pass { circle cx="8" cy="7" r="5.5" {} } } "other settings" }
        }
        svg.chart.load role="img" aria-labelledby="tried-title tried-text" {
            title #tried-title { "Load line of each trial by its time" }
            desc #tried-text { "The table below has the load line of every setting." }
            g.grid aria-hidden="true" {
                @for &tick in y.ticks() {
                    @let at = percent_of(1.0 - y.place(tick));
                    line x1="0" x2="100%" y1=(at) y2=(at) {}
                    text.y-label x="-8" y=(at) dy="4" { (short(tick)) }
                }
                @for &tick in x.ticks() {
                    @let at = percent_of(x.place(tick));
                    line x1=(at) x2=(at) y1="0" y2="100%" {}
                    text.x-label x=(at) y="100%" dy="18" { (short(tick)) }
                }
            }
            @for (trial, line) in &measured {
                @let is_standing = trial.levels == stands;
                svg class={ "mark " (if is_standing { "void" } else { "pass" }) }
                    x=(percent_of(x.place(begin_min(trial)))) y=(percent_of(1.0 - y.place(*line))) {
                    title { (printable(&title(report, trial, *line))) }
                    @if is_standing { rect x="-4" y="-4" width="8" height="8" {} } @else { circle r="5" {} }
                }
            }
        }
        div.axis-title.below { "time, min" }
    }
}

fn title(report: &TuneReport<'_>, trial: &TuneTrial, line: f64) -> String {
    format!(
        "trial {}, {}: {}",
        trial.index,
        report.setting_text(&trial.levels),
        report.line_text(line)
    )
}
