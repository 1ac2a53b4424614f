//! One chart's frame: a box with grid and labels, and lines in it.

use maud::{Markup, html};

use super::axis::Axis;
use super::{number, percent_of};

/// Height of the stretched box, in its own units.
pub(super) const BOX_HEIGHT: f64 = 1000.0;

/// One line of a chart.
#[derive(Clone, Debug)]
pub(crate) struct ChartLine {
    /// Name in the legend.
    pub(crate) name: String,
    /// Class of the style sheet: colour and dashes.
    pub(crate) class: &'static str,
    /// First second and value of each point, ascending; a step without a point is a gap.
    pub(crate) points: Vec<(u32, f64)>,
}

/// Horizontal grid lines and their labels in front of the box.
pub(crate) fn horizontal_grid(axis: &Axis, label: impl Fn(f64) -> String) -> Markup {
    // A logarithmic axis of many ticks has labels at the powers of ten only.
    let all = !axis.is_logarithmic() || axis.ticks().len() <= 7;
    let has_label = |tick: f64| all || (tick.log10() - tick.log10().round()).abs() < 1e-6;
    html! {
        g.grid aria-hidden="true" {
            @for &tick in axis.ticks() {
                @let y = percent_of(1.0 - axis.place(tick));
                line x1="0" x2="100%" y1=(y) y2=(y) {}
                @if has_label(tick) {
                    text.y-label x="-8" y=(y) dy="0.32em" { (label(tick)) }
                }
            }
        }
    }
}

/// Path of a line in a box whose x axis counts seconds: straight between neighbours, open at gaps.
pub(super) fn path(points: &[(u32, f64)], step_s: u32, axis: &Axis) -> String {
    let mut path = String::with_capacity(points.len() * 12);
    let mut before: Option<u32> = None;
    let mut lonely = false;
    for &(second, value) in points {
        let x = number(f64::from(second) + f64::from(step_s) / 2.0);
        let y = number((1.0 - axis.place(value)) * BOX_HEIGHT);
        let joined = before.is_some_and(|before| second - before <= step_s);
        if !joined && lonely {
            // A point without neighbours would be invisible: a stroke of no length has round ends.
            path.push_str("h0");
        }
        path.push(if joined { 'L' } else { 'M' });
        path.push_str(&x);
        path.push(' ');
        path.push_str(&y);
        lonely = !joined;
        before = Some(second);
    }
    if lonely {
        path.push_str("h0");
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_open_at_gaps_and_shows_lonely_points() {
        let axis = Axis::linear_up_to(10.0);
        let points = [(0, 0.0), (1, 10.0), (5, 5.0), (8, 10.0), (9, 0.0)];
        assert_eq!(
            path(&points, 1, &axis),
            "M0.5 1000L1.5 0M5.5 500h0M8.5 0L9.5 1000"
        );
        assert_eq!(path(&[(3, 5.0)], 1, &axis), "M3.5 500h0");
        assert_eq!(path(&[], 1, &axis), "");
    }
}
