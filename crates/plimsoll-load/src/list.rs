//! Doubly linked lists threaded through the entries of a slab.
//!
//! They keep entries in order of time (due requests; connecting, waiting and idle connections) without a separate queue
//! that could grow: a link costs eight bytes, and an entry can be removed anywhere in constant time.

use slab::Slab;

/// No entry.
pub(crate) const NONE: u32 = u32::MAX;

/// Links of an entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Links {
    before: u32,
    after: u32,
}

impl Default for Links {
    fn default() -> Self {
        Self {
            before: NONE,
            after: NONE,
        }
    }
}

/// An entry of a list of kind `KIND`.
pub(crate) trait Linked<const KIND: usize> {
    fn links(&mut self) -> &mut Links;
}

/// First, last and number of the entries of one list.
#[derive(Debug)]
pub(crate) struct List<const KIND: usize> {
    first: u32,
    last: u32,
    len: usize,
}

impl<const KIND: usize> Default for List<KIND> {
    fn default() -> Self {
        Self {
            first: NONE,
            last: NONE,
            len: 0,
        }
    }
}

impl<const KIND: usize> List<KIND> {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn first(&self) -> Option<u32> {
        (self.first != NONE).then_some(self.first)
    }

    pub(crate) fn last(&self) -> Option<u32> {
        (self.last != NONE).then_some(self.last)
    }

    pub(crate) fn push_back<T: Linked<KIND>>(&mut self, slab: &mut Slab<T>, id: u32) {
        *slab[id as usize].links() = Links {
            before: self.last,
            after: NONE,
        };
        match self.last() {
            Some(last) => slab[last as usize].links().after = id,
            None => self.first = id,
        }
        self.last = id;
        self.len += 1;
    }

    /// Removes an entry, which must be in this list.
    pub(crate) fn remove<T: Linked<KIND>>(&mut self, slab: &mut Slab<T>, id: u32) {
        let links = std::mem::take(slab[id as usize].links());
        match links.before {
            NONE => self.first = links.after,
            before => slab[before as usize].links().after = links.after,
        }
        match links.after {
            NONE => self.last = links.before,
            after => slab[after as usize].links().before = links.before,
        }
        self.len -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct ListEntry(Links);

    impl Linked<0> for ListEntry {
        fn links(&mut self) -> &mut Links {
            &mut self.0
        }
    }

    fn order(list: &List<0>, slab: &mut Slab<ListEntry>) -> Vec<u32> {
        let mut order = Vec::new();
        let mut at = list.first;
        while at != NONE {
            order.push(at);
            at = slab[at as usize].links().after;
        }
        order
    }

    #[test]
    fn entries_leave_from_anywhere() {
        let mut slab = Slab::new();
        let mut list = List::<0>::default();
        for id in 0..5 {
            slab.insert(ListEntry(Links::default()));
            list.push_back(&mut slab, id);
        }
        for (gone, left) in [
            (2, vec![0, 1, 3, 4]),
            (0, vec![1, 3, 4]),
            (4, vec![1, 3]),
            (1, vec![3]),
            (3, vec![]),
        ] {
            list.remove(&mut slab, gone);
            assert_eq!(order(&list, &mut slab), left);
            assert_eq!(list.len(), left.len());
            assert_eq!(
                (list.first(), list.last()),
                (left.first().copied(), left.last().copied())
            );
        }
    }
}
