//! Laws of servers that the surfaces are made of.

/// No drift.
pub(super) fn steady(_at_s: f64) -> f64 {
    1.0
}

/// A host that slows down by a quarter as it gets warm, most of it in the first hour.
pub(super) fn warming(at_s: f64) -> f64 {
    1.0 - 0.25 * (1.0 - (-at_s / 3_600.0).exp())
}

/// A neighbour on the host that comes and goes every 25 minutes.
pub(super) fn neighbour(at_s: f64) -> f64 {
    1.0 + 0.12 * (std::f64::consts::TAU * at_s / 1_500.0).sin()
}

/// How much faster so many workers are than one, by the universal scalability law: `contention` is the share of work that
/// only one can do at a time, `coherence` the cost of keeping each pair in step.
pub(super) fn speedup(workers: f64, contention: f64, coherence: f64) -> f64 {
    workers / (1.0 + contention * (workers - 1.0) + coherence * workers * (workers - 1.0))
}

/// What stations in a row carry together: near their slowest, and less where several are busy.
pub(super) fn in_series(rates: &[f64]) -> f64 {
    const SHARPNESS: i32 = 6;
    let sum: f64 = rates.iter().map(|rate| rate.powi(-SHARPNESS)).sum();
    sum.powf(-1.0 / f64::from(SHARPNESS))
}

/// What stations in a row carry if the slowest alone decides.
pub(super) fn slowest(rates: &[f64]) -> f64 {
    rates.iter().copied().fold(f64::INFINITY, f64::min)
}

/// Share of reads that a buffer answers, where few objects have most of the reads.
pub(super) fn hit_share(buffer: f64, working_set: f64) -> f64 {
    (buffer / working_set).min(1.0).sqrt()
}

/// The rate at which servers in parallel keep the mean wait below a limit, by Sakasegawa's approximation of M/M/c.
pub(super) fn queue_line(servers: f64, service_s: f64, wait_max_s: f64) -> f64 {
    let exponent = (2.0 * (servers + 1.0)).sqrt() - 1.0;
    let wait_s = |busy: f64| service_s / servers * busy.powf(exponent) / (1.0 - busy);
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..24 {
        let middle = f64::midpoint(low, high);
        if wait_s(middle) > wait_max_s {
            high = middle;
        } else {
            low = middle;
        }
    }
    low * servers / service_s
}

/// Cost of more processes than cores: each beyond them takes `cost` of the whole.
pub(super) fn crowding(processes: f64, cores: f64, cost: f64) -> f64 {
    1.0 / (1.0 + cost * (processes - cores).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn near(left: f64, right: f64, within: f64) {
        assert!((left / right - 1.0).abs() < within, "{left} {right}");
    }

    #[test]
    fn the_speedup_has_its_peak_where_the_law_has_it() {
        // Peak at sqrt((1 - contention) / coherence).
        let peak = (0.96_f64 / 0.0015).sqrt();
        let at = |workers: f64| speedup(workers, 0.04, 0.0015);
        assert!(at(peak) > at(peak * 0.9) && at(peak) > at(peak * 1.1));
        near(at(1.0), 1.0, 1e-12);
    }

    #[test]
    fn one_server_carries_what_its_formula_allows() {
        // M/M/1: wait = s busy / (1 - busy), so a wait of 3 s leaves busy = 3/4.
        near(queue_line(1.0, 0.010, 0.030), 75.0, 1e-5);
        // More servers with the same capacity wait less.
        assert!(queue_line(8.0, 0.080, 0.030) > 75.0);
    }

    #[test]
    fn a_row_is_slower_than_its_slowest() {
        near(in_series(&[100.0, 1e9]), 100.0, 1e-6);
        near(
            in_series(&[100.0, 100.0]),
            100.0 / 2.0_f64.powf(1.0 / 6.0),
            1e-9,
        );
        near(slowest(&[3.0, 2.0]), 2.0, 1e-12);
    }

    #[test]
    fn drift_begins_at_none() {
        for drift in [steady, warming, neighbour] {
            near(drift(0.0), 1.0, 1e-12);
            assert!(drift(5_000.0) > 0.5);
        }
        near(warming(1e6), 0.75, 1e-9);
        near(hit_share(25.0, 100.0), 0.5, 1e-12);
        near(crowding(9.0, 4.0, 0.1), 1.0 / 1.5, 1e-12);
    }
}
