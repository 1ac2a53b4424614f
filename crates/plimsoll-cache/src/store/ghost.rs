//! Ghost list: hashes of recently evicted objects, eight bytes each.

/// Remembers about as many hashes as there are objects, the oldest forgotten first.
///
/// A table without chains: a new entry overwrites the one in its slot. The few older entries lost that way cost a page
/// one more round in the small queue; in exchange the memory never moves and is never searched.
#[derive(Debug, Default)]
pub(super) struct Ghosts {
    places: Vec<Ghost>,
    /// Number of evictions so far, wrapping.
    now: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct Ghost {
    mark: u32,
    /// `now` of the eviction; 0 is an empty slot.
    at: u32,
}

impl Ghosts {
    /// Remembers `hash`; `live` is the number of objects.
    pub(super) fn add(&mut self, hash: u64, live: usize) {
        if self.places.len() < live {
            self.grow(live.next_power_of_two().max(64));
        }
        self.now = self.now.wrapping_add(1).max(1);
        if let Some(index) = self.index(mark(hash)) {
            self.places[index] = Ghost {
                mark: mark(hash),
                at: self.now,
            };
        }
    }

    /// Forgets `hash`; returns whether it was among the last `live` evictions.
    pub(super) fn take(&mut self, hash: u64, live: usize) -> bool {
        let Some(index) = self.index(mark(hash)) else {
            return false;
        };
        let ghost = self.places[index];
        let age = self.now.wrapping_sub(ghost.at) as usize;
        let found = ghost.at != 0 && ghost.mark == mark(hash) && age <= live;
        if found {
            self.places[index] = Ghost::default();
        }
        found
    }

    pub(super) fn footprint(&self) -> usize {
        self.places.capacity() * size_of::<Ghost>()
    }

    fn grow(&mut self, len: usize) {
        let before = std::mem::replace(&mut self.places, vec![Ghost::default(); len]);
        for ghost in before.into_iter().filter(|ghost| ghost.at != 0) {
            if let Some(index) = self.index(ghost.mark) {
                self.places[index] = ghost;
            }
        }
    }

    /// Slot of `mark`; `None` while the table is empty.
    fn index(&self, mark: u32) -> Option<usize> {
        let highest = self.places.len().checked_sub(1)?;
        Some(mark as usize & highest)
    }
}

/// The low half of the hash: shards and tables are chosen by the high half too, so that both spread.
#[expect(clippy::cast_possible_truncation, reason = "half of a hash is meant")]
fn mark(hash: u64) -> u32 {
    hash as u32
}
