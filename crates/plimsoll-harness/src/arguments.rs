//! Flags that measurements share.

use std::path::PathBuf;

use clap::Args;

/// Flags of every measurement.
#[derive(Args, Clone, Debug)]
pub struct MeasurementArguments {
    /// Use the existing release binaries
    #[arg(long)]
    pub no_build: bool,
    /// Measure on a busy machine too; the page notes it
    #[arg(long)]
    pub anyway: bool,
    /// Path of the page [default: the one in docs/benchmarks, if everything was measured]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Flags of comparisons.
#[derive(Args, Clone, Debug)]
pub struct RoundArguments {
    /// Alternating rounds
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=50))]
    pub rounds: u32,
    /// Seconds per run
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(2..=600))]
    pub seconds: u32,
    /// Use the installed programs; the page lists the missing ones
    #[arg(long)]
    pub no_install: bool,
    /// Measure only this; repeatable. The page is then written to --out only
    #[arg(long)]
    pub only: Vec<String>,
}

/// Flags of case studies.
#[derive(Args, Clone, Debug)]
pub struct CaseArguments {
    /// Shorter runs
    #[arg(long)]
    pub quick: bool,
    /// Only start everything, print the addresses, and stop it on Ctrl-C
    #[arg(long, conflicts_with_all = ["quick", "smoke"])]
    pub serve: bool,
    /// Only start everything, use each component once, and stop
    #[arg(long, conflicts_with = "quick")]
    pub smoke: bool,
}
