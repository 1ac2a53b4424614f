//! `plimsoll limit`.

use plimsoll_config::plan::Effort;
use plimsoll_lab::limit::{Ambition, LimitOrder};
use plimsoll_lab::progress::StopFlag;

use crate::arguments::{CarriedByArguments, LimitArguments, OutputArguments, TransportArguments};
use crate::confirm_limit;
use crate::cycles::CycleTarget;
use crate::exit::Exit;
use crate::explain::CliError;
use crate::live;
use crate::outcome;
use crate::planning::{self, Planned};
use crate::screen::{Screen, eprint};
use crate::search::search_once;
use crate::signals;
use crate::through;
use crate::workers::{self, Carriers};

/// Finds the load line, or decides whether it is high enough.
pub(crate) fn limit(arguments: &LimitArguments, screen: Screen) -> Result<Exit, CliError> {
    let planned = planning::limit_plan(arguments)?;
    let required = planned.plan.required.as_ref();
    if let Some(required) = required {
        let objective = planned.plan.objective.as_ref();
        let objective =
            objective.map_or_else(String::new, |objective| format!("; objective {objective}"));
        eprint(&format!("read as: {}{objective}", required.read_as));
    }
    let order = LimitOrder {
        ambition: match (arguments.quick, arguments.thorough) {
            (true, _) => Ambition::Quick,
            (_, true) => Ambition::Thorough,
            _ => ambition(planned.effort),
        },
        at_least: arguments.at_least,
        users: arguments.users,
        think: arguments
            .think
            .or(required.and_then(|required| required.pause)),
        confirm: confirm_limit::from_arguments(arguments),
    };
    let undo = arguments.undo_with.as_ref().map(|words| &words.0[..]);
    confirm_limit::put_back_leftovers(&planned.watch, &arguments.output, undo)?;
    let (transport, output) = (&arguments.transport, &arguments.output);
    if let Some(file) = &arguments.through {
        return through::pair(planned, order, file, transport, output, screen);
    }
    let cycles = CycleTarget::of(&arguments.cycles, output.history.commit.as_deref());
    let carried_by = &arguments.carried_by;
    find(
        planned,
        order,
        cycles,
        carried_by,
        (transport, output),
        screen,
    )
}

/// The search of `run` with a plan file that has `find`.
pub(crate) fn search(
    planned: Planned,
    carried_by: &CarriedByArguments,
    transport: &TransportArguments,
    output: &OutputArguments,
    screen: Screen,
) -> Result<Exit, CliError> {
    let order = LimitOrder {
        ambition: ambition(planned.effort),
        ..LimitOrder::default()
    };
    confirm_limit::put_back_leftovers(&planned.watch, output, None)?;
    find(
        planned,
        order,
        None,
        carried_by,
        (transport, output),
        screen,
    )
}

fn ambition(effort: Effort) -> Ambition {
    match effort {
        Effort::Quick => Ambition::Quick,
        Effort::Standard => Ambition::Standard,
        Effort::Thorough => Ambition::Thorough,
    }
}

fn find(
    mut planned: Planned,
    order: LimitOrder,
    cycles: Option<CycleTarget>,
    carried_by: &CarriedByArguments,
    (transport, output): (&TransportArguments, &OutputArguments),
    screen: Screen,
) -> Result<Exit, CliError> {
    let stop = StopFlag::default();
    signals::raise_on_interrupt(&stop)?;
    // Before workers are invited: a port that is taken sends nobody away.
    let mut page = live::open(output.live_page.address, &stop)?;
    let workers = match workers::gather(&mut planned, carried_by, &stop)? {
        Carriers::Own => None,
        Carriers::Workers(coordinator) => Some(coordinator),
        Carriers::Stopped => return Ok(Exit::Interrupted),
        Carriers::Printed => return Ok(Exit::Met),
    };
    let (finished, mut wanted) = search_once(planned, order, workers, (transport, output), stop)?;
    page.ended(&finished);
    drop(page);
    wanted.cycles = cycles;
    outcome::deliver(&finished, &wanted, screen)
}
