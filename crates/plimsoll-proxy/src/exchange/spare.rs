//! Finished exchanges, whose memory is used again.

use std::cell::RefCell;

use super::Exchange;

/// Most finished exchanges that are kept for reuse.
const SPARE_MAX: usize = 64;

/// Finished exchanges of a loop, whose memory is used again.
#[derive(Debug, Default)]
pub(crate) struct SpareExchanges {
    #[expect(clippy::vec_box, reason = "the boxes themselves are used again")]
    spare: RefCell<Vec<Box<Exchange>>>,
}

impl SpareExchanges {
    /// An empty exchange, with the memory of a finished one.
    pub(crate) fn take(&self) -> Box<Exchange> {
        self.spare.borrow_mut().pop().unwrap_or_default()
    }

    /// Keeps a finished exchange for reuse.
    pub(crate) fn recycle(&self, mut exchange: Box<Exchange>) {
        exchange.clear();
        let mut spare = self.spare.borrow_mut();
        if spare.len() < SPARE_MAX {
            spare.push(exchange);
        }
    }
}
