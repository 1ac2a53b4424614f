//! From the last trial to the verdict: remarks beside the line, findings, the line in users.

use plimsoll_analysis::findings;
use plimsoll_analysis::whole_search::{self, Carries};
use plimsoll_model::event::Event;
use plimsoll_model::load_line::{GateResult, NoLine, SearchResult};
use plimsoll_model::verdict::{Verdict, VoidReason};

use super::LimitOrder;
use super::course::CourseResult;
use crate::conductor::Conductor;
use crate::error::LabError;
use crate::progress::Watcher;

/// Puts everything that follows from the trials into the log, and judges.
pub(super) fn conclude(
    conductor: &Conductor,
    order: LimitOrder,
    result: CourseResult,
    watcher: &mut dyn Watcher,
) -> Result<(Verdict, Vec<VoidReason>), LabError> {
    let recorded = conductor.recorded()?;
    conductor.append(Event::FindingsMade(findings::find(&recorded)));
    Ok(match result {
        CourseResult::Search(mut search) => {
            search
                .remarks
                .extend(whole_search::remarks(&recorded, &search));
            let users = order
                .think
                .and_then(|think| whole_search::in_users(&recorded, &search, think));
            if let Some(users) = users {
                search.remarks.push(users.remark(order.users));
            }
            let carries = users
                .zip(order.users)
                .map(|(line, wanted)| line.carries(wanted));
            let judged = verdict(&search, carries);
            conductor.append(Event::SearchEnded(Box::new(search)));
            judged
        }
        CourseResult::Gate(gate) => {
            let verdict = gate_verdict(&gate);
            conductor.append(Event::GateEnded(gate));
            (verdict, Vec::new())
        }
        CourseResult::GateVoid(reason) => {
            watcher.noted(&format!("the gate is void: {reason}"));
            (Verdict::Void, vec![reason])
        }
    })
}

fn gate_verdict(gate: &GateResult) -> Verdict {
    match gate.accepted {
        Some(true) => Verdict::Met,
        Some(false) => Verdict::Missed,
        None => Verdict::Undecided,
    }
}

/// `carries` is whether the line carries the users asked for, if any were.
fn verdict(search: &SearchResult, carries: Option<Carries>) -> (Verdict, Vec<VoidReason>) {
    let verdict = match (&search.line, carries) {
        (Ok(_), None | Some(Carries::Yes)) => Verdict::Met,
        (Ok(_), Some(Carries::No)) | (Err(NoLine::MissedAtOnce { .. }), _) => Verdict::Missed,
        (Err(NoLine::Void { reason, .. }), _) => return (Verdict::Void, vec![reason.clone()]),
        (Err(NoLine::Unreachable), _) => Verdict::Unreachable,
        (Err(NoLine::Interrupted), _) => Verdict::Interrupted,
        (
            Ok(_)
            | Err(
                NoLine::NotReached { .. }
                | NoLine::GaveUp { .. }
                | NoLine::NotConfirmed { .. }
                | NoLine::DoesNotRecover { .. },
            ),
            _,
        ) => Verdict::Undecided,
    };
    (verdict, Vec::new())
}
