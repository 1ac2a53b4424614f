//! Charts of a matrix: the metric against the price, and how it grows with a factor.

use maud::{Markup, html};
use plimsoll_analysis::experiment::result::FactorLaw;

use super::MatrixReport;
use super::text::level_text;
use crate::chart::axis::Axis;
use crate::chart::percent_of;
use crate::number::short;
use crate::printable::printable;

/// Points of the curve of a law.
const CURVE_POINTS: u32 = 100;
/// Box of a curve, which is stretched.
const BOX: f64 = 1000.0;

/// Axis x and y of a chart.
struct Plane {
    x: Axis,
    y: Axis,
}

impl Plane {
    fn grid(&self) -> Markup {
        html! {
            g.grid aria-hidden="true" {
                @for &tick in self.y.ticks() {
                    @let at = percent_of(1.0 - self.y.place(tick));
                    line x1="0" x2="100%" y1=(at) y2=(at) {}
                    text.y-label x="-8" y=(at) dy="4" { (short(tick)) }
                }
                @for &tick in self.x.ticks() {
                    @let at = percent_of(self.x.place(tick));
                    line x1=(at) x2=(at) y1="0" y2="100%" {}
                    text.x-label x=(at) y="100%" dy="18" { (short(tick)) }
                }
            }
        }
    }

    fn mark(&self, class: &str, (x, y): (f64, f64), title: &str, shape: &Markup) -> Markup {
        html! {
            svg class={ "mark " (class) } x=(percent_of(self.x.place(x))) y=(percent_of(1.0 - self.y.place(y))) {
                title { (title) }
                (shape)
            }
        }
    }
}

/// The metric of each cell against its price; nothing without prices.
pub(super) fn price_chart(report: &MatrixReport<'_>) -> Markup {
    let (Some(prices), Some(unit)) = (&report.input.prices, report.price_unit) else {
        return html! {};
    };
    let cells: Vec<(usize, f64, f64)> = report
        .result
        .cells
        .iter()
        .enumerate()
        .filter_map(|(cell, result)| Some((cell, *prices.get(cell)?, result.level?)))
        .collect();
    let plane = Plane {
        x: Axis::linear_from_zero(cells.iter().map(|cell| cell.1)),
        y: Axis::linear_from_zero(cells.iter().map(|cell| cell.2)),
    };
    let metric = report.result.metric.as_deref().unwrap_or_default();
    let name = MatrixReport::metric_text(metric);
    html! {
        @if !cells.is_empty() {
            div.axis-title { (name) " of each cell, by its price" }
            svg.chart.load role="img" aria-labelledby="price-title price-text" {
                title #price-title { (name) " against price" }
                desc #price-text { "Circles are on the front: no better cell costs as little. The table below has every cell." }
                (plane.grid())
                @for (cell, price, level) in &cells {
                    @let result = &report.result.cells[*cell];
                    @let title = format!(
                        "{}: {}, {} {unit}", printable(&report.cell_text(*cell)), level_text(report, *cell), short(*price)
                    );
                    @if result.is_on_front {
                        (plane.mark("pass", (*price, *level), &title, &html! { circle r="5.5" {} }))
                    } @else {
                        @let class = if result.is_beaten { "void minor" } else { "void" };
                        (plane.mark(class, (*price, *level), &title, &html! { rect x="-4" y="-4" width="8" height="8" {} }))
                    }
                }
            }
            div.axis-title.below { "price, " (unit) }
        }
    }
}

/// The law of a factor with its points.
pub(super) fn law_chart(report: &MatrixReport<'_>, law: &FactorLaw) -> Markup {
    let factor = &report.input.factors[law.factor].name;
    let levels = law.points.iter().map(|point| point.0);
    let (first, last) = (
        levels.clone().fold(f64::INFINITY, f64::min),
        levels.clone().fold(0.0, f64::max),
    );
    let plane = Plane {
        x: Axis::linear_from_zero(levels),
        y: Axis::linear_from_zero(law.points.iter().map(|point| point.1)),
    };
    let at = |step: u32| first + (last - first) * f64::from(step) / f64::from(CURVE_POINTS);
    let curve: Vec<String> = (0..=CURVE_POINTS)
        .map(|step| {
            let level = at(step);
            let x = BOX * plane.x.place(level);
            let y = BOX * (1.0 - plane.y.place(law.law.throughput(level)));
            format!("{x:.1},{y:.1}")
        })
        .collect();
    let metric = report.result.metric.as_deref().unwrap_or_default();
    let id = format!("law-{}", law.factor);
    html! {
        div.axis-title { (MatrixReport::metric_text(metric)) " by " (printable(factor)) ", and the law through it" }
        svg.chart.load role="img" aria-labelledby=(id) {
            title id=(id) { (MatrixReport::metric_text(metric)) " by " (printable(factor)) }
            (plane.grid())
            svg viewBox="0 0 1000 1000" preserveAspectRatio="none" width="100%" height="100%" {
                polyline class="line l-p95" points=(curve.join(" ")) {}
            }
            @for (level, value) in &law.points {
                @let title = format!("{factor} {}: {}", short(*level), report.value_text(metric, *value));
                (plane.mark("void", (*level, *value), &printable(&title), &html! { rect x="-4" y="-4" width="8" height="8" {} }))
            }
        }
        div.axis-title.below { (printable(factor)) }
        p.muted {
            "Contention " (share(law.law.contention, law.contention)) ", coherency " (share(law.law.coherency, law.coherency))
            @match law.law.peak() {
                Some(peak) => { "; the most at " (short(peak)) "." }
                None => { "; more is always more." }
            }
        }
    }
}

/// A value with its 90 % interval.
fn share(value: f64, interval: Option<(f64, f64)>) -> String {
    match interval {
        Some((low, high)) => format!("{} ({} to {})", short(value), short(low), short(high)),
        None => short(value),
    }
}
