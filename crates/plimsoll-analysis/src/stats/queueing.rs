//! Queues with a known law.
//!
//! Symbols: λ arrivals per second, S mean service time in seconds, c servers, a = λS offered work, ρ = a/c.

/// Erlang B: share of arrivals that find all `servers` busy and are lost, for offered work `a`; by the recursion
/// B₀ = 1, B_k = a·B_{k−1} / (k + a·B_{k−1}).
pub fn erlang_b(servers: u32, a: f64) -> f64 {
    (1..=servers).fold(1.0, |blocked, k| a * blocked / (f64::from(k) + a * blocked))
}

/// Erlang C: share of arrivals that wait in M/M/c, C = c·B / (c − a(1 − B)); 1 at and beyond saturation.
pub fn erlang_c(servers: u32, a: f64) -> f64 {
    let c = f64::from(servers);
    if a >= c {
        return 1.0;
    }
    let blocked = erlang_b(servers, a);
    c * blocked / (c - a * (1.0 - blocked))
}

/// Mean wait in seconds in M/M/c, C / (cμ − λ); infinite at and beyond saturation.
pub fn mean_wait(servers: u32, rate: f64, service_s: f64) -> f64 {
    let spare = f64::from(servers) / service_s - rate;
    if spare <= 0.0 {
        return f64::INFINITY;
    }
    erlang_c(servers, rate * service_s) / spare
}

/// Share of requests whose response in M/M/c takes longer than `t` seconds.
///
/// A request waits with probability C, then exponentially at rate θ = cμ − λ, and is served exponentially at μ:
/// P(R > t) = (1 − C)·e^{−μt} + C·(μe^{−θt} − θe^{−μt})/(μ − θ), with the limit (1 + μt)·e^{−μt} at θ = μ.
pub fn response_above(servers: u32, rate: f64, service_s: f64, t: f64) -> f64 {
    let mu = 1.0 / service_s;
    let theta = f64::from(servers) * mu - rate;
    if theta <= 0.0 {
        return 1.0;
    }
    let waits = erlang_c(servers, rate * service_s);
    let served = (-mu * t).exp();
    let gap = mu - theta;
    let both = if gap.abs() < 1e-9 * mu {
        (1.0 + mu * t) * served
    } else {
        (mu * (-theta * t).exp() - theta * served) / gap
    };
    (1.0 - waits) * served + waits * both
}

/// The `quantile` of the response time in M/M/c, seconds; infinite at and beyond saturation.
pub fn response_quantile(servers: u32, rate: f64, service_s: f64, quantile: f64) -> f64 {
    if rate >= f64::from(servers) / service_s {
        return f64::INFINITY;
    }
    let above = |t: f64| response_above(servers, rate, service_s, t) > 1.0 - quantile;
    let mut high = service_s;
    while above(high) {
        high *= 2.0;
    }
    let mut low = 0.0;
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if above(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// Highest rate, 1/s, at which the `quantile` of the response time in M/M/c stays within `within_s`; `None` when
/// even a request that never waits is too slow.
pub fn load_line(servers: u32, service_s: f64, quantile: f64, within_s: f64) -> Option<f64> {
    let holds = |rate: f64| response_above(servers, rate, service_s, within_s) <= 1.0 - quantile;
    if !holds(0.0) {
        return None;
    }
    let (mut low, mut high) = (0.0, f64::from(servers) / service_s);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if holds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(low)
}

/// Share of requests that wait at most `t` seconds in M/D/1 (Erlang 1909): with service D and T = ⌊t/D⌋,
/// P(W ≤ t) = (1 − ρ) Σ_{k=0..T} (−λ(t − kD))^k / k! · e^{λ(t − kD)}.
///
/// Terms alternate, so digits are lost as λt grows; good to 10⁻⁶ while λt ≤ 20.
pub fn md1_wait_within(rate: f64, service_s: f64, t: f64) -> f64 {
    let mut sum = 0.0;
    let mut k = 0_u32;
    while f64::from(k) * service_s <= t {
        let left = rate * (t - f64::from(k) * service_s);
        let mut term = left.exp();
        for factor in 1..=k {
            term *= -left / f64::from(factor);
        }
        sum += term;
        k += 1;
    }
    (1.0 - rate * service_s) * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn erlang_c_of_the_published_vectors() {
        for (servers, a, expected) in [(1, 0.8, 0.8), (2, 1.0, 0.333_333), (10, 8.0, 0.409_180)] {
            let waits = erlang_c(servers, a);
            assert!((waits - expected).abs() < 1e-6, "({servers}, {a}): {waits}");
        }
    }

    #[test]
    fn one_server_has_the_closed_form() {
        // M/M/1: the response is exponential at rate μ − λ.
        let (rate, service_s) = (70.0, 0.01);
        for quantile in [0.5, 0.95, 0.99] {
            let expected = -(1.0_f64 - quantile).ln() / (1.0 / service_s - rate);
            let found = response_quantile(1, rate, service_s, quantile);
            assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
        }
        let line = load_line(1, service_s, 0.95, 0.1).unwrap();
        assert!(
            (line - (100.0 + 0.05_f64.ln() / 0.1)).abs() < 1e-6,
            "{line}"
        );
        assert_eq!(load_line(1, 0.1, 0.99, 0.1), None);
    }

    #[test]
    fn response_and_wait_agree_in_the_mean() {
        // E[R] = ∫ P(R > t) dt = W + S.
        let (servers, rate, service_s) = (2, 150.0, 0.01);
        let step = 1e-5;
        let integral: f64 = (0..200_000)
            .map(|i| step * response_above(servers, rate, service_s, (f64::from(i) + 0.5) * step))
            .sum();
        let expected = mean_wait(servers, rate, service_s) + service_s;
        assert!(
            (integral / expected - 1.0).abs() < 1e-4,
            "{integral} {expected}"
        );
    }

    #[test]
    fn md1_agrees_with_pollaczek_and_khinchine() {
        // Mean wait of M/D/1 is ρS / (2(1 − ρ)).
        let (rate, service_s) = (60.0, 0.01);
        let step = 1e-4;
        let integral: f64 = (0..3000)
            .map(|i| step * (1.0 - md1_wait_within(rate, service_s, (f64::from(i) + 0.5) * step)))
            .sum();
        let expected = 0.6 * service_s / (2.0 * 0.4);
        assert!(
            (integral / expected - 1.0).abs() < 1e-3,
            "{integral} {expected}"
        );
    }
}
