//! What memory does not have may lie on disk: who misses waits until it is read, as for somebody's fetch, and looks up
//! again.

use plimsoll_cache::CacheStatus;
use plimsoll_cache::store::{Begin, Lookup as _};

use super::Connection;
use super::cached::{Look, Seeking};

/// The kind of those who wait for copies from the disk.
const RECALL: u64 = 0x6469_736b;

/// Whether the disk was asked for copies that memory does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AskedDisk {
    #[default]
    Not,
    /// It follows whoever reads them.
    Waits,
    Done,
}

impl AskedDisk {
    /// When it is looked up once more.
    pub(super) fn again(self) -> Self {
        match self {
            Self::Not => Self::Not,
            Self::Waits | Self::Done => Self::Done,
        }
    }
}

/// Whether the disk has copies of a key of which memory has none, and was not asked yet.
pub(super) fn lies_on_disk(look: &Look<'_>) -> bool {
    let disk = look.cache.disk.as_ref();
    let disk = disk.filter(|_| look.seeking.disk == AskedDisk::Not);
    disk.is_some_and(|disk| disk.has_more(look.wanted.hash(), 0))
}

impl Connection {
    /// The disk is asked before a server is; gives the look-up back when it has nothing more.
    pub(super) fn recall<'a>(&mut self, look: Look<'a>) -> Option<Look<'a>> {
        let disk = look.cache.disk.as_ref();
        let Some(disk) = disk.filter(|_| look.seeking.disk == AskedDisk::Not) else {
            return Some(look);
        };
        let hash = look.wanted.hash();
        let store = &look.cache.store;
        let mut in_memory = 0;
        store.get(&look.wanted, |_| {
            in_memory += 1;
            false
        });
        if !disk.has_more(hash, in_memory) {
            return Some(look);
        }
        let now_ns = look.request.own.moments.began;
        let follower = match store.begin(&look.wanted, RECALL, now_ns, |_| false) {
            Begin::Lead(leader) => {
                let follower = leader.follow();
                if !disk.recall(hash, leader) {
                    return Some(look);
                }
                follower
            }
            Begin::Follow(follower) => follower,
            Begin::Again | Begin::Pass | Begin::Full => return Some(look),
        };
        let subject = look.subject();
        let seeking = Seeking {
            disk: AskedDisk::Waits,
            ..look.seeking
        };
        let status = CacheStatus::default();
        self.follow(&look.request, follower, None, subject, status, seeking);
        None
    }
}
