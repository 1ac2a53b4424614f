//! The statuses that count as good, as a table: every response is looked up.

use plimsoll_model::plan::GoodStatus;

/// Number of statuses in the table; none beyond is good.
const STATUSES: usize = 1000;

/// The good statuses of a plan.
#[derive(Debug)]
pub(crate) struct GoodStatuses([bool; STATUSES]);

impl GoodStatuses {
    pub(crate) fn new(status: &GoodStatus) -> Self {
        let mut table = [false; STATUSES];
        for (status_code, good) in (0..).zip(&mut table) {
            *good = status.contains(status_code);
        }
        Self(table)
    }

    #[inline]
    pub(crate) fn contains(&self, status_code: u16) -> bool {
        self.0.get(usize::from(status_code)) == Some(&true)
    }
}
