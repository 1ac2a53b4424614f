//! Index of the disk tier, in memory: which responses are on disk, and which is evicted next.
//!
//! Eviction is first in, first out with a second chance: a response that was read since it came, or since its last
//! chance, gets another.

use hashbrown::HashTable;

/// No slot.
const NONE: u32 = u32::MAX;

/// Allocation unit of file systems, bytes.
const PIECE: u64 = 4096;

/// Memory of one entry, bytes: its slot and its place in the hash table.
pub(super) const ENTRY_BYTES: u64 = 64;

/// The file of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct FileId {
    /// Hash of its key.
    pub(super) hash: u64,
    /// Hash of what distinguishes it from other responses of its key.
    pub(super) identity: u64,
}

#[derive(Debug)]
struct IndexSlot {
    name: FileId,
    /// Bytes that its file takes.
    bytes: u64,
    /// Next older entry; in a free slot the next free one.
    older: u32,
    newer: u32,
    was_read: bool,
}

/// All entries.
#[derive(Debug)]
pub(super) struct Index {
    table: HashTable<u32>,
    slots: Vec<IndexSlot>,
    free: u32,
    oldest: u32,
    newest: u32,
    live: usize,
    /// Bytes of all files, including those being written.
    bytes: u64,
    bytes_max: u64,
    entries_max: usize,
    evicted: u64,
    /// Files to be removed.
    doomed: Vec<FileId>,
}

/// Disk space of a file with this length.
pub(super) fn taken(len: u64) -> u64 {
    len.next_multiple_of(PIECE)
}

impl Index {
    pub(super) fn new() -> Self {
        Self {
            table: HashTable::new(),
            slots: Vec::new(),
            free: NONE,
            oldest: NONE,
            newest: NONE,
            live: 0,
            bytes: 0,
            // Unlimited until configured: the scan may run before the configuration is complete, and must evict
            // nothing.
            bytes_max: u64::MAX,
            entries_max: NONE as usize,
            evicted: 0,
            doomed: Vec::new(),
        }
    }

    /// Sets the capacity.
    pub(super) fn limit(&mut self, bytes_max: u64, entries_max: usize) {
        self.bytes_max = bytes_max;
        self.entries_max = entries_max.min(NONE as usize);
        self.evict_to_fit(0);
    }

    pub(super) fn live(&self) -> usize {
        self.live
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn evicted(&self) -> u64 {
        self.evicted
    }

    /// Takes the files to be removed, which the index does not contain any more.
    pub(super) fn take_doomed(&mut self) -> Vec<FileId> {
        std::mem::take(&mut self.doomed)
    }

    /// The number of responses of a key.
    pub(super) fn count(&self, hash: u64) -> usize {
        self.of_key(hash).count()
    }

    fn of_key(&self, hash: u64) -> impl Iterator<Item = u32> {
        let found = self.table.iter_hash(hash).copied();
        found.filter(move |index| self.slots[*index as usize].name.hash == hash)
    }

    /// All responses of a key; marks them as read.
    pub(super) fn read(&mut self, hash: u64) -> Vec<FileId> {
        let found: Vec<u32> = self.of_key(hash).collect();
        let mut names = Vec::with_capacity(found.len());
        for index in found {
            let slot = &mut self.slots[index as usize];
            slot.was_read = true;
            names.push(slot.name);
        }
        names
    }

    pub(super) fn has(&self, name: FileId) -> bool {
        self.find(name).is_some()
    }

    fn find(&self, name: FileId) -> Option<u32> {
        let is_it = |index: &u32| self.slots[*index as usize].name == name;
        self.table.find(name.hash, is_it).copied()
    }

    /// Adds a written file; the space reserved while it was written must have been released.
    pub(super) fn put(&mut self, name: FileId, bytes: u64) {
        self.remove(name);
        self.add(name, bytes, true);
        self.evict_to_fit(0);
    }

    /// Adds a file found by the scan, unless it was written anew meanwhile.
    pub(super) fn found(&mut self, name: FileId, bytes: u64) {
        if self.has(name) {
            return;
        }
        self.add(name, bytes, false);
        self.evict_to_fit(0);
    }

    fn add(&mut self, name: FileId, bytes: u64, is_newest: bool) {
        let slot = IndexSlot {
            name,
            bytes,
            older: NONE,
            newer: NONE,
            was_read: false,
        };
        let index = if self.free == NONE {
            let Ok(index) = u32::try_from(self.slots.len()) else {
                self.doomed.push(name);
                return;
            };
            self.slots.push(slot);
            index
        } else {
            let index = self.free;
            self.free = self.slots[index as usize].older;
            self.slots[index as usize] = slot;
            index
        };
        let slots = &self.slots;
        let hash_of = |other: &u32| slots[*other as usize].name.hash;
        self.table.insert_unique(name.hash, index, hash_of);
        self.live += 1;
        self.bytes += bytes;
        self.link(index, is_newest);
    }

    /// Removes an entry; whether it existed.
    pub(super) fn remove(&mut self, name: FileId) -> bool {
        let Some(index) = self.find(name) else {
            return false;
        };
        if let Ok(entry) = self.table.find_entry(name.hash, |other| *other == index) {
            entry.remove();
        }
        self.unlink(index);
        let slot = &mut self.slots[index as usize];
        self.bytes -= slot.bytes;
        slot.older = self.free;
        self.free = index;
        self.live -= 1;
        true
    }

    /// Removes an entry, and schedules its file for removal.
    pub(super) fn doom(&mut self, name: FileId) {
        if self.remove(name) {
            self.doomed.push(name);
        }
    }

    /// Adjusts the space of a file that is being written.
    pub(super) fn reserve(&mut self, bytes: u64) {
        self.evict_to_fit(bytes);
        self.bytes += bytes;
    }

    pub(super) fn give_back(&mut self, bytes: u64) {
        self.bytes -= bytes;
    }

    /// Reduces the capacity: the file system holds less than expected.
    pub(super) fn shrink(&mut self, bytes: u64) {
        let target = self.bytes.saturating_sub(bytes.max(self.bytes / 64));
        while self.bytes > target && self.evict() {}
    }

    /// Evicts the oldest entries until there is room for this much more.
    fn evict_to_fit(&mut self, more: u64) {
        while self.bytes.saturating_add(more) > self.bytes_max || self.live > self.entries_max {
            if !self.evict() {
                return;
            }
        }
    }

    /// Evicts the next entry; terminates, since each step clears a mark or removes an entry.
    fn evict(&mut self) -> bool {
        loop {
            let index = self.oldest;
            if index == NONE {
                return false;
            }
            let slot = &mut self.slots[index as usize];
            if !std::mem::take(&mut slot.was_read) {
                let name = slot.name;
                self.doom(name);
                self.evicted += 1;
                return true;
            }
            self.unlink(index);
            self.link(index, true);
        }
    }

    fn link(&mut self, index: u32, is_newest: bool) {
        let (end, other) = if is_newest {
            (&mut self.newest, &mut self.oldest)
        } else {
            (&mut self.oldest, &mut self.newest)
        };
        let former = std::mem::replace(end, index);
        if former == NONE {
            *other = index;
        }
        let (older, newer) = if is_newest {
            (former, NONE)
        } else {
            (NONE, former)
        };
        let slot = &mut self.slots[index as usize];
        (slot.older, slot.newer) = (older, newer);
        if former != NONE {
            let former = &mut self.slots[former as usize];
            let side = if is_newest {
                &mut former.newer
            } else {
                &mut former.older
            };
            *side = index;
        }
    }

    fn unlink(&mut self, index: u32) {
        let slot = &self.slots[index as usize];
        let (older, newer) = (slot.older, slot.newer);
        match older {
            NONE => self.oldest = newer,
            older => self.slots[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.slots[newer as usize].older = older,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(hash: u64) -> FileId {
        FileId { hash, identity: 0 }
    }

    fn of(bytes: u64, entries: usize) -> Index {
        let mut index = Index::new();
        index.limit(bytes, entries);
        index
    }

    #[test]
    fn who_came_first_leaves_first_unless_it_was_read() {
        let mut index = of(3 * PIECE, 100);
        for hash in 1..=3 {
            index.put(name(hash), PIECE);
        }
        assert_eq!(index.read(1), [name(1)]);
        index.put(name(4), PIECE);
        assert_eq!(index.take_doomed(), [name(2)]);
        assert!(index.has(name(1)) && !index.has(name(2)));
        // An entry found by the scan is evicted before those that came since.
        index.limit(5 * PIECE, 100);
        index.found(name(9), PIECE);
        index.limit(4 * PIECE, 100);
        index.put(name(5), PIECE);
        assert_eq!(index.take_doomed(), [name(9)]);
        assert_eq!((index.bytes(), index.live()), (4 * PIECE, 4));
    }

    #[test]
    fn a_file_that_is_written_has_its_room_before() {
        let mut index = of(3 * PIECE, 100);
        index.put(name(1), PIECE);
        index.put(name(2), PIECE);
        index.reserve(2 * PIECE);
        assert_eq!(index.take_doomed(), [name(1)]);
        index.give_back(2 * PIECE);
        index.put(name(3), 2 * PIECE);
        assert_eq!((index.bytes(), index.take_doomed().len()), (3 * PIECE, 0));
    }

    #[test]
    fn a_newer_file_takes_the_place_of_an_older_one() {
        let mut index = of(10 * PIECE, 2);
        index.put(name(1), PIECE);
        index.put(name(1), 2 * PIECE);
        assert_eq!((index.bytes(), index.live()), (2 * PIECE, 1));
        // A file that replaces another is not scheduled for removal.
        assert!(index.take_doomed().is_empty());
        for hash in 2..10 {
            index.put(name(hash), PIECE);
        }
        assert_eq!((index.live(), index.bytes()), (2, 2 * PIECE));
        for hash in 0..10 {
            index.doom(name(hash));
        }
        assert_eq!((index.live(), index.bytes(), index.count(3)), (0, 0, 0));
        assert!(!index.evict());
    }
}
