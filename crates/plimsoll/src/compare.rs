//! `plimsoll compare`: what changed between runs, with intervals and a verdict.

mod live;
mod loads;
mod runs;
mod sides;

use std::path::Path;

use plimsoll_analysis::experiment::comparison::{Comparison, ComparisonVerdict};
use plimsoll_lab::output;
use plimsoll_model::run::Run;
use plimsoll_report::compare::{self, CompareObject, ComparedRuns};

use crate::arguments::CompareArguments;
use crate::cycles::CycleTarget;
use crate::exit::Exit;
use crate::explain::CliError;
use crate::history_record::HistoryTarget;
use crate::screen::{Screen, print};

/// Compares run files, or runs trials in turn.
pub(crate) fn compare(arguments: &CompareArguments, screen: Screen) -> Result<Exit, CliError> {
    if arguments.live.is_given() {
        live::compare(arguments, screen)
    } else {
        runs::compare(arguments, screen)
    }
}

/// Writes the page and prints the result; the exit code is the verdict.
fn present(
    runs: &ComparedRuns<'_>,
    arguments: &CompareArguments,
    page: Option<&Path>,
    screen: Screen,
) -> Result<Exit, CliError> {
    let page = match page {
        None => Ok(None),
        Some(path) => output::write_whole(path, compare::render(runs).as_bytes())
            .map(|()| Some(path.to_string_lossy().into_owned()))
            .map_err(|error| {
                CliError::usage(format!("cannot write the page {}: {error}", path.display()))
                    .remedy("choose another file with --html FILE, or free some space")
            }),
    };
    // A page that cannot be written does not hide the result.
    let (page, error) = match page {
        Ok(page) => (page, None),
        Err(error) => (None, Some(error)),
    };
    if arguments.json {
        print(&CompareObject::of(runs, page).json());
    } else {
        print(&compare::summary(runs, screen.colours_data()));
        if let Some(page) = page {
            print(&format!("{:<11}{page}\n", "report"));
        }
    }
    error.map_or_else(|| Ok(exit_of(runs)), Err)
}

/// Appends a comparison to the history and the record of cycles that the arguments name.
fn append(
    arguments: &CompareArguments,
    baseline: &Run,
    candidate: &Run,
    comparison: &Comparison,
) -> Result<(), CliError> {
    if let Some(history) = HistoryTarget::of(&arguments.history) {
        history.append_comparison(candidate, comparison)?;
    }
    let commit = arguments.history.commit.as_deref();
    match CycleTarget::of(&arguments.cycles, commit) {
        Some(cycles) => cycles.append_comparison(baseline, candidate, comparison),
        None => Ok(()),
    }
}

/// The verdict as an exit code: what differs between machines on purpose is no regression.
fn exit_of(runs: &ComparedRuns<'_>) -> Exit {
    if runs.is_void() {
        return Exit::Void;
    }
    match runs.verdict() {
        ComparisonVerdict::Incomparable => Exit::Usage,
        ComparisonVerdict::Undecided => Exit::Undecided,
        ComparisonVerdict::Worse if !runs.is_across_machines() => Exit::Missed,
        ComparisonVerdict::Worse | ComparisonVerdict::Better | ComparisonVerdict::Same => Exit::Met,
    }
}
