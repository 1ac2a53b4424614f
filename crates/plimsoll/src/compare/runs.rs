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
    let names = names(&files, &runs);
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

/// The name of each file without folder and ending; the whole path where two would be called the same. A file that was
/// named by its run, `20261126T230358.989Z-127.0.0.1`, is called by its target, and by the time where they are equal.
fn names(files: &[impl AsRef<Path>], runs: &[Run]) -> Vec<String> {
    let stem = |file: &Path| match file.file_stem() {
        Some(stem) => stem.to_string_lossy().into_owned(),
        None => file.to_string_lossy().into_owned(),
    };
    let stems: Vec<String> = files.iter().map(|file| stem(file.as_ref())).collect();
    let is_single =
        |all: &[String], name: &str| all.iter().filter(|other| *other == name).count() == 1;
    let targets: Vec<String> = runs.iter().map(authority).collect();
    let short = |index: usize| {
        let stem = &stems[index];
        match (clock_of(stem), targets.get(index)) {
            (Some(_), Some(target)) if is_single(&targets, target) => target.clone(),
            (Some(clock), Some(target)) => format!("{target} {clock}"),
            _ => stem.clone(),
        }
    };
    let all: Vec<String> = (0..files.len()).map(short).collect();
    files
        .iter()
        .zip(&all)
        .map(|(file, name)| {
            if is_single(&all, name) {
                name.clone()
            } else {
                file.as_ref().to_string_lossy().into_owned()
            }
        })
        .collect()
}

/// Host and port of the target.
fn authority(run: &Run) -> String {
    let url = &run.header.plan.target.url;
    let rest = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
    let authority = rest.split('/').next().unwrap_or(rest);
    let host = authority.rsplit('@').next().unwrap_or(authority);
    host.to_owned()
}

/// `23:03:58` of a file name that begins with the moment of the run.
fn clock_of(stem: &str) -> Option<String> {
    let (moment, _) = stem.split_once("Z-")?;
    let (day, time) = moment.split_once('T')?;
    let is_number =
        |text: &str| !text.is_empty() && text.chars().all(|digit| digit.is_ascii_digit());
    let clock = time
        .split('.')
        .next()
        .filter(|clock| is_number(clock) && clock.len() == 6)?;
    (is_number(day) && day.len() == 8)
        .then(|| format!("{}:{}:{}", &clock[..2], &clock[2..4], &clock[4..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_are_told_apart_by_their_folders() {
        assert_eq!(names(&["a/one.run", "a/two.run"], &[]), ["one", "two"]);
        assert_eq!(
            names(&["a/x.run", "b/x.run", "b/y.run"], &[]),
            ["a/x.run", "b/x.run", "y"]
        );
    }

    #[test]
    fn a_moment_in_a_file_name_is_a_time() {
        let clock = clock_of("20261126T230358.989Z-127.0.0.1");
        assert_eq!(clock.as_deref(), Some("23:03:58"));
        for name in ["before", "Z-a", "20261126T23é358.989Z-a", "2026T230358Z-a"] {
            assert_eq!(clock_of(name), None, "{name}");
        }
    }
}
