//! Events per second of one core: `cargo run --release -p plimsoll-simulate --example events_per_second`.
//!
//! The smallest world, a world of three tiers with links, cache and patience, and one with a hundred thousand users, whose heap has
//! as many events.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "an example measures and prints"
)]

use std::time::{Duration, Instant};

use plimsoll_config::document::{FileError, Surroundings};
use plimsoll_config::world;
use plimsoll_model::seed::Seed;
use plimsoll_simulate::{SimulationOptions, simulate};

const WORLDS: [(&str, u64, &str); 3] = [
    (
        "one queue",
        100_000,
        "tiers: { web: { service: exponential 8ms } }\nload: { rate: 100/s }\n",
    ),
    (
        "three tiers, links, cache, patience",
        2_000,
        "tiers:\n  cdn: { service: 100us, servers: 64, cache: 80%, calls: { to: web, blocking: false } }\n  \
         web: { service: lognormal 5ms 0.5, servers: 16, calls: { to: db, times: 5 } }\n  \
         db: { service: exponential 1ms, servers: 8 }\n\
         load: { rate: 2000/s, patience: 8s, retries: 2 }\nlinks: [{ between: [web, db], round_trip: 1ms }]\n",
    ),
    (
        "a hundred thousand users",
        1_000,
        "tiers: { web: { service: exponential 1ms, servers: 16 } }\nload: { users: 100000, think: exponential 10s }\n",
    ),
];

/// No files and no environment.
struct Nothing;

impl Surroundings for Nothing {
    fn file(&self, _: &str, _: u64) -> Result<Vec<u8>, FileError> {
        Err(FileError::Unreadable("no files here".to_owned()))
    }

    fn variable(&self, _: &str) -> Option<String> {
        None
    }
}

fn main() {
    for (name, seconds, text) in WORLDS {
        let world = world::read(text, &Nothing).unwrap();
        let options = SimulationOptions {
            lasting: Some(Duration::from_secs(seconds)),
            ..SimulationOptions::new(Seed(1))
        };
        let begun = Instant::now();
        let simulated = simulate(&world, options).unwrap();
        let taken_s = begun.elapsed().as_secs_f64();
        let per_second = simulated.events as f64 / taken_s / 1e6;
        println!(
            "{name}: {} events in {taken_s:.2} s, {per_second:.1} M/s",
            simulated.events
        );
    }
}
