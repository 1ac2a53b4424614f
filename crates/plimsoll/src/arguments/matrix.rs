//! Arguments of `matrix`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::{Classes, classes, duration_above_zero};

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
    /// Print cells, trials and their time, and measure nothing
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
    /// Print no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}
