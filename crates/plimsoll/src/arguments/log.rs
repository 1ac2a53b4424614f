//! Arguments of `log`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use plimsoll_config::{Problem, units};

use super::duration_above_zero;

/// Largest cache that is replayed, bytes.
const CACHE_SIZE_MAX: u64 = 1 << 40;
/// Smallest.
const CACHE_SIZE_MIN: u64 = 1 << 20;

#[derive(Debug, Args)]
pub(crate) struct DayArguments {
    /// The logs, also compressed (gzip, zstd); they are read in the order of their first requests. `-` reads standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Log format: a name, or the line of the server's configuration that defines it [default: detected]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<String>,
    /// Count requests by country with this MaxMind database
    #[arg(long, value_name = "FILE.mmdb")]
    pub(crate) countries: Option<PathBuf>,
    /// Sizes of the edge's cache through which the log is replayed
    #[arg(long, value_name = "SIZE", value_parser = cache_size, value_delimiter = ',', default_value = "16MiB,64MiB,256MiB,1GiB")]
    pub(crate) cache_sizes: Vec<u64>,
    /// How long a cached response is taken to be fresh [default: as long as it is stored]
    #[arg(long, value_name = "TIME", value_parser = duration_above_zero)]
    pub(crate) cache_lifetime: Option<Duration>,
    /// Show the CPU of the same minutes: the file of a run or of `watch --out`, or the output of `sadf -d`; repeatable
    #[arg(long, value_name = "FILE")]
    pub(crate) cpu: Vec<PathBuf>,
    /// Print the result as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Also write the result as a page and as JSON into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

fn cache_size(text: &str) -> Result<u64, Problem> {
    let bytes = units::size(text)?;
    if (CACHE_SIZE_MIN..=CACHE_SIZE_MAX).contains(&bytes) {
        return Ok(bytes);
    }
    let message = "not a size in the valid range";
    Err(Problem::new(text, 0..text.len(), message, "1MiB to 1TiB"))
}
