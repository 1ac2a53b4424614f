//! A metric over runs, with marks where it changed.

use maud::{Markup, html};

use super::axis::Axis;
use super::panel::{BOX_HEIGHT, horizontal_grid, path};
use super::percent_of;

/// One chart.
#[derive(Debug)]
pub(crate) struct RunChart<'a> {
    pub(crate) title: &'a str,
    /// A value for each run.
    pub(crate) values: &'a [f64],
    /// Runs with which a new level begins.
    pub(crate) marks: Vec<usize>,
    /// Between these the newest run is expected.
    pub(crate) limits: Option<(f64, f64)>,
}

impl RunChart<'_> {
    /// The chart, its axis labelled by `label`.
    pub(crate) fn draw(&self, label: impl Fn(f64) -> String) -> Markup {
        let highest = self.limits.map(|limits| limits.1);
        let axis = Axis::linear_from_zero(self.values.iter().copied().chain(highest));
        let runs = u32::try_from(self.values.len().max(1)).unwrap_or(u32::MAX);
        let points: Vec<(u32, f64)> = (0..runs).zip(self.values.iter().copied()).collect();
        html! {
            div.panel {
                h3 { (self.title) }
                ul.legend aria-hidden="true" {
                    li {
                        svg.key width="22" height="10" { path.line.l-completed d="M1 5H21" {} }
                        "each run"
                    }
                    @if self.limits.is_some() { li { "band: where the newest is expected" } }
                }
                svg class="chart panel-0" role="img" aria-label={ (self.title) " over " (runs) " runs" } {
                    (horizontal_grid(&axis, label))
                    @if let Some((low, high)) = self.limits {
                        @let (top, bottom) = (1.0 - axis.place(high), 1.0 - axis.place(low));
                        g.interval { rect x="0" width="100%" y=(percent_of(top)) height=(percent_of(bottom - top)) {} }
                    }
                    g.objective aria-hidden="true" {
                        @for &mark in &self.marks {
                            @let x = percent_of(mark as f64 / f64::from(runs));
                            line x1=(x) x2=(x) y1="0" y2="100%" {}
                        }
                    }
                    svg.stretch viewBox={ "0 0 " (runs) " " (BOX_HEIGHT) } preserveAspectRatio="none"
                        width="100%" height="100%" {
                        path.line.l-completed d=(path(&points, 1, &axis)) {}
                    }
                }
            }
        }
    }
}
