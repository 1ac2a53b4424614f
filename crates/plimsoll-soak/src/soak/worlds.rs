//! Simulated worlds against queueing theory, with many seeds: intervals hold in 93 of 100, and every mean is within 1 %.

use anyhow::{Context as _, Result, ensure};
use plimsoll_config::document::{FileError, Surroundings};
use plimsoll_config::world;
use plimsoll_model::seed::Seed;
use plimsoll_simulate::{SimulationOptions, simulate};
use plimsoll_testkit::queueing::mean_wait;
use serde_json::{Value, json};

/// Mean of all services, s.
const SERVICE_S: f64 = 0.008;
/// Spread of the general law: log-normal.
const SIGMA: f64 = 0.5;
/// Shares of the capacity.
const LOADS: [f64; 3] = [0.3, 0.6, 0.9];
/// Share of seeds whose interval must hold the mean of the law.
const HELD_MIN: f64 = 0.93;
/// By how much a mean may differ from that of the law.
const ERROR_MAX: f64 = 0.01;

/// A queue whose mean is a formula.
#[derive(Clone, Copy)]
enum WorldLaw {
    Exponential(u32),
    Deterministic,
    LogNormal,
}

impl WorldLaw {
    const ALL: [Self; 4] = [
        Self::Exponential(1),
        Self::Exponential(4),
        Self::Deterministic,
        Self::LogNormal,
    ];

    fn name(self) -> String {
        match self {
            Self::Exponential(servers) => format!("M/M/{servers}"),
            Self::Deterministic => "M/D/1".to_owned(),
            Self::LogNormal => "M/G/1".to_owned(),
        }
    }

    fn servers(self) -> u32 {
        match self {
            Self::Exponential(servers) => servers,
            Self::Deterministic | Self::LogNormal => 1,
        }
    }

    fn text(self, rate: f64) -> String {
        let service = match self {
            Self::Exponential(_) => "exponential 8ms".to_owned(),
            Self::Deterministic => "8ms".to_owned(),
            Self::LogNormal => {
                let median_ms = 8.0 * (-SIGMA * SIGMA / 2.0).exp();
                format!("lognormal {median_ms}ms {SIGMA}")
            }
        };
        let servers = self.servers();
        format!(
            "tiers: {{ web: {{ service: {service}, servers: {servers} }} }}\nload: {{ rate: {rate}/s }}\n"
        )
    }

    /// Mean response, ms: by Erlang, and by Pollaczek and Khinchine.
    fn mean_ms(self, rho: f64, rate: f64) -> f64 {
        let variation = match self {
            Self::Exponential(servers) => {
                return (mean_wait(servers, rate, SERVICE_S) + SERVICE_S) * 1e3;
            }
            Self::Deterministic => 0.0,
            Self::LogNormal => (SIGMA * SIGMA).exp() - 1.0,
        };
        SERVICE_S * 1e3 * (1.0 + rho / (1.0 - rho) * (1.0 + variation) / 2.0)
    }
}

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

/// Simulates each law at each load with these seeds, unless there is a result already; `keep` receives it.
pub(super) fn run(
    seeds: u64,
    results: &mut Vec<Value>,
    keep: impl Fn(&Value) -> Result<()>,
) -> Result<()> {
    for law in WorldLaw::ALL.into_iter().filter(|_| seeds > 0) {
        for rho in LOADS {
            let is_it = |result: &Value| {
                result["world"]["law"] == law.name() && result["world"]["rho"] == rho
            };
            if results.iter().any(is_it) {
                continue;
            }
            let result = of_law(law, rho, seeds)?;
            println!("world {}", text(&result["world"]));
            keep(&result)?;
            results.push(result);
        }
    }
    Ok(())
}

fn of_law(law: WorldLaw, rho: f64, seeds: u64) -> Result<Value> {
    let rate = rho * f64::from(law.servers()) / SERVICE_S;
    let world = world::read(&law.text(rate), &Nothing)?;
    let expected = law.mean_ms(rho, rate);
    let (mut held, mut error_max) = (0_u64, 0.0_f64);
    for seed in 1..=seeds {
        let simulated = simulate(&world, SimulationOptions::new(Seed(seed)))?;
        let times = simulated.tiers[0].response_ms.context("no answers")?;
        let (from, to) = times.mean_interval.context("too few answers")?;
        held += u64::from((from..=to).contains(&expected));
        error_max = error_max.max((times.mean / expected - 1.0).abs());
    }
    ensure!(expected.is_finite(), "the law has no mean");
    let world = json!({ "law": law.name(), "rho": rho, "seeds": seeds, "held": held, "error_max": error_max });
    Ok(json!({ "world": world }))
}

fn text(world: &Value) -> String {
    format!(
        "{} at {}: intervals hold in {} of {} seeds, largest error {:.2} %",
        world["law"].as_str().unwrap_or_default(),
        world["rho"],
        world["held"],
        world["seeds"],
        world["error_max"].as_f64().unwrap_or(f64::NAN) * 100.0
    )
}

/// Prints a line for each law and load; whether all hold.
pub(super) fn summarise(results: &[Value]) -> bool {
    let mut all_hold = true;
    let worlds = results.iter().map(|result| &result["world"]);
    for world in worlds.filter(|world| world.is_object()) {
        let number = |key: &str| world[key].as_f64().unwrap_or(f64::NAN);
        let holds =
            number("held") >= HELD_MIN * number("seeds") && number("error_max") <= ERROR_MAX;
        all_hold &= holds;
        println!(
            "world {}{}",
            text(world),
            if holds { "" } else { ": too few, or too far" }
        );
    }
    all_hold
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ninety_three_of_a_hundred_must_hold() {
        let result = |held: u64, error_max: f64| json!({ "world": { "law": "M/M/1", "rho": 0.3, "seeds": 100, "held": held, "error_max": error_max } });
        assert!(summarise(&[result(93, 0.009)]));
        assert!(!summarise(&[result(92, 0.001)]));
        assert!(!summarise(&[result(99, 0.02)]));
        assert!(summarise(&[]));
    }

    #[test]
    fn a_result_is_not_repeated() {
        let mut results = Vec::new();
        let all = WorldLaw::ALL.into_iter();
        let all = all
            .flat_map(|law| LOADS.map(|rho| json!({ "world": { "law": law.name(), "rho": rho } })));
        results.extend(all);
        let count = results.len();
        run(1, &mut results, |_| Ok(())).unwrap();
        assert_eq!(results.len(), count);
    }
}
