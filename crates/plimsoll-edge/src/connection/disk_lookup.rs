//! What memory does not have may lie on disk: who misses waits until it is read, as for somebody's fetch, and looks up
//! again.

use plimsoll_cache::CacheStatus;
use plimsoll_cache::store::{Begin, Lookup as _};

use super::DownstreamConnection;
use super::cached::{CacheLookup, Seeking};

/// The kind of those who wait for copies from the disk.
const RECALL: u64 = 0x6469_736b;

/// Whether the disk was asked for copies that memory does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum DiskLookup {
    #[default]
    Not,
    /// It follows whoever reads them.
    Waits,
    Done,
}

impl DiskLookup {
    /// When it is looked up once more.
    pub(super) fn again(self) -> Self {
        match self {
            Self::Not => Self::Not,
            Self::Waits | Self::Done => Self::Done,
        }
    }
}

/// Whether the disk has copies of a key of which memory has none, and was not asked yet.
pub(super) fn lies_on_disk(lookup: &CacheLookup<'_>) -> bool {
    let disk = lookup.cache.disk.as_ref();
    let disk = disk.filter(|_| lookup.seeking.disk == DiskLookup::Not);
    disk.is_some_and(|disk| disk.has_more(lookup.hashed_key.hash(), 0))
}

impl DownstreamConnection {
    /// The disk is asked before a server is; gives the look-up back when it has nothing more.
    pub(super) fn recall<'a>(&mut self, lookup: CacheLookup<'a>) -> Option<CacheLookup<'a>> {
        let disk = lookup.cache.disk.as_ref();
        let Some(disk) = disk.filter(|_| lookup.seeking.disk == DiskLookup::Not) else {
            return Some(lookup);
        };
        let hash = lookup.hashed_key.hash();
        let store = &lookup.cache.store;
        let mut in_memory = 0;
        store.get(&lookup.hashed_key, |_| {
            in_memory += 1;
            false
        });
        if !disk.has_more(hash, in_memory) {
            return Some(lookup);
        }
        let now_ns = lookup.request.own.moments.began;
        let follower = match store.begin(&lookup.hashed_key, RECALL, now_ns, |_| false) {
            Begin::Lead(leader) => {
                let follower = leader.follow();
                if !disk.recall(hash, leader) {
                    return Some(lookup);
                }
                follower
            }
            Begin::Follow(follower) => follower,
            Begin::Again | Begin::Pass | Begin::Full => return Some(lookup),
        };
        let keyed = lookup.keyed_request();
        let seeking = Seeking {
            disk: DiskLookup::Waits,
            ..lookup.seeking
        };
        let status = CacheStatus::default();
        self.follow(&lookup.request, follower, None, keyed, status, seeking);
        None
    }
}
