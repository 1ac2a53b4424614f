//! The probes of this machine, and what agents read on others.

use std::net::SocketAddr;
use std::time::Duration;

use plimsoll_agent::Agents;
use plimsoll_model::component::Component;
use plimsoll_model::reading::Readings;
use plimsoll_probe::ProbePlan;

use super::{Reads, redacted};
use crate::clock::RunClock;

/// How long after the end of a second its readings from other machines are waited for: they are read then, and travel. The
/// next second is read a second after this one, and must not be missed.
const PATIENCE: Duration = Duration::from_millis(800);

/// What agents look for on their machines, and all that they are sent.
#[derive(Debug)]
pub(crate) struct RemoteTarget {
    address: Option<SocketAddr>,
    processes: Vec<String>,
}

impl RemoteTarget {
    /// The address and the names of processes of a plan.
    pub(crate) fn of(plan: &ProbePlan) -> Self {
        Self {
            address: plan.target_address,
            processes: plan.process_names.clone(),
        }
    }
}

/// Probes, and the agents whose readings are added to theirs.
pub(crate) struct WithAgents<R> {
    probe: R,
    agents: Agents,
    target: RemoteTarget,
    clock: Option<RunClock>,
    /// Why agents are not read.
    failure: Option<String>,
}

impl<R: Reads> WithAgents<R> {
    /// Both; the agents are read from [`Reads::begin`] on.
    pub(crate) fn new(probe: R, agents: Agents, target: RemoteTarget) -> Self {
        Self {
            probe,
            agents,
            target,
            clock: None,
            failure: None,
        }
    }
}

impl<R: Reads> Reads for WithAgents<R> {
    fn read(&mut self, second: u32) -> Readings {
        self.probe.read(second)
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = self.probe.notes();
        notes.append(&mut redacted(self.agents.notes()));
        notes.extend(self.failure.clone());
        notes
    }

    fn take_component_notes(&mut self) -> Vec<String> {
        let mut notes = self.probe.take_component_notes();
        notes.append(&mut redacted(self.agents.take_notes()));
        notes
    }

    fn components(&self) -> Vec<Component> {
        self.probe.components()
    }

    fn target_is_local(&self) -> bool {
        self.probe.target_is_local()
    }

    fn begin(&mut self, clock: RunClock) {
        self.probe.begin(clock);
        self.clock = Some(clock);
        let target = &self.target;
        let begun = self
            .agents
            .begin(clock.epoch(), target.address, &target.processes);
        self.failure = begun.err().map(|error| error.to_string());
    }

    fn add_remote(&mut self, readings: &mut Readings) {
        let Some(clock) = self.clock else { return };
        let end = Duration::from_secs(u64::from(readings.second) + 1);
        let left = (end + PATIENCE).saturating_sub(clock.elapsed());
        self.agents.add_to(readings, left);
    }
}
