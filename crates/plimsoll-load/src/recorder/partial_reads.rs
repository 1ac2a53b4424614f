//! Times of responses that took several reads: the others have their first byte with their last, and cost nothing here.

use plimsoll_model::window::PartialReads;

use super::duration_tally::DurationTally;

/// Times of responses that took several reads, of one loop in one second.
#[derive(Debug, Default)]
pub(super) struct PartialReadsBuilder {
    service: DurationTally,
    first_byte: DurationTally,
    transfer: DurationTally,
}

impl PartialReadsBuilder {
    /// An answer was sent, had its first bytes, and was complete at these moments, ns.
    #[inline]
    pub(super) fn add(&mut self, sent: u64, first_byte: u64, done: u64) {
        self.service.add(done.saturating_sub(sent) / 1000);
        self.first_byte.add(first_byte.saturating_sub(sent) / 1000);
        self.transfer.add(done.saturating_sub(first_byte) / 1000);
    }

    /// Its counts, if it has any; it is empty then.
    pub(super) fn take(&mut self) -> Option<PartialReads> {
        let taken = PartialReads {
            service: self.service.take(),
            first_byte: self.first_byte.take(),
            transfer: self.transfer.take(),
        };
        (!taken.service.is_empty()).then_some(taken)
    }
}
