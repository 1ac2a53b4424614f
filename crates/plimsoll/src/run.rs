//! `plimsoll run`.

use plimsoll_lab::active_run::Assignment;
use plimsoll_lab::progress::StopFlag;

use crate::arguments::RunArguments;
use crate::exit::Exit;
use crate::explain::CliError;
use crate::live;
use crate::live_line::LiveLine;
use crate::outcome;
use crate::screen::Screen;
use crate::signals;
use crate::workers::{self, Carriers};
use crate::{confirm_limit, limit, planning, repeat};

/// Sends a load and measures the answers.
pub(crate) fn run(arguments: &RunArguments, screen: Screen) -> Result<Exit, CliError> {
    let mut planned = planning::run_plan(arguments)?;
    if let Some(times) = arguments.repeat {
        return repeat::repeat(&planned, times, arguments, screen);
    }
    if planned.plan.find.is_some() {
        let carried_by = &arguments.carried_by;
        return limit::search(
            planned,
            carried_by,
            &arguments.transport,
            &arguments.output,
            screen,
        );
    }
    confirm_limit::put_back_leftovers(&planned.watch, &arguments.output, None)?;
    let stop = StopFlag::default();
    signals::raise_on_interrupt(&stop)?;
    // Before workers are invited: a port that is taken sends nobody away. What viewers cannot do is not offered to them.
    let open_page = if arguments.carried_by.on.is_some() {
        live::open
    } else {
        live::open_changeable
    };
    let mut page = open_page(arguments.output.live_page.address, &stop)?;
    let workers = match workers::gather(&mut planned, &arguments.carried_by, &stop)? {
        Carriers::Own => None,
        Carriers::Workers(coordinator) => Some(coordinator),
        Carriers::Stopped => return Ok(Exit::Interrupted),
        Carriers::Printed => return Ok(Exit::Met),
    };
    let assignment = planning::assignment(planned, "run", &arguments.transport, &arguments.output);
    let assignment = Assignment {
        workers,
        ..assignment
    };
    let wanted = outcome::wanted_of_run(arguments, &assignment.log_path);
    live::set_log(&assignment);
    let mut line = LiveLine::new(arguments.output.quiet);
    let finished = plimsoll_lab::run::run(assignment, stop, &mut line)?;
    line.clear();
    page.ended(&finished);
    drop(page);
    outcome::deliver(&finished, &wanted, screen)
}
