//! Intervals hold as often as they claim, and equal seeds give equal results.

use plimsoll_model::seed::Seed;
use plimsoll_simulate::{SimulationOptions, simulate};

use crate::support::{lasting, world};

const SMALLEST: &str =
    "tiers: { web: { service: exponential 8ms, servers: 1 } }\nload: { rate: 75/s }\n";

#[test]
fn intervals_hold_in_93_of_100_seeds() {
    let world = world(SMALLEST);
    let expected_ms = 8.0 / (1.0 - 0.6);
    let held = (0..100_u64).filter(|seed| {
        let options = SimulationOptions {
            precision: 0.02,
            ..SimulationOptions::new(Seed(1_000 + *seed))
        };
        let simulated = simulate(&world, options).unwrap();
        let (low, high) = simulated.tiers[0]
            .response_ms
            .unwrap()
            .mean_interval
            .unwrap();
        (low..=high).contains(&expected_ms)
    });
    let held = held.count();
    assert!(
        held >= 93,
        "{held} of 100 intervals hold the mean of the law"
    );
}

#[test]
fn equal_seeds_give_equal_results() {
    let text = "tiers:\n  web: { service: lognormal 2ms 0.5, servers: 2, queue: 50, timeout: 500ms, cache: 30%, \
                calls: [{ to: [db, db], times: 2, parallel: true }, { to: db, share: 40%, blocking: false }] }\n  \
                db: { service: normal 2ms 1ms, servers: 4 }\n\
                load: { rate: 200/s, patience: exponential 1s, retries: 2 }\n\
                links: [{ between: [web, db], round_trip: 1ms..3ms }]\n";
    let result = |seed| format!("{:?}", lasting(text, 60, seed));
    assert_eq!(result(7), result(7));
    assert_ne!(result(7), result(8));
}
