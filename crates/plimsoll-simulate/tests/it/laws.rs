//! Single queues at ρ = 0.3, 0.6 and 0.9: M/M/1, M/M/c, M/D/1, M/G/1, each within 1 % of its law.

use plimsoll_simulate::Ending;
use plimsoll_testkit::queueing::{deterministic_wait_within, mean_wait, response_quantile};

use crate::support::{near, precise, response};

const SERVICE_S: f64 = 0.008;

/// A tier with this service and so many servers, at a load of its capacity times `rho`; mean and p95 of its responses, ms.
fn tier(service: &str, servers: u32, rho: f64, seed: u64) -> (f64, f64) {
    let rate = rho * f64::from(servers) / SERVICE_S;
    let text = format!(
        "tiers: {{ web: {{ service: {service}, servers: {servers} }} }}\nload: {{ rate: {rate}/s }}\n"
    );
    let simulated = precise(&text, seed);
    assert_eq!(simulated.ending, Ending::Precise, "{text}");
    near(
        simulated.tiers[0].busy,
        rho,
        0.01,
        "busy share of the servers",
    );
    let times = response(&simulated, 0);
    assert!((times.mean - simulated.response_ms.unwrap().mean).abs() < 1e-9);
    (times.mean, times.p95)
}

/// Exponential services: mean and p95 by Erlang's law.
fn exponential(servers: u32, rho: f64) {
    let rate = rho * f64::from(servers) / SERVICE_S;
    let (mean, p95) = tier("exponential 8ms", servers, rho, u64::from(servers));
    let expected = (mean_wait(servers, rate, SERVICE_S) + SERVICE_S) * 1e3;
    near(
        mean,
        expected,
        0.01,
        &format!("mean of M/M/{servers} at {rho}"),
    );
    let expected = response_quantile(servers, rate, SERVICE_S, 0.95) * 1e3;
    near(
        p95,
        expected,
        0.01,
        &format!("p95 of M/M/{servers} at {rho}"),
    );
}

#[test]
fn one_exponential_server_has_its_law() {
    for rho in [0.3, 0.6, 0.9] {
        exponential(1, rho);
    }
}

#[test]
fn several_exponential_servers_have_erlangs_law() {
    for rho in [0.3, 0.6, 0.9] {
        exponential(4, rho);
    }
}

#[test]
fn one_deterministic_server_has_its_law() {
    for rho in [0.3, 0.6, 0.9] {
        let rate = rho / SERVICE_S;
        let (mean, p95) = tier("8ms", 1, rho, 3);
        // Pollaczek and Khinchine with a variance of 0.
        let expected = SERVICE_S * (1.0 + rho / (2.0 * (1.0 - rho))) * 1e3;
        near(mean, expected, 0.01, &format!("mean of M/D/1 at {rho}"));
        // By Franx's formula, what is below the p95 that was found. At 0.3, 7 of 10 do not wait, and the p95 is still inside.
        let within = deterministic_wait_within(1, rate, SERVICE_S, p95 / 1e3 - SERVICE_S);
        assert!(
            (within - 0.95).abs() < 0.005,
            "share below the p95 at {rho}: {within}"
        );
    }
}

#[test]
fn one_server_with_a_general_law_has_the_formula_of_pollaczek_and_khinchine() {
    let sigma = 0.5_f64;
    // The median for which the mean is 8 ms, and the squared coefficient of variation.
    let median_ms = 8.0 * (-sigma * sigma / 2.0).exp();
    let squared = (sigma * sigma).exp() - 1.0;
    for rho in [0.3, 0.6, 0.9] {
        let (mean, _) = tier(&format!("lognormal {median_ms}ms {sigma}"), 1, rho, 4);
        let wait = rho / (1.0 - rho) * (1.0 + squared) / 2.0;
        near(
            mean,
            8.0 * (1.0 + wait),
            0.01,
            &format!("mean of M/G/1 at {rho}"),
        );
    }
}

#[test]
fn a_full_queue_refuses_by_erlang() {
    // M/M/1/K: with ρ = 1.5 and at most 5 in the system, the loss is (1 − ρ)ρ⁵/(1 − ρ⁶).
    let text = "tiers: { web: { service: exponential 8ms, queue: 4 } }\nload: { rate: 187.5/s }\n";
    let simulated = precise(text, 1);
    let rho = 1.5_f64;
    let loss = (1.0 - rho) * rho.powi(5) / (1.0 - rho.powi(6));
    let found = simulated.failed as f64 / simulated.requests as f64;
    near(found, loss, 0.025, "share that is refused");
    // A refusal and its answer are two events of a moment, which may be the last.
    assert!(simulated.tiers[0].refused.abs_diff(simulated.failed) <= 1);
    let busy = 1.0 - (1.0 - rho) / (1.0 - rho.powi(6));
    near(simulated.tiers[0].busy, busy, 0.01, "busy share");
}
