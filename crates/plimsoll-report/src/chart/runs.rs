//! A metric over runs: a control chart of single values and one of their moving ranges, with marks where it changed.

use maud::{Markup, html};

use super::axis::Axis;
use super::panel::{BOX_HEIGHT, horizontal_grid, path};
use super::percent_of;

/// Runs from which the single ones have no mark: the line shows them.
const MARKED_MAX: usize = 150;
/// Upper limit of moving ranges by their median (Wheeler, Understanding Variation, 1993).
const RANGE_LIMIT: f64 = 3.865;
/// The limits of single values, in median moving ranges from the centre.
const VALUE_LIMIT: f64 = 3.145;

/// A run on the chart.
#[derive(Clone, Debug)]
pub(crate) struct ChartedRun {
    pub(crate) value: f64,
    /// When and what it was.
    pub(crate) title: String,
}

/// Limits of a control chart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ControlLimits {
    pub(crate) low: f64,
    pub(crate) centre: f64,
    pub(crate) high: f64,
    /// Index of the first run that they are made of.
    pub(crate) since: usize,
}

/// The charts of one metric.
#[derive(Debug)]
pub(crate) struct RunChart<'a> {
    pub(crate) title: &'a str,
    /// In the order of time.
    pub(crate) runs: &'a [ChartedRun],
    /// When the first and the last run began.
    pub(crate) dates: (String, String),
    /// Runs with which a new level begins.
    pub(crate) marks: Vec<usize>,
    /// Where the newest run is expected.
    pub(crate) limits: Option<ControlLimits>,
    /// What ticks are round multiples of: 1, or the bytes of a MiB.
    pub(crate) unit: f64,
}

impl RunChart<'_> {
    /// The charts, their axes labelled by `label`.
    pub(crate) fn draw(&self, label: impl Fn(f64) -> String + Copy) -> Markup {
        html! {
            div.panel {
                h3 { (self.title) }
                (self.legend())
                (self.individuals(label))
            }
            @if let Some(limits) = self.limits { (self.moving_ranges(limits, label)) }
        }
    }

    fn legend(&self) -> Markup {
        let has_outside = (0..self.runs.len()).any(|run| self.is_outside(run));
        html! {
            ul.legend aria-hidden="true" {
                li {
                    svg.key width="22" height="10" { path.line.l-completed d="M1 5H21" {} circle.run-key cx="11" cy="5" r="3" {} }
                    "a run"
                }
                @if has_outside { li { svg.key width="12" height="12" { circle.outside-key cx="6" cy="6" r="4.5" {} } "outside the limits" } }
                @if self.limits.is_some() { li { span.swatch.band-key {} "limits by the runs before" } }
                @if !self.marks.is_empty() { li { svg.key.objective width="12" height="14" { line x1="6" x2="6" y1="0" y2="14" {} } "a change" } }
            }
        }
    }

    fn count(&self) -> u32 {
        u32::try_from(self.runs.len().max(1)).unwrap_or(u32::MAX)
    }

    /// The middle of a run's place, or its beginning.
    fn x(&self, run: usize, offset: f64) -> String {
        percent_of((run as f64 + offset) / f64::from(self.count()))
    }

    fn individuals(&self, label: impl Fn(f64) -> String) -> Markup {
        let values = || self.runs.iter().map(|run| run.value);
        let limits = self.limits.iter();
        let axis = Axis::linear_near(
            values().chain(limits.flat_map(|limits| [limits.low, limits.high])),
            self.unit,
        );
        let points: Vec<(u32, f64)> = (0..self.count()).zip(values()).collect();
        html! {
            svg class="chart panel-0 dated" role="img" aria-label={ (self.title) " over " (self.count()) " runs" } {
                (horizontal_grid(&axis, label))
                @if let Some(limits) = self.limits { (self.band(limits, &axis)) }
                g.objective aria-hidden="true" {
                    @for &mark in &self.marks {
                        line x1=(self.x(mark, 0.0)) x2=(self.x(mark, 0.0)) y1="0" y2="100%" {}
                    }
                }
                svg.stretch viewBox={ "0 0 " (self.count()) " " (BOX_HEIGHT) } preserveAspectRatio="none"
                    width="100%" height="100%" {
                    path.line.l-completed d=(path(&points, 1, &axis)) {}
                }
                @for (index, run) in self.runs.iter().enumerate() {
                    @let outside = self.is_outside(index);
                    @if outside || self.runs.len() <= MARKED_MAX {
                        circle class=(if outside { "run-mark outside" } else { "run-mark" })
                            cx=(self.x(index, 0.5)) cy=(percent_of(1.0 - axis.place(run.value)))
                            r=(if outside { "4.5" } else { "2.5" }) { title { (run.title) } }
                    }
                }
                g aria-hidden="true" {
                    text.x-first x="0" y="100%" dy="18" { (self.dates.0) }
                    text.x-last x="100%" y="100%" dy="18" { (self.dates.1) }
                }
            }
        }
    }

    fn band(&self, limits: ControlLimits, axis: &Axis) -> Markup {
        let (top, bottom) = (1.0 - axis.place(limits.high), 1.0 - axis.place(limits.low));
        let share = limits.since as f64 / f64::from(self.count());
        let middle = percent_of(1.0 - axis.place(limits.centre));
        html! {
            g.interval aria-hidden="true" {
                rect x=(percent_of(share)) width=(percent_of(1.0 - share)) y=(percent_of(top)) height=(percent_of(bottom - top)) {}
                line.centre x1=(percent_of(share)) x2="100%" y1=(middle) y2=(middle) {}
            }
        }
    }

    /// Whether a run lies outside of the limits that it has a part in, or that it is judged by.
    fn is_outside(&self, run: usize) -> bool {
        let value = self.runs[run].value;
        self.limits.is_some_and(|limits| {
            run >= limits.since && !(limits.low..=limits.high).contains(&value)
        })
    }

    /// The difference of each run to the one before it.
    fn moving_ranges(&self, limits: ControlLimits, label: impl Fn(f64) -> String + Copy) -> Markup {
        let pairs = self.runs.windows(2).skip(limits.since);
        let ranges: Vec<f64> = pairs
            .map(|pair| (pair[1].value - pair[0].value).abs())
            .collect();
        let limit = (limits.high - limits.centre) / VALUE_LIMIT * RANGE_LIMIT;
        let axis = Axis::linear_from_zero(
            ranges
                .iter()
                .map(|range| range / self.unit)
                .chain([limit / self.unit]),
        );
        let count = u32::try_from(ranges.len().max(1)).unwrap_or(u32::MAX);
        let points: Vec<(u32, f64)> = (0..count)
            .zip(ranges.iter().map(|range| range / self.unit))
            .collect();
        let y = percent_of(1.0 - axis.place(limit / self.unit));
        html! {
            @if ranges.len() > 1 && limit > 0.0 {
                details {
                    summary { "Moving range of " (self.title) }
                    p.muted { "The difference of each run to the one before it; the dashed line is the limit, " (label(limit)) "." }
                    svg.chart role="img" aria-label={ "Moving range of " (self.title) } {
                        (horizontal_grid(&axis, |tick| label(tick * self.unit)))
                        g.objective aria-hidden="true" { line x1="0" x2="100%" y1=(y) y2=(y) {} }
                        svg.stretch viewBox={ "0 0 " (count) " " (BOX_HEIGHT) } preserveAspectRatio="none"
                            width="100%" height="100%" {
                            path.line.l-machine d=(path(&points, 1, &axis)) {}
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(values: &[f64], limits: ControlLimits) -> String {
        let runs: Vec<ChartedRun> = values
            .iter()
            .map(|&value| ChartedRun {
                value,
                title: format!("{value}"),
            })
            .collect();
        let chart = RunChart {
            title: "p95",
            runs: &runs,
            dates: ("a".to_owned(), "b".to_owned()),
            marks: vec![2],
            limits: Some(limits),
            unit: 1.0,
        };
        chart.draw(|value| format!("{value}")).into_string()
    }

    #[test]
    fn limits_hold_from_the_runs_that_they_are_made_of() {
        let limits = ControlLimits {
            low: 90.0,
            centre: 100.0,
            high: 110.0,
            since: 1,
        };
        // The first is of another level, the last is judged.
        let page = chart(&[150.0, 101.0, 99.0, 100.0, 120.0], limits);
        assert_eq!(page.matches("run-mark outside").count(), 1, "{page}");
        assert!(page.contains("<rect x=\"20%\" width=\"80%\""), "{page}");
        assert!(page.contains("Moving range of p95"), "{page}");
        // 10 / 3.145 is the median moving range.
        assert!(page.contains("the limit, 12.28"), "{page}");
    }
}
