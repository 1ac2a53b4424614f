//! Whom a copy is for, and its head: what those who wait for an answer are told before its body is there.

use plimsoll_cache::disk::{Copy as CopyOnDisk, CopyRef};
use plimsoll_cache::store::allocated;
use plimsoll_cache::vary::{Vary, write_selecting};
use plimsoll_cache::{CachePolicy, Seed, Stored};
use plimsoll_wire::head::Header;

use super::Space;
use crate::fragments::Draft;

/// The fields that an answer varies by, and what they said.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Selecting {
    names: Box<str>,
    values: Box<[u8]>,
}

impl Selecting {
    /// `None` when it varies by nothing.
    fn new(names: Box<str>, values: Box<[u8]>) -> Option<Box<Self>> {
        (!names.is_empty()).then(|| Box::new(Self { names, values }))
    }
}

/// A length that may not be known, in the room of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OptionalLength(u64);

impl OptionalLength {
    /// Not known.
    const OPEN: Self = Self(u64::MAX);

    fn of(len: Option<u64>) -> Self {
        len.map_or(Self::OPEN, Self)
    }
}

/// Whom a copy is for, and its head.
#[derive(Clone, Debug)]
pub(crate) struct ResponseMetadata {
    pub(crate) stored: Stored,
    space: Space,
    selecting: Option<Box<Selecting>>,
    len: OptionalLength,
    /// Its body may hold tags of fragments.
    pub(crate) draft: Option<Box<Draft>>,
}

impl ResponseMetadata {
    /// For the requests that say the same as this one; `None` when it says too much to be told apart.
    pub(crate) fn new(
        stored: Stored,
        vary: &Vary,
        space: Space,
        request: &[Header<'_>],
        policy: &CachePolicy,
        len: Option<u64>,
    ) -> Option<Self> {
        let names = match vary {
            Vary::Nothing => Box::default(),
            Vary::Fields(names) => names.clone(),
            Vary::Everything => return None,
        };
        let mut values = Vec::new();
        if !names.is_empty() && !write_selecting(&mut values, &names, request, policy) {
            return None;
        }
        Some(Self {
            stored,
            space,
            selecting: Selecting::new(names, values.into_boxed_slice()),
            len: OptionalLength::of(len),
            draft: None,
        })
    }

    /// As it was read from the disk, with a body of so many bytes.
    pub(super) fn of_copy(copy: CopyOnDisk, len: u64) -> Self {
        Self {
            stored: copy.stored,
            space: Space(copy.space),
            selecting: Selecting::new(copy.names, copy.values),
            len: OptionalLength::of(Some(len)),
            draft: None,
        }
    }

    /// Pages that are put together stay in memory, where they lie taken apart.
    pub(super) fn may_go_to_disk(&self) -> bool {
        self.draft.is_none()
    }

    /// What is written of it.
    pub(super) fn copy_ref<'a>(&'a self, key: &'a [u8], tags: &'a [u64]) -> CopyRef<'a> {
        CopyRef {
            key,
            tags,
            space: self.space.0,
            names: self.names(),
            values: self.values(),
            stored: &self.stored,
        }
    }

    /// A hash of all that tells it apart from other copies of its key.
    pub(super) fn identity(&self, seed: Seed) -> u64 {
        let fields = [
            &self.space.0.to_le_bytes()[..],
            self.names().as_bytes(),
            b"\n",
            self.values(),
        ];
        seed.hash(&fields.concat())
    }

    /// The same copy with a new head, which may vary by something else now.
    pub(crate) fn renewed(
        &self,
        stored: Stored,
        vary: &Vary,
        request: &[Header<'_>],
        policy: &CachePolicy,
    ) -> Self {
        let mut values = Vec::new();
        match vary {
            Vary::Fields(names)
                if **names != *self.names()
                    && write_selecting(&mut values, names, request, policy) =>
            {
                Self {
                    selecting: Selecting::new(names.clone(), values.into_boxed_slice()),
                    ..self.with_head(stored)
                }
            }
            _ => self.with_head(stored),
        }
    }

    /// The same with a body behind the head.
    pub(super) fn with_tail(&self, body: &[u8]) -> Self {
        self.with_head(self.stored.with_tail(body))
    }

    /// The same copy with a new head, for the same requests.
    pub(crate) fn with_head(&self, stored: Stored) -> Self {
        Self {
            stored,
            space: self.space,
            selecting: self.selecting.clone(),
            len: self.len,
            draft: self.draft.clone(),
        }
    }

    /// The fields it varies by.
    pub(crate) fn names(&self) -> &str {
        self.selecting
            .as_ref()
            .map_or("", |selecting| &selecting.names)
    }

    /// What they said.
    fn values(&self) -> &[u8] {
        self.selecting
            .as_ref()
            .map_or(&[], |selecting| &selecting.values)
    }

    /// Length of the body, as far as it is known when the head comes, bytes.
    pub(crate) fn len(&self) -> Option<u64> {
        (self.len != OptionalLength::OPEN).then_some(self.len.0)
    }

    /// Bytes that it takes elsewhere than where it lies itself.
    pub(super) fn heap_bytes(&self) -> usize {
        let selecting = self.selecting.as_ref().map_or(0, |selecting| {
            let strings = allocated(selecting.names.len()) + allocated(selecting.values.len());
            allocated(size_of::<Selecting>()) + strings
        });
        allocated(self.stored.heap_len()) + selecting
    }

    pub(crate) fn is_in(&self, space: Space) -> bool {
        self.space == space
    }

    /// Whether it is for this request. `room` is written over.
    #[inline]
    pub(crate) fn is_for(
        &self,
        space: Space,
        request: &[Header<'_>],
        policy: &CachePolicy,
        room: &mut Vec<u8>,
    ) -> bool {
        self.space == space
            && self.selecting.as_ref().is_none_or(|selecting| {
                write_selecting(room, &selecting.names, request, policy)
                    && **room == *selecting.values
            })
    }

    /// Whether it varies by language alone and says that it is in this one.
    pub(crate) fn is_in_language(&self, space: Space, language: &[u8]) -> bool {
        let is_in = |own: &[u8]| own.eq_ignore_ascii_case(language);
        self.space == space
            && self.names() == "accept-language"
            && self.stored.language().is_some_and(is_in)
    }

    /// Whether it stands for all the requests that another one does.
    pub(crate) fn supersedes(&self, other: &Self) -> bool {
        self.space == other.space && (self.selecting.is_none() || self.selecting == other.selecting)
    }
}
