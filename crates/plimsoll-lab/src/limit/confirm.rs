//! `plimsoll limit --confirm`: the limit that was named is relaxed, and the load that failed is tried again.

use std::path::PathBuf;

use plimsoll_analysis::findings::{self, Relaxation};
use plimsoll_analysis::intervention::{self, Repeats, is_worth_restoring};
use plimsoll_model::finding::{Finding, Intervention, InterventionOutcome, Tier};
use plimsoll_model::metric;
use plimsoll_model::part::{Lever, Part};
use plimsoll_model::reading::label;
use plimsoll_model::run::Run;
use plimsoll_model::trial::{Trial, TrialKind};
use plimsoll_probe::hands;

use super::trials::Trials;
use crate::conductor::Conductor;
use crate::error::LabError;
use crate::intervention::{Access, Change, Changed};
use crate::progress::Watcher;

/// Findings that are tried one behind the other, while each is demoted.
const TRIES_MAX: usize = 2;

/// What may be done to confirm a limit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Confirm {
    /// Commands of the user's that relax the first limit and put it back, whatever it is: a program and its arguments
    /// each. Without them settings of parts are changed over their own interfaces.
    pub commands: Option<(Vec<String>, Vec<String>)>,
    /// Environment of the commands.
    pub environment: Vec<(String, String)>,
    /// Where is written what puts a change back. It must not exist.
    pub journal: PathBuf,
}

/// Tries the findings, the best first, and writes into them what came of it.
pub(super) fn confirm(
    conductor: &Conductor,
    recorded: &Run,
    found: &mut [Finding],
    wanted: &Confirm,
    trials: &mut Trials<'_>,
    watcher: &mut dyn Watcher,
) -> Result<(), LabError> {
    let Some(failed) = findings::failed_trial(recorded) else {
        if !conductor.is_stopping() {
            tell(conductor, watcher, "no limit was tried: no trial failed");
        }
        return Ok(());
    };
    let access = Access {
        parts: conductor.parts(),
        environment: wanted.environment.clone(),
    };
    for _ in 0..TRIES_MAX {
        // What the generator lacks is not the target's to give.
        let next = found.iter().position(|finding| {
            finding.consequence_of.is_none()
                && finding.intervention.is_none()
                && finding.tier != Some(Tier::Generator)
        });
        let Some(index) = next.filter(|_| !conductor.is_stopping()) else {
            break;
        };
        let change = match &wanted.commands {
            Some((relax, undo)) => Ok(Change::Commands {
                relax: relax.clone(),
                undo: undo.clone(),
            }),
            None => change_for(recorded, &found[index], &access),
        };
        let came_of_it = match change {
            Ok(change) => {
                let attempt = Attempt {
                    conductor,
                    failed,
                    access: &access,
                    wanted,
                };
                attempt.carry_out(change, trials, watcher)?
            }
            Err(why) => intervention::not_tried("", failed, &why),
        };
        let text = format!("{}: {}", found[index].limit, came_of_it.sentence);
        tell(conductor, watcher, &text);
        let outcome = came_of_it.outcome;
        intervention::settle(found, index, came_of_it);
        if outcome != InterventionOutcome::Demoted || wanted.commands.is_some() {
            break;
        }
    }
    Ok(())
}

fn tell(conductor: &Conductor, watcher: &mut dyn Watcher, text: &str) {
    watcher.noted(text);
    conductor.note(text);
}

/// What changes the setting of a finding, or why nothing does.
fn change_for(run: &Run, finding: &Finding, access: &Access) -> Result<Change, String> {
    let by_command = "change it by a command: --confirm-with 'PROGRAM ARGUMENTS' --undo-with 'PROGRAM ARGUMENTS'";
    let relaxation = findings::relaxation(run, finding)
        .ok_or_else(|| format!("not tried: it is no setting that can be changed while its part runs, or its value is not known; {by_command}"))?;
    match relaxation {
        Relaxation::Setting {
            at,
            setting,
            of,
            to,
            ..
        } => {
            let part = access.parts.iter().find(|part| is_at(part, &at));
            let part = part.ok_or_else(|| format!("not tried: no part is watched at {at}"))?;
            let lever = Lever {
                kind: part.kind,
                place: part.place.clone(),
                setting,
                of,
            };
            let from = hands::value_of(&lever, part.login.as_ref());
            let from = from.map_err(|error| format!("not tried: {error}; or {by_command}"))?;
            let to = hands::spoken(&lever, to);
            Ok(Change::Setting { lever, from, to })
        }
        Relaxation::Descriptors { pid, to, .. } => {
            let now = hands::open_files(pid).map_err(|error| format!("not tried: {error}"))?;
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
        Relaxation::Kernel { name } => {
            let value = hands::kernel_setting(name);
            let (from, to) =
                value.map_err(|error| format!("not tried: {error}; or {by_command}"))?;
            Ok(Change::Kernel {
                name: name.to_owned(),
                from,
                to,
            })
        }
    }
}

/// Whether the series of `at` are those of a part. What separates labels is replaced in them.
fn is_at(part: &Part, at: &str) -> bool {
    let place = part.place.to_string();
    let series = metric::series(metric::SETTING, &[("at", &place)]);
    !part.kind.is_log() && label(&series, "at") == Some(at)
}

/// One finding is tried.
struct Attempt<'a> {
    conductor: &'a Conductor,
    failed: &'a Trial,
    access: &'a Access,
    wanted: &'a Confirm,
}

impl Attempt<'_> {
    fn carry_out(
        &self,
        change: Change,
        trials: &mut Trials<'_>,
        watcher: &mut dyn Watcher,
    ) -> Result<Intervention, LabError> {
        let said = change.to_string();
        tell(self.conductor, watcher, &format!("confirm: {said}"));
        let by_hand = change.by_hand();
        let changed = match Changed::make(change, self.access, &self.wanted.journal) {
            Ok(changed) => changed,
            Err(error) => {
                let why = format!("not tried: {error}");
                return Ok(intervention::not_tried(&said, self.failed, &why));
            }
        };
        let spec = &self.failed.spec;
        let relaxed = Repeats::new(spec, TrialKind::Relaxed, format!("confirm: {said}"));
        // An error leaves from here too, and drops what is changed: it is put back then.
        let relaxed = trials.repeat(relaxed, watcher)?;
        if let Err(error) = changed.put_back() {
            let text = format!(
                "{said} could NOT be put back: {error}; put it back by hand: {by_hand}, and delete {}",
                self.wanted.journal.display()
            );
            tell(self.conductor, watcher, &text);
            return Ok(intervention::judge(&said, self.failed, &relaxed, None));
        }
        tell(self.conductor, watcher, "confirm: it is put back");
        let restored = if is_worth_restoring(&relaxed) && !self.conductor.is_stopping() {
            let purpose = format!("confirm: {said}, put back");
            let restored = Repeats::new(spec, TrialKind::Restored, purpose);
            Some(trials.repeat(restored, watcher)?)
        } else {
            None
        };
        let restored = restored.as_ref();
        Ok(intervention::judge(&said, self.failed, &relaxed, restored))
    }
}
