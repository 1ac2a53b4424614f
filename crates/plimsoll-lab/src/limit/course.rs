//! What decides the next trial: the search, or the gate. Both are state machines of the analysis.

use std::time::Duration;

use plimsoll_analysis::intervention::Repeats;
use plimsoll_analysis::search::users::Stayed;
use plimsoll_analysis::search::{CiGate, GateStep, Search, SearchStep};
use plimsoll_model::load_line::{GateResult, NoLine, SearchResult};
use plimsoll_model::seed::Seed;
use plimsoll_model::trial::{Trial, TrialSpec};
use plimsoll_model::verdict::VoidReason;

/// The state machine that requests trials.
#[derive(Debug)]
pub(super) enum Course {
    Search(Box<Search>),
    Gate(Box<CiGate>, Seed),
    /// A load that failed is tried again, with something changed.
    Repeats(Box<Repeats>, RepeatContext),
}

/// What repeated trials take over from those before.
#[derive(Clone, Copy, Debug)]
pub(super) struct RepeatContext {
    pub(super) seed: Seed,
    pub(super) anchor_in_flight: f64,
}

/// What a course ended with.
#[derive(Debug)]
pub(super) enum CourseResult {
    Search(SearchResult),
    Gate(GateResult),
    /// What repeated trials came to.
    Repeats(Box<Repeats>),
    /// The gate's trials stayed void, or no further one can be carried out.
    GateVoid(VoidReason),
}

/// What to do next.
#[derive(Debug)]
pub(super) enum CourseStep {
    Trial(TrialSpec),
    Done(CourseResult),
}

impl Course {
    pub(super) fn next(&mut self) -> CourseStep {
        match self {
            Self::Search(search) => match search.next_step() {
                SearchStep::Trial(spec) => CourseStep::Trial(spec),
                SearchStep::Done(result) => CourseStep::Done(CourseResult::Search(result)),
            },
            Self::Gate(gate, _) => match gate.next_step() {
                GateStep::Trial(spec) => CourseStep::Trial(spec),
                GateStep::Done(result) => CourseStep::Done(CourseResult::Gate(result)),
                GateStep::Void(reason) => CourseStep::Done(CourseResult::GateVoid(reason)),
            },
            Self::Repeats(repeats, _) => match repeats.next_step() {
                Some(spec) => CourseStep::Trial(spec),
                None => CourseStep::Done(CourseResult::Repeats(repeats.clone())),
            },
        }
    }

    pub(super) fn record(&mut self, trial: &Trial, elapsed: Duration) {
        match self {
            Self::Search(search) => search.record(trial, elapsed),
            Self::Gate(gate, _) => gate.record(trial, elapsed),
            Self::Repeats(repeats, _) => repeats.record(trial),
        }
    }

    /// Tells the busy share of the target's CPU at a rate, before the trial at that rate is recorded.
    pub(super) fn record_utilisation(&mut self, rate: f64, busy: f64) {
        if let Self::Search(search) = self {
            search.record_utilisation(rate, busy);
        }
    }

    /// Records the users who stay and may return to the next trial.
    pub(super) fn users_stayed(&mut self, stayed: Stayed) {
        match self {
            Self::Search(search) => search.users_stayed(stayed),
            Self::Gate(gate, _) => gate.users_stayed(stayed),
            Self::Repeats(..) => {}
        }
    }

    /// Of the hosts that carry the load, only so many are left.
    pub(super) fn lose_hosts(&mut self, left: u32, before: u32) {
        match self {
            Self::Search(search) => search.lose_hosts(left, before),
            Self::Gate(gate, _) => gate.lose_hosts(left, before),
            Self::Repeats(..) => {}
        }
    }

    /// Ends it because no further trial can be carried out.
    pub(super) fn give_up(&mut self, reason: VoidReason) -> CourseResult {
        match self {
            Self::Search(search) => CourseResult::Search(search.give_up(reason)),
            Self::Gate(..) => CourseResult::GateVoid(reason),
            Self::Repeats(repeats, _) => CourseResult::Repeats(repeats.clone()),
        }
    }

    /// Ends it on the user's wish.
    pub(super) fn interrupt(&mut self) -> CourseResult {
        let undecided = NoLine::Interrupted {
            estimate: None,
            highest_passed: None,
        };
        self.end(Search::interrupt, undecided)
    }

    /// Ends it because nothing ever connected.
    pub(super) fn unreachable(&mut self) -> CourseResult {
        self.end(Search::unreachable, NoLine::Unreachable)
    }

    /// Ends it from outside. A stopped gate stays undecided, as in a search result.
    fn end(
        &mut self,
        search_end: impl FnOnce(&mut Search) -> SearchResult,
        gate_end: NoLine,
    ) -> CourseResult {
        CourseResult::Search(match self {
            Self::Search(search) => search_end(search),
            Self::Gate(..) => SearchResult {
                line: Err(gate_end),
                remarks: Vec::new(),
            },
            Self::Repeats(repeats, _) => return CourseResult::Repeats(repeats.clone()),
        })
    }

    pub(super) fn seed(&self, index: u32) -> Seed {
        match self {
            Self::Search(search) => search.seed(index),
            Self::Gate(_, seed) | Self::Repeats(_, RepeatContext { seed, .. }) => {
                seed.derive(u64::from(index))
            }
        }
    }

    pub(super) fn anchor_in_flight(&self) -> f64 {
        match self {
            Self::Search(search) => search.anchor_in_flight(),
            Self::Gate(gate, _) => gate.anchor_in_flight(),
            Self::Repeats(_, ground) => ground.anchor_in_flight,
        }
    }

    pub(super) fn stage_text(&self) -> String {
        let stage = match self {
            Self::Search(search) => search.stage(),
            Self::Gate(gate, _) => gate.stage(),
            Self::Repeats(repeats, _) => return repeats.purpose.clone(),
        };
        format!("{}: {}", stage.name, stage.text)
    }

    pub(super) fn interval(&self) -> Option<(f64, f64, f64)> {
        match self {
            Self::Search(search) => search.interval(),
            Self::Gate(..) | Self::Repeats(..) => None,
        }
    }

    pub(super) fn remaining(&self) -> Duration {
        match self {
            Self::Search(search) => search.remaining(),
            Self::Gate(gate, _) => gate.remaining(),
            Self::Repeats(repeats, _) => {
                Duration::from_secs(u64::from(repeats.left() * repeats.trial_s()))
            }
        }
    }
}
