//! Regions of clients, and their round-trip times to the stores.

use std::time::Duration;

/// A region of the study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Region {
    pub(super) name: &'static str,
    round_trip_ms: u64,
}

const fn region(name: &'static str, round_trip_ms: u64) -> Region {
    Region {
        name,
        round_trip_ms,
    }
}

/// The eight regions. A round trip to Ireland, where the stores are, is what the study's requests from a region took
/// beyond those from Ireland itself in its first topology, where a request and its answer cross the link once each
/// (205, 272, 284, 330, 325, 347 and 441 ms against 128).
pub(super) const REGIONS: [Region; 8] = [
    region("Ireland", NEAR_MS),
    region("Virginia", 77),
    region("Oregon", 144),
    region("California", 156),
    region("São Paulo", 202),
    region("Singapore", 197),
    region("Tokyo", 219),
    region("Sydney", 313),
];

/// To a server in the same region: the study's 100 miles, there and back.
const NEAR_MS: u64 = 2;
pub(super) const NEAR: Duration = Duration::from_millis(NEAR_MS);

impl Region {
    /// To the region of the stores and back.
    pub(super) fn round_trip(self) -> Duration {
        Duration::from_millis(self.round_trip_ms)
    }
}
