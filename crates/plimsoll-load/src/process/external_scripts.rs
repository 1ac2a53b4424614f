//! The external scripts of one loop: started together, registered for events, and assigned to users.

use std::collections::HashMap;
use std::ops::{Index, IndexMut};

use plimsoll_model::journey::{Inputs, Scenario, StepId, StepInfo};
use rustix::event::epoll::EventFlags;

use super::{ExternalScript, StepNames};
use crate::due::NEVER;
use crate::error::LoadError;
use crate::poller::Poller;

/// Pipes per process, rounded up to a power of two.
const PIPES_EACH: u32 = 4;

/// Labels per journey whose ids a loop caches.
const IDS_CACHED_MAX: usize = 1000;

/// One of the pipes of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScriptPipe {
    Stdin = 0,
    Stdout = 1,
    Stderr = 2,
}

/// The external scripts of a loop.
#[derive(Default)]
pub(crate) struct ExternalScripts {
    scripts: Vec<ExternalScript>,
    /// Ids of the scripts' labels, by journey and whether outside of the measured loop.
    step_ids: HashMap<(u32, bool), HashMap<String, StepId>>,
}

impl ExternalScripts {
    /// Starts the processes of a loop and registers their pipes.
    ///
    /// # Errors
    /// When a program cannot be started, or its pipes cannot be registered.
    pub(crate) fn start(
        scenario: Option<&Scenario>,
        inputs: &Inputs,
        poller: &Poller,
    ) -> Result<Self, LoadError> {
        let mut all = Self::default();
        let journeys = scenario.map_or(&[][..], |scenario| &scenario.journeys);
        for (journey, each) in (0..).zip(journeys) {
            let Some(plan) = &each.process else { continue };
            for _ in 0..plan.count {
                let script = ExternalScript::start(plan, (journey, &each.name), inputs)?;
                let (_, stdout, stderr) = script.pipes();
                for (pipe, which) in [(stdout, ScriptPipe::Stdout), (stderr, ScriptPipe::Stderr)] {
                    let number = pipe_number(all.scripts.len(), which);
                    let added = poller.add_pipe(pipe, number, EventFlags::IN);
                    added.map_err(|error| LoadError::System {
                        action: "wait for a process",
                        source: error.into(),
                    })?;
                }
                all.scripts.push(script);
            }
        }
        Ok(all)
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.scripts.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.scripts.len()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut ExternalScript> {
        self.scripts.iter_mut()
    }

    /// The script and the pipe that are registered under a number; `None` when the script is unusable.
    pub(crate) fn pipe(&self, number: u32) -> Option<(usize, ScriptPipe)> {
        let index = (number / PIPES_EACH) as usize;
        let script = self.scripts.get(index)?;
        let pipe = match number % PIPES_EACH {
            0 => ScriptPipe::Stdin,
            1 => ScriptPipe::Stdout,
            _ => ScriptPipe::Stderr,
        };
        (!script.is_gone).then_some((index, pipe))
    }

    /// Writes pending input of a script, and waits for room where it is full. Returns whether that succeeded.
    pub(crate) fn flush(&mut self, index: usize, poller: &Poller) -> bool {
        let script = &mut self.scripts[index];
        let flushed = script.flush();
        let Some(stdin) = &script.stdin else {
            return true;
        };
        match flushed {
            Ok(all) if all == script.is_full => {
                let changed = if all {
                    poller.remove(stdin)
                } else {
                    let number = pipe_number(index, ScriptPipe::Stdin);
                    poller.add_pipe(stdin, number, EventFlags::OUT)
                };
                script.is_full = !all;
                changed.is_ok()
            }
            Ok(_) => true,
            Err(_) => false,
        }
    }

    /// Assigns a user to the script of a journey that has the fewest; `None` when none is usable.
    pub(crate) fn assign(&mut self, journey: u32, number: u64, user: u32) -> Option<usize> {
        let own = self.scripts.iter_mut().enumerate();
        let own = own.filter(|(_, script)| script.journey == journey && !script.is_gone);
        let (index, script) = own.min_by_key(|(_, script)| script.users.len())?;
        script.users.insert(number, user);
        Some(index)
    }

    /// The first deadline of a user who waits for its script.
    pub(crate) fn next_wait(&self) -> u64 {
        let fronts = self
            .scripts
            .iter()
            .filter_map(|script| script.waits.front());
        fronts.map(|wait| wait.deadline).min().unwrap_or(NEVER)
    }

    /// The id under which a label is counted, and its description when it is new in all loops.
    pub(crate) fn step_id(
        &mut self,
        names: &StepNames,
        (journey, once): (u32, bool),
        label: &str,
    ) -> (StepId, Option<StepInfo>) {
        let known = self.step_ids.entry((journey, once)).or_default();
        if let Some(&id) = known.get(label) {
            return (id, None);
        }
        // Without a label the method and path are used, and stored.
        let shown = plimsoll_model::redact::text(label);
        let (id, new) = names.id(journey, once, &shown);
        if known.len() < IDS_CACHED_MAX {
            known.insert(label.to_owned(), id);
        }
        (id, new)
    }
}

impl Index<usize> for ExternalScripts {
    type Output = ExternalScript;

    fn index(&self, index: usize) -> &ExternalScript {
        &self.scripts[index]
    }
}

impl IndexMut<usize> for ExternalScripts {
    fn index_mut(&mut self, index: usize) -> &mut ExternalScript {
        &mut self.scripts[index]
    }
}

/// The number under which a pipe is registered.
fn pipe_number(index: usize, pipe: ScriptPipe) -> u32 {
    u32::try_from(index).expect("processes are few") * PIPES_EACH + pipe as u32
}
