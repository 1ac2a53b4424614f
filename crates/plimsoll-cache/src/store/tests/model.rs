//! Any sequence of puts, lookups and purges, compared with a plain map and a list of purges.

use std::collections::HashMap;

use proptest::prelude::*;

use super::super::{How, PurgeEpoch, Put, Store, StoreLimits};
use super::{TestStore, TestValue, empty_bytes, named};

const KEYS: [&[u8]; 6] = [
    b"https://a/",
    b"https://a/x",
    b"https://a/x/y",
    b"https://b/",
    b"https://b/x",
    b"http://a/x",
];

#[derive(Debug, Clone)]
enum ModelStep {
    Get {
        key: usize,
        variant: u64,
    },
    Put {
        key: usize,
        variant: u64,
        bytes: usize,
        tags: Vec<u64>,
        late: bool,
    },
    /// Records the purge epoch, for puts that are `late`.
    RecordEpoch,
    Purge {
        what: PurgeScope,
        how: How,
    },
}

#[derive(Debug, Clone)]
enum PurgeScope {
    Everything,
    Key(usize),
    Prefix(&'static [u8]),
    Tag(u64),
}

impl PurgeScope {
    fn meets(&self, key: usize, tags: &[u64]) -> bool {
        match self {
            Self::Everything => true,
            // By hash: keys that share one are purged together.
            Self::Key(purged) => named(KEYS[*purged]).hash == named(KEYS[key]).hash,
            Self::Prefix(prefix) => KEYS[key].starts_with(prefix),
            Self::Tag(tag) => tags.contains(tag),
        }
    }
}

fn steps() -> impl Strategy<Value = Vec<ModelStep>> {
    let what = prop_oneof![
        1 => Just(PurgeScope::Everything),
        2 => (0..KEYS.len()).prop_map(PurgeScope::Key),
        2 => prop::sample::select(vec![&b"https://a/x"[..], b"https://b/", b"http", b""]).prop_map(PurgeScope::Prefix),
        2 => (0..3_u64).prop_map(PurgeScope::Tag),
    ];
    let step = prop_oneof![
        5 => (0..KEYS.len(), 0..4_u64).prop_map(|(key, variant)| ModelStep::Get { key, variant }),
        5 => (0..KEYS.len(), 0..4_u64, 0..3_000_usize, prop::collection::vec(0..3_u64, 0..3), any::<bool>())
            .prop_map(|(key, variant, bytes, tags, late)| ModelStep::Put { key, variant, bytes, tags, late }),
        1 => Just(ModelStep::RecordEpoch),
        1 => (what, prop_oneof![Just(How::Soft), Just(How::Hard)]).prop_map(|(what, how)| ModelStep::Purge { what, how }),
    ];
    prop::collection::vec(step, 1..200)
}

/// The last put under a key and variant.
struct KnownValue {
    id: u64,
    tags: Vec<u64>,
    /// Number of purges when it was requested, and when it was put.
    purges_at_request: usize,
    put: usize,
}

struct Model {
    store: TestStore,
    known: HashMap<(usize, u64), KnownValue>,
    purges: Vec<(PurgeScope, How)>,
    saved_epoch: (PurgeEpoch, usize),
    /// Nothing is evicted.
    roomy: bool,
    next: u64,
}

impl Model {
    fn new(limits: StoreLimits, roomy: bool) -> Self {
        let store = Store::new(limits);
        Self {
            saved_epoch: (store.purge_epoch(), 0),
            store,
            known: HashMap::new(),
            purges: Vec::new(),
            roomy,
            next: 0,
        }
    }

    /// The strongest purge that affected an object since `from`.
    fn met(&self, key: usize, tags: &[u64], from: usize) -> Option<How> {
        let since = self.purges[from..].iter();
        since
            .filter(|(what, _)| what.meets(key, tags))
            .map(|(_, how)| *how)
            .max()
    }

    fn take(&mut self, step: &ModelStep) -> Result<(), TestCaseError> {
        match step {
            ModelStep::Get { key, variant } => self.get(*key, *variant)?,
            ModelStep::Put {
                key,
                variant,
                bytes,
                tags,
                late,
            } => self.put(*key, *variant, *bytes, tags, *late)?,
            ModelStep::RecordEpoch => {
                self.saved_epoch = (self.store.purge_epoch(), self.purges.len());
            }
            ModelStep::Purge { what, how } => {
                match what {
                    PurgeScope::Everything => self.store.purge_everything(*how),
                    PurgeScope::Key(key) => self.store.purge(&named(KEYS[*key]), *how),
                    PurgeScope::Prefix(prefix) => self.store.purge_prefix(prefix, *how),
                    PurgeScope::Tag(tag) => self.store.purge_tag(*tag, *how),
                }
                self.purges.push((what.clone(), *how));
            }
        }
        let taken = self.store.metrics().bytes;
        prop_assert!(taken <= self.store.limits().bytes, "{taken} bytes taken");
        Ok(())
    }

    fn get(&self, key: usize, variant: u64) -> Result<(), TestCaseError> {
        let hit = self
            .store
            .get(&named(KEYS[key]), |item| item.variant == variant);
        let Some(known) = self.known.get(&(key, variant)) else {
            prop_assert!(hit.is_none(), "nothing was put");
            return Ok(());
        };
        let met = self.met(key, &known.tags, known.purges_at_request);
        // Purges between request and put may count although they did not match; later ones may not.
        let certain = known.purges_at_request == known.put;
        match &hit {
            Some(hit) => {
                prop_assert_eq!(hit.object.value().id, known.id);
                prop_assert_ne!(met, Some(How::Hard));
                prop_assert!(hit.purged || met.is_none(), "a purge was missed");
                prop_assert!(!hit.purged || met.is_some() || !certain, "no purge met it");
            }
            None => prop_assert!(
                !self.roomy || met == Some(How::Hard) || !certain,
                "it was lost"
            ),
        }
        Ok(())
    }

    fn put(
        &mut self,
        key: usize,
        variant: u64,
        bytes: usize,
        tags: &[u64],
        late: bool,
    ) -> Result<(), TestCaseError> {
        let now = (self.store.purge_epoch(), self.purges.len());
        let (epoch, purges) = if late { self.saved_epoch } else { now };
        let id = self.next;
        self.next += 1;
        let item = TestValue { id, variant, bytes };
        let put = self.store.put(
            &named(KEYS[key]),
            epoch,
            tags,
            |other| other.variant == variant,
            item,
        );
        let met = self.met(key, tags, purges);
        match put {
            Put::Stored(hit) => {
                prop_assert_ne!(met, Some(How::Hard));
                prop_assert!(hit.purged || met.is_none());
                let known = KnownValue {
                    id,
                    tags: tags.to_vec(),
                    purges_at_request: purges,
                    put: self.purges.len(),
                };
                self.known.insert((key, variant), known);
            }
            Put::Purged => prop_assert!(late),
            Put::TooLarge | Put::Full => prop_assert!(!self.roomy),
        }
        Ok(())
    }
}

fn check(limits: StoreLimits, roomy: bool, steps: &[ModelStep]) -> Result<(), TestCaseError> {
    let mut model = Model::new(limits, roomy);
    for step in steps {
        model.take(step)?;
    }
    model.store.purge_everything(How::Hard);
    prop_assert_eq!(model.store.metrics().objects, 0);
    prop_assert_eq!(model.store.metrics().bytes, empty_bytes(&model.store));
    Ok(())
}

proptest! {
    #[test]
    fn what_was_put_is_found_until_it_is_purged(steps in steps()) {
        check(StoreLimits::of_bytes(1 << 20), true, &steps)?;
    }

    #[test]
    fn full_lists_of_purges_forget_nothing(steps in steps()) {
        let limits = StoreLimits { prefixes: 2, hashes: 2, ..StoreLimits::of_bytes(1 << 20) };
        check(limits, true, &steps)?;
    }

    #[test]
    fn a_small_budget_holds(steps in steps()) {
        check(StoreLimits { object_bytes: 2_500, ..StoreLimits::of_bytes(24_000) }, false, &steps)?;
    }
}

#[test]
fn the_newest_variant_that_matches_is_taken() {
    let store = TestStore::new(StoreLimits::of_bytes(1 << 20));
    let put = |id, variant| {
        let item = TestValue {
            id,
            variant,
            bytes: 0,
        };
        store.put(
            &named(b"k"),
            store.purge_epoch(),
            &[],
            |other| other.variant == variant,
            item,
        );
    };
    put(1, 1);
    put(2, 2);
    let found = |store: &TestStore| {
        store
            .get(&named(b"k"), |_| true)
            .map(|hit| hit.object.value().id)
    };
    assert_eq!(found(&store), Some(2));
    put(3, 1);
    assert_eq!(found(&store), Some(3));
}

#[test]
fn a_flood_of_variants_stays_within_its_bound_and_spares_who_is_asked_for() {
    let store = TestStore::new(StoreLimits::of_bytes(1 << 20));
    let found = |variant| {
        let hit = store.get(&named(b"k"), |item| item.variant == variant);
        hit.is_some()
    };
    for variant in 0..1_000 {
        let item = TestValue {
            id: variant,
            variant,
            bytes: 10,
        };
        store.put(&named(b"k"), store.purge_epoch(), &[], |_| false, item);
        assert!(found(0), "gone before variant {variant}");
    }
    assert_eq!(store.metrics().objects, store.limits().variants);
    assert!(found(999));
    assert!(!found(984), "there is room for fifteen besides the first");
}
