//! Scalability meters: areas of radar polygons (Gao, Pattabhiraman, Bai, Tsai, SOSE 2011, doi 10.1109/SOSE.2011.6139093),
//! as the study of the market used them, and the plain forms beside them.
//!
//! Their flaws: the area depends on the order of the axes, on their units, and scales with the square. A ranking is by
//! [`normalised_mean`], which does not.

use std::f64::consts::PI;

/// Axes of a polygon at most.
const AXES_MAX: usize = 64;

/// Area of the polygon with the `axes` in this order: ½ · sin(2π/n) · Σ xᵢ · xᵢ₊₁, cyclic. `None` with fewer than three or
/// more than 64 axes.
pub fn polygon(axes: &[f64]) -> Option<f64> {
    let factor = factor(axes)?;
    let next = axes.iter().cycle().skip(1);
    let sum: f64 = axes.iter().zip(next).map(|(a, b)| a * b).sum();
    Some(factor * sum)
}

/// Mean of the areas over all orders of the axes: ½ · sin(2π/n) · n · 2/(n(n−1)) · Σ_{i<j} xᵢ xⱼ.
pub fn polygon_mean(axes: &[f64]) -> Option<f64> {
    let factor = factor(axes)?;
    let sum: f64 = axes.iter().sum();
    let squares: f64 = axes.iter().map(|axis| axis * axis).sum();
    let pairs = (sum * sum - squares) / 2.0;
    Some(factor * 2.0 / (axes.len() as f64 - 1.0) * pairs)
}

fn factor(axes: &[f64]) -> Option<f64> {
    let count = (3..=AXES_MAX).contains(&axes.len()).then_some(axes.len())?;
    Some(0.5 * (2.0 * PI / count as f64).sin())
}

/// Capacity meter: the polygon of load, performance and resources: allocated ones for SCM, used ones for SEC.
pub fn capacity(load: f64, performance: f64, resources: f64) -> f64 {
    0.5 * (2.0 * PI / 3.0).sin() * (load * performance + load * resources + performance * resources)
}

/// Effective scale range as the study used it: how far SEC reaches.
pub fn study_range(capacity: (f64, f64)) -> f64 {
    capacity.1 - capacity.0
}

/// Effective scalability as the study used it: the range of SPM over the range of SEC. `None` without a difference.
pub fn study_scalability(performance: (f64, f64), capacity: (f64, f64)) -> Option<f64> {
    let range = study_range(capacity);
    (range != 0.0).then(|| (performance.1 - performance.0) / range)
}

/// Effective scalability of a step, plain: (L₂/L₁)/(p₂/p₁), L the load line with p units of resources. 1 is linear.
pub fn scalability(from: (f64, f64), to: (f64, f64)) -> Option<f64> {
    let ((line, units), (line_after, units_after)) = (from, to);
    let is_positive = line > 0.0 && units > 0.0 && units_after > 0.0;
    is_positive.then(|| (line_after / line) / (units_after / units))
}

/// Effective scale range, plain: the units from the first step on as long as every step scales by at least 0.8. `steps`
/// are (load line, units), ascending in units. `None` without steps.
pub fn scale_range(steps: &[(f64, f64)]) -> Option<(f64, f64)> {
    let first = steps.first()?;
    let scales =
        |pair: &&[(f64, f64)]| scalability(pair[0], pair[1]).is_some_and(|share| share >= 0.8);
    let last = steps
        .windows(2)
        .take_while(scales)
        .last()
        .map_or(first.1, |pair| pair[1].1);
    Some((first.1, last))
}

/// An axis of a ranking.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    /// The value.
    pub value: f64,
    /// The value of the reference.
    pub reference: f64,
    /// Whether a higher value is better.
    pub is_higher_better: bool,
    /// Its weight; weights are scaled to sum to one.
    pub weight: f64,
}

impl Axis {
    /// Against the reference; above one is better.
    pub fn ratio(&self) -> f64 {
        if self.is_higher_better {
            self.value / self.reference
        } else {
            self.reference / self.value
        }
    }
}

/// Weighted geometric mean of the ratios to a reference, exp(Σ wᵢ ln rᵢ) (Fleming and Wallace, Communications of the ACM
/// 29, 1986): the ranking does not depend on the reference, nor on order or units. `None` when a ratio is not positive, a
/// failure that no mean should hide, or without weight.
pub fn normalised_mean(axes: &[Axis]) -> Option<f64> {
    let weights: f64 = axes.iter().map(|axis| axis.weight).sum();
    let is_fit = |axis: &Axis| {
        let ratio = axis.ratio();
        ratio > 0.0 && ratio.is_finite() && axis.weight >= 0.0
    };
    if weights <= 0.0 || !axes.iter().all(is_fit) {
        return None;
    }
    let sum: f64 = axes
        .iter()
        .map(|axis| axis.weight / weights * axis.ratio().ln())
        .sum();
    Some(sum.exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64, relative: f64) {
        assert!(
            (found / expected - 1.0).abs() <= relative,
            "{found}, {expected} expected"
        );
    }

    #[test]
    fn meters_of_the_market_study() {
        close(polygon(&[1.41, 6.46433, 15.5086]).unwrap(), 56.826, 1e-5);
        let axes = [200.138_324, 130.460_82, 56.826_22, 1.0 / 2.4534];
        // Printed as 16,814; the digits after it are of a cost with more digits than the study prints.
        close(polygon(&axes).unwrap(), 16_814.25, 2e-6);
        let share = study_scalability((130.460_82, 6_368.432_38), (16_814.25, 1_957_497.59));
        close(share.unwrap(), 0.00321, 2e-3);
        close(study_range((16_814.25, 1_957_497.59)), 1_940_683.34, 1e-9);
        // Three axes have one order only.
        close(
            capacity(1.41, 6.46433, 15.5086),
            polygon(&[1.41, 6.46433, 15.5086]).unwrap(),
            1e-12,
        );
    }

    #[test]
    fn areas_over_all_orders() {
        let mut axes = [0.9, 0.8, 0.3, 0.2, 0.1];
        let (mut low, mut high, mut sum, mut count) = (f64::INFINITY, 0.0_f64, 0.0, 0.0);
        permute(&mut axes, 0, &mut |axes: &[f64]| {
            let area = polygon(axes).unwrap();
            low = low.min(area);
            high = high.max(area);
            sum += area;
            count += 1.0;
        });
        close(low, 0.3091, 2e-4);
        close(high, 0.5706, 2e-4);
        close(sum / count, 0.4399, 2e-4);
        close(polygon_mean(&axes).unwrap(), sum / count, 1e-12);
        assert_eq!(polygon(&[1.0, 2.0]), None);
    }

    fn permute(axes: &mut [f64], from: usize, visit: &mut impl FnMut(&[f64])) {
        if from == axes.len() {
            return visit(axes);
        }
        for index in from..axes.len() {
            axes.swap(from, index);
            permute(axes, from + 1, visit);
            axes.swap(from, index);
        }
    }

    #[test]
    fn the_order_of_the_axes_decides_between_a_half_and_nothing() {
        close(polygon(&[1.0, 1.0, 0.0, 0.0]).unwrap(), 0.5, 1e-12);
        assert!(polygon(&[1.0, 0.0, 1.0, 0.0]).unwrap().abs() < 1e-12);
    }

    #[test]
    fn plain_forms() {
        close(scalability((100.0, 1.0), (180.0, 2.0)).unwrap(), 0.9, 1e-12);
        assert_eq!(scalability((0.0, 1.0), (180.0, 2.0)), None);
        let steps = [(100.0, 1.0), (180.0, 2.0), (300.0, 4.0), (310.0, 8.0)];
        assert_eq!(scale_range(&steps), Some((1.0, 4.0)));
        assert_eq!(scale_range(&[]), None);
    }

    #[test]
    fn the_ranking_does_not_depend_on_the_reference() {
        let mean = |values: [f64; 2], reference: [f64; 2]| {
            let axis = |index: usize, is_higher_better| Axis {
                value: values[index],
                reference: reference[index],
                is_higher_better,
                weight: 1.0,
            };
            normalised_mean(&[axis(0, true), axis(1, false)]).unwrap()
        };
        let (first, second) = ([100.0, 0.2], [150.0, 0.25]);
        let by_first = mean(second, first) / mean(first, first);
        let by_other = mean(second, [7.0, 3.0]) / mean(first, [7.0, 3.0]);
        close(by_first, by_other, 1e-12);
        let failed = Axis {
            value: 0.0,
            reference: 1.0,
            is_higher_better: true,
            weight: 1.0,
        };
        assert_eq!(normalised_mean(&[failed]), None);
    }
}
