//! A server and a fixed number of users who think: the machine-repairman's queue, M/M/1//N.
//!
//! Symbols: N users, Z mean think time and S mean service time in seconds, both exponential, ρ = S/Z.

/// Probability of each number of requests at the server, 0 to N: `π_k = π_0·N!/(N−k)!·ρ^k`.
pub fn in_system(users: u32, service_s: f64, think_s: f64) -> Vec<f64> {
    let ln_rho = (service_s / think_s).ln();
    let mut ln_weight = 0.0;
    let mut ln_weights = vec![0.0];
    for k in 0..users {
        ln_weight += f64::from(users - k).ln() + ln_rho;
        ln_weights.push(ln_weight);
    }
    // Factorials overflow; only ratios matter.
    let highest = ln_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = ln_weights
        .into_iter()
        .map(|ln_weight| (ln_weight - highest).exp())
        .collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / total).collect()
}

/// Requests per second: X = (1 − π₀)/S.
pub fn throughput(users: u32, service_s: f64, think_s: f64) -> f64 {
    (1.0 - in_system(users, service_s, think_s)[0]) / service_s
}

/// Mean response time by Little's law, s: R = N/X − Z.
pub fn mean_response(users: u32, service_s: f64, think_s: f64) -> f64 {
    f64::from(users) / throughput(users, service_s, think_s) - think_s
}

/// Share of requests whose response takes longer than `t` seconds. By the arrival theorem a request meets the server
/// as it stands with one user less, and after k others it takes Erlang's time of k + 1 services.
pub fn response_above(users: u32, service_s: f64, think_s: f64, t: f64) -> f64 {
    let served = t / service_s;
    let (mut term, mut late) = ((-served).exp(), 0.0);
    let mut above = 0.0;
    for (k, met) in (1_u32..).zip(in_system(users.saturating_sub(1), service_s, think_s)) {
        late += term;
        term *= served / f64::from(k);
        above += met * late;
    }
    above
}

/// Most users for whom the `quantile` of the response time stays within `within_s`; 0 when even one alone waits
/// longer.
pub fn load_line(service_s: f64, think_s: f64, quantile: f64, within_s: f64) -> u32 {
    let holds = |users: u32| response_above(users, service_s, think_s, within_s) <= 1.0 - quantile;
    if !holds(1) {
        return 0;
    }
    let mut high = 2;
    while holds(high) {
        high *= 2;
    }
    let mut low = high / 2;
    while high - low > 1 {
        let middle = low.midpoint(high);
        if holds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_user_never_waits() {
        assert!((mean_response(1, 0.1, 5.0) - 0.1).abs() < 1e-12);
        assert!((response_above(1, 0.1, 5.0, 0.2) - (-2.0_f64).exp()).abs() < 1e-12);
    }

    #[test]
    fn two_users_by_hand() {
        // ρ = 0.5: weights 1, 2·0.5, 2·1·0.25; π₀ = 1/2.5.
        let states = in_system(2, 1.0, 2.0);
        for (state, expected) in states.iter().zip([0.4, 0.4, 0.2]) {
            assert!((state - expected).abs() < 1e-12, "{states:?}");
        }
        assert!((throughput(2, 1.0, 2.0) - 0.6).abs() < 1e-12);
        // The other one is there with ρ/(1 + ρ) = 1/3: R = S·(1 + 1/3).
        assert!((mean_response(2, 1.0, 2.0) - 4.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn a_crowd_waits_for_all_the_others() {
        // Far beyond N* = (Z + S)/S = 101 users: X = 1/S, R = N·S − Z.
        assert!((mean_response(400, 0.1, 10.0) - 30.0).abs() < 1e-6);
        let line = load_line(0.01, 1.0, 0.95, 0.05);
        let above = |users| response_above(users, 0.01, 1.0, 0.05);
        assert!(above(line) <= 0.05 && above(line + 1) > 0.05, "{line}");
        assert_eq!(load_line(0.1, 1.0, 0.95, 0.1), 0);
    }
}
