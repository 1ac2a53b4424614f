//! Arguments of `matrix`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use plimsoll_analysis::experiment::result::WEIGHTED;
use plimsoll_config::Problem;

use super::{
    Classes, CycleTargetArguments, LivePageArguments, MetricsExportArguments, classes,
    duration_above_zero,
};

/// An experiment: the same measurement in every cell of a matrix of settings.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own, and any of them may be given"
)]
#[derive(Debug, Args)]
pub(crate) struct MatrixArguments {
    /// The experiment file (YAML)
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Only resume an experiment; without this, one that is in the folder is resumed too, or a new one is started
    #[arg(long)]
    pub(crate) resume: bool,
    /// Time of all trials together: cells race, and those that are beaten at no higher price are dropped
    #[arg(long, value_name = "TIME", value_parser = duration_above_zero)]
    pub(crate) within: Option<Duration>,
    /// Print cells, trials, their time and price, and measure nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Confirm that the targets are yours: allows load on public addresses
    #[arg(long)]
    pub(crate) i_own_this: bool,
    /// Print the result as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Folder for the log, the tables, the page and the run files [default: ./plimsoll/NAME]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Bounds of the response classes: fast below the first, slow above the second [default: 800ms,1200ms]
    #[arg(long, value_name = "TIME,TIME", value_parser = classes)]
    pub(crate) classes: Option<Classes>,
    /// Weight of an axis in the ranking by meters: load, response, good, cpu, memory or price, such as price=2 [default: 1
    /// each]
    #[arg(long = "weight", value_name = "AXIS=NUMBER", value_parser = weight)]
    pub(crate) weights: Vec<(String, f64)>,
    #[command(flatten)]
    pub(crate) live_page: LivePageArguments,
    #[command(flatten)]
    pub(crate) export: MetricsExportArguments,
    /// Print no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) cycles: CycleTargetArguments,
}

/// Largest weight of an axis.
const WEIGHT_MAX: f64 = 1000.0;

/// `price=2`.
fn weight(text: &str) -> Result<(String, f64), Problem> {
    let valid = || {
        let names = WEIGHTED.join(", ");
        format!("an axis ({names}) and a number from 0 to {WEIGHT_MAX}, such as price=2")
    };
    let parsed = text.split_once('=').and_then(|(name, number)| {
        let number: f64 = number.parse().ok()?;
        let is_valid = WEIGHTED.contains(&name) && (0.0..=WEIGHT_MAX).contains(&number);
        is_valid.then(|| (name.to_owned(), number))
    });
    parsed.ok_or_else(|| Problem::new(text, 0..text.len(), "not a weight", valid()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_has_a_known_axis_and_a_number() {
        assert_eq!(weight("price=2").unwrap(), ("price".to_owned(), 2.0));
        for text in ["price", "speed=1", "price=-1", "price=NaN", "price="] {
            assert!(weight(text).is_err(), "{text}");
        }
    }
}
