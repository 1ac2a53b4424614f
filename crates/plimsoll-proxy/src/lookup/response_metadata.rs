//! Metadata of a stored response: its head and its `Vary`; known to waiting clients before the body arrives.

use plimsoll_cache::disk::{Copy as CopyOnDisk, CopyRef};
use plimsoll_cache::store::allocated;
use plimsoll_cache::vary::{Vary, write_selecting};
use plimsoll_cache::{CachePolicy, Seed, Stored};
use plimsoll_wire::head::Header;

use super::Space;
use crate::fragments::Draft;

/// The `Vary` fields of a response, and their values in the request.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Selecting {
    names: Box<str>,
    values: Box<[u8]>,
}

impl Selecting {
    /// `None` without `Vary`.
    fn new(names: Box<str>, values: Box<[u8]>) -> Option<Box<Self>> {
        (!names.is_empty()).then(|| Box::new(Self { names, values }))
    }
}

/// An optional length in the size of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OptionalLength(u64);

impl OptionalLength {
    /// Unknown.
    const OPEN: Self = Self(u64::MAX);

    fn of(len: Option<u64>) -> Self {
        len.map_or(Self::OPEN, Self)
    }
}

/// Head and `Vary` of a stored response.
#[derive(Clone, Debug)]
pub(crate) struct ResponseMetadata {
    pub(crate) stored: Stored,
    space: Space,
    selecting: Option<Box<Selecting>>,
    len: OptionalLength,
    /// Set if its body may contain ESI tags.
    pub(crate) draft: Option<Box<Draft>>,
}

impl ResponseMetadata {
    /// For requests with the same values as this one; `None` when its values are too long.
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

    /// From the disk, with this length of the body.
    pub(super) fn of_copy(copy: CopyOnDisk, len: u64) -> Self {
        Self {
            stored: copy.stored,
            space: Space(copy.space),
            selecting: Selecting::new(copy.names, copy.values),
            len: OptionalLength::of(Some(len)),
            draft: None,
        }
    }

    /// ESI pages stay in memory, in parsed form.
    pub(super) fn may_go_to_disk(&self) -> bool {
        self.draft.is_none()
    }

    /// The form that is written to disk.
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

    /// A hash of everything that distinguishes it from other responses of its key.
    pub(super) fn identity(&self, seed: Seed) -> u64 {
        let fields = [
            &self.space.0.to_le_bytes()[..],
            self.names().as_bytes(),
            b"\n",
            self.values(),
        ];
        seed.hash(&fields.concat())
    }

    /// The same response with a new head, whose `Vary` may differ.
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

    /// The same with a body after the head.
    pub(super) fn with_tail(&self, body: &[u8]) -> Self {
        self.with_head(self.stored.with_tail(body))
    }

    /// The same response with a new head and the same `Vary`.
    pub(crate) fn with_head(&self, stored: Stored) -> Self {
        Self {
            stored,
            space: self.space,
            selecting: self.selecting.clone(),
            len: self.len,
            draft: self.draft.clone(),
        }
    }

    /// The names of its `Vary` fields.
    pub(crate) fn names(&self) -> &str {
        self.selecting
            .as_ref()
            .map_or("", |selecting| &selecting.names)
    }

    /// Their values in the request.
    fn values(&self) -> &[u8] {
        self.selecting
            .as_ref()
            .map_or(&[], |selecting| &selecting.values)
    }

    /// Length of the body, if known when the head arrives, bytes.
    pub(crate) fn len(&self) -> Option<u64> {
        (self.len != OptionalLength::OPEN).then_some(self.len.0)
    }

    /// Bytes on the heap, outside this struct.
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

    /// Whether it matches this request. `room` is overwritten.
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

    /// Whether it varies by language only, and is in this language.
    pub(crate) fn is_in_language(&self, space: Space, language: &[u8]) -> bool {
        let is_in = |own: &[u8]| own.eq_ignore_ascii_case(language);
        self.space == space
            && self.names() == "accept-language"
            && self.stored.language().is_some_and(is_in)
    }

    /// Whether it matches all requests that another one matches.
    pub(crate) fn supersedes(&self, other: &Self) -> bool {
        self.space == other.space && (self.selecting.is_none() || self.selecting == other.selecting)
    }
}
