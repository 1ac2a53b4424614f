//! Collapsed forwarding: the first request that misses leads a fetch, the others follow it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::fill::{Fill, FillOutcome, Follower};
use super::insertion::InsertEntry;
use super::purge::Whom;
use super::shard::Shard;
use super::{Lookup, PurgeEpoch, Put, Store, Weigh};

/// Next step after a miss.
#[derive(Debug)]
pub enum Begin<V: Weigh, H> {
    /// Fetch on behalf of all.
    Lead(Leader<V, H>),
    /// A fetch is in progress: read along.
    Follow(Follower<H>),
    /// A usable value was stored meanwhile: look up again.
    Again,
    /// The key was uncacheable recently: fetch separately.
    Pass,
    /// The maximum of fetches or followers is reached: fetch separately.
    Full,
}

impl<V: Weigh, H> Store<V, H> {
    /// Collapses concurrent misses of a key behind one leader.
    ///
    /// `variant` distinguishes requests of one key that one response cannot serve, as far as known (0 at first). `good`
    /// returns whether a value is usable after all: one may have been stored since the lookup. Runs under the shard's
    /// lock.
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

    /// Whether a purge may affect the result of this fill: requests after the purge must not receive it.
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
    /// [`super::StoreLimits::pass_ns`] have passed.
    pub fn remember_pass(&self, key: &impl Lookup, variant: u64, now_ns: u64) {
        self.pass(key.hash(), variant, now_ns);
    }

    /// Leads a fetch that is followed only through [`Follower`]s handed out; `epoch` as for [`Store::put`].
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

/// Key under which uncacheability is remembered for requests of one kind.
pub(super) fn of_kind(hash: u64, variant: u64) -> u64 {
    hash ^ variant
}

/// The leader of a fetch. Dropped without an ending, it releases all followers: one of them leads next.
#[derive(Debug)]
pub struct Leader<V: Weigh, H> {
    store: Arc<Store<V, H>>,
    fill: Arc<Fill<H>>,
}

impl<V: Weigh, H> Leader<V, H> {
    /// The requested key.
    pub fn key(&self) -> &[u8] {
        &self.fill.key
    }

    /// The kind of requests that it serves.
    pub fn variant(&self) -> u64 {
        self.fill.variant
    }

    /// Adds a follower.
    pub fn follow(&self) -> Follower<H> {
        self.fill.join(usize::MAX);
        Follower::new(Arc::clone(&self.fill))
    }

    /// Whether there are followers.
    pub fn is_followed(&self) -> bool {
        self.fill.is_followed()
    }

    /// Publishes the head to followers, once it is known that the response may be shared; `length` is the announced
    /// body length.
    pub fn head(&self, head: Arc<H>, length: Option<usize>) {
        self.fill.set_head(head, length);
    }

    /// Appends to the body. Returns whether the response can still be stored: once it is too large, followers continue,
    /// those too far behind break off, and no new ones join.
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

    /// The body is complete: stores the value built by `make`, replaces the variants that it `supersedes`, and lets
    /// followers read to the end. `tags` as for [`Store::put`].
    ///
    /// For a response without a body of its own (a 304) `make` ignores the bytes; followers without a head look up
    /// again.
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

    /// The response is complete but not stored: followers with the head read to its end.
    pub fn end(self) {
        self.finish(FillOutcome::Whole);
    }

    /// The response may not be shared: all followers fetch separately, now and for a while.
    pub fn uncacheable(self, now_ns: u64) {
        self.store.pass(self.fill.hash, self.fill.variant, now_ns);
        self.finish(FillOutcome::Alone);
    }

    /// The origin failed: followers are notified, so that they do not all retry.
    pub fn fail(self) {
        self.finish(FillOutcome::Failed);
    }

    /// Removes the fill from lookups.
    fn leave(&self) {
        let mut shard = self.store.shard(self.fill.hash);
        self.store.end_fill(&mut shard, &self.fill);
    }

    /// First no new followers join, then the existing ones are notified.
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
