//! Names observed so far: one that is missing now is recorded as zero, not as a gap.

use std::collections::BTreeSet;

/// Names, at most so many.
#[derive(Debug)]
pub(crate) struct BoundedNames {
    known: BTreeSet<String>,
    max: usize,
}

impl BoundedNames {
    pub(crate) fn up_to(max: usize) -> Self {
        Self {
            known: BTreeSet::new(),
            max,
        }
    }

    /// Remembers a name, while there is room.
    pub(crate) fn see(&mut self, name: &str) {
        if self.known.len() < self.max && !self.known.contains(name) {
            self.known.insert(name.to_owned());
        }
    }

    /// All that are remembered, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.known.iter().map(String::as_str)
    }
}
