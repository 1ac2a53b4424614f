//! Run files side by side.

use std::path::{Path, PathBuf};

use plimsoll_analysis::experiment::comparison::{RunsCriteria, compare_runs};
use plimsoll_lab::run_log;
use plimsoll_model::run::Run;
use plimsoll_report::Report;
use plimsoll_report::compare::{ComparedRuns, ComparedSide};

use super::{append, present};
use crate::arguments::{Across, CompareArguments};
use crate::exit::Exit;
use crate::explain::CliError;
use crate::screen::{Screen, eprint};

/// Run files at most: each is in memory, and a page of more is not readable.
const RUNS_MAX: usize = 32;

/// Compares the second and every further run with the first.
pub(super) fn compare(arguments: &CompareArguments, screen: Screen) -> Result<Exit, CliError> {
    let files: Vec<PathBuf> = arguments.what.iter().map(PathBuf::from).collect();
    let count = files.len();
    if !(2..=RUNS_MAX).contains(&count) {
        let valid =
            format!("give 2 to {RUNS_MAX} run files: plimsoll compare BEFORE.run AFTER.run");
        return Err(CliError::usage(format!("{count} run files cannot be compared")).remedy(valid));
    }
    let runs: Vec<Run> = files
        .iter()
        .map(|file| read(file))
        .collect::<Result<_, _>>()?;
    let names = names(&files);
    let criteria = RunsCriteria {
        margin: arguments.margin,
        is_across_machines: arguments.across == Some(Across::Machines),
        ..RunsCriteria::standard(runs[0].header.plan.seed)
    };
    let side = |index: usize| ComparedSide {
        name: names[index].clone(),
        run_file: Some(files[index].clone()),
        report: Some(Report::of(&runs[index])),
    };
    let comparison = |index: usize| compare_runs(&runs[0], &runs[index], criteria);
    let first = comparison(1);
    let mut compared = ComparedRuns::new(side(0), side(1), first.clone());
    for index in 2..count {
        compared = compared.with_candidate(side(index), comparison(index));
    }
    if arguments.across == Some(Across::Machines) {
        compared = compared.across_machines();
    }
    let exit = present(&compared, arguments, arguments.html.as_deref(), screen)?;
    if count == 2 {
        append(arguments, &runs[0], &runs[1], &first)?;
    } else if arguments.history.history.is_some() || arguments.cycles.record.is_some() {
        eprint("note: only a comparison of two runs is appended to a history or a record");
    }
    Ok(exit)
}

fn read(file: &Path) -> Result<Run, CliError> {
    let reading = run_log::read(file)?;
    if let Some(reason) = &reading.cut {
        eprint(&format!("note: {}: {reason}", file.display()));
    }
    Ok(reading.run)
}

/// The name of each file without folder and ending; the whole path where two would be called the same.
fn names(files: &[impl AsRef<Path>]) -> Vec<String> {
    let short = |file: &Path| match file.file_stem() {
        Some(stem) => stem.to_string_lossy().into_owned(),
        None => file.to_string_lossy().into_owned(),
    };
    let all: Vec<String> = files.iter().map(|file| short(file.as_ref())).collect();
    files
        .iter()
        .zip(&all)
        .map(|(file, name)| {
            if all.iter().filter(|other| *other == name).count() > 1 {
                file.as_ref().to_string_lossy().into_owned()
            } else {
                name.clone()
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_are_told_apart_by_their_folders() {
        assert_eq!(names(&["a/one.run", "a/two.run"]), ["one", "two"]);
        assert_eq!(
            names(&["a/x.run", "b/x.run", "b/y.run"]),
            ["a/x.run", "b/x.run", "y"]
        );
    }
}
