//! Names what sets the load line: a table of rules over three stretches of a run.
//!
//! **B**ase is a low load (anchors), **P**assing the highest load that met the objective, **F**ailing the first
//! 30 seconds of the lowest load that did not. Every rule is evaluated over F and scored by the strength of its
//! symptom times its onset: a symptom absent in P and present in F is stronger evidence than one that was always there.
//! A queue that fills because something behind it is slow is the consequence of that other finding.
//!
//! A finding is certain only after raising its limit has raised the line. No finding is a valid answer too.
//!
//! Where agents watch machines of the service, the rules about machines, processes and components are evaluated on each of
//! them, and those about the generator and about responses once. What waits on one machine may follow from a limit on
//! another one, if that stands behind it.

mod forecast;
mod mitigation;
mod placed;
mod scaling;
pub(crate) mod score;
mod select;
mod unexplained;

#[cfg(test)]
mod tests;

use plimsoll_model::finding::{Certainty, Finding};
use plimsoll_model::reading::SeriesTable;
use plimsoll_model::run::Run;
use plimsoll_model::trial::Trial;
use plimsoll_model::window::Window;

use crate::content;
use crate::diagnosis::rule::Role;
use crate::diagnosis::stretch::Stretch3;
use crate::machines;
use crate::payload;
use crate::rules::{checks, definition};

pub use crate::diagnosis::mitigation::Mitigation;
pub use crate::diagnosis::rule::Rule;
pub use crate::diagnosis::rule_id::{RuleId, TriedOn, UnknownRule};
pub use crate::diagnosis::{Context, SecondRange, Stretches};
pub use forecast::{Forecast, forecast};
pub use mitigation::mitigation_for;
pub use scaling::{Scaling, scaling};
pub use select::not_known;

/// Limits of the target, or of the generator, that a run shows; best first. Empty when nothing failed, and when
/// no measurement explains the failure ([`not_known`] then gives the sentence).
pub fn find(run: &Run) -> Vec<Finding> {
    found(run).1
}

/// Every rule, in the order of the reference.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    RuleId::ALL.iter().map(|&id| definition(id))
}

/// The seconds that [`find`] compares, for drawing them.
pub fn stretches(run: &Run) -> Stretches {
    found(run).0
}

/// The failed trial that [`find`] explains; `None` where no trial failed.
pub fn failed_trial(run: &Run) -> Option<&Trial> {
    let failing = found(run).0.failing?;
    run.trials
        .iter()
        .find(|trial| trial.verdict.is_fail() && select::first_seconds(trial) == failing)
}

/// The boundary's stretches and findings, or those of the lowest load beyond it that names a limit.
fn found(run: &Run) -> (Stretches, Vec<Finding>) {
    let (candidates, context) = select::of(run);
    let scenario = run.header.plan.scenario.as_ref();
    let steps = scenario.map_or(&[][..], |scenario| scenario.steps.as_slice());
    let pages = content::pages(run);
    let identifies_messages = payload::identifies_messages(&run.header.plan);
    let machines = machines::tables(&run.readings);
    let mut results = candidates.iter().enumerate().map(|(beyond, stretches)| {
        let on_each = Stretch3::on_each(&machines, &run.windows, stretches, &context).into_iter();
        let on_each = on_each.map(|over| {
            over.naming(steps)
                .weighing(&pages)
                .identifying_messages(identifies_messages)
        });
        let on_each: Vec<Stretch3<'_>> = on_each.collect();
        let mut findings = score::findings(checks(), &on_each);
        for finding in &mut findings {
            if beyond > 0 {
                finding.sentence.push_str(
                    " (observed at a load above the line; at the line itself no rule matched)",
                );
            }
            if context.robbed && finding.certainty != Certainty::Explicit {
                finding.certainty = Certainty::Possible;
                finding.sentence.push_str(
                    " (the hypervisor took CPU from this machine in these seconds: measure again \
                    without steal)",
                );
            }
        }
        (stretches.clone(), findings)
    });
    let mut first = None;
    let names_a_limit = |found: &Finding| {
        RuleId::of(found).is_none_or(|rule| definition(rule).role() == Role::Limit)
    };
    let named = results.find(|(stretches, findings)| {
        if first.is_none() && !findings.is_empty() {
            first = Some((stretches.clone(), findings.clone()));
        }
        findings.iter().any(names_a_limit)
    });
    named
        .or(first)
        .unwrap_or_else(|| (candidates.first().cloned().unwrap_or_default(), Vec::new()))
}

/// The same over given stretches.
pub fn find_in(
    readings: &SeriesTable,
    windows: &[Window],
    stretches: &Stretches,
    context: &Context,
) -> Vec<Finding> {
    let machines = machines::tables(readings);
    let on_each = Stretch3::on_each(&machines, windows, stretches, context);
    score::findings(checks(), &on_each)
}
