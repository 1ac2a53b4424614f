//! `plimsoll simulate`: a world in virtual time, its load line, and what would change.

mod comparison;
mod json;
mod table;
mod text;

use plimsoll_config::world::{WhatIf, World};
use plimsoll_model::seed::Seed;
use plimsoll_report::{number, pretty};
use plimsoll_simulate::{
    Ending, Forecast, LoadLine, SimulateError, Simulated, SimulationOptions, load_line,
    simulate as run,
};

use crate::arguments::SimulateArguments;
use crate::exit::Exit;
use crate::explain::CliError;
use crate::plan_file;
use crate::screen::{Screen, eprint, print};
use json::SimulationObject;

pub(crate) use json::schema;

/// Most changes of a command.
const WHAT_IFS_MAX: usize = 32;

/// What is known of a world.
#[derive(Debug)]
struct ExaminedWorld {
    forecast: Forecast,
    simulated: Simulated,
    line: LoadLine,
}

/// A change, and the world with it; or why that cannot be simulated.
struct ExaminedChange {
    what_if: WhatIf,
    change: String,
    after: Result<ExaminedWorld, SimulateError>,
}

/// Simulates a world and its changes, and prints what it found.
pub(crate) fn simulate(arguments: &SimulateArguments, screen: Screen) -> Result<Exit, CliError> {
    let world = plan_file::read_world(&arguments.world)?;
    let what_ifs = what_ifs(arguments, &world)?;
    let seed = match arguments.seed {
        Some(seed) => seed,
        None => {
            getrandom::u64().map_err(|error| CliError::new(Exit::Internal, error.to_string()))?
        }
    };
    let options = SimulationOptions {
        lasting: arguments.lasting,
        ..SimulationOptions::new(Seed(seed))
    };
    let before = examine(&world, options).map_err(|error| explain(arguments, &error))?;
    let changes = what_ifs.into_iter().map(|what_if| {
        let changed = what_if.applied(&world).map_err(SimulateError::from);
        ExaminedChange {
            change: what_if.describe(&world),
            after: changed.and_then(|world| examine(&world, options)),
            what_if,
        }
    });
    let changes: Vec<ExaminedChange> = changes.collect();
    if arguments.json {
        let file = arguments.world.display().to_string();
        let object = SimulationObject::new((&file, seed), &world, &before, &changes);
        print(&pretty::object(&object));
    } else {
        let colours = screen.colours_data();
        print(&text::text(&world, seed, &before, colours));
        for change in &changes {
            print(&comparison::text(&before, change, colours));
        }
    }
    for note in notes(&before) {
        eprint(&format!("note: {note}"));
    }
    Ok(match before.simulated.objective_holds {
        Some(true) => Exit::Met,
        Some(false) => Exit::Missed,
        None => Exit::Undecided,
    })
}

fn examine(world: &World, options: SimulationOptions) -> Result<ExaminedWorld, SimulateError> {
    Ok(ExaminedWorld {
        forecast: Forecast::of(world)?,
        simulated: run(world, options)?,
        line: load_line(world, options.seed)?,
    })
}

fn what_ifs(arguments: &SimulateArguments, world: &World) -> Result<Vec<WhatIf>, CliError> {
    let texts = &arguments.what_if;
    if texts.len() > WHAT_IFS_MAX {
        let message = format!("there are {} changes", texts.len());
        return Err(CliError::usage(message).remedy(format!("give at most {WHAT_IFS_MAX}")));
    }
    let read = |text: &String| {
        WhatIf::read(text, world)
            .map_err(|problem| CliError::usage(format!("--what-if: {problem}")))
    };
    texts.iter().map(read).collect()
}

fn explain(arguments: &SimulateArguments, error: &SimulateError) -> CliError {
    let file = arguments.world.display();
    CliError::usage(format!("{file} cannot be: {error}")).remedy(error.remedy())
}

/// What the user should know about the result.
fn notes(examined: &ExaminedWorld) -> Vec<String> {
    let simulated = &examined.simulated;
    let mut notes = Vec::new();
    match simulated.ending {
        Ending::Backlog => notes.push(
            "the simulation ended early, since millions of requests waited: the backlog grows, and no mean is steady"
                .to_owned(),
        ),
        Ending::EventsOver => notes.push(format!(
            "the simulation ended after {} events, before its end{}: --for gives it another one",
            number::count(simulated.events),
            text::precision(simulated)
        )),
        Ending::Precise | Ending::TimeOver => {}
    }
    let rate = simulated.attempts_per_s;
    if simulated.ending == Ending::TimeOver && rate > examined.forecast.rate_max {
        notes.push(format!(
            "clients send {} and the world carries {} at most: longer times have longer queues",
            number::rate(rate),
            number::rate(examined.forecast.rate_max)
        ));
    }
    notes
}
