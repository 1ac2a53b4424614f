//! What a case's data file says about tuning it: `[tune]`.

use std::collections::BTreeMap;

use anyhow::Result;
use plimsoll_harness::template::{Values, fill};
use serde::Deserialize;

/// Processes that a knob allows for each CPU.
const PROCESSES_PER_CPU: u16 = 4;
/// Processes that a knob allows on the largest machine.
const PROCESSES_MAX: u16 = 64;

/// How a case is tuned, and what its result stands beside.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TuneDefinition {
    /// Time of the search.
    pub(crate) within: String,
    /// Longest time of the search that is wanted, minutes.
    pub(crate) minutes_max: f64,
    /// Numbers of users whose settings are wanted, separated by commas.
    pub(crate) users: Option<String>,
    /// Least share of the line of the settings known by hand that is wanted.
    pub(crate) share_min: Option<f64>,
    /// How many times as much the study carried in the end.
    pub(crate) study_gain: Option<f64>,
    /// Whether the settings at the start are the best already.
    #[serde(default)]
    pub(crate) keeps_default: bool,
    /// Knobs that the page also shows for each CPU.
    #[serde(default)]
    pub(crate) per_core: Vec<String>,
    /// Settings known by hand; `@cpus@` is the number of CPUs.
    #[serde(default)]
    pub(crate) by_hand: BTreeMap<String, String>,
    /// What the study settled on, by knob.
    #[serde(default)]
    pub(crate) study: BTreeMap<String, String>,
    /// Settings of the study by the number of users.
    pub(crate) study_users: Option<StudyUsers>,
}

/// A table of the study from users to settings.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StudyUsers {
    pub(crate) columns: Vec<String>,
    /// Cells by the number of users.
    pub(crate) rows: BTreeMap<String, Vec<String>>,
}

impl TuneDefinition {
    /// With what it names of the machine.
    pub(crate) fn filled(mut self) -> Result<Self> {
        let values = machine_values()?;
        for setting in self.by_hand.values_mut() {
            *setting = fill("case.toml", setting, &values)?;
        }
        Ok(self)
    }
}

/// What a data file may name of the machine.
pub(crate) fn machine_values() -> Result<Values> {
    let values = Values::default().with("cpus", cpus()?);
    Ok(values.with("processes_max", processes_max()?))
}

fn cpus() -> Result<u16> {
    let cpus = std::thread::available_parallelism()?.get();
    Ok(u16::try_from(cpus)?)
}

/// Processes that a knob allows at most.
pub(crate) fn processes_max() -> Result<u16> {
    Ok(cpus()?.saturating_mul(PROCESSES_PER_CPU).min(PROCESSES_MAX))
}
