//! The objects of bands of patience.

use plimsoll_model::patience::PatienceCounts;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::band_shares;
use crate::number::millis;

/// Requests by the bands of the plan's `patience`, from the moment they were due.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Patience")]
pub struct PatienceObject {
    /// The bands, in the order of their limits.
    pub bands: Vec<BandObject>,
    /// Good responses that took longer than the last band.
    pub longer: u64,
    /// Requests that failed.
    pub failed: u64,
}

/// One band: good responses within its limit, and not within that of the band before.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Band")]
pub struct BandObject {
    /// As the plan has it.
    pub name: String,
    /// The longest response time that belongs to it, ms.
    pub within_ms: f64,
    /// Good responses in it.
    pub requests: u64,
    /// Their share of all requests, 0 to 1.
    pub share: f64,
    /// Share of all requests in this band and those before, 0 to 1.
    pub share_within: f64,
}

impl PatienceObject {
    pub(super) fn of(counts: &PatienceCounts) -> Self {
        let bands = counts.bands.iter().zip(band_shares(counts));
        let bands = bands.map(|(count, (share, share_within))| BandObject {
            name: count.band.name.clone(),
            within_ms: millis(count.band.within_us),
            requests: count.requests,
            share,
            share_within,
        });
        Self {
            bands: bands.collect(),
            longer: counts.longer,
            failed: counts.failed,
        }
    }
}
