//! Data rows for users, one loop's share of them: no two loops give out the same row of an ordered feed.

use std::collections::HashSet;

use plimsoll_model::journey::{self, AtEnd, FeedOrder};
use rand::RngExt as _;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::text::NO_ROW;

/// The result for a user who requests a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowDraw {
    Taken(u32),
    /// No unique row is left: the user leaves.
    NoneLeft,
    /// No unique row is left, and the plan treats that as an error.
    Error,
}

/// All feeds of one loop.
#[derive(Clone, Debug)]
pub(crate) struct Feeds {
    feeds: Vec<Feed>,
    stride: u64,
}

#[derive(Clone, Debug)]
struct Feed {
    order: FeedOrder,
    at_end: AtEnd,
    rows: u64,
    next: u64,
    /// Whether users keep their rows.
    reserves_rows: bool,
    /// Rows of users carried over from earlier loads.
    held: HashSet<u32>,
}

impl Feeds {
    /// The share of loop `index` of `count`. `rows` has the number of rows of each feed.
    pub(crate) fn new(
        feeds: &[journey::Feed],
        rows: impl Iterator<Item = usize>,
        index: u32,
        count: u32,
    ) -> Self {
        let feeds = feeds.iter().zip(rows).map(|(feed, rows)| Feed {
            order: feed.order,
            at_end: feed.at_end,
            rows: rows as u64,
            next: u64::from(index),
            reserves_rows: !feed.each_iteration && feed.order != FeedOrder::Random,
            held: HashSet::new(),
        });
        Self {
            feeds: feeds.collect(),
            stride: u64::from(count),
        }
    }

    /// Rows held by a user, by feed, are given to no other user.
    pub(crate) fn hold(&mut self, rows: &[u32]) {
        for (feed, &row) in self.feeds.iter_mut().zip(rows) {
            if feed.reserves_rows && row != NO_ROW {
                feed.held.insert(row);
            }
        }
    }

    /// The next row of a feed.
    pub(crate) fn take(&mut self, feed: u32, random: &mut Xoshiro256PlusPlus) -> RowDraw {
        let stride = self.stride;
        let feed = &mut self.feeds[feed as usize];
        if feed.rows == 0 {
            return RowDraw::NoneLeft;
        }
        let index = if feed.order == FeedOrder::Random {
            random.random_range(0..feed.rows)
        } else {
            while feed.is_held(feed.next) {
                feed.next += stride;
            }
            let index = feed.next;
            if index >= feed.rows && feed.order == FeedOrder::Unique {
                match feed.at_end {
                    AtEnd::Stop => return RowDraw::NoneLeft,
                    AtEnd::Error => return RowDraw::Error,
                    AtEnd::Recycle => {}
                }
            }
            feed.next += stride;
            index % feed.rows
        };
        RowDraw::Taken(u32::try_from(index).expect("rows are in memory, far below 2^32"))
    }
}

impl Feed {
    fn is_held(&self, index: u64) -> bool {
        !self.held.is_empty() && u32::try_from(index).is_ok_and(|row| self.held.contains(&row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::seed::Seed;

    fn feeds(order: FeedOrder, at_end: AtEnd, index: u32) -> Feeds {
        let feed = journey::Feed {
            name: "people".to_owned(),
            path: None,
            columns: Vec::new(),
            rows: 5,
            order,
            at_end,
            each_iteration: false,
        };
        Feeds::new(&[feed], [5].into_iter(), index, 2)
    }

    fn take(feeds: &mut Feeds, count: usize) -> Vec<RowDraw> {
        let mut random = Seed(1).generator();
        (0..count).map(|_| feeds.take(0, &mut random)).collect()
    }

    #[test]
    fn loops_share_no_unique_row() {
        let mut rows = Vec::new();
        for index in 0..2 {
            rows.extend(take(&mut feeds(FeedOrder::Unique, AtEnd::Stop, index), 4));
        }
        let taken: Vec<u32> = (0..5).collect();
        let mut found: Vec<u32> = rows
            .iter()
            .filter_map(|row| match row {
                RowDraw::Taken(row) => Some(*row),
                _ => None,
            })
            .collect();
        found.sort_unstable();
        assert_eq!(found, taken);
        assert_eq!(
            rows.iter().filter(|row| **row == RowDraw::NoneLeft).count(),
            3
        );
    }

    #[test]
    fn workers_share_no_unique_row() {
        use crate::loop_share::LoopShare;
        let feed = journey::Feed {
            name: "people".to_owned(),
            path: None,
            columns: Vec::new(),
            rows: 100,
            order: FeedOrder::Unique,
            at_end: AtEnd::Stop,
            each_iteration: false,
        };
        for (workers, each) in [(1, 1), (2, 1), (3, 2), (4, 3), (7, 1)] {
            let loops = workers * each;
            let mut found = Vec::new();
            for worker in 0..workers {
                for index in LoopShare::of_process(worker, workers).loops(loops) {
                    let mut feeds =
                        Feeds::new(std::slice::from_ref(&feed), [100].into_iter(), index, loops);
                    found.extend(
                        take(&mut feeds, 101)
                            .into_iter()
                            .filter_map(|row| match row {
                                RowDraw::Taken(row) => Some(row),
                                _ => None,
                            }),
                    );
                }
            }
            found.sort_unstable();
            assert_eq!(found, (0..100).collect::<Vec<u32>>(), "{workers} of {each}");
        }
    }

    #[test]
    fn the_end_is_as_the_plan_says() {
        let last = |order, at_end| *take(&mut feeds(order, at_end, 0), 4).last().unwrap();
        assert_eq!(last(FeedOrder::Unique, AtEnd::Stop), RowDraw::NoneLeft);
        assert_eq!(last(FeedOrder::Unique, AtEnd::Error), RowDraw::Error);
        assert_eq!(last(FeedOrder::Unique, AtEnd::Recycle), RowDraw::Taken(1));
        assert_eq!(last(FeedOrder::InOrder, AtEnd::Stop), RowDraw::Taken(1));
        assert!(matches!(
            last(FeedOrder::Random, AtEnd::Stop),
            RowDraw::Taken(0..5)
        ));
    }

    #[test]
    fn rows_that_are_held_are_nobody_elses() {
        for order in [FeedOrder::Unique, FeedOrder::InOrder] {
            let mut feeds = feeds(order, AtEnd::Error, 0);
            feeds.hold(&[0]);
            feeds.hold(&[NO_ROW]);
            feeds.hold(&[2]);
            assert_eq!(take(&mut feeds, 1), [RowDraw::Taken(4)]);
        }
    }
}
