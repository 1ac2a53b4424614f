//! The loops of each process, where several processes or hosts carry a load.

use serde::{Deserialize, Serialize};

/// The loops of one process, or of one host.
///
/// All else follows from the numbers of its loops: their arrivals, users, rows of data and seeds. So it does not matter
/// where a loop runs, and the shares of all processes together are the whole load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopShare(Loops);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Loops {
    /// Every `step`th of all from `first` on; `step` is at least 1.
    Every { first: u32, step: u32 },
    /// Those whose places in an order of all are `count` from `first` on.
    Span { first: u32, count: u32 },
}

impl LoopShare {
    pub(crate) const WHOLE: Self = Self(Loops::Every { first: 0, step: 1 });

    /// The share of process or host `index`, counted from 0, of this many, which have equally many loops.
    pub fn of_process(index: u32, processes: u32) -> Self {
        Self(Loops::Every {
            first: index,
            // A step of zero would never end.
            step: processes.max(1),
        })
    }

    /// `count` loops behind `first` others, for processes or hosts that have different numbers of them: spans that follow one
    /// another without a gap are the whole.
    ///
    /// Consecutive loops are far from each other in the order of spans, since consecutive arrivals go to consecutive loops:
    /// a span of 60 % has about 60 % of any few arrivals, and not six of ten in a row.
    pub fn span(first: u32, count: u32) -> Self {
        Self(Loops::Span { first, count })
    }

    /// Its loops, ascending, given the number of all loops.
    pub(crate) fn loops(self, all: u32) -> impl Iterator<Item = u32> {
        let stride = stride(all);
        (0..all).filter(move |&index| match self.0 {
            Loops::Every { first, step } => index >= first && (index - first).is_multiple_of(step),
            Loops::Span { first, count } => {
                let place = (u64::from(index) * stride) % u64::from(all);
                let first = u64::from(first);
                (first..first + u64::from(count)).contains(&place)
            }
        })
    }
}

/// How far apart consecutive loops are in the order of spans: without a common divisor with the number of all, so that each
/// place has one loop; and with the smallest quotients of its continued fraction, which spreads consecutive loops most evenly
/// over any span.
fn stride(all: u32) -> u64 {
    let all = u64::from(all.max(1));
    let strides = (1..=all).filter_map(|stride| Some((quotient_max(stride, all)?, stride)));
    strides.min().map_or(1, |(_, stride)| stride)
}

/// The largest quotient of the continued fraction of `stride / all`; `None` where they have a common divisor.
fn quotient_max(stride: u64, all: u64) -> Option<u64> {
    let (mut whole, mut rest, mut most) = (all, stride, 0);
    while rest > 0 {
        most = most.max(whole / rest);
        (whole, rest) = (rest, whole % rest);
    }
    (whole == 1).then_some(most)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn loops_of(shares: impl Iterator<Item = LoopShare>, all: u32) -> Vec<u32> {
        let mut loops: Vec<u32> = shares.flat_map(|share| share.loops(all)).collect();
        loops.sort_unstable();
        loops
    }

    #[test]
    fn parts_are_all_loops_once() {
        for (processes, loops) in [(1, 2), (2, 2), (3, 3), (3, 6), (64, 1024)] {
            let shares = (0..processes).map(|index| LoopShare::of_process(index, processes));
            assert_eq!(loops_of(shares, loops), (0..loops).collect::<Vec<u32>>());
        }
    }

    #[test]
    fn a_span_has_its_part_of_any_few_arrivals() {
        for all in [5_u32, 10, 100, 128, 1000, 1024] {
            let count = all * 3 / 5;
            let share = LoopShare::span(0, count);
            let loops: Vec<u32> = share.loops(all).collect();
            assert_eq!(loops.len(), count as usize);
            // Arrival i goes to loop i % all.
            let own = |arrival: u32| loops.binary_search(&(arrival % all)).is_ok();
            let mut so_far = 0;
            for arrival in 0..2 * all {
                so_far += u32::from(own(arrival));
                let expected = f64::from((arrival + 1) * count) / f64::from(all);
                assert!(
                    (f64::from(so_far) - expected).abs() < 4.0,
                    "{all}: {arrival}"
                );
            }
        }
    }

    proptest! {
        #[test]
        fn spans_that_follow_one_another_are_all_loops_once(
            counts in prop::collection::vec(0_u32..60, 1..17),
        ) {
            let all: u32 = counts.iter().sum();
            let shares = counts.iter().scan(0, |first, &count| {
                let share = LoopShare::span(*first, count);
                *first += count;
                Some(share)
            });
            prop_assert_eq!(loops_of(shares, all), (0..all).collect::<Vec<u32>>());
        }
    }
}
