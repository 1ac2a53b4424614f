//! Output of a finished run: summary or JSON, HTML, JUnit, exit code.

use std::path::{Path, PathBuf};

use plimsoll_lab::active_run::Finished;
use plimsoll_lab::output;
use plimsoll_model::run::Run;
use plimsoll_report::Report;
use plimsoll_report::availability::AvailabilityObject;
use plimsoll_report::json::{self, Files};
use serde::Serialize;

use crate::arguments::RunArguments;
use crate::cycles::CycleTarget;
use crate::exit::Exit;
use crate::explain::CliError;
use crate::history_record::HistoryTarget;
use crate::screen::{Screen, eprint, print};

/// Reports that a command writes.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestedReports {
    pub(crate) json: bool,
    pub(crate) html: Option<PathBuf>,
    pub(crate) junit: Option<PathBuf>,
    pub(crate) history: Option<HistoryTarget>,
    pub(crate) cycles: Option<CycleTarget>,
    /// Printed beside the run.
    pub(crate) availability: Option<AvailabilityObject>,
}

/// The reports that `plimsoll run` writes of a run with this log.
pub(crate) fn wanted_of_run(arguments: &RunArguments, log_path: &Path) -> RequestedReports {
    RequestedReports {
        json: arguments.output.json,
        html: arguments.report.then(|| log_path.with_extension("html")),
        junit: arguments.output.junit.clone(),
        history: HistoryTarget::of(&arguments.output.history),
        cycles: None,
        availability: None,
    }
}

/// Writes the files of a run of several and its line in the history, prints nothing; returns its exit code.
pub(crate) fn store(
    finished: &Finished,
    wanted: &RequestedReports,
) -> Result<(Files, Exit), CliError> {
    warn(finished);
    let report = Report::of(&finished.run);
    let (files, error) = write_files(&report, &finished.log_path, wanted);
    if let Some(error) = error {
        return Err(error);
    }
    append_to_history(finished, wanted)?;
    let ending = finished.run.ending.as_ref();
    let exit = ending.map_or(Exit::Interrupted, |ending| ending.verdict.into());
    Ok((files, exit))
}

/// Writes the requested reports of a run that has just ended, and returns its exit code.
pub(crate) fn deliver(
    finished: &Finished,
    wanted: &RequestedReports,
    screen: Screen,
) -> Result<Exit, CliError> {
    warn(finished);
    let exit = present(&finished.run, &finished.log_path, wanted, screen)?;
    append_to_history(finished, wanted)?;
    if let Some(cycles) = &wanted.cycles {
        cycles.append_search(&finished.run)?;
    }
    match &finished.not_written {
        Some(reason) if exit != Exit::Interrupted => Err(CliError::usage(format!(
            "the run log {} is incomplete: {reason}; the results are shown above",
            finished.log_path.display()
        ))
        .remedy("free some space or choose another disk with --out DIR")),
        _ => Ok(exit),
    }
}

fn append_to_history(finished: &Finished, wanted: &RequestedReports) -> Result<(), CliError> {
    match &wanted.history {
        Some(history) => history.append(&finished.run),
        None => Ok(()),
    }
}

/// Warns about what the run went on without.
fn warn(finished: &Finished) {
    if let Some(text) = &finished.left_behind {
        eprint(&format!("warning: {text}"));
    }
}

/// Writes the requested reports of two searches of one target, alone and behind an edge, and compares them.
pub(crate) fn deliver_pair(
    alone: (&Finished, &RequestedReports),
    behind: (&Finished, &RequestedReports),
    configuration: &Path,
    screen: Screen,
) -> Result<Exit, CliError> {
    warn(alone.0);
    warn(behind.0);
    let (alone_report, behind_report) = (Report::of(&alone.0.run), Report::of(&behind.0.run));
    let (alone_files, alone_error) = write_files(&alone_report, &alone.0.log_path, alone.1);
    let (behind_files, behind_error) = write_files(&behind_report, &behind.0.log_path, behind.1);
    if alone.1.json {
        let object = json::pair_object(
            (&alone_report, &alone_files),
            (&behind_report, &behind_files),
            &configuration.display().to_string(),
        );
        print(&text_of(serde_json::to_string_pretty(&object))?);
    } else {
        let colours = screen.colours_data();
        for (title, report, files) in [
            ("Alone", &alone_report, &alone_files),
            ("Behind the edge", &behind_report, &behind_files),
        ] {
            print(&format!("{title}:\n"));
            print(&plimsoll_report::text::summary(report, files, colours));
            print("\n");
        }
        print(&plimsoll_report::answer::pair(
            &alone_report,
            &behind_report,
        ));
    }
    if let Some(error) = alone_error.or(behind_error) {
        return Err(error);
    }
    append_to_history(alone.0, alone.1)?;
    append_to_history(behind.0, behind.1)?;
    let exit = |finished: &Finished| {
        let ending = finished.run.ending.as_ref();
        ending.map_or(Exit::Interrupted, |ending| ending.verdict.into())
    };
    // Both must have found their line for the pair to be one.
    Ok(match exit(alone.0) {
        Exit::Met => exit(behind.0),
        exit => exit,
    })
}

/// Writes the requested reports of a run.
pub(crate) fn present(
    run: &Run,
    log_path: &Path,
    wanted: &RequestedReports,
    screen: Screen,
) -> Result<Exit, CliError> {
    let report = Report::of(run);
    let (files, error) = write_files(&report, log_path, wanted);
    if wanted.json {
        print(&json_text(&report, &files, wanted.availability.as_ref())?);
    } else {
        let colours = screen.colours_data();
        print(&plimsoll_report::text::summary(&report, &files, colours));
        if let Some(availability) = &wanted.availability {
            print(&format!("\n{}", availability.lines(colours)));
        }
    }
    if let Some(error) = error {
        return Err(error);
    }
    if run.ending.is_none() {
        eprint(&format!(
            "note: {} is truncated; this is its readable content",
            log_path.display()
        ));
    }
    Ok(run
        .ending
        .as_ref()
        .map_or(Exit::Interrupted, |ending| ending.verdict.into()))
}

/// Writes the requested files: those written, and the first error.
fn write_files(
    report: &Report<'_>,
    log_path: &Path,
    wanted: &RequestedReports,
) -> (Files, Option<CliError>) {
    let mut not_written = Vec::new();
    let mut write = |path: &Path, what: &str, content: &str| match output::write_whole(
        path,
        content.as_bytes(),
    ) {
        Ok(()) => true,
        Err(error) => {
            not_written.push(format!(
                "cannot write the {what} {}: {error}",
                path.display()
            ));
            false
        }
    };
    let html = wanted
        .html
        .clone()
        .filter(|path| write(path, "report", &plimsoll_report::html::render(report)));
    if let Some(path) = &wanted.junit {
        write(path, "JUnit file", &plimsoll_report::junit::render(report));
    }
    let files = Files {
        run: Some(log_path.to_owned()),
        report: html,
    };
    let error = not_written.into_iter().next().map(|message| {
        CliError::usage(message).remedy("choose another folder with --out DIR, or free some space")
    });
    (files, error)
}

/// The object of a run, and beside it what else was asked for.
#[derive(Serialize)]
struct WithAvailability<'a, T> {
    #[serde(flatten)]
    object: T,
    #[serde(skip_serializing_if = "Option::is_none")]
    availability: Option<&'a AvailabilityObject>,
}

fn json_text(
    report: &Report<'_>,
    files: &Files,
    availability: Option<&AvailabilityObject>,
) -> Result<String, CliError> {
    text_of(if report.is_search() {
        serde_json::to_string_pretty(&json::limit_object(report, files))
    } else {
        serde_json::to_string_pretty(&WithAvailability {
            object: json::run_object(report, files),
            availability,
        })
    })
}

fn text_of(text: serde_json::Result<String>) -> Result<String, CliError> {
    text.map(|text| text + "\n")
        .map_err(|error| CliError::new(Exit::Internal, error.to_string()))
}
