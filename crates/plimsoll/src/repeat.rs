//! `plimsoll run --repeat N`: the same load several times, and what grows from run to run.

use plimsoll_lab::active_run::Finished;
use plimsoll_lab::progress::StopFlag;
use plimsoll_report::json::Files;
use plimsoll_report::repeated::RepeatObject;

use crate::arguments::RunArguments;
use crate::exit::Exit;
use crate::explain::CliError;
use crate::live;
use crate::live_line::LiveLine;
use crate::outcome::{self, RequestedReports};
use crate::planning::{self, Planned};
use crate::screen::{Screen, eprint, print};
use crate::signals;

/// Runs the load so many times, one after another.
pub(crate) fn repeat(
    planned: &Planned,
    times: u32,
    arguments: &RunArguments,
    screen: Screen,
) -> Result<Exit, CliError> {
    if planned.plan.find.is_some() {
        return Err(
            CliError::usage("--repeat repeats a load, and this plan searches for one")
                .remedy("give the load with --rate or --users"),
        );
    }
    let stop = StopFlag::default();
    signals::raise_on_interrupt(&stop)?;
    let _page = live::open(arguments.output.live_page.address, &stop)?;
    let mut runs: Vec<(Finished, Files)> = Vec::new();
    let mut worst = Exit::Met;
    for number in 1..=times {
        if !arguments.output.quiet {
            eprint(&format!("run {number} of {times}"));
        }
        let (finished, wanted) = single(planned.clone(), arguments, &stop)?;
        let (files, exit) = outcome::store(&finished, &wanted)?;
        worst = worse(worst, exit);
        runs.push((finished, files));
        if stop.is_raised() {
            break;
        }
    }
    let pairs: Vec<_> = runs
        .iter()
        .map(|(finished, files)| (&finished.run, files))
        .collect();
    let object = RepeatObject::of(&pairs);
    if arguments.output.json {
        print(&object.json());
    } else {
        print(&object.summary(screen.colours_data()));
    }
    let growth = match object.recovers {
        Some(false) => Exit::Missed,
        Some(true) => Exit::Met,
        None => Exit::Undecided,
    };
    Ok(worse(worst, growth))
}

fn single(
    planned: Planned,
    arguments: &RunArguments,
    stop: &StopFlag,
) -> Result<(Finished, RequestedReports), CliError> {
    let output = &arguments.output;
    let assignment = planning::assignment(planned, "run", &arguments.transport, output);
    let wanted = outcome::wanted_of_run(arguments, &assignment.log_path);
    let mut live = LiveLine::new(output.quiet);
    let finished = plimsoll_lab::run::run(assignment, stop.clone(), &mut live)?;
    live.clear();
    Ok((finished, wanted))
}

/// The exit code that says more about the service: interrupted before missed before what says nothing.
fn worse(first: Exit, second: Exit) -> Exit {
    const ORDER: [Exit; 8] = [
        Exit::Met,
        Exit::Undecided,
        Exit::Void,
        Exit::Unreachable,
        Exit::Missed,
        Exit::Usage,
        Exit::Internal,
        Exit::Interrupted,
    ];
    let place = |exit: Exit| ORDER.iter().position(|known| *known == exit);
    if place(second) > place(first) {
        second
    } else {
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_exit_code_stays() {
        assert_eq!(worse(Exit::Met, Exit::Undecided), Exit::Undecided);
        assert_eq!(worse(Exit::Missed, Exit::Void), Exit::Missed);
        assert_eq!(worse(Exit::Missed, Exit::Interrupted), Exit::Interrupted);
    }
}
