//! What rules are made of: ids, symptoms and texts, and questions to the seconds that are compared.

pub(crate) mod bounds;
pub(crate) mod component;
pub(crate) mod evictions;
pub(crate) mod gauges;
pub(crate) mod log_failures;
pub(crate) mod measure;
pub(crate) mod mitigation;
pub(crate) mod routes;
pub(crate) mod rule;
pub(crate) mod rule_id;
pub(crate) mod statements;
pub(crate) mod stretch;

/// Seconds of run time, half-open.
pub type SecondRange = (u32, u32);

/// The seconds that are compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stretches {
    /// B: low load; several short trials. Empty when there was none.
    pub base: Vec<SecondRange>,
    /// P: the highest load that passed.
    pub passing: Option<SecondRange>,
    /// F: the lowest load that failed. Without it nothing is found.
    pub failing: Option<SecondRange>,
}

/// Input of the rules beside readings and windows.
#[derive(Clone, Debug, PartialEq)]
pub struct Context {
    /// The target's name in texts, such as `127.0.0.1:8080`.
    pub target: String,
    /// τ: the tightest latency bound of the objective, µs.
    pub bound_us: Option<u64>,
    /// Arrivals do not wait for answers: the generator can be late.
    pub open: bool,
    /// CPU steal was so high that no step counts: only what a component counted itself is reliable.
    pub robbed: bool,
}
