//! Baseline policies that the store is compared with, in their plainest form: one list, one map, no locks.

use std::collections::HashMap;

use crate::OVERHEAD;
use crate::traces::PageRequest;

/// An eviction policy.
pub(crate) trait EvictionPolicy {
    /// Whether the page was cached; if not, it is offered.
    fn access(&mut self, request: PageRequest) -> bool;
}

const NONE: usize = usize::MAX;

/// A page in a list.
struct ListNode {
    hash: u64,
    bytes: usize,
    newer: usize,
    older: usize,
    visited: bool,
}

/// Pages in one list, the newest first, indexed by hash.
struct List {
    map: HashMap<u64, usize>,
    nodes: Vec<ListNode>,
    free: Vec<usize>,
    newest: usize,
    oldest: usize,
    bytes: usize,
}

impl List {
    fn new() -> Self {
        Self {
            map: HashMap::new(),
            nodes: Vec::new(),
            free: Vec::new(),
            newest: NONE,
            oldest: NONE,
            bytes: 0,
        }
    }

    fn push(&mut self, hash: u64, bytes: usize) {
        let node = ListNode {
            hash,
            bytes,
            newer: NONE,
            older: NONE,
            visited: false,
        };
        let index = if let Some(index) = self.free.pop() {
            self.nodes[index] = node;
            index
        } else {
            self.nodes.push(node);
            self.nodes.len() - 1
        };
        self.map.insert(hash, index);
        self.bytes += bytes;
        self.link(index);
    }

    fn link(&mut self, index: usize) {
        let former = std::mem::replace(&mut self.newest, index);
        self.nodes[index].older = former;
        self.nodes[index].newer = NONE;
        if former == NONE {
            self.oldest = index;
        } else {
            self.nodes[former].newer = index;
        }
    }

    fn unlink(&mut self, index: usize) {
        let (newer, older) = (self.nodes[index].newer, self.nodes[index].older);
        if newer == NONE {
            self.newest = older;
        } else {
            self.nodes[newer].older = older;
        }
        if older == NONE {
            self.oldest = newer;
        } else {
            self.nodes[older].newer = newer;
        }
    }

    fn touch(&mut self, index: usize) {
        self.unlink(index);
        self.link(index);
    }

    fn remove(&mut self, index: usize) {
        self.unlink(index);
        self.map.remove(&self.nodes[index].hash);
        self.bytes -= self.nodes[index].bytes;
        self.free.push(index);
    }
}

/// Evicts the least recently used page.
pub(crate) struct Lru {
    list: List,
    budget: usize,
}

impl Lru {
    pub(crate) fn new(budget: usize) -> Self {
        Self {
            list: List::new(),
            budget,
        }
    }
}

impl EvictionPolicy for Lru {
    fn access(&mut self, request: PageRequest) -> bool {
        if let Some(index) = self.list.map.get(&request.hash).copied() {
            self.list.touch(index);
            return true;
        }
        self.list
            .push(request.hash, request.bytes as usize + OVERHEAD);
        while self.list.bytes > self.budget {
            self.list.remove(self.list.oldest);
        }
        false
    }
}

/// Zhang et al., "SIEVE is simpler than LRU", NSDI 2024: a hand moves from the oldest to the newest, spares pages used
/// since its last pass, and evicts the first that was not.
pub(crate) struct Sieve {
    list: List,
    hand: usize,
    budget: usize,
}

impl Sieve {
    pub(crate) fn new(budget: usize) -> Self {
        Self {
            list: List::new(),
            hand: NONE,
            budget,
        }
    }
}

impl EvictionPolicy for Sieve {
    fn access(&mut self, request: PageRequest) -> bool {
        if let Some(index) = self.list.map.get(&request.hash).copied() {
            self.list.nodes[index].visited = true;
            return true;
        }
        let bytes = request.bytes as usize + OVERHEAD;
        while self.list.bytes + bytes > self.budget {
            let mut hand = if self.hand == NONE {
                self.list.oldest
            } else {
                self.hand
            };
            while self.list.nodes[hand].visited {
                self.list.nodes[hand].visited = false;
                let newer = self.list.nodes[hand].newer;
                hand = if newer == NONE {
                    self.list.oldest
                } else {
                    newer
                };
            }
            self.hand = self.list.nodes[hand].newer;
            self.list.remove(hand);
        }
        self.list.push(request.hash, bytes);
        false
    }
}

/// LRU with admission by frequency, and before it a window of a hundredth for newcomers.
///
/// Einziger, Friedman and Manes, "`TinyLFU`", ACM Transactions on Storage 2017, without the segments of the main part.
pub(crate) struct TinyLfu {
    window: List,
    main: List,
    sketch: Sketch,
    budget: usize,
}

impl TinyLfu {
    pub(crate) fn new(budget: usize) -> Self {
        Self {
            window: List::new(),
            main: List::new(),
            sketch: Sketch::new(budget / 4_000),
            budget,
        }
    }

    /// A page that leaves the window enters the main segment if it is used more often than the page it would replace.
    fn offer(&mut self, hash: u64, bytes: usize) {
        let main_budget = self.budget - self.budget / 100;
        while self.main.bytes + bytes > main_budget {
            let oldest = self.main.oldest;
            if self.sketch.estimate(hash) <= self.sketch.estimate(self.main.nodes[oldest].hash) {
                return;
            }
            self.main.remove(oldest);
        }
        self.main.push(hash, bytes);
    }
}

impl EvictionPolicy for TinyLfu {
    fn access(&mut self, request: PageRequest) -> bool {
        self.sketch.count(request.hash);
        for list in [&mut self.window, &mut self.main] {
            if let Some(index) = list.map.get(&request.hash).copied() {
                list.touch(index);
                return true;
            }
        }
        self.window
            .push(request.hash, request.bytes as usize + OVERHEAD);
        while self.window.bytes > self.budget / 100 {
            let oldest = self.window.oldest;
            let (hash, bytes) = (
                self.window.nodes[oldest].hash,
                self.window.nodes[oldest].bytes,
            );
            self.window.remove(oldest);
            self.offer(hash, bytes);
        }
        false
    }
}

/// Four rows of counters up to 15, halved after ten counts for each place.
struct Sketch {
    rows: [Vec<u8>; 4],
    counts: usize,
}

impl Sketch {
    fn new(places: usize) -> Self {
        let len = places.next_power_of_two();
        Self {
            rows: std::array::from_fn(|_| vec![0; len]),
            counts: 0,
        }
    }

    fn index(&self, row: usize, hash: u64) -> usize {
        let mixed = crate::traces::mixed(hash ^ row as u64);
        usize::try_from(mixed & 0xffff_ffff).expect("32 bits") & (self.rows[row].len() - 1)
    }

    fn count(&mut self, hash: u64) {
        for row in 0..self.rows.len() {
            let index = self.index(row, hash);
            let counter = &mut self.rows[row][index];
            *counter = (*counter + 1).min(15);
        }
        self.counts += 1;
        if self.counts > 10 * self.rows[0].len() {
            self.counts /= 2;
            for counter in self.rows.iter_mut().flatten() {
                *counter /= 2;
            }
        }
    }

    fn estimate(&self, hash: u64) -> u8 {
        let counters = (0..self.rows.len()).map(|row| self.rows[row][self.index(row, hash)]);
        counters.min().unwrap_or_default()
    }
}
