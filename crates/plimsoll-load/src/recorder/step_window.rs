//! Counts of steps, and of rows of URLs.

use std::collections::BTreeMap;

use plimsoll_model::outcome::{Outcome, OutcomeCounts};
use plimsoll_model::window::StepWindow;

use super::duration_tally::DurationTally;

/// Counts of one step, or one row of URLs, of one loop in one second.
#[derive(Debug, Default)]
pub(super) struct StepWindowBuilder {
    outcomes: OutcomeCounts,
    response: DurationTally,
    failed: DurationTally,
    bytes_in: u64,
    given_up: DurationTally,
}

impl StepWindowBuilder {
    #[inline]
    pub(super) fn add(&mut self, outcome: Outcome, response_ns: u64, bytes: u64) {
        self.outcomes.add(outcome);
        self.bytes_in += bytes;
        if outcome.is_ok() {
            self.response.add(response_ns / 1000);
        } else {
            self.failed.add(response_ns / 1000);
        }
    }

    /// A user gave up waiting for this step, whose end is counted in the same second.
    pub(super) fn give_up(&mut self, waited_ns: u64) {
        self.given_up.add(waited_ns / 1000);
    }

    /// Its counts, if it has any; it is empty then.
    fn take(&mut self) -> Option<StepWindow> {
        (self.outcomes.total() > 0).then(|| StepWindow {
            outcomes: std::mem::take(&mut self.outcomes),
            response: self.response.take(),
            failed: self.failed.take(),
            bytes_in: std::mem::take(&mut self.bytes_in),
            given_up: self.given_up.take(),
        })
    }
}

/// The counts of a step or row, which begin when it first ends.
#[inline]
pub(super) fn counts_of(
    all: &mut Vec<Option<Box<StepWindowBuilder>>>,
    index: u32,
) -> &mut StepWindowBuilder {
    let index = index as usize;
    if index >= all.len() {
        all.resize_with(index + 1, || None);
    }
    all[index].get_or_insert_default()
}

/// Takes the counts of all steps or rows that have any.
pub(super) fn closed(all: &mut [Option<Box<StepWindowBuilder>>]) -> BTreeMap<u32, StepWindow> {
    let taken = (0..)
        .zip(all)
        .map(|(id, counts)| Some((id, counts.as_mut()?.take()?)));
    taken.flatten().collect()
}
