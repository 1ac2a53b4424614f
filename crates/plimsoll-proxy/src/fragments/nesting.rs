//! Nesting of fragments: stops include loops and floods.

use std::cell::Cell;
use std::rc::Rc;

/// The chain from the page that a client requested down to this fragment.
#[derive(Debug)]
pub(crate) struct FragmentNesting {
    /// Host and target of each, the outermost first.
    chain: Vec<Box<str>>,
    /// Subrequests still permitted for the same client request.
    left: Rc<Cell<u32>>,
}

impl FragmentNesting {
    /// For a page requested by a client.
    pub(crate) fn of_page(host: &str, target: &str, most: u32) -> Self {
        Self {
            chain: vec![name(host, target)],
            left: Rc::new(Cell::new(most)),
        }
    }

    /// For a fragment in this one; `None` when it is not permitted.
    pub(crate) fn child(&self, host: &str, target: &str, depth: u32) -> Option<Self> {
        let name = name(host, target);
        let is_deep = self.chain.len() > depth as usize;
        if is_deep || self.chain.contains(&name) {
            return None;
        }
        self.left.set(self.left.get().checked_sub(1)?);
        let mut chain = self.chain.clone();
        chain.push(name);
        Some(Self {
            chain,
            left: Rc::clone(&self.left),
        })
    }
}

fn name(host: &str, target: &str) -> Box<str> {
    let target = if target.is_empty() { "/" } else { target };
    [&host.to_ascii_lowercase(), target].concat().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_depth_and_floods_end() {
        let page = FragmentNesting::of_page("A.example", "", 3);
        assert!(page.child("a.example", "/", 2).is_none());
        let first = page.child("a.example", "/b", 2).unwrap();
        assert!(first.child("a.example", "/b", 2).is_none());
        assert!(first.child("a.example", "/", 2).is_none());
        let second = first.child("b.example", "/", 2).unwrap();
        assert!(second.child("a.example", "/c", 2).is_none());
        // One was rejected for its depth and cost nothing; the third is the last.
        assert!(page.child("a.example", "/c", 2).is_some());
        assert!(page.child("a.example", "/d", 2).is_none());
    }
}
