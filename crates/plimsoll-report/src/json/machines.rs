//! The objects of machines that agents watch.

use plimsoll_analysis::machines::usage::MachinesSummary;
use schemars::JsonSchema;
use serde::Serialize;

/// A machine: what it used of what it has, at the highest load that passed, at the one that failed, or over the whole run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Machine")]
pub struct MachineObject {
    /// Its name, as its agent is called; null for the generator's own machine.
    pub name: Option<String>,
    /// Where it stands on the way of a request: `generator`, `target`, `proxy`, `application` or `store`.
    pub tier: String,
    /// Names of the components that run there, as far as they are known: `nginx`, `PostgreSQL`.
    pub components: Vec<String>,
    /// Its CPUs; null where they are not known.
    pub cpus: Option<f64>,
    /// Share of all its CPUs that was busy, 0 to 1; null where it is not known.
    pub cpu_share: Option<f64>,
    /// Share of its memory that programs could not have any more without swapping, 0 to 1; null where it is not known.
    pub memory_share: Option<f64>,
    /// Share of the time in which its busiest disk had work, 0 to 1; null without a disk.
    pub disk_share: Option<f64>,
    /// The busier direction of its busiest link as a share of what that carries, 0 to 1; null where that is not known.
    pub network_share: Option<f64>,
    /// How far its clock is ahead of the generator's, ms; null where it is not known, and for the generator's own machine.
    pub offset_ms: Option<f64>,
}

impl MachineObject {
    pub(super) fn all(summary: &MachinesSummary) -> Vec<Self> {
        let machines = summary.machines.iter().map(|machine| Self {
            name: machine.name.clone(),
            tier: machine.tier.name().to_owned(),
            components: machine.components.clone(),
            cpus: machine.used.cpus,
            cpu_share: machine.used.cpu_share,
            memory_share: machine.used.memory_share(),
            disk_share: machine.used.disk_share,
            network_share: machine.used.network_share(),
            offset_ms: machine.offset_ms,
        });
        machines.collect()
    }
}
