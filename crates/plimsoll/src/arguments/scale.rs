//! Arguments of `scale`.

use std::path::PathBuf;

use clap::Args;

/// A scaling policy over a recorded load.
#[derive(Debug, Args)]
pub(crate) struct ScaleArguments {
    /// The policy (YAML), as docs/reference/scale-policy.md describes it
    #[arg(value_name = "POLICY", required_unless_present = "others")]
    pub(crate) policy: Option<PathBuf>,
    /// Replay this load second by second, in a world with start times, late signals and a queue: a table (CSV) with the columns
    /// second and rate, an access log, or the file of a run. A column `replicas` has what a scaler had, which is judged too
    #[arg(long, required = true, value_name = "TRACE|LOG|RUN")]
    pub(crate) replay: PathBuf,
    /// Compare with this policy, in the same world: hpa (Kubernetes), kpa (Knative), study-1, study-2, study-4, consult, or
    /// another file; repeatable [default: hpa, kpa]
    #[arg(long = "policy", value_name = "NAME|FILE")]
    pub(crate) others: Vec<String>,
    /// Take the load line of a replica from this run of `plimsoll limit` against one, and refuse growth if its first limit is
    /// shared by all replicas, such as a database
    #[arg(long, value_name = "RUN")]
    pub(crate) from: Option<PathBuf>,
    /// Write a page with demand, supply and load over time
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Print the result as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
