//! `--discover` and `--advice`: what a search would try, without measuring anything.

use std::path::Path;

use plimsoll_analysis::tuning::TuneLimits;
use plimsoll_lab::output;
use plimsoll_model::experiment::{Constraint, Measurement};
use plimsoll_model::redact;
use plimsoll_report::number::{count, seconds};
use plimsoll_report::tune::TuneAdviceObject;

use super::PreparedTune;
use super::advice;
use super::discover::{self as components, DiscoverOptions};
use crate::arguments::TuneArguments;
use crate::exit::Exit;
use crate::explain::CliError;
use crate::screen::{Screen, print};

/// Name of the file that is written.
const DRAFT_FILE: &str = "tune.yaml";

/// Writes an experiment file for the components behind a URL; with `--advice` only prints its knobs.
pub(super) fn discover(
    url: &str,
    arguments: &TuneArguments,
    screen: Screen,
) -> Result<Exit, CliError> {
    let draft = components::discover(&DiscoverOptions {
        url,
        file: Path::new(DRAFT_FILE),
        unix_socket: None,
        components: Vec::new(),
        kernel: arguments.kernel,
    })?;
    let name = redact::text(url).into_owned();
    let mut object = TuneAdviceObject::new(name, draft.settings.clone());
    object.notes.clone_from(&draft.notes);
    if !arguments.advice {
        let folder = arguments.out.as_deref().unwrap_or(Path::new("."));
        output::create_folder(folder)?;
        object.files = draft.write(folder)?;
    }
    present(&object, arguments, screen);
    Ok(Exit::Met)
}

/// Prints what a search of the file would try.
pub(super) fn advise(prepared: &PreparedTune, arguments: &TuneArguments, screen: Screen) -> Exit {
    let experiment = &prepared.file.experiment;
    let mut object = TuneAdviceObject::new(experiment.name.clone(), advice::advice(experiment));
    let constraints = prepared.tuning().constraints.iter();
    object.constraints = constraints
        .map(Constraint::text)
        .map(str::to_owned)
        .collect();
    object.steps = steps(prepared);
    object.seconds = Some(prepared.within.as_secs_f64());
    present(&object, arguments, screen);
    Exit::Met
}

fn present(object: &TuneAdviceObject, arguments: &TuneArguments, screen: Screen) {
    if arguments.json {
        print(&object.json());
    } else {
        print(&object.settings_text());
        print(&format!("\n{}", object.lines(screen.colours_data())));
    }
}

/// What a search does, in its order.
fn steps(prepared: &PreparedTune) -> Vec<String> {
    let experiment = &prepared.file.experiment;
    let longest = match &experiment.measure.measurement {
        Measurement::Limit(effort) => format!(", at most {}", seconds(effort.longest().as_secs())),
        Measurement::PlanLoad | Measurement::Loads { .. } => String::new(),
    };
    let combinations = count(experiment.cells_len() as u64);
    let trials = TuneLimits::STANDARD.evaluations;
    vec![
        format!(
            "the load line of the settings that stand, by a full search{longest} ({})",
            prepared.objective
        ),
        format!(
            "what usually suffices, settings spread over all {combinations} combinations, then those of which most is \
             expected: at most {trials} \
             trials, each a load that rises through the line, with one of the settings that stand in every block"
        ),
        "the best setting against those that stand, in at least 6 pairs of trials; 4 of a gain far beyond the noise"
            .to_owned(),
        "the load line of the best setting, by a full search, when its gain is confirmed"
            .to_owned(),
    ]
}
