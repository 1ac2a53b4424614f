//! Everything is put back, in reverse order.

use std::path::PathBuf;

use super::applied::{Applied, ProcessMark};
use super::fault::{ApplyFault, ApplyFaultKind};
use super::launch::Launched;
use super::processes::{self, STOP_PATIENCE};
use super::stage::{Reversal, Stage};
use super::{files, limits, tunables, workers};

impl Stage {
    /// Puts back everything that the journal names, in reverse order. `launched` are the processes that were started by
    /// this program.
    pub(super) fn revert(&mut self, mut launched: Vec<Launched>) -> Reversal {
        let mut reversal = Reversal::default();
        if !self.end_processes(&mut launched, &mut reversal) {
            // What they use stays as it is.
            return reversal;
        }
        let mut outstanding: Vec<(u64, Applied)> = self.journal.outstanding().to_vec();
        outstanding.reverse();
        // A controller stays as long as a group of an experiment uses it.
        outstanding.sort_by_key(|(_, applied)| matches!(applied, Applied::Controllers { .. }));
        for (number, applied) in outstanding {
            let reverted = match &applied {
                Applied::Process(_) => continue,
                Applied::ControlGroup { folders, .. } => limits::remove(folders),
                Applied::Controllers { control, names } => {
                    limits::disable(control, names);
                    Ok(())
                }
                Applied::File(file) => files::put_back(self, file, &mut reversal),
                Applied::Setting { change } => tunables::put_back(self, change, &mut reversal),
                Applied::Workers(changed) => workers::put_back(self, changed, &mut reversal),
            };
            match reverted {
                Ok(()) => self.journal.reverted(number),
                Err(fault) => reversal.faults.push(fault),
            }
        }
        if reversal.faults.is_empty() {
            files::remove_copies(&self.context.folder);
        }
        reversal
    }

    /// Ends all processes that the journal names; returns whether they have ended.
    fn end_processes(&mut self, launched: &mut Vec<Launched>, reversal: &mut Reversal) -> bool {
        let mut marks: Vec<(u64, ProcessMark)> = Vec::new();
        let mut groups: Vec<PathBuf> = Vec::new();
        for (number, applied) in self.journal.outstanding() {
            match applied {
                Applied::Process(mark) => marks.push((*number, mark.clone())),
                Applied::ControlGroup { boot, folders } if *boot == self.boot => {
                    groups.extend(limits::own_groups(folders));
                }
                Applied::ControlGroup { .. }
                | Applied::Controllers { .. }
                | Applied::File(_)
                | Applied::Setting { .. }
                | Applied::Workers(_) => {}
            }
        }
        // No process outlives a boot.
        let living = marks.iter().filter(|(_, mark)| mark.boot == self.boot);
        let living: Vec<&ProcessMark> = living.map(|(_, mark)| mark).collect();
        let was_launched_here = !launched.is_empty();
        let found = processes::members(&living, &groups);
        if !found.is_empty() && !was_launched_here {
            let count = found.len();
            reversal
                .restored
                .push(format!("{count} processes of the service running"));
        }
        if let Err(living) = processes::end(|| processes::members(&living, &groups), STOP_PATIENCE)
        {
            let pids: Vec<String> = living.iter().map(u32::to_string).collect();
            reversal.faults.push(ApplyFault::new(
                ApplyFaultKind::NotRestored,
                format!("processes {}", pids.join(", ")),
                "they cannot be ended",
                format!(
                    "end them with `kill -9 {}`, and start again",
                    pids.join(" ")
                ),
            ));
            return false;
        }
        for process in launched.drain(..) {
            process.reap();
        }
        for (number, _) in marks {
            self.journal.reverted(number);
        }
        true
    }
}
