//! A cached response in memory: its head with a short body in one allocation; a long body in another, or on disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use plimsoll_cache::store::{Weigh, allocated};
use plimsoll_net::clock::Nanoseconds;

use super::disk::{BodyRef, CopyBody, OnDisk};
use super::response_metadata::ResponseMetadata;
use crate::fragments::Mosaic;
use crate::message::outgoing::GATHERED_MAX;

/// Shortest interval between revalidations of one response, ms.
const RETRY_MS: u32 = 1_000;
/// How long an origin is not contacted for a response after it has failed, ms.
const REST_MS: u32 = 1_000;
/// How long a stale response is served immediately after its origin has failed, ms: clients do not wait, and the origin
/// is tried in the background. After that the origin may have recovered unnoticed.
const ILL_MS: u32 = 30_000;

/// Memory of an open file including kernel structures, bytes.
const OPEN_FILE: usize = 1024;

/// A cached response.
#[derive(Debug)]
pub(crate) struct CachedResponse {
    pub(crate) metadata: ResponseMetadata,
    place: BodyPlace,
    /// Time of the last revalidation attempt, and of the last failure of the origin.
    tried: AtomicMoment,
    failed: AtomicMoment,
}

/// Location of the body.
#[derive(Clone, Debug)]
enum BodyPlace {
    /// After the head in the same allocation, which is written together anyway.
    Beside,
    Apart(Box<Apart>),
    Disk(Arc<OnDisk>),
}

/// A body in an allocation of its own.
#[derive(Clone, Debug)]
struct Apart {
    bytes: Bytes,
    /// Its parsed form, if it may contain ESI includes.
    mosaic: Option<Arc<Mosaic>>,
}

impl CachedResponse {
    pub(crate) fn new(metadata: &ResponseMetadata, body: impl Into<CopyBody>) -> Self {
        let (metadata, place) = match body.into() {
            CopyBody::Memory(bytes) if bytes.len() <= GATHERED_MAX && metadata.draft.is_none() => {
                (metadata.with_tail(&bytes), BodyPlace::Beside)
            }
            CopyBody::Memory(bytes) => {
                let draft = metadata.draft.as_ref();
                let mosaic = draft.and_then(|draft| draft.mosaic(&bytes)).map(Arc::new);
                let apart = Box::new(Apart { bytes, mosaic });
                (metadata.clone(), BodyPlace::Apart(apart))
            }
            CopyBody::Disk(file) => (metadata.clone(), BodyPlace::Disk(file)),
        };
        Self::at(metadata, place)
    }

    /// The same response with a new head.
    pub(crate) fn with_head(&self, metadata: &ResponseMetadata) -> Self {
        let metadata = match self.place {
            BodyPlace::Beside => metadata.with_tail(self.metadata.stored.tail()),
            BodyPlace::Apart(_) | BodyPlace::Disk(_) => metadata.clone(),
        };
        Self::at(metadata, self.place.clone())
    }

    fn at(metadata: ResponseMetadata, place: BodyPlace) -> Self {
        Self {
            metadata,
            place,
            tried: AtomicMoment::default(),
            failed: AtomicMoment::default(),
        }
    }

    pub(crate) fn body(&self) -> BodyRef<'_> {
        match &self.place {
            BodyPlace::Beside => BodyRef::Short(self.metadata.stored.tail()),
            BodyPlace::Apart(apart) => BodyRef::Long(&apart.bytes),
            BodyPlace::Disk(file) => BodyRef::Disk(file),
        }
    }

    /// The parsed body, if it may contain ESI includes.
    pub(crate) fn mosaic(&self) -> Option<&Arc<Mosaic>> {
        match &self.place {
            BodyPlace::Apart(apart) => apart.mosaic.as_ref(),
            BodyPlace::Beside | BodyPlace::Disk(_) => None,
        }
    }

    /// Length of the body.
    pub(crate) fn len(&self) -> u64 {
        self.body().len()
    }

    /// Whether a revalidation is due and `lets` permits it; the caller must then attempt it.
    pub(crate) fn is_to_be_tried(&self, now: Nanoseconds, lets: impl FnOnce() -> bool) -> bool {
        let before = self.tried.get();
        if AtomicMoment::is_within(before, now, RETRY_MS) || !lets() {
            return false;
        }
        self.tried.exchange(before, now)
    }

    /// Records a failure of the origin.
    pub(crate) fn note_failure(&self, now: Nanoseconds) {
        self.failed.set(now);
    }

    /// Whether the origin has failed recently.
    pub(crate) fn has_failed(&self, now: Nanoseconds) -> bool {
        AtomicMoment::is_within(self.failed.get(), now, ILL_MS)
    }

    /// Whether the origin is not to be contacted at present.
    pub(crate) fn rests(&self, now: Nanoseconds) -> bool {
        AtomicMoment::is_within(self.failed.get(), now, REST_MS)
    }
}

impl Weigh for CachedResponse {
    fn heap_bytes(&self) -> usize {
        let body = match &self.place {
            BodyPlace::Beside => 0,
            BodyPlace::Apart(apart) => {
                let mosaic = apart.mosaic.as_ref();
                let mosaic = mosaic.map_or(0, |mosaic| allocated(mosaic.heap_bytes(&apart.bytes)));
                allocated(size_of::<Apart>()) + allocated(apart.bytes.len()) + mosaic
            }
            BodyPlace::Disk(_) => OPEN_FILE,
        };
        self.metadata.heap_bytes() + body
    }
}

/// A timestamp of the event loops' clock, or never, in four bytes. It wraps after 49 days; an old timestamp may then
/// count as recent, for as long as timestamps matter, which is seconds.
#[derive(Debug, Default)]
struct AtomicMoment(AtomicU32);

impl AtomicMoment {
    fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    fn set(&self, now: Nanoseconds) {
        self.0.store(Self::of(now).max(1), Ordering::Relaxed);
    }

    /// Sets the timestamp if it is still `before` (compare and exchange).
    fn exchange(&self, before: u32, now: Nanoseconds) -> bool {
        let now = Self::of(now).max(1);
        self.0
            .compare_exchange(before, now, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }

    /// Whether a timestamp is less than `span` ms before now.
    fn is_within(moment: u32, now: Nanoseconds, span: u32) -> bool {
        moment != 0 && Self::of(now).wrapping_sub(moment) < span
    }

    #[expect(clippy::cast_possible_truncation, reason = "it goes round")]
    fn of(now: Nanoseconds) -> u32 {
        (now / 1_000_000) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_go_round() {
        let moment = AtomicMoment::default();
        assert!(
            !AtomicMoment::is_within(moment.get(), 5, 1_000),
            "never is not now"
        );
        let round = (u64::from(u32::MAX) - 10) * 1_000_000;
        moment.set(round);
        assert!(AtomicMoment::is_within(
            moment.get(),
            round + 900_000_000,
            1_000
        ));
        assert!(!AtomicMoment::is_within(
            moment.get(),
            round + 1_100_000_000,
            1_000
        ));
        assert!(moment.exchange(moment.get(), round) && !moment.exchange(1, round));
    }

    /// The basis of the memory figure in the cache benchmark: a response of 1 kB takes two allocations and its key.
    #[test]
    fn a_copy_is_small() {
        assert!(
            size_of::<CachedResponse>() <= 152,
            "{}",
            size_of::<CachedResponse>()
        );
    }
}
