//! Demand, supply and load over time, all in replicas.

use maud::{Markup, html};
use plimsoll_scale::ReplaySecond;

use super::axis::{Axis, clock, time_step};
use super::panel::{BOX_HEIGHT, ChartLine, horizontal_grid, path};
use super::percent_of;
use crate::number::short;
use crate::printable::printable;

/// Points of a line at most.
const POINTS_MAX: u32 = 600;

/// The chart of a scaler.
#[derive(Debug)]
pub(crate) struct ScalingChart {
    title: String,
    end: u32,
    step: u32,
    lines: Vec<ChartLine>,
    axis: Axis,
}

impl ScalingChart {
    /// Each point covers several seconds where there are many: the mean of the load, the most that was needed and held, the
    /// fewest that answered. `line` is what one replica carries, 1/s.
    pub(crate) fn of(name: &str, seconds: &[ReplaySecond], line: f64) -> Self {
        let end = u32::try_from(seconds.len()).unwrap_or(u32::MAX).max(1);
        let step = end.div_ceil(POINTS_MAX);
        let points = |of: fn(&[ReplaySecond]) -> f64| -> Vec<(u32, f64)> {
            let chunks = seconds.chunks(step as usize);
            (0..).step_by(step as usize).zip(chunks.map(of)).collect()
        };
        let mut load = points(|chunk| {
            chunk.iter().map(|second| second.offered).sum::<f64>() / chunk.len() as f64
        });
        for point in &mut load {
            point.1 /= line.max(f64::MIN_POSITIVE);
        }
        let line_of = |name: &str, class, points| ChartLine {
            name: name.to_owned(),
            class,
            points,
        };
        let lines = vec![
            line_of("load", "l-p50", load),
            line_of(
                "demand",
                "l-offered",
                points(|chunk| most(chunk, |second| second.demand)),
            ),
            line_of(
                "supply, starting ones included",
                "l-p99",
                points(|chunk| most(chunk, |second| second.held)),
            ),
            line_of("supply that answers", "l-target", points(fewest_ready)),
        ];
        let values = lines.iter().flat_map(|line| &line.points);
        let highest = values.map(|point| point.1).fold(1.0, f64::max);
        Self {
            title: printable(name),
            end,
            step,
            lines,
            axis: Axis::whole_from_zero(highest),
        }
    }

    /// The chart with its legend.
    pub(crate) fn draw(&self) -> Markup {
        html! {
            div.panel {
                h3 { (self.title) }
                ul.legend aria-hidden="true" {
                    @for line in &self.lines {
                        li {
                            svg.key width="22" height="10" { path class={ "line " (line.class) } d="M1 5H21" {} }
                            (line.name)
                        }
                    }
                }
                svg class="chart panel-0" role="img"
                    aria-label={ "Load, demand and supply of " (self.title) " over time, in replicas" } {
                    (horizontal_grid(&self.axis, short))
                    g.x-grid aria-hidden="true" {
                        @for (x, _) in self.labels() { line x1=(x) x2=(x) y1="0" y2="100%" {} }
                    }
                    svg.stretch viewBox={ "0 0 " (self.end) " " (BOX_HEIGHT) } preserveAspectRatio="none"
                        width="100%" height="100%" {
                        @for line in &self.lines {
                            path class={ "line " (line.class) } d=(path(&line.points, self.step, &self.axis)) {}
                        }
                    }
                }
                svg.chart.time-axis aria-hidden="true" {
                    @for (x, label) in self.labels() { text.x-label x=(x) y="14" { (label) } }
                }
            }
        }
    }

    /// Places and texts of round moments.
    fn labels(&self) -> Vec<(String, String)> {
        let step = time_step(f64::from(self.end));
        let moments = (0..=self.end).step_by(step as usize);
        moments
            .map(|second| {
                let share = f64::from(second) / f64::from(self.end);
                (percent_of(share), clock(second))
            })
            .collect()
    }
}

fn most(chunk: &[ReplaySecond], of: fn(&ReplaySecond) -> u32) -> f64 {
    f64::from(chunk.iter().map(of).max().unwrap_or(0))
}

fn fewest_ready(chunk: &[ReplaySecond]) -> f64 {
    f64::from(chunk.iter().map(|second| second.ready).min().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_keep_peaks_and_shortages() {
        let second = |demand, ready| ReplaySecond {
            offered: 160.0,
            demand,
            ready,
            held: ready,
            ..ReplaySecond::default()
        };
        let mut seconds = vec![second(2, 4); 1200];
        seconds[7] = second(9, 1);
        let chart = ScalingChart::of("a<b", &seconds, 80.0);
        assert_eq!((chart.step, chart.lines[1].points.len()), (2, 600));
        assert_eq!(chart.lines[1].points[3], (6, 9.0));
        assert_eq!(chart.lines[3].points[3], (6, 1.0));
        assert!((chart.lines[0].points[0].1 - 2.0).abs() < 1e-9);
        let drawn = chart.draw().into_string();
        assert!(
            drawn.contains("a&lt;b") && drawn.matches("<path class=\"line ").count() == 8,
            "{drawn}"
        );
    }
}
