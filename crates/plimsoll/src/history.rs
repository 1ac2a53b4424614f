//! `plimsoll history`: where the metrics of runs changed, and whether the newest run became worse.

use std::path::Path;

use plimsoll_analysis::experiment::run_series::HistoryOptions;
use plimsoll_analysis::stats::divisive::Parameters;
use plimsoll_lab::history::{self, FILE_NAME};
use plimsoll_lab::output;
use plimsoll_model::history::HistoryEntry;
use plimsoll_report::history_page::{self, DamagedObject, GateAnswer, HistoryObject};

use crate::arguments::HistoryArguments;
use crate::exit::Exit;
use crate::explain::CliError;
use crate::line_files;
use crate::screen::{Screen, eprint, print};

/// Reads a history and prints it; with `--gate` the exit code is its answer.
pub(crate) fn history(arguments: &HistoryArguments, screen: Screen) -> Result<Exit, CliError> {
    let path = arguments.folder.join(FILE_NAME);
    let loaded = history::read(&arguments.folder).map_err(|error| {
        line_files::read_error(
            &error,
            "give the folder that was given to --history of the runs",
        )
    })?;
    line_files::warn(&loaded.damaged, &path);
    let entries = wanted(loaded.entries, arguments)?;
    let damaged = loaded.damaged.into_iter().map(|line| DamagedObject {
        line: line.line,
        what: line.what,
    });
    let object = HistoryObject::of(&entries, damaged.collect(), options(arguments));
    present(&object, arguments, screen)?;
    if arguments.gate {
        eprint(&object.gate.sentence);
    }
    let answer = match object.gate.verdict {
        GateAnswer::Regressed => Exit::Missed,
        GateAnswer::Void => Exit::Void,
        GateAnswer::Undecided => Exit::Undecided,
        GateAnswer::Passed => Exit::Met,
    };
    Ok(match (arguments.gate, answer) {
        (true, Exit::Missed) => Exit::Missed,
        // What could not be read may be what matters.
        _ if !object.damaged.is_empty() => Exit::Usage,
        (true, answer) => answer,
        (false, _) => Exit::Met,
    })
}

fn options(arguments: &HistoryArguments) -> HistoryOptions {
    HistoryOptions {
        parameters: Parameters {
            window_len: arguments.window as usize,
            p_max: arguments.p_max,
            magnitude_min: arguments.min_change,
        },
        recent: arguments.recent as usize,
    }
}

/// The runs of the name that is given.
fn wanted(
    entries: Vec<HistoryEntry>,
    arguments: &HistoryArguments,
) -> Result<Vec<HistoryEntry>, CliError> {
    let Some(name) = &arguments.name else {
        return Ok(entries);
    };
    let mut names: Vec<String> = entries.iter().map(|entry| entry.name.clone()).collect();
    names.sort_unstable();
    names.dedup();
    if !names.contains(name) {
        let text = format!("the history has no run named `{name}`");
        return Err(CliError::usage(text).remedy(format!("valid: {}", names.join(", "))));
    }
    Ok(entries
        .into_iter()
        .filter(|entry| entry.name == *name)
        .collect())
}

fn present(
    object: &HistoryObject,
    arguments: &HistoryArguments,
    screen: Screen,
) -> Result<(), CliError> {
    if arguments.json {
        print(&object.json());
    } else if arguments.markdown {
        print(&history_page::markdown(object));
    } else {
        print(&history_page::summary(object, screen.colours_data()));
    }
    if let Some(path) = &arguments.junit {
        write(path, &history_page::junit(object))?;
    }
    if let Some(path) = &arguments.html {
        write(path, &history_page::render(object))?;
    }
    Ok(())
}

fn write(path: &Path, content: &str) -> Result<(), CliError> {
    output::write_whole(path, content.as_bytes()).map_err(|error| {
        CliError::usage(format!("cannot write {}: {error}", path.display()))
            .remedy("choose another file, or free some space")
    })
}
