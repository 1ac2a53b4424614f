//! Who was thrown out lately: hashes without objects, eight bytes each.

/// Remembers about as many hashes as there are objects, the oldest forgotten first.
///
/// A table without chains: a newcomer takes the place of whoever stood there. What is lost by that, a few of the older
/// ones, costs a page one more turn in the small queue; it buys a memory that never moves and is never searched.
#[derive(Debug, Default)]
pub(super) struct Ghosts {
    places: Vec<Ghost>,
    /// How many were thrown out so far, wrapping.
    now: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct Ghost {
    mark: u32,
    /// `now` when it was thrown out; 0 is an empty place.
    at: u32,
}

impl Ghosts {
    /// Remembers `hash`; `live` is how many objects there are.
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

    /// Forgets `hash`, and says whether it was among the last `live` to be thrown out.
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

    /// Where `mark` stands; `None` while there is no place at all.
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
