//! Event loops of each worker: equally many, or as the regions of workers share the load.

use plimsoll_model::load_hosts::RegionShare;
use plimsoll_model::region_loops::{RegionLoopsError, loops_by_region};
use plimsoll_model::worker::LOOPS_MAX;

use super::{CoordinatorState, Slot, Stage};
use crate::message::LoopSpan;

impl CoordinatorState {
    /// The workers of each region carry this part of all loads that follow.
    pub(crate) fn share_by_region(&mut self, shares: Vec<RegionShare>) {
        self.shares = shares;
    }

    /// Event loops of all workers that are left.
    ///
    /// # Errors
    /// When their regions cannot carry their parts.
    pub(crate) fn loops(&self) -> Result<u32, RegionLoopsError> {
        Ok(self.loops_of_each()?.iter().sum())
    }

    /// The loops of each worker that is left, by part; empty where all have equally many, or no load begins since a worker
    /// was lost.
    ///
    /// # Errors
    /// When their regions cannot carry their parts.
    pub(super) fn spans(&self) -> Result<Vec<LoopSpan>, RegionLoopsError> {
        if self.shares.is_empty() || !self.lost_between.is_empty() {
            return Ok(Vec::new());
        }
        let loops = self.loops_of_each()?;
        let all: u32 = loops.iter().sum();
        let mut first = 0;
        let spans = loops.into_iter().map(|count| {
            let span = LoopSpan { first, count, all };
            first += count;
            span
        });
        Ok(spans.collect())
    }

    fn loops_of_each(&self) -> Result<Vec<u32>, RegionLoopsError> {
        let left: Vec<&Slot> = self
            .live_slots()
            .filter(|slot| slot.stage != Stage::Lost)
            .collect();
        let each = self.settings.loops;
        if self.shares.is_empty() {
            return Ok(vec![each; left.len()]);
        }
        let regions = left.iter().map(|slot| slot.record.region.as_deref());
        let regions: Vec<Option<&str>> = regions.collect();
        loops_by_region(&self.shares, &regions, each, LOOPS_MAX)
    }
}
