//! `plimsoll limit`.

use plimsoll_lab::limit::{Ambition, LimitOrder};
use plimsoll_lab::progress::StopFlag;

use crate::arguments::LimitArguments;
use crate::exit::Exit;
use crate::explain::Fault;
use crate::outcome::{self, Wanted};
use crate::planning;
use crate::screen::{Live, Screen};
use crate::signals;

/// Finds the load line, or decides whether it is high enough.
pub(crate) fn limit(arguments: &LimitArguments, screen: Screen) -> Result<Exit, Fault> {
    let plan = planning::limit_plan(arguments)?;
    let assignment = planning::assignment(plan, "limit", &arguments.transport, &arguments.output);
    let wanted = Wanted {
        json: arguments.output.json,
        html: Some(assignment.log_path.with_extension("html")),
        junit: arguments.output.junit.clone(),
    };
    let ambition = match (arguments.quick, arguments.thorough) {
        (true, _) => Ambition::Quick,
        (_, true) => Ambition::Thorough,
        _ => Ambition::Standard,
    };
    let order = LimitOrder {
        ambition,
        at_least: arguments.at_least,
        users: arguments.users,
        think: arguments.think,
    };
    let stop = StopFlag::default();
    signals::raise_on_interrupt(&stop)?;
    let mut live = Live::new(arguments.output.quiet);
    let finished = plimsoll_lab::limit::limit(assignment, order, stop, &mut live)?;
    live.clear();
    outcome::deliver(&finished, &wanted, screen)
}
