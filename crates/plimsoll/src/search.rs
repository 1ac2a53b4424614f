//! One search for the load line, as `plimsoll limit` makes it alone or twice.

use plimsoll_lab::active_run::{Assignment, Finished};
use plimsoll_lab::intervention::journal;
use plimsoll_lab::limit::LimitOrder;
use plimsoll_lab::progress::StopFlag;
use plimsoll_workers::Coordinator;

use crate::arguments::{OutputArguments, TransportArguments};
use crate::explain::CliError;
use crate::history_record::HistoryTarget;
use crate::live;
use crate::live_line::LiveLine;
use crate::outcome::RequestedReports;
use crate::planning::{self, Planned};

/// Runs one search, whose loads `workers` carry if there are any; returns it with the requested reports.
pub(crate) fn search_once(
    planned: Planned,
    mut order: LimitOrder,
    workers: Option<Coordinator>,
    (transport, output): (&TransportArguments, &OutputArguments),
    stop: StopFlag,
) -> Result<(Finished, RequestedReports), CliError> {
    let assignment = Assignment {
        workers,
        ..planning::assignment(planned, "limit", transport, output)
    };
    if let Some(confirm) = &mut order.confirm {
        confirm.journal = assignment.log_path.with_extension(journal::ENDING);
    }
    let wanted = RequestedReports {
        json: output.json,
        html: Some(assignment.log_path.with_extension("html")),
        junit: output.junit.clone(),
        history: HistoryTarget::of(&output.history),
        cycles: None,
        availability: None,
    };
    live::set_log(&assignment);
    let mut line = LiveLine::new(output.quiet);
    let finished = plimsoll_lab::limit::limit(assignment, &order, stop, &mut line)?;
    line.clear();
    Ok((finished, wanted))
}
