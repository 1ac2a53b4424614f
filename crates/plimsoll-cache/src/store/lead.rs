//! One asks for all: who misses becomes the leader of a fetch or follows the one under way.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::fill::{Fill, FillOutcome, Follower};
use super::insertion::InsertEntry;
use super::purge::Whom;
use super::shard::Shard;
use super::{Lookup, PurgeEpoch, Put, Store, Weigh};

/// What somebody who missed does next.
#[derive(Debug)]
pub enum Begin<V: Weigh, H> {
    /// Ask the origin, for all.
    Lead(Leader<V, H>),
    /// Somebody asks already: read along.
    Follow(Follower<H>),
    /// A good value came meanwhile: look up again.
    Again,
    /// The key was uncacheable a while ago: ask for yourself.
    Pass,
    /// As many fetches or followers as may be: ask for yourself.
    Full,
}

impl<V: Weigh, H> Store<V, H> {
    /// Gathers those who miss a key behind one.
    ///
    /// `variant` tells apart requests of one key that one answer cannot serve, as far as is known (0 at first). `good`
    /// says whether a value would do after all: one may have been stored since the lookup. Runs under the shard's lock.
    pub fn begin(
        self: &Arc<Self>,
        key: &impl Lookup,
        variant: u64,
        now_ns: u64,
        mut good: impl FnMut(&V) -> bool,
    ) -> Begin<V, H> {
        let hash = key.hash();
        let mut gone = Vec::new();
        let mut shard = self.shard(hash);
        if shard.passes.has(of_kind(hash, variant), now_ns) {
            return Begin::Pass;
        }
        let found = shard.find(hash, &self.purges, &mut gone, |object| {
            key.is(&object.key) && good(&object.value)
        });
        let begin = if found.is_some_and(|index| !shard.slots.slot(index).purged) {
            Begin::Again
        } else {
            let former = shard.fill(hash, variant, |other| key.is(other)).cloned();
            match former.filter(|fill| !self.is_overtaken(fill)) {
                Some(fill) if fill.join(self.limits.followers) => {
                    Begin::Follow(Follower::new(fill))
                }
                Some(_) => Begin::Full,
                None => self.lead(&mut shard, key, variant),
            }
        };
        drop(shard);
        self.let_go(gone);
        self.evict_to_budget(hash);
        begin
    }

    /// Whether a purge may have met what this fill will bring: who asks after the purge must not get it.
    fn is_overtaken(&self, fill: &Fill<H>) -> bool {
        let whom = Whom {
            hash: fill.hash,
            key: &fill.key,
        };
        self.purges.might_meet(fill.begun, whom)
    }

    fn lead(
        self: &Arc<Self>,
        shard: &mut Shard<V, H>,
        key: &impl Lookup,
        variant: u64,
    ) -> Begin<V, H> {
        let hash = key.hash();
        let former = shard.fill(hash, variant, |other| key.is(other)).cloned();
        if let Some(overtaken) = former {
            self.end_fill(shard, &overtaken);
        }
        let count = |count: usize| (count < self.limits.fills).then_some(count + 1);
        if self
            .fills
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, count)
            .is_err()
        {
            return Begin::Full;
        }
        let begun = self.purges.last();
        let fill = Arc::new(Fill::new(
            hash,
            key.to_key(),
            variant,
            begun,
            Arc::clone(&self.budget),
        ));
        shard
            .fills
            .insert_unique(hash, Arc::clone(&fill), |fill| fill.hash);
        self.settle(shard);
        let store = Arc::clone(self);
        Begin::Lead(Leader { store, fill })
    }

    /// Remembers that a key is uncacheable for requests of this kind: none of them waits for another until
    /// [`super::StoreLimits::pass_ns`] are over.
    pub fn remember_pass(&self, key: &impl Lookup, variant: u64, now_ns: u64) {
        self.pass(key.hash(), variant, now_ns);
    }

    /// Leads a fetch that nobody follows but whoever is handed a [`Follower`]; `asked` as for [`Store::put`].
    pub fn alone(
        self: &Arc<Self>,
        key: &impl Lookup,
        variant: u64,
        epoch: PurgeEpoch,
    ) -> Leader<V, H> {
        let (hash, budget) = (key.hash(), Arc::clone(&self.budget));
        let fill = Fill::new(hash, key.to_key(), variant, epoch.0, budget);
        Leader {
            store: Arc::clone(self),
            fill: Arc::new(fill),
        }
    }

    fn pass(&self, hash: u64, variant: u64, now_ns: u64) {
        let mut shard = self.shard(hash);
        let until_ns = now_ns.saturating_add(self.limits.pass_ns);
        shard.passes.remember(of_kind(hash, variant), until_ns);
        self.settle(&mut shard);
        drop(shard);
        self.evict_to_budget(hash);
    }
}

/// Under what it is remembered that a key is uncacheable for requests of one kind.
pub(super) fn of_kind(hash: u64, variant: u64) -> u64 {
    hash ^ variant
}

/// Who asks the origin for all. Dropped without an ending, it releases everybody: one of them leads then.
#[derive(Debug)]
pub struct Leader<V: Weigh, H> {
    store: Arc<Store<V, H>>,
    fill: Arc<Fill<H>>,
}

impl<V: Weigh, H> Leader<V, H> {
    /// The key that is asked for.
    pub fn key(&self) -> &[u8] {
        &self.fill.key
    }

    /// The kind of requests that it leads.
    pub fn variant(&self) -> u64 {
        self.fill.variant
    }

    /// Reads along, as others do.
    pub fn follow(&self) -> Follower<H> {
        self.fill.join(usize::MAX);
        Follower::new(Arc::clone(&self.fill))
    }

    /// Whether anybody reads along.
    pub fn is_followed(&self) -> bool {
        self.fill.is_followed()
    }

    /// Tells the followers the head, once it is known that the answer may be shared; `length` is the body's as announced.
    pub fn head(&self, head: Arc<H>, length: Option<usize>) {
        self.fill.set_head(head, length);
    }

    /// Adds to the body. Says whether the answer can still be stored: once it is too large the followers read on, those
    /// who are too far behind break off, and nobody new follows.
    pub fn append(&self, bytes: &[u8], now_ns: u64) -> bool {
        let kept_max = self.store.limits.object_bytes;
        let so_far = self.fill.append(bytes, kept_max);
        let fits = so_far <= kept_max as u64 && self.store.evict_to_budget(self.fill.hash);
        if !fits {
            self.leave();
            self.store.pass(self.fill.hash, self.fill.variant, now_ns);
        }
        fits
    }

    /// The body is whole: stores what `make` makes of it, in place of the variants that it `supersedes`, and lets the
    /// followers read to the end. `tags` as for [`Store::put`].
    ///
    /// For an answer without a body of its own (a 304) `make` ignores the bytes; followers who know no head look up again.
    pub fn store(
        self,
        tags: &[u64],
        supersedes: impl FnMut(&V) -> bool,
        make: impl FnOnce(bytes::Bytes) -> V,
    ) -> Put<V> {
        let put = match self.fill.take_whole() {
            Some(body) => {
                let entry = InsertEntry {
                    hash: self.fill.hash,
                    key: self.fill.key.clone(),
                    begun: self.fill.begun,
                    variant: self.fill.variant,
                    tags,
                    recalled: None,
                };
                self.store
                    .insert(entry, make(body), supersedes, Some(&self.fill))
            }
            None => Put::TooLarge,
        };
        self.finish(FillOutcome::Whole);
        put
    }

    /// The answer is whole but is not stored after all: followers who know the head read to its end.
    pub fn end(self) {
        self.finish(FillOutcome::Whole);
    }

    /// The answer may not be shared: everybody asks for themselves, now and for a while.
    pub fn uncacheable(self, now_ns: u64) {
        self.store.pass(self.fill.hash, self.fill.variant, now_ns);
        self.finish(FillOutcome::Alone);
    }

    /// The origin failed: followers are told, so that they do not all ask it again.
    pub fn fail(self) {
        self.finish(FillOutcome::Failed);
    }

    /// Nobody new finds the fill.
    fn leave(&self) {
        let mut shard = self.store.shard(self.fill.hash);
        self.store.end_fill(&mut shard, &self.fill);
    }

    /// First nobody new comes, then those who are there are told.
    fn finish(&self, ending: FillOutcome) {
        self.leave();
        self.fill.end(ending);
    }
}

impl<V: Weigh, H> Drop for Leader<V, H> {
    fn drop(&mut self) {
        self.finish(FillOutcome::Left);
    }
}
