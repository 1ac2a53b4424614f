//! Load against response time: every trial, the objective, the interval of the load line.

use maud::{Markup, html};
use plimsoll_model::load_line::LoadLine;
use plimsoll_model::plan::LoadUnit;
use plimsoll_model::trial::{Trial, TrialKind};
use plimsoll_model::verdict::TrialVerdict;

use super::axis::Axis;
use super::panel::horizontal_grid;
use super::percent_of;
use crate::answer;
use crate::number::{load, micros, micros_of, rate, short};
use crate::report::Report;

/// The load of a trial: the offered rate, or the achieved rate of one client alone.
pub(crate) fn rate_of(trial: &Trial) -> f64 {
    if trial.spec.kind == TrialKind::Single {
        trial.throughput
    } else {
        trial.spec.rate
    }
}

/// The same as text.
pub(crate) fn load_of(trial: &Trial) -> String {
    if trial.spec.kind == TrialKind::Single {
        rate(trial.throughput)
    } else {
        load(trial.spec.rate, trial.spec.unit)
    }
}

/// Trials with a load on the axis of the search: one client alone has none among users.
pub(crate) fn trials_of<'a>(report: &'a Report<'_>) -> impl Iterator<Item = &'a Trial> {
    let by_rate = report.unit() == LoadUnit::RequestsPerSecond;
    report.trials.iter().filter(move |trial| {
        trial.spec.kind != TrialKind::SelfTest && (by_rate || trial.spec.kind != TrialKind::Single)
    })
}

/// Class and symbol of a verdict.
pub(crate) fn mark_of(verdict: &TrialVerdict) -> &'static str {
    verdict.name()
}

/// The chart; `None` without a trial.
pub(crate) fn chart(report: &Report<'_>) -> Option<Markup> {
    let trials: Vec<&Trial> = trials_of(report).collect();
    if trials.is_empty() {
        return None;
    }
    let line = report.load_line();
    let bound = report.strictest_bound();
    let quantile = bound.map_or_else(|| "p95".to_owned(), |bound| bound.quantile_name());
    let times = trials.iter().filter_map(|trial| trial.objective_us);
    let times = times.chain(bound.map(|bound| bound.within_us));
    let y = Axis::linear_or_log(times.map(|us| us as f64));
    let x = Axis::linear_or_log_rates(
        trials
            .iter()
            .map(|trial| rate_of(trial))
            .chain(line.map(|line| line.high)),
    );
    Some(html! {
        div.axis-title { (quantile) " of the response time, by offered load" }
        svg.chart.load role="img" aria-labelledby="load-title load-text" {
            title #load-title { "Load against response time" }
            desc #load-text { (description(&trials, line)) }
            @if let Some(line) = line { (interval(&x, line)) }
            (horizontal_grid(&y, micros_of))
            (vertical_grid(&x))
            @if let Some(bound) = bound { (objective(&y, bound.within_us, &quantile)) }
            @for trial in &trials { (mark(trial, &x, &y)) }
        }
        div.axis-title.below { "offered load, " (report.unit().symbol()) }
    })
}

fn description(trials: &[&Trial], line: Option<&LoadLine>) -> String {
    let found = line.map_or_else(String::new, |line| {
        format!(
            " The load line lies between {} and {}.",
            short(line.low),
            load(line.high, line.unit)
        )
    });
    format!(
        "{} trials: {}.{found} The table below has every trial.",
        trials.len(),
        answer::trial_counts(trials.iter().copied())
    )
}

fn interval(x: &Axis, line: &LoadLine) -> Markup {
    let (low, median, high) = (x.place(line.low), x.place(line.median), x.place(line.high));
    // A label beyond the middle is left of its line, so that it stays inside.
    let anchor = if median > 0.5 { "end" } else { "start" };
    let at = if median > 0.5 { low } else { high };
    let gap = if median > 0.5 { "-6" } else { "6" };
    html! {
        g.interval {
            rect x=(percent_of(low)) width=(percent_of(high - low)) y="0" height="100%" {
                title { "90 % interval of the load line: " (short(line.low)) " to " (load(line.high, line.unit)) }
            }
            line.median x1=(percent_of(median)) x2=(percent_of(median)) y1="0" y2="100%" {}
            text x=(percent_of(at)) dx=(gap) y="14" text-anchor=(anchor) {
                "load line " (load(line.median, line.unit))
            }
        }
    }
}

pub(super) fn vertical_grid(x: &Axis) -> Markup {
    html! {
        g.grid aria-hidden="true" {
            @for &tick in x.ticks() {
                @let at = percent_of(x.place(tick));
                line x1=(at) x2=(at) y1="0" y2="100%" {}
                text.x-label x=(at) y="100%" dy="18" { (short(tick)) }
            }
        }
    }
}

fn objective(y: &Axis, within_us: u64, quantile: &str) -> Markup {
    let at = percent_of(1.0 - y.place(within_us as f64));
    html! {
        g.objective {
            line x1="0" x2="100%" y1=(at) y2=(at) {}
            text x="6" y=(at) dy="-6" { "objective: " (quantile) " < " (micros(within_us)) }
        }
    }
}

fn mark(trial: &Trial, x: &Axis, y: &Axis) -> Markup {
    let name = mark_of(&trial.verdict);
    // A quantile that falls on a failure is infinite: its mark is on the upper edge.
    let at = trial.objective_us.map_or(1.0, |us| y.place(us as f64));
    let is_major = trial.spec.kind.counts_for_line() || trial.spec.kind == TrialKind::Step;
    let counts = if is_major { "" } else { " minor" };
    let reached = trial
        .objective_us
        .map_or_else(|| "infinite: it falls on a failure".to_owned(), micros);
    let why =
        answer::trial_reason(&trial.verdict).map_or_else(String::new, |why| format!(": {why}"));
    html! {
        svg class={ "mark " (name) (counts) } x=(percent_of(x.place(rate_of(trial)))) y=(percent_of(1.0 - at)) {
            title {
                "trial " (trial.index) " (" (trial.spec.kind.name()) ") at " (load_of(trial)) ": "
                (reached) ", " (name) (why)
            }
            (symbol(name))
        }
    }
}

/// A circle passed, a cross failed, an open square is void.
pub(crate) fn symbol(name: &str) -> Markup {
    html! {
        @match name {
            "pass" => { circle r="5.5" {} }
            "fail" => { path d="M-5-5L5 5M-5 5L5-5" {} }
            _ => { rect x="-4.5" y="-4.5" width="9" height="9" {} }
        }
    }
}
