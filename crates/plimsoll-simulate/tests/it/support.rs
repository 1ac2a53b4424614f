//! Worlds of the tests.

use std::time::Duration;

use plimsoll_config::document::{FileError, Surroundings};
use plimsoll_config::world::{self, World};
use plimsoll_model::seed::Seed;
use plimsoll_simulate::{Simulated, SimulationOptions, TimesMs, simulate};

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

pub(crate) fn world(text: &str) -> World {
    world::read(text, &Nothing).unwrap_or_else(|errors| panic!("{errors}"))
}

/// Simulated until each mean is known to ±0.5 %.
pub(crate) fn precise(text: &str, seed: u64) -> Simulated {
    simulate(&world(text), SimulationOptions::new(Seed(seed))).unwrap()
}

/// Simulated for so many seconds.
pub(crate) fn lasting(text: &str, seconds: u64, seed: u64) -> Simulated {
    let options = SimulationOptions {
        lasting: Some(Duration::from_secs(seconds)),
        ..SimulationOptions::new(Seed(seed))
    };
    simulate(&world(text), options).unwrap()
}

/// Response times of a tier.
pub(crate) fn response(simulated: &Simulated, tier: usize) -> TimesMs {
    simulated.tiers[tier].response_ms.unwrap()
}

/// Within a share of what is expected.
#[track_caller]
pub(crate) fn near(found: f64, expected: f64, share: f64, what: &str) {
    assert!(
        (found / expected - 1.0).abs() <= share,
        "{what}: {found}, and by the law {expected}"
    );
}
