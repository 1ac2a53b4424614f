//! Arguments of `plimsoll simulate`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::{duration_above_zero, seed};

/// A world in virtual time.
#[derive(Debug, Args)]
pub(crate) struct SimulateArguments {
    /// File of the world (YAML): tiers, calls, distances and load; docs/reference/world.md has all keys
    #[arg(value_name = "WORLD")]
    pub(crate) world: PathBuf,
    /// Time of the world that is simulated [default: until each mean is known to ±0.5 %]
    #[arg(long = "for", short = 't', value_name = "TIME", value_parser = duration_above_zero)]
    pub(crate) lasting: Option<Duration>,
    /// Simulate the world with a change too, and compare; repeatable, each alone: 'web replicas +2', 'cdn off', 'cache busted',
    /// 'client retries x3', 'load x2', 'query async', 'db moved to east-us'
    #[arg(long, value_name = "TEXT")]
    pub(crate) what_if: Vec<String>,
    /// Random seed: the same world and seed give the same result [default: random, printed]
    #[arg(long, value_name = "N", value_parser = seed)]
    pub(crate) seed: Option<u64>,
    /// Print the result as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
