//! When messages come faster than waking up for each of them is worth.

/// How long the loop lets messages gather: latency ends at the kernel's stamp, not when they are read.
pub(crate) const REST_NS: u64 = 500_000;

/// Batches that follow each other within this time are a flood.
const FLOOD_NS: u64 = 2 * REST_NS;

/// Whether messages flood in.
///
/// A server that tells ten thousand clients takes longer for each than this loop does. It would sleep between two of
/// them, and be woken for each: that costs both sides more than the message does.
#[derive(Debug, Default)]
pub(crate) struct Rest {
    /// When the last batch was over, ns.
    batch_ns: u64,
    is_due: bool,
}

impl Rest {
    /// So many events were handled at `now`; `is_more` says that others wait already, or that something waits which
    /// carries no stamp.
    pub(crate) fn note(&mut self, count: usize, is_more: bool, now: u64) {
        if count == 0 {
            return;
        }
        self.is_due = !is_more && now.saturating_sub(self.batch_ns) < FLOOD_NS;
        self.batch_ns = now;
    }

    /// Whether to let messages gather now; not twice without a batch between.
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
