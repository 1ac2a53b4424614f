//! The probes of this machine, and what agents read on others.

use std::net::SocketAddr;
use std::time::Duration;

use plimsoll_agent::{AgentSpec, Agents};
use plimsoll_model::component::{Component, ComponentAddress, ComponentKind};
use plimsoll_model::reading::Readings;
use plimsoll_probe::ProbePlan;

use super::component_machines::ComponentMachines;
use super::{Reads, redacted};
use crate::clock::RunClock;
use crate::error::LabError;

/// How long after the end of a second its readings from other machines are waited for: they are read then, and travel. The
/// next second is read a second after this one, and must not be missed.
const PATIENCE: Duration = Duration::from_millis(800);

/// What a plan has for other machines.
#[derive(Debug)]
pub(crate) struct RemotePlan {
    /// With the names of its processes, all that agents are sent: they look for it on their machines.
    address: Option<SocketAddr>,
    processes: Vec<String>,
    machines: ComponentMachines,
}

impl RemotePlan {
    /// Waits for name servers, where components are on other hosts.
    pub(crate) fn of(plan: &ProbePlan, agents: &Agents) -> Self {
        Self {
            address: plan.target_address,
            processes: plan.process_names.clone(),
            machines: ComponentMachines::of(plan, &agents.hosts()),
        }
    }
}

/// Connects to the agents of the machines that a plan does not show by an exporter.
///
/// # Errors
/// When an agent cannot be read, or has the name of a machine that an exporter shows.
pub(crate) fn connect(specs: Vec<AgentSpec>, plan: &ProbePlan) -> Result<Agents, LabError> {
    let agents = Agents::connect(specs)?;
    check_names(&agents.names(), &plan.components)?;
    Ok(agents)
}

fn check_names(agents: &[String], components: &[Component]) -> Result<(), LabError> {
    for component in components {
        // cAdvisor shows what agents do not.
        if component.kind != ComponentKind::Cadvisor
            && let ComponentAddress::Machine { name, .. } = &component.place
            && agents.contains(name)
        {
            return Err(LabError::SameMachine {
                name: name.clone(),
                exporter: component.to_string(),
            });
        }
    }
    Ok(())
}

/// Probes, and the agents whose readings are added to theirs.
pub(crate) struct WithAgents<R> {
    probe: R,
    agents: Agents,
    plan: RemotePlan,
    clock: Option<RunClock>,
    /// Why agents are not read.
    failure: Option<String>,
}

impl<R: Reads> WithAgents<R> {
    /// Both; the agents are read from [`Reads::begin`] on.
    pub(crate) fn new(probe: R, agents: Agents, plan: RemotePlan) -> Self {
        Self {
            probe,
            agents,
            plan,
            clock: None,
            failure: None,
        }
    }
}

impl<R: Reads> Reads for WithAgents<R> {
    fn read(&mut self, second: u32) -> Readings {
        let mut readings = self.probe.read(second);
        self.plan.machines.name_in(&mut readings);
        readings
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
        let plan = &self.plan;
        let begun = self
            .agents
            .begin(clock.epoch(), plan.address, &plan.processes);
        self.failure = begun.err().map(|error| error.to_string());
    }

    fn add_remote(&mut self, readings: &mut Readings) {
        let Some(clock) = self.clock else { return };
        let end = Duration::from_secs(u64::from(readings.second) + 1);
        let left = (end + PATIENCE).saturating_sub(clock.elapsed());
        self.agents.add_to(readings, left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_and_an_exporter_of_one_name_are_refused() {
        let exporter = Component {
            kind: ComponentKind::NodeExporter,
            place: ComponentAddress::Machine {
                host: "10.0.0.5".to_owned(),
                port: 9100,
                path: "/metrics".to_owned(),
                name: "db1".to_owned(),
            },
            login: None,
        };
        let components = [exporter];
        assert!(check_names(&["web1".to_owned()], &components).is_ok());
        let names = ["web1", "db1"].map(str::to_owned);
        let error = check_names(&names, &components).unwrap_err().to_string();
        let expected =
            "the agent of db1 and the node_exporter at http://10.0.0.5:9100/metrics would give";
        assert!(error.starts_with(expected), "{error}");
    }
}
