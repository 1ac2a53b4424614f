//! The loops of each process, where several processes or hosts carry a load.

/// The loops of one process, or of one host: every `step`th of all from `first` on.
///
/// All else follows from the numbers of its loops: their arrivals, users, rows of data and seeds. So it does not matter
/// where a loop runs, and the shares of all processes together are the whole load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopShare {
    first: u32,
    /// At least 1.
    step: u32,
}

impl LoopShare {
    pub(crate) const WHOLE: Self = Self { first: 0, step: 1 };

    /// The share of process or host `index`, counted from 0, of this many.
    pub fn of_process(index: u32, processes: u32) -> Self {
        Self {
            first: index,
            // A step of zero would never end.
            step: processes.max(1),
        }
    }

    /// Its first loop, and the distance from each to the next.
    pub(crate) fn first_and_step(self) -> (u32, u32) {
        (self.first, self.step)
    }

    /// Its loops, given the number of all loops.
    pub(crate) fn loops(self, all: u32) -> impl Iterator<Item = u32> {
        (self.first..all).step_by(self.step as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_all_loops_once() {
        for (processes, loops) in [(1, 2), (2, 2), (3, 3), (3, 6), (64, 1024)] {
            let shares = (0..processes).map(|index| LoopShare::of_process(index, processes));
            let mut all: Vec<u32> = shares.flat_map(|share| share.loops(loops)).collect();
            all.sort_unstable();
            assert_eq!(all, (0..loops).collect::<Vec<u32>>());
        }
    }
}
