//! A demand that somebody wants the service to carry, as a load.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::LoadUnit;

/// The load that a service must carry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequiredLoad {
    /// The sentence as it was written.
    pub sentence: String,
    /// The demand in a few words, as the subject of a sentence: `12,000 logins within 3 minutes`.
    pub subject: String,
    /// What it was read as, with the arithmetic.
    pub read_as: String,
    /// How much, in `unit`.
    pub load: f64,
    /// Unit of the load.
    #[serde(default, skip_serializing_if = "LoadUnit::is_requests")]
    pub unit: LoadUnit,
    /// Pause of a user between a response and the next request, where the users have no journeys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<Duration>,
}
