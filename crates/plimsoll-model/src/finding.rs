//! A named limit with the evidence for it.

use serde::{Deserialize, Serialize};

use crate::plan::LoadUnit;

/// How sure a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    /// Relaxing the limit did not help.
    Demoted,
    /// Weak or indirect evidence.
    Possible,
    /// Evidence fits; not tried.
    Suspected,
    /// The resource itself refused or overflowed.
    Explicit,
    /// Relaxing the limit raised the line.
    Confirmed,
}

/// How strongly a symptom points to its limit (science: E, Q, U, D).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strength {
    /// Explicit refusal or overflow.
    Explicit,
    /// A queue or wait with the capacity gauge at its maximum.
    Queue,
    /// High utilisation.
    Utilisation,
    /// Decomposition of time.
    Decomposition,
}

/// Where in the call path a limit lies; of equal scores the deeper one, further down here, is named first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// The instrument itself.
    Generator,
    /// Between generator and target, and the kernel's queues before the target.
    Network,
    /// A proxy or web server.
    Proxy,
    /// What runs the application: its processes, threads or event loop.
    Runtime,
    /// The machine or container of the target.
    Machine,
    /// A cache or database.
    Store,
}

/// A series in the three windows that a finding compares.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Name of the series.
    pub series: String,
    /// Its name in messages.
    pub label: String,
    /// Unit as in [`crate::reading::SeriesInfo`].
    pub unit: String,
    /// Mean at the anchor (low load); `None` when not measured.
    pub base: Option<f64>,
    /// Mean at the highest passing load.
    pub passing: Option<f64>,
    /// Mean at the lowest failing load.
    pub failing: Option<f64>,
    /// The bound that was crossed, where the rule has one.
    pub bound: Option<f64>,
}

/// A limit, named.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Id of the rule, such as `N1`.
    pub rule: String,
    /// The limit, such as `accept backlog of 127.0.0.1:8080`.
    pub limit: String,
    /// The machine that it is of, as its agent is called; `None` for the generator's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// Where it lies; `None` in logs that do not record it.
    #[serde(default)]
    pub tier: Option<Tier>,
    /// How sure.
    pub certainty: Certainty,
    /// Strength × onset, 0 to 1; findings are ordered by it.
    pub score: f64,
    /// One sentence with the numbers.
    pub sentence: String,
    /// What to do.
    pub remedy: String,
    /// Series and numbers.
    pub evidence: Vec<Evidence>,
    /// Rule of the finding further down the call path that it follows from.
    pub consequence_of: Option<String>,
    /// Machine of that finding, as in `machine`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consequence_of_machine: Option<String>,
    /// Outcome of relaxing it; `None` when that was not requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intervention: Option<Intervention>,
}

impl Finding {
    /// Whether it follows from another one.
    pub fn follows_from(&self, cause: &Self) -> bool {
        self.consequence_of.as_ref() == Some(&cause.rule)
            && self.consequence_of_machine == cause.machine
    }
}

/// Outcome of relaxing a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InterventionOutcome {
    /// The load that had failed was carried, and failed again when the limit was back.
    Confirmed,
    /// The load failed as before.
    Demoted,
    /// The trials do not decide it.
    Undecided,
    /// Nothing was changed.
    NotTried,
}

/// Trials of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialTally {
    /// Trials that passed.
    pub passed: u32,
    /// Trials that failed.
    pub failed: u32,
}

/// A limit was relaxed for some trials and put back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Intervention {
    /// What was changed, such as `maxconn of server s1 from 20 to 80`.
    pub change: String,
    /// Its outcome.
    pub outcome: InterventionOutcome,
    /// The load that had failed, in `unit`.
    pub load: f64,
    /// Its unit.
    #[serde(default, skip_serializing_if = "LoadUnit::is_requests")]
    pub unit: LoadUnit,
    /// Trials at it with the limit relaxed.
    #[serde(rename = "relaxed")]
    pub mitigated: TrialTally,
    /// Trials at it with the limit put back.
    pub restored: TrialTally,
    /// All that in a sentence.
    pub sentence: String,
}
