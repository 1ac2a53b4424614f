//! What a single policy wants.

use crate::readings::ScaleReadings;

/// What a single policy wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Recommendation {
    /// The signal and the policy.
    pub(crate) signal: String,
    pub(crate) wanted: u32,
    pub(crate) reason: String,
    /// Why it has no part in the decision, if it has none.
    pub(crate) refused_by: Option<String>,
}

impl Recommendation {
    pub(crate) fn new(signal: String, wanted: u32, reason: String) -> Self {
        Self {
            signal,
            wanted,
            reason,
            refused_by: None,
        }
    }

    /// What stands, because a signal cannot be used.
    pub(crate) fn refused(signal: String, readings: &ScaleReadings, because: String) -> Self {
        Self {
            signal,
            wanted: readings.replicas,
            reason: "the number stays as it is".to_owned(),
            refused_by: Some(because),
        }
    }
}
