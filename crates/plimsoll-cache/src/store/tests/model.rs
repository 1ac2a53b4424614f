//! Any row of puts, lookups and purges, held against a plain map and a list of purges.

use std::collections::HashMap;

use proptest::prelude::*;

use super::super::{Asked, How, Limits, Put, Store};
use super::{Item, Items, empty_bytes, named};

const KEYS: [&[u8]; 6] = [
    b"https://a/",
    b"https://a/x",
    b"https://a/x/y",
    b"https://b/",
    b"https://b/x",
    b"http://a/x",
];

#[derive(Debug, Clone)]
enum Step {
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
    /// Remembers the moment, for puts that are `late`.
    Ask,
    Purge {
        what: What,
        how: How,
    },
}

#[derive(Debug, Clone)]
enum What {
    Everything,
    Key(usize),
    Prefix(&'static [u8]),
    Tag(u64),
}

impl What {
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

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let what = prop_oneof![
        1 => Just(What::Everything),
        2 => (0..KEYS.len()).prop_map(What::Key),
        2 => prop::sample::select(vec![&b"https://a/x"[..], b"https://b/", b"http", b""]).prop_map(What::Prefix),
        2 => (0..3_u64).prop_map(What::Tag),
    ];
    let step = prop_oneof![
        5 => (0..KEYS.len(), 0..4_u64).prop_map(|(key, variant)| Step::Get { key, variant }),
        5 => (0..KEYS.len(), 0..4_u64, 0..3_000_usize, prop::collection::vec(0..3_u64, 0..3), any::<bool>())
            .prop_map(|(key, variant, bytes, tags, late)| Step::Put { key, variant, bytes, tags, late }),
        1 => Just(Step::Ask),
        1 => (what, prop_oneof![Just(How::Soft), Just(How::Hard)]).prop_map(|(what, how)| Step::Purge { what, how }),
    ];
    prop::collection::vec(step, 1..200)
}

/// What was last put under a key and variant.
struct Known {
    id: u64,
    tags: Vec<u64>,
    /// How many purges had been when it was asked for, and when it was put.
    asked: usize,
    put: usize,
}

struct Model {
    store: Items,
    known: HashMap<(usize, u64), Known>,
    purges: Vec<(What, How)>,
    asked: (Asked, usize),
    /// Nothing is evicted.
    roomy: bool,
    next: u64,
}

impl Model {
    fn new(limits: Limits, roomy: bool) -> Self {
        let store = Store::new(limits);
        Self {
            asked: (store.asked(), 0),
            store,
            known: HashMap::new(),
            purges: Vec::new(),
            roomy,
            next: 0,
        }
    }

    /// The strongest purge that met an object since `from`.
    fn met(&self, key: usize, tags: &[u64], from: usize) -> Option<How> {
        let since = self.purges[from..].iter();
        since
            .filter(|(what, _)| what.meets(key, tags))
            .map(|(_, how)| *how)
            .max()
    }

    fn take(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match step {
            Step::Get { key, variant } => self.get(*key, *variant)?,
            Step::Put {
                key,
                variant,
                bytes,
                tags,
                late,
            } => self.put(*key, *variant, *bytes, tags, *late)?,
            Step::Ask => self.asked = (self.store.asked(), self.purges.len()),
            Step::Purge { what, how } => {
                match what {
                    What::Everything => self.store.purge_everything(*how),
                    What::Key(key) => self.store.purge(&named(KEYS[*key]), *how),
                    What::Prefix(prefix) => self.store.purge_prefix(prefix, *how),
                    What::Tag(tag) => self.store.purge_tag(*tag, *how),
                }
                self.purges.push((what.clone(), *how));
            }
        }
        let taken = self.store.figures().bytes;
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
        let met = self.met(key, &known.tags, known.asked);
        // Purges between asking and putting may be taken for met although they were not; later ones may not.
        let certain = known.asked == known.put;
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
        let now = (self.store.asked(), self.purges.len());
        let (asked, purges) = if late { self.asked } else { now };
        let id = self.next;
        self.next += 1;
        let item = Item { id, variant, bytes };
        let put = self.store.put(
            &named(KEYS[key]),
            asked,
            tags,
            |other| other.variant == variant,
            item,
        );
        let met = self.met(key, tags, purges);
        match put {
            Put::Stored(hit) => {
                prop_assert_ne!(met, Some(How::Hard));
                prop_assert!(hit.purged || met.is_none());
                let known = Known {
                    id,
                    tags: tags.to_vec(),
                    asked: purges,
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

fn check(limits: Limits, roomy: bool, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut model = Model::new(limits, roomy);
    for step in steps {
        model.take(step)?;
    }
    model.store.purge_everything(How::Hard);
    prop_assert_eq!(model.store.figures().objects, 0);
    prop_assert_eq!(model.store.figures().bytes, empty_bytes(&model.store));
    Ok(())
}

proptest! {
    #[test]
    fn what_was_put_is_found_until_it_is_purged(steps in steps()) {
        check(Limits::of_bytes(1 << 20), true, &steps)?;
    }

    #[test]
    fn full_lists_of_purges_forget_nothing(steps in steps()) {
        let limits = Limits { prefixes: 2, hashes: 2, ..Limits::of_bytes(1 << 20) };
        check(limits, true, &steps)?;
    }

    #[test]
    fn a_small_budget_holds(steps in steps()) {
        check(Limits { object_bytes: 2_500, ..Limits::of_bytes(24_000) }, false, &steps)?;
    }
}

#[test]
fn the_newest_variant_that_matches_is_taken() {
    let store = Items::new(Limits::of_bytes(1 << 20));
    let put = |id, variant| {
        let item = Item {
            id,
            variant,
            bytes: 0,
        };
        store.put(
            &named(b"k"),
            store.asked(),
            &[],
            |other| other.variant == variant,
            item,
        );
    };
    put(1, 1);
    put(2, 2);
    let found = |store: &Items| {
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
    let store = Items::new(Limits::of_bytes(1 << 20));
    let found = |variant| {
        let hit = store.get(&named(b"k"), |item| item.variant == variant);
        hit.is_some()
    };
    for variant in 0..1_000 {
        let item = Item {
            id: variant,
            variant,
            bytes: 10,
        };
        store.put(&named(b"k"), store.asked(), &[], |_| false, item);
        assert!(found(0), "gone before variant {variant}");
    }
    assert_eq!(store.figures().objects, store.limits().variants);
    assert!(found(999));
    assert!(!found(984), "there is room for fifteen besides the first");
}
