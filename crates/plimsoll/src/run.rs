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
    if planned.plan.find.is_some() && arguments.carried_by.on.is_some() {
        return Err(CliError::usage(
            "--on has a load carried by workers, and this plan searches for one",
        )
        .remedy("give the load with --rate or --users"));
    }
    if planned.plan.find.is_some() {
        return limit::search(planned, &arguments.transport, &arguments.output, screen);
    }
    confirm_limit::put_back_leftovers(&planned.watch, &arguments.output, None)?;
    let stop = StopFlag::default();
    signals::raise_on_interrupt(&stop)?;
    let workers = match workers::gather(&mut planned, &arguments.carried_by, &stop)? {
        Carriers::Own => None,
        Carriers::Workers(coordinator) => Some(coordinator),
        Carriers::Stopped => return Ok(Exit::Interrupted),
    };
    let mut page = live::open_changeable(arguments.output.live_page.address, &stop)?;
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
