//! From the last trial to the verdict: remarks beside the line, findings, the line in users.

use plimsoll_analysis::findings;
use plimsoll_analysis::whole_search::{self, Carries};
use plimsoll_model::event::Event;
use plimsoll_model::load_line::{GateResult, NoLine, SearchResult};
use plimsoll_model::run::Run;
use plimsoll_model::verdict::{Verdict, VoidReason};

use super::course::CourseResult;
use super::trials::Trials;
use super::{LimitOrder, confirm_limit};
use crate::active_run::ActiveRun;
use crate::error::LabError;
use crate::progress::Watcher;

/// Puts everything that follows from the trials into the log, and judges.
pub(super) fn conclude(
    active_run: &ActiveRun,
    order: &LimitOrder,
    result: CourseResult,
    trials: &mut Trials<'_>,
    watcher: &mut dyn Watcher,
) -> Result<(Verdict, Vec<VoidReason>), LabError> {
    let recorded = active_run.recorded()?;
    let mut found = findings::find(&recorded);
    active_run.append(Event::FindingsMade(found.clone()));
    if let Some(wanted) = order.confirm.as_ref().filter(|_| trials.can_go_on()) {
        confirm_limit::confirm(active_run, &recorded, &mut found, wanted, trials, watcher)?;
        active_run.append(Event::FindingsMade(found));
    }
    let outcome = evaluate(active_run, &recorded, order, result, watcher);
    // Whoever stops a search whose line is confirmed already keeps the line, and the exit code tells of the interrupt.
    Ok(if active_run.is_stopping() {
        (Verdict::Interrupted, outcome.1)
    } else {
        outcome
    })
}

/// Puts the result into the log, and judges it.
fn evaluate(
    active_run: &ActiveRun,
    recorded: &Run,
    order: &LimitOrder,
    result: CourseResult,
    watcher: &mut dyn Watcher,
) -> (Verdict, Vec<VoidReason>) {
    match result {
        CourseResult::Search(mut search) => {
            search
                .remarks
                .extend(whole_search::remarks(recorded, &search));
            let users = order
                .think
                .and_then(|think| whole_search::in_users(recorded, &search, think));
            if let Some(users) = users {
                search.remarks.push(users.remark(order.users));
            }
            let required = whole_search::required(recorded, &search);
            let carries = required
                .map(|answer| answer.carries)
                .or_else(|| Some(users?.carries(order.users?)));
            let outcome = verdict(&search, carries);
            active_run.append(Event::SearchEnded(Box::new(search)));
            outcome
        }
        CourseResult::Gate(gate) => {
            let verdict = gate_verdict(&gate);
            active_run.append(Event::GateEnded(gate));
            (verdict, Vec::new())
        }
        // It ends a try, never a search.
        CourseResult::Repeats(_) => (Verdict::Undecided, Vec::new()),
        CourseResult::GateVoid(reason) => {
            watcher.noted(&format!("the gate is void: {reason}"));
            (Verdict::Void, vec![reason])
        }
    }
}

fn gate_verdict(gate: &GateResult) -> Verdict {
    match gate.accepted {
        Some(true) => Verdict::Met,
        Some(false) => Verdict::Missed,
        None => Verdict::Undecided,
    }
}

/// `carries` is whether the line carries the requested users or demand, if any.
fn verdict(search: &SearchResult, carries: Option<Carries>) -> (Verdict, Vec<VoidReason>) {
    let verdict = match (&search.line, carries) {
        (Ok(_), None | Some(Carries::Yes))
        | (Err(NoLine::NotReached { .. }), Some(Carries::Yes)) => Verdict::Met,
        (Err(NoLine::MissedAtOnce { .. }), _)
        | (Ok(_) | Err(NoLine::GaveUp { .. } | NoLine::NotConfirmed { .. }), Some(Carries::No)) => {
            Verdict::Missed
        }
        (Err(NoLine::Void { reason, .. }), _) => return (Verdict::Void, vec![reason.clone()]),
        (Err(NoLine::Unreachable), _) => Verdict::Unreachable,
        (Err(NoLine::Interrupted { .. }), _) => Verdict::Interrupted,
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
