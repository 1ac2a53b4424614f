//! Queues with a known law.
//!
//! Symbols: λ arrivals per second, S mean service time in seconds, c servers, a = λS offered work, ρ = a/c.

pub mod closed;

/// Erlang B: share of arrivals that find all `servers` busy and are lost, for offered work `a`; by the recursion
/// `B₀ = 1, B_k = a·B_{k−1} / (k + a·B_{k−1})`.
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

/// Share of requests that wait at most `t` seconds in M/D/c (Franx, Oper. Res. Lett. 29, 2001): with service D and
/// (k−1)D ≤ t < kD, `P(W ≤ t) = Σ_{j=0..kc−1} Q_{kc−1−j} · (λ(kD−t))^j/j! · e^{−λ(kD−t)}`, where `Q_i` is the share of
/// moments with at most i requests waiting. No term is negative, so no digits are lost.
pub fn deterministic_wait_within(servers: u32, rate: f64, service_s: f64, t: f64) -> f64 {
    if rate * service_s >= f64::from(servers) {
        return 0.0;
    }
    let waiting = waiting_at_most(servers, rate * service_s);
    wait_within(&waiting, servers, rate, service_s, t)
}

/// The same with the shares of time by requests waiting, which depend on the load alone.
fn wait_within(waiting: &[f64], servers: u32, rate: f64, service_s: f64, t: f64) -> f64 {
    let periods = (t / service_s).floor() + 1.0;
    let left = rate * (periods * service_s - t);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a few periods of service"
    )]
    let terms = periods as usize * servers as usize;
    let mut arrives = (-left).exp();
    let mut sum = 0.0;
    for arrived in 0..terms {
        let room = (terms - 1 - arrived).min(waiting.len() - 1);
        sum += waiting[room] * arrives;
        arrives *= left / (arrived + 1) as f64;
    }
    sum
}

/// Share of time with at most 0, 1, 2, … requests waiting in M/D/c. The number in the system, sampled every service
/// time, is a Markov chain: those in service leave, those that arrived are added (Crommelin 1932).
fn waiting_at_most(servers: u32, a: f64) -> Vec<f64> {
    let c = servers as usize;
    // The tail falls off like e^{−2(1−ρ)n}; beyond e^{−30} nothing counts.
    let idle = 1.0 - a / f64::from(servers);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most some thousands of states"
    )]
    let states = ((15.0 / idle.max(0.005)) as usize + 4 * c + 20).max(c + 40);
    let mut arrivals = vec![(-a).exp()];
    while arrivals.len() < 20 || arrivals[arrivals.len() - 1] > 1e-15 {
        arrivals.push(arrivals[arrivals.len() - 1] * a / arrivals.len() as f64);
    }
    // Starting from the shape of the tail, few steps are left.
    let mut chain: Vec<f64> = (0..states)
        .map(|n| (-2.0 * idle * n as f64).exp())
        .collect();
    let total: f64 = chain.iter().sum();
    for weight in &mut chain {
        *weight /= total;
    }
    loop {
        let mut next = vec![0.0; states];
        for (present, weight) in chain.iter().enumerate() {
            for (arrived, chance) in arrivals.iter().enumerate() {
                next[(present.saturating_sub(c) + arrived).min(states - 1)] += weight * chance;
            }
        }
        let moved: f64 = next
            .iter()
            .zip(&chain)
            .map(|(new, old)| (new - old).abs())
            .sum();
        chain = next;
        if moved < 1e-9 * idle {
            break;
        }
    }
    let mut at_most = 0.0;
    let cumulated = chain.iter().map(|weight| {
        at_most += weight;
        at_most
    });
    cumulated.skip(c).collect()
}

/// Highest rate, 1/s, at which the `quantile` of the response time in M/D/c stays within `within_s`; `None` when
/// even a request that never waits is too slow.
pub fn deterministic_load_line(
    servers: u32,
    service_s: f64,
    quantile: f64,
    within_s: f64,
) -> Option<f64> {
    if within_s < service_s {
        return None;
    }
    let holds = |rate: f64| {
        deterministic_wait_within(servers, rate, service_s, within_s - service_s) >= quantile
    };
    // Near saturation the chain mixes slowly: approach from below, halving the spare capacity.
    let most = f64::from(servers) / service_s;
    let mut spare = 0.5;
    while spare > 0.002 && holds((1.0 - spare) * most) {
        spare /= 2.0;
    }
    let (mut low, mut high) = ((1.0 - 2.0 * spare) * most, (1.0 - spare) * most);
    // To a ten-thousandth of the spare capacity.
    while high - low > 1e-4 * (most - high) {
        let middle = f64::midpoint(low, high);
        if holds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(low)
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

    /// Erlang's series for M/D/1 (1909): (1 − ρ) Σ_{k=0..⌊t/D⌋} (−λ(t−kD))^k/k! · e^{λ(t−kD)}.
    fn erlang_series(rate: f64, service_s: f64, t: f64) -> f64 {
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

    #[test]
    fn one_deterministic_server_agrees_with_erlangs_series() {
        for (rate, t) in [(30.0, 0.0), (60.0, 0.015), (85.0, 0.04), (85.0, 0.0999)] {
            let found = deterministic_wait_within(1, rate, 0.01, t);
            let expected = erlang_series(rate, 0.01, t);
            assert!(
                (found - expected).abs() < 1e-7,
                "{rate} {t}: {found} {expected}"
            );
        }
    }

    #[test]
    fn deterministic_waits_agree_with_their_means() {
        // Mean wait of M/D/1: ρS / (2(1 − ρ)) (Pollaczek, Khinchine). Of M/D/2 at ρ = 0.8 in units of S: 0.4552
        // in M/M/2 (C/(2 − 1.6), halved and corrected in Cosmetatos' approximation, good to 1 %).
        let mean = |servers: u32, rate: f64| -> f64 {
            let step = 1e-4;
            let waiting = waiting_at_most(servers, rate * 0.01);
            let within = |t: f64| wait_within(&waiting, servers, rate, 0.01, t);
            (0..6000)
                .map(|i| step * (1.0 - within((f64::from(i) + 0.5) * step)))
                .sum()
        };
        let single = mean(1, 60.0);
        assert!(
            (single / (0.6 * 0.01 / (2.0 * 0.4)) - 1.0).abs() < 1e-3,
            "{single}"
        );
        let two = mean(2, 160.0);
        let correction = 1.0
            + (1.0 - 0.8) * (2.0 - 1.0) * ((4.0 + 5.0 * 2.0_f64).sqrt() - 2.0) / (16.0 * 0.8 * 2.0);
        let expected = 0.5 * mean_wait(2, 160.0, 0.01) * correction;
        assert!((two / expected - 1.0).abs() < 0.01, "{two} {expected}");
    }
}
