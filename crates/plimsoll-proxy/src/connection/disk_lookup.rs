//! Disk lookup: after a miss in memory, the request waits until the disk is read, as for a fetch, and repeats the
//! lookup.

use plimsoll_cache::CacheStatus;
use plimsoll_cache::store::{Begin, Lookup as _};

use super::DownstreamConnection;
use super::lookup::{CacheLookup, Seeking};

/// The variant under which disk lookups collapse.
const RECALL: u64 = 0x6469_736b;

/// State of the disk lookup of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum DiskLookup {
    #[default]
    Not,
    /// It follows the read.
    Waits,
    Done,
}

impl DiskLookup {
    /// The state for a repeated lookup.
    pub(super) fn again(self) -> Self {
        match self {
            Self::Not => Self::Not,
            Self::Waits | Self::Done => Self::Done,
        }
    }
}

/// Whether the disk has responses for a key that are not in memory, and was not read yet.
pub(super) fn lies_on_disk(lookup: &CacheLookup<'_>) -> bool {
    let disk = lookup.cache.disk.as_ref();
    let disk = disk.filter(|_| lookup.seeking.disk == DiskLookup::Not);
    disk.is_some_and(|disk| disk.has_more(lookup.hashed_key.hash(), 0))
}

impl DownstreamConnection {
    /// Reads the disk before the request goes upstream; returns the lookup when the disk has nothing more.
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
