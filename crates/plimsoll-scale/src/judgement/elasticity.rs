//! The figures of elasticity.

/// Elasticity, all in per cent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Elasticity {
    /// `θ_U`: what was missing, as a share of the demand, over the time.
    pub under_accuracy: f64,
    /// `θ_O`: what was too much, as a share of the demand, over the time.
    pub over_accuracy: f64,
    /// `τ_U`: share of the time with too little.
    pub under_time: f64,
    /// `τ_O`: share of the time with too much.
    pub over_time: f64,
    /// υ: share of the time in which supply did not move as demand did.
    pub instability: f64,
}

/// Smallest value of a figure in a speedup, per cent.
const FLOOR: f64 = 0.1;

/// The figures of equally long steps.
pub fn elasticity(demand: &[u32], supply: &[u32]) -> Elasticity {
    let len = demand.len().min(supply.len());
    let steps = len.max(1) as f64;
    let pairs = || {
        demand
            .iter()
            .zip(supply)
            .map(|(demand, supply)| (*demand, *supply))
    };
    let accuracy = |of: fn(u32, u32) -> u32| {
        let sum: f64 = pairs()
            .map(|(demand, supply)| f64::from(of(demand, supply)) / f64::from(demand.max(1)))
            .sum();
        100.0 / steps * sum
    };
    let time = |is: fn(u32, u32) -> bool| {
        let count = pairs()
            .filter(|(demand, supply)| is(*demand, *supply))
            .count();
        100.0 / steps * count as f64
    };
    let moves = |values: &[u32], at: usize| values[at + 1].cmp(&values[at]);
    let unlike = (0..len.saturating_sub(1))
        .filter(|at| moves(demand, *at) != moves(supply, *at))
        .count();
    Elasticity {
        under_accuracy: accuracy(u32::saturating_sub),
        over_accuracy: accuracy(|demand, supply| supply.saturating_sub(demand)),
        under_time: time(|demand, supply| supply < demand),
        over_time: time(|demand, supply| supply > demand),
        instability: 100.0 / len.saturating_sub(1).max(1) as f64 * unlike as f64,
    }
}

/// ε: how many times as elastic `other` is as `base`; the geometric mean over accuracies and times.
pub fn elastic_speedup(base: &Elasticity, other: &Elasticity) -> f64 {
    let figures = |of: &Elasticity| {
        [
            of.under_accuracy,
            of.over_accuracy,
            of.under_time,
            of.over_time,
        ]
    };
    let ratios = figures(base).into_iter().zip(figures(other));
    let product: f64 = ratios
        .map(|(base, other)| base.max(FLOOR) / other.max(FLOOR))
        .product();
    product.powf(0.25)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-9, "{value}, not {expected}");
    }

    #[test]
    fn the_published_vector_holds() {
        let figures = elasticity(&[2, 4, 4, 2], &[2, 2, 4, 4]);
        close(figures.under_accuracy, 12.5);
        close(figures.over_accuracy, 25.0);
        close(figures.under_time, 25.0);
        close(figures.over_time, 25.0);
        close(figures.instability, 100.0);
        let exact = elasticity(&[2, 4, 4, 2], &[2, 4, 4, 2]);
        close(
            exact.under_accuracy + exact.over_time + exact.instability,
            0.0,
        );
        // Each figure is floored at a tenth of a per cent: (125 · 250 · 250 · 250)^¼.
        close(
            elastic_speedup(&figures, &exact),
            (125.0_f64 * 250.0_f64.powi(3)).powf(0.25),
        );
        close(elastic_speedup(&exact, &exact), 1.0);
        close(elasticity(&[], &[]).instability, 0.0);
        close(elasticity(&[3], &[2]).under_accuracy, 100.0 / 3.0);
    }
}
