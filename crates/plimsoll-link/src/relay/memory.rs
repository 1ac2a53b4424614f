//! Memory of the bytes on their way, over all connections.

use std::cell::Cell;

use crate::schedule::PIECE_LEN;

/// How much is held, and how much may be.
#[derive(Debug)]
pub(super) struct RelayMemory {
    shared_max: u64,
    /// Of it in use: what directions hold beyond the piece that each may hold.
    shared: Cell<u64>,
    held: Cell<u64>,
    held_max: Cell<u64>,
}

impl RelayMemory {
    pub(super) fn new(shared_max: u64) -> Self {
        Self {
            shared_max,
            shared: Cell::new(0),
            held: Cell::new(0),
            held_max: Cell::new(0),
        }
    }

    /// What is left for directions that hold a piece already, bytes.
    pub(super) fn spare(&self) -> u64 {
        self.shared_max.saturating_sub(self.shared.get())
    }

    /// Most bytes that were held at once.
    pub(super) fn held_max(&self) -> u64 {
        self.held_max.get()
    }

    /// A direction holds other bytes than before.
    pub(super) fn change(&self, before: u64, after: u64) {
        let over = |held: u64| held.saturating_sub(PIECE_LEN);
        let shared = self.shared.get() + over(after);
        self.shared.set(shared.saturating_sub(over(before)));
        let held = (self.held.get() + after).saturating_sub(before);
        self.held.set(held);
        self.held_max.set(self.held_max.get().max(held));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_beyond_a_piece_is_shared() {
        let memory = RelayMemory::new(100);
        memory.change(0, PIECE_LEN);
        assert_eq!(memory.spare(), 100);
        memory.change(PIECE_LEN, PIECE_LEN + 70);
        memory.change(0, PIECE_LEN + 70);
        assert_eq!(memory.spare(), 0);
        memory.change(PIECE_LEN + 70, 0);
        assert_eq!(memory.spare(), 30);
        memory.change(PIECE_LEN + 70, 0);
        assert_eq!(memory.spare(), 100);
        assert_eq!(memory.held_max(), 2 * PIECE_LEN + 140);
    }
}
