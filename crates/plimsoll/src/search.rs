//! One search for the load line, as `plimsoll limit` makes it alone or twice.

use plimsoll_lab::conductor::Finished;
use plimsoll_lab::intervention::journal;
use plimsoll_lab::limit::LimitOrder;
use plimsoll_lab::progress::StopFlag;

use crate::arguments::{OutputArguments, TransportArguments};
use crate::explain::Fault;
use crate::outcome::Wanted;
use crate::planning::{self, Planned};
use crate::screen::Live;

/// One search to its end, and what is to be written of it.
pub(crate) fn search_once(
    planned: Planned,
    mut order: LimitOrder,
    transport: &TransportArguments,
    output: &OutputArguments,
    stop: StopFlag,
) -> Result<(Finished, Wanted), Fault> {
    let assignment = planning::assignment(planned, "limit", transport, output);
    if let Some(confirm) = &mut order.confirm {
        confirm.journal = assignment.log_path.with_extension(journal::ENDING);
    }
    let wanted = Wanted {
        json: output.json,
        html: Some(assignment.log_path.with_extension("html")),
        junit: output.junit.clone(),
    };
    let mut live = Live::new(output.quiet);
    let finished = plimsoll_lab::limit::limit(assignment, &order, stop, &mut live)?;
    live.clear();
    Ok((finished, wanted))
}
