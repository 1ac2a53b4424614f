//! What a search for the load line of one replica has found.

use std::path::Path;

use plimsoll_lab::run_log;
use plimsoll_model::plan::LoadUnit;
use plimsoll_scale::SharedTier;

use crate::explain::CliError;

/// What one replica carries, and what ends the growth of all.
pub(super) struct MeasuredReplica {
    /// The load line that was verified, 1/s.
    pub(super) line: f64,
    pub(super) shared: Option<SharedTier>,
}

/// Reads the run of a search.
pub(super) fn read(path: &Path) -> Result<MeasuredReplica, CliError> {
    let run = run_log::read(path)?.run;
    let line = run
        .search
        .as_ref()
        .and_then(|search| search.line.as_ref().ok());
    let Some(line) = line.filter(|line| line.verified > 0.0) else {
        let message = format!("{} has no load line", path.display());
        return Err(CliError::usage(message).remedy(
            "give the run file of `plimsoll limit` that found one, against a single replica",
        ));
    };
    if line.unit != LoadUnit::RequestsPerSecond {
        let message = format!(
            "the load line of {} is in {}",
            path.display(),
            line.unit.symbol()
        );
        return Err(CliError::usage(message)
            .remedy("give a search in requests per second, or write `line` of `replica` by hand"));
    }
    Ok(MeasuredReplica {
        line: line.verified,
        shared: SharedTier::of_findings(&run.findings),
    })
}
