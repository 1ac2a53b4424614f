//! The loops of each process, where several processes carry a load.

/// The loops of one process: every `step`th from `first` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LoopShare {
    pub(crate) first: u32,
    pub(crate) step: u32,
}

impl LoopShare {
    pub(crate) const WHOLE: Self = Self { first: 0, step: 1 };

    /// Its loops, given the number of all loops.
    pub(crate) fn loops(self, all: u32) -> impl Iterator<Item = u32> {
        // A share without a loop would carry nothing, and a step of zero would never end.
        (self.first..all).step_by(self.step.max(1) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_all_loops_once() {
        for (processes, loops) in [(1, 2), (2, 2), (3, 3), (3, 6), (64, 1024)] {
            let shares = (0..processes).map(|first| LoopShare {
                first,
                step: processes,
            });
            let mut all: Vec<u32> = shares.flat_map(|share| share.loops(loops)).collect();
            all.sort_unstable();
            assert_eq!(all, (0..loops).collect::<Vec<u32>>());
        }
    }
}
