//! Lets messages accumulate when they arrive faster than a wake-up for each is worth.

/// How long the loop lets messages accumulate: latency ends at the kernel's timestamp, not when they are read.
pub(crate) const REST_NS: u64 = 500_000;

/// Batches that follow each other within this time are a flood.
const FLOOD_NS: u64 = 2 * REST_NS;

/// Detects a flood of messages.
///
/// A server that broadcasts to ten thousand clients takes longer per client than this loop does. The loop would sleep
/// between two messages and wake for each, which costs both sides more than the message does.
#[derive(Debug, Default)]
pub(crate) struct Rest {
    /// When the last batch ended, ns.
    batch_ns: u64,
    is_due: bool,
}

impl Rest {
    /// Number of events handled at `now`; `is_more` is whether others are pending, or work without a kernel
    /// timestamp.
    pub(crate) fn note(&mut self, count: usize, is_more: bool, now: u64) {
        if count == 0 {
            return;
        }
        self.is_due = !is_more && now.saturating_sub(self.batch_ns) < FLOOD_NS;
        self.batch_ns = now;
    }

    /// Whether to let messages accumulate now; not twice without a batch in between.
    pub(crate) fn take(&mut self) -> bool {
        std::mem::take(&mut self.is_due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_flood_is_let_gather_and_only_once() {
        let mut rest = Rest::default();
        let start = 10 * FLOOD_NS;
        rest.note(3, false, start);
        assert!(!rest.take(), "nothing came before it");
        rest.note(3, false, start + FLOOD_NS - 1);
        assert!(rest.take());
        assert!(!rest.take());
        rest.note(3, true, start + FLOOD_NS);
        assert!(!rest.take(), "others wait already");
        rest.note(0, false, start + FLOOD_NS + 1);
        assert!(!rest.take(), "nothing came");
        rest.note(1, false, start + 2 * FLOOD_NS);
        assert!(!rest.take(), "that was long after the last");
    }
}
