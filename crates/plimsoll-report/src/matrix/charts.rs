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
/// How far beyond the last level a peak is told, as a multiple of it.
const FORESEEN: f64 = 4.0;
/// Contention below which growth is called proportional.
const NO_LOSS: f64 = 0.005;
/// Box of a curve, which is stretched.
const BOX: f64 = 1000.0;

/// Axis x and y of a chart.
struct Plane {
    x: Axis,
    y: Axis,
}

impl Plane {
    fn grid(&self, label: impl Fn(f64) -> String) -> Markup {
        html! {
            g.grid aria-hidden="true" {
                @for &tick in self.y.ticks() {
                    @let at = percent_of(1.0 - self.y.place(tick));
                    line x1="0" x2="100%" y1=(at) y2=(at) {}
                    text.y-label x="-8" y=(at) dy="4" { (label(tick)) }
                }
                @for &tick in self.x.ticks() {
                    @let at = percent_of(self.x.place(tick));
                    line x1=(at) x2=(at) y1="0" y2="100%" {}
                    text.x-label x=(at) y="100%" dy="18" { (short(tick)) }
                }
            }
        }
    }

    /// The front as stairs: what the best cell is at a price.
    fn stairs(&self, front: &[PricedCell]) -> String {
        let place = |price: f64, level: f64| {
            let (x, y) = (BOX * self.x.place(price), BOX * (1.0 - self.y.place(level)));
            format!("{x:.1},{y:.1}")
        };
        let mut points = Vec::new();
        for (index, cell) in front.iter().enumerate() {
            if let Some(before) = index.checked_sub(1).map(|before| &front[before]) {
                points.push(place(cell.price, before.level));
            }
            points.push(place(cell.price, cell.level));
        }
        points.join(" ")
    }

    fn whisker(&self, x: f64, (low, high): (f64, f64)) -> Markup {
        let x = percent_of(self.x.place(x));
        let y = |value: f64| percent_of(1.0 - self.y.place(value));
        html! { line.whisker x1=(x) x2=(x) y1=(y(low)) y2=(y(high)) aria-hidden="true" {} }
    }

    /// The name beside a cell: to the left where the right half has no space.
    fn name(&self, cell: &PricedCell, text: &str) -> Markup {
        let x = self.x.place(cell.price);
        let (class, dx) = if x > 0.5 {
            ("name before", "-10")
        } else {
            ("name", "10")
        };
        html! {
            text class=(class) x=(percent_of(x)) y=(percent_of(1.0 - self.y.place(cell.level))) dx=(dx) dy="-8" { (text) }
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

/// A cell of the chart of prices.
#[derive(Clone, Copy, Debug)]
struct PricedCell {
    cell: usize,
    price: f64,
    level: f64,
    interval: (f64, f64),
}

/// Cells of the front that have their name in the chart.
const NAMED_MAX: usize = 6;

/// The metric of each cell against its price; nothing without prices.
pub(super) fn price_chart(report: &MatrixReport<'_>) -> Markup {
    let (Some(prices), Some(unit)) = (&report.input.prices, report.price_unit) else {
        return html! {};
    };
    let cells: Vec<PricedCell> = report
        .result
        .cells
        .iter()
        .enumerate()
        .filter_map(|(cell, result)| {
            let level = result.level?;
            Some(PricedCell {
                cell,
                price: *prices.get(cell)?,
                level,
                interval: result.interval.unwrap_or((level, level)),
            })
        })
        .collect();
    if cells.is_empty() {
        return html! {};
    }
    // Space for marks on the right: the most expensive cell is not on the edge.
    let dearest = cells.iter().map(|cell| cell.price).fold(0.0, f64::max);
    let plane = Plane {
        x: Axis::linear_from_zero([1.05 * dearest]),
        y: Axis::linear_from_zero(cells.iter().map(|cell| cell.interval.1)),
    };
    let metric = report.result.metric.as_deref().unwrap_or_default();
    let name = MatrixReport::metric_text(metric);
    let mut front: Vec<PricedCell> = cells
        .iter()
        .copied()
        .filter(|it| is_on_front(report, it))
        .collect();
    front.sort_by(|a, b| a.price.total_cmp(&b.price));
    html! {
        div.axis-title { (name) " of each cell" (report.axis_unit(metric)) ", by its price" }
        (price_legend(report, &cells))
        svg.chart.load role="img" aria-labelledby="price-title price-text" {
            title #price-title { (name) " against price" }
            desc #price-text { "Circles are on the Pareto front: no better cell costs as little. The table below has every cell." }
            (plane.grid(|value| report.tick_text(metric, value)))
            svg viewBox="0 0 1000 1000" preserveAspectRatio="none" width="100%" height="100%" {
                polyline class="line front" points=(plane.stairs(&front)) {}
            }
            // The front is drawn last, so that nothing hides it.
            @for cell in cells.iter().filter(|cell| !is_on_front(report, cell)) { (priced_mark(report, &plane, cell, unit)) }
            @for cell in &front { (priced_mark(report, &plane, cell, unit)) }
            @if front.len() <= NAMED_MAX {
                @for cell in &front { (plane.name(cell, &printable(&report.cell_text(cell.cell)))) }
            }
        }
        div.axis-title.below { "price, " (unit) }
    }
}

fn is_on_front(report: &MatrixReport<'_>, cell: &PricedCell) -> bool {
    report.result.cells[cell.cell].is_on_front
}

fn price_legend(report: &MatrixReport<'_>, cells: &[PricedCell]) -> Markup {
    let result = |cell: &PricedCell| &report.result.cells[cell.cell];
    let has_beaten = cells.iter().any(|cell| result(cell).is_beaten);
    let has_other = cells
        .iter()
        .any(|cell| !result(cell).is_beaten && !result(cell).is_on_front);
    html! {
        ul.legend {
            li { svg.key width="16" height="14" { g.mark.pass { circle cx="8" cy="7" r="5.5" {} } } "on the Pareto front: no better cell costs as little" }
            @if has_other { li { svg.key width="14" height="14" { g.mark.void { rect x="3" y="3" width="8" height="8" {} } } "another cell" } }
            @if has_beaten { li { svg.key width="14" height="14" { g.mark.void.minor { rect x="3" y="3" width="8" height="8" {} } } "not worth it: a cell that costs no more is better" } }
            li { svg.key width="12" height="14" { line.whisker x1="6" x2="6" y1="0" y2="14" {} } "95 % interval" }
        }
    }
}

fn priced_mark(report: &MatrixReport<'_>, plane: &Plane, cell: &PricedCell, unit: &str) -> Markup {
    let result = &report.result.cells[cell.cell];
    let title = format!(
        "{}: {}, {} {unit}",
        printable(&report.cell_text(cell.cell)),
        level_text(report, cell.cell),
        short(cell.price)
    );
    let class = match (result.is_on_front, result.is_beaten) {
        (true, _) => "pass",
        (false, true) => "void minor",
        (false, false) => "void",
    };
    let shape = if result.is_on_front {
        html! { circle r="5.5" {} }
    } else {
        html! { rect x="-4" y="-4" width="8" height="8" {} }
    };
    html! {
        (plane.whisker(cell.price, cell.interval))
        (plane.mark(class, (cell.price, cell.level), &title, &shape))
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
        div.axis-title { (MatrixReport::metric_text(metric)) " by " (printable(factor)) (report.axis_unit(metric)) }
        ul.legend {
            li { svg.key width="12" height="12" { g.mark.void { circle cx="6" cy="6" r="4" {} } } "a block of trials" }
            li { svg.key width="22" height="10" { path.line.l-p95 d="M1 5H21" {} } "the scaling law through them" }
        }
        svg.chart.load role="img" aria-labelledby=(id) {
            title id=(id) { (MatrixReport::metric_text(metric)) " by " (printable(factor)) }
            (plane.grid(|value| report.tick_text(metric, value)))
            svg viewBox="0 0 1000 1000" preserveAspectRatio="none" width="100%" height="100%" {
                polyline class="line l-p95" points=(curve.join(" ")) {}
            }
            @for (level, value) in &law.points {
                @let title = format!("{factor} {}: {}", short(*level), report.value_text(metric, *value));
                (plane.mark("void", (*level, *value), &printable(&title), &html! { circle r="4" {} }))
            }
        }
        div.axis-title.below { (printable(factor)) }
        p { (law_sentence(report, law)) }
        p.muted {
            "The universal scalability law: contention (work that waits for its turn) "
            (share(law.law.contention, law.contention)) ", coherency (work that each pair adds) "
            (share(law.law.coherency, law.coherency)) ", each with its 90 % interval."
        }
    }
}

/// What the law says, in a sentence.
pub(super) fn law_sentence(report: &MatrixReport<'_>, law: &FactorLaw) -> String {
    let factor = printable(&report.input.factors[law.factor].name);
    let metric = report.result.metric.as_deref().unwrap_or_default();
    let name = MatrixReport::metric_text(metric);
    let last = law.points.iter().map(|point| point.0).fold(0.0, f64::max);
    match law.law.peak() {
        Some(peak) if peak <= last => format!(
            "{factor}: the {name} is highest at {}; beyond that it falls.",
            short(peak)
        ),
        Some(peak) if peak <= FORESEEN * last => format!(
            "{factor}: the {name} still grows at {}; by this law it would be highest at {}, which was not measured.",
            short(last),
            short(peak)
        ),
        None if law.law.contention < NO_LOSS => {
            format!(
                "{factor}: the {name} grows in proportion; neither contention nor coherency is seen."
            )
        }
        _ => format!("{factor}: the {name} grows by less and less, without a peak in sight."),
    }
}

/// A value with its 90 % interval.
fn share(value: f64, interval: Option<(f64, f64)>) -> String {
    match interval {
        Some((low, high)) => format!("{} ({} to {})", short(value), short(low), short(high)),
        None => short(value),
    }
}
