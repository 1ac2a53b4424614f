//! Statuses of answers, and which of them are good.

use serde::{Deserialize, Serialize};

/// Statuses that count as good.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoodStatus {
    /// Inclusive ranges.
    pub ranges: Vec<(u16, u16)>,
}

impl Default for GoodStatus {
    fn default() -> Self {
        Self {
            ranges: vec![(200, 399)],
        }
    }
}

impl GoodStatus {
    /// Whether `status` counts as good.
    pub fn contains(&self, status: u16) -> bool {
        self.ranges
            .iter()
            .any(|&(low, high)| (low..=high).contains(&status))
    }
}
