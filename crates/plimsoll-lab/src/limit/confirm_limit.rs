//! `plimsoll limit --confirm`: raises the named limit, and repeats the failed load.

use std::path::PathBuf;

use plimsoll_analysis::findings::{self, Mitigation};
use plimsoll_analysis::intervention::{self, Repeats, is_worth_restoring};
use plimsoll_model::component::{Component, Tunable};
use plimsoll_model::finding::{Finding, Intervention, InterventionOutcome, Tier};
use plimsoll_model::metric;
use plimsoll_model::reading::label;
use plimsoll_model::run::Run;
use plimsoll_model::trial::{Trial, TrialKind};
use plimsoll_probe::tunables;

use super::trials::Trials;
use crate::active_run::ActiveRun;
use crate::error::LabError;
use crate::intervention::{Change, Changed, ComponentAccess};
use crate::progress::Watcher;

/// Findings that are tried one behind the other, while each is demoted.
const TRIES_MAX: usize = 2;

/// What may be done to confirm a limit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConfirmOptions {
    /// The user's commands that raise the first limit and revert it: a program and its arguments each. Without them,
    /// settings of components are changed over their own interfaces.
    pub commands: Option<(Vec<String>, Vec<String>)>,
    /// Environment of the commands.
    pub environment: Vec<(String, String)>,
    /// Path of the journal. It must not exist.
    pub journal: PathBuf,
}

/// Tests the findings, best first, and writes the outcomes into them.
pub(super) fn confirm(
    active_run: &ActiveRun,
    recorded: &Run,
    found: &mut [Finding],
    wanted: &ConfirmOptions,
    trials: &mut Trials<'_>,
    watcher: &mut dyn Watcher,
) -> Result<(), LabError> {
    let Some(failed) = findings::failed_trial(recorded) else {
        if !active_run.is_stopping() {
            report_note(active_run, watcher, "no limit was tested: no trial failed");
        }
        return Ok(());
    };
    let access = ComponentAccess {
        components: active_run.components(),
        environment: wanted.environment.clone(),
    };
    for _ in 0..TRIES_MAX {
        // What the generator lacks is not the target's to give.
        let next = found.iter().position(|finding| {
            finding.consequence_of.is_none()
                && finding.intervention.is_none()
                && finding.tier != Some(Tier::Generator)
        });
        let Some(index) = next.filter(|_| !active_run.is_stopping()) else {
            break;
        };
        let change = match &wanted.commands {
            Some((apply, undo)) => Ok(Change::Commands {
                apply: apply.clone(),
                undo: undo.clone(),
            }),
            None => change_for(recorded, &found[index], &access),
        };
        let came_of_it = match change {
            Ok(change) => {
                let attempt = Attempt {
                    active_run,
                    failed,
                    access: &access,
                    options: wanted,
                };
                attempt.carry_out(change, trials, watcher)?
            }
            Err(why) => intervention::not_tried("", failed, &why),
        };
        let text = format!("{}: {}", found[index].limit, came_of_it.sentence);
        report_note(active_run, watcher, &text);
        let outcome = came_of_it.outcome;
        intervention::settle(found, index, came_of_it);
        if outcome != InterventionOutcome::Demoted || wanted.commands.is_some() {
            break;
        }
    }
    Ok(())
}

fn report_note(active_run: &ActiveRun, watcher: &mut dyn Watcher, text: &str) {
    watcher.noted(text);
    active_run.note(text);
}

/// What changes the setting of a finding, or why nothing does.
fn change_for(run: &Run, finding: &Finding, access: &ComponentAccess) -> Result<Change, String> {
    let by_command = "change it with a command: --confirm-with 'PROGRAM ARGUMENTS' --undo-with 'PROGRAM ARGUMENTS'";
    let mitigation = findings::mitigation_for(run, finding).ok_or_else(|| {
        format!(
            "not tested: it cannot be changed while its component runs, or its value is unknown; \
            {by_command}"
        )
    })?;
    match mitigation {
        Mitigation::Setting {
            at,
            setting,
            of,
            to,
            ..
        } => {
            let component = access
                .components
                .iter()
                .find(|component| is_at(component, &at));
            let component =
                component.ok_or_else(|| format!("not tested: no component is watched at {at}"))?;
            let tunable = Tunable {
                kind: component.kind,
                place: component.place.clone(),
                setting,
                of,
            };
            let from = tunables::value_of(&tunable, component.login.as_ref());
            let from = from.map_err(|error| format!("not tested: {error}; or {by_command}"))?;
            let to = tunables::format_value(&tunable, to);
            Ok(Change::Setting { tunable, from, to })
        }
        Mitigation::Descriptors { pid, to, .. } => {
            let now = tunables::open_files(pid).map_err(|error| format!("not tested: {error}"))?;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a limit of files is a positive number far below 2^53"
            )]
            let soft = to as u64;
            Ok(Change::OpenFiles {
                pid,
                started: now.started,
                from: (now.soft, now.hard),
                to: (soft, soft.max(now.hard)),
            })
        }
        Mitigation::Kernel { name } => {
            let value = tunables::kernel_setting(name);
            let (from, to) =
                value.map_err(|error| format!("not tested: {error}; or {by_command}"))?;
            Ok(Change::Kernel {
                name: name.to_owned(),
                from,
                to,
            })
        }
    }
}

/// Whether the series of `at` are those of a component. Label separators are replaced in them.
fn is_at(component: &Component, at: &str) -> bool {
    let place = component.place.to_string();
    let series = metric::series(metric::SETTING, &[("at", &place)]);
    !component.kind.is_log() && label(&series, "at") == Some(at)
}

/// One finding is tried.
struct Attempt<'a> {
    active_run: &'a ActiveRun,
    failed: &'a Trial,
    access: &'a ComponentAccess,
    options: &'a ConfirmOptions,
}

impl Attempt<'_> {
    fn carry_out(
        &self,
        change: Change,
        trials: &mut Trials<'_>,
        watcher: &mut dyn Watcher,
    ) -> Result<Intervention, LabError> {
        let description = change.to_string();
        report_note(self.active_run, watcher, &format!("confirm: {description}"));
        let manual_undo = change.manual_undo();
        let changed = match Changed::make(change, self.access, &self.options.journal) {
            Ok(changed) => changed,
            Err(error) => {
                let why = format!("not tested: {error}");
                return Ok(intervention::not_tried(&description, self.failed, &why));
            }
        };
        let spec = &self.failed.spec;
        let repeats = Repeats::new(
            spec,
            TrialKind::Mitigated,
            format!("confirm: {description}"),
        );
        // An early return drops `changed`, which reverts the change.
        let mitigated = trials.repeat(repeats, watcher)?;
        if let Err(error) = changed.put_back() {
            let text = format!(
                "{description} could NOT be reverted: {error}; revert it by hand: {manual_undo}, and delete {}",
                self.options.journal.display()
            );
            report_note(self.active_run, watcher, &text);
            return Ok(intervention::evaluate(
                &description,
                self.failed,
                &mitigated,
                None,
            ));
        }
        report_note(self.active_run, watcher, "confirm: change reverted");
        let restored = if is_worth_restoring(&mitigated) && !self.active_run.is_stopping() {
            let purpose = format!("confirm: {description}, reverted");
            let restored = Repeats::new(spec, TrialKind::Restored, purpose);
            Some(trials.repeat(restored, watcher)?)
        } else {
            None
        };
        let restored = restored.as_ref();
        Ok(intervention::evaluate(
            &description,
            self.failed,
            &mitigated,
            restored,
        ))
    }
}
