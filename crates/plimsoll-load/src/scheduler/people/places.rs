//! Places of concurrent users, and the line that says how many are wanted when.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet, VecDeque};

use plimsoll_model::journey::UserPhase;

use crate::due::NEVER;
use crate::load_changes::LoadChange;
use crate::scenario::mix::Mix;
use crate::scheduler::START_GAP_NS;

/// A number of users this close below a place fills it: floating-point ramps are not exact.
const CLOSE: f64 = 1e-9;

/// The wanted number of users over time.
pub(super) struct Places {
    spans: Vec<RampSegment>,
    mixes: Vec<Mix>,
    /// Lowest place never taken yet.
    fresh: u64,
    /// Vacant places, lowest first.
    free: BinaryHeap<Reverse<u64>>,
    /// When the last user arrived.
    last_ns: u64,
    /// Earliest arrival of a user.
    now_ns: u64,
    /// Places with a given first arrival, and its time.
    expected: VecDeque<(u64, u64)>,
}

/// A linear segment.
pub(super) struct RampSegment {
    from: f64,
    to: f64,
    start_ns: u64,
    end_ns: u64,
    /// Index of its mix.
    mix: usize,
}

impl RampSegment {
    pub(super) fn new(phase: &UserPhase, start_ns: u64, end_ns: u64, mixes: usize) -> Self {
        Self {
            from: phase.from,
            to: phase.to,
            start_ns,
            end_ns,
            mix: if phase.mix.is_empty() { 0 } else { mixes },
        }
    }

    fn at(&self, moment: u64) -> f64 {
        let length = (self.end_ns - self.start_ns).max(1) as f64;
        let share = (moment.saturating_sub(self.start_ns) as f64 / length).clamp(0.0, 1.0);
        (self.to - self.from).mul_add(share, self.from)
    }

    /// The first moment from `from_ns` on at which a place is wanted.
    fn reaches(&self, place: f64, from_ns: u64) -> Option<u64> {
        let from_ns = from_ns.max(self.start_ns);
        if from_ns >= self.end_ns {
            return None;
        }
        if self.at(from_ns) + CLOSE >= place {
            return Some(from_ns);
        }
        if self.to + CLOSE < place {
            return None;
        }
        // The line rises to the place: it is below now, and not at its end.
        let share = (place - self.from) / (self.to - self.from);
        let length = (self.end_ns - self.start_ns) as f64;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of a span, from 0 to 1"
        )]
        let moment = self.start_ns + (share.clamp(0.0, 1.0) * length).ceil() as u64;
        (moment < self.end_ns).then_some(moment.max(from_ns))
    }
}

impl Places {
    /// The places of loop `index` (from 0) on a line that starts at `start_ns`.
    pub(super) fn new(spans: Vec<RampSegment>, mixes: Vec<Mix>, index: u32, start_ns: u64) -> Self {
        Self {
            spans,
            mixes,
            fresh: u64::from(index) + 1,
            free: BinaryHeap::new(),
            last_ns: 0,
            now_ns: start_ns,
            expected: VecDeque::new(),
        }
    }

    /// Cuts the line at a moment, and goes on at another level.
    pub(super) fn change(&mut self, change: LoadChange, end_ns: u64) {
        let mix = self.span(change.from_ns).map_or(0, |span| span.mix);
        self.spans.retain(|span| span.start_ns < change.from_ns);
        if let Some(last) = self.spans.last_mut()
            && last.end_ns > change.from_ns
        {
            last.to = last.at(change.from_ns);
            last.end_ns = change.from_ns;
        }
        self.spans.push(RampSegment {
            from: change.to,
            to: change.to,
            start_ns: change.from_ns,
            end_ns,
            mix,
        });
    }

    /// Whether a user is wanted at a place.
    pub(super) fn wants(&self, place: u64, moment: u64) -> bool {
        self.desired_users(moment) + CLOSE >= place as f64
    }

    /// A place is free from `now` on.
    pub(super) fn vacate(&mut self, place: u64, now: u64) {
        self.free.push(Reverse(place));
        self.now_ns = self.now_ns.max(now);
    }

    /// Places wanted at the start that nobody has taken, in order; they count as given away.
    pub(super) fn free_at(&mut self, start_ns: u64, taken: &HashSet<u64>, loops: u64) -> Vec<u64> {
        let wanted = self.desired_users(start_ns) + CLOSE;
        let mut free = Vec::new();
        while self.fresh as f64 <= wanted {
            if !taken.contains(&self.fresh) {
                free.push(self.fresh);
            }
            self.fresh += loops;
        }
        free
    }

    /// The first user of a place arrives at a moment; calls are in the order of moments.
    pub(super) fn expect(&mut self, place: u64, at_ns: u64) {
        self.expected.push_back((at_ns, place));
    }

    fn span(&self, moment: u64) -> Option<&RampSegment> {
        let index = self.spans.partition_point(|span| span.end_ns <= moment);
        self.spans.get(index).or(self.spans.last())
    }

    /// Users wanted at a moment.
    fn desired_users(&self, moment: u64) -> f64 {
        self.span(moment).map_or(0.0, |span| span.at(moment))
    }

    pub(super) fn journey(&mut self, place: u64, moment: u64) -> u32 {
        let mix = self.span(moment).map_or(0, |span| span.mix);
        self.mixes[mix].at(place)
    }

    /// The lowest free place, and when it is wanted.
    pub(super) fn next(&self, loops: u64) -> Option<(u64, u64)> {
        let next = self.next_by_line(loops);
        let Some(&(at, place)) = self.expected.front() else {
            return next;
        };
        let expected = (self.staggered(at.max(self.now_ns)), place);
        Some(next.map_or(expected, |next| next.min(expected)))
    }

    /// Users who arrive together are staggered, so that they do not overflow the target's backlog.
    fn staggered(&self, wanted: u64) -> u64 {
        let after = self.last_ns.saturating_add(START_GAP_NS);
        if self.last_ns > 0 {
            wanted.max(after)
        } else {
            wanted
        }
    }

    fn next_by_line(&self, loops: u64) -> Option<(u64, u64)> {
        let free = self.free.peek().map_or(NEVER, |place| place.0);
        let place = self.fresh.min(free);
        debug_assert!(loops > 0, "somebody carries the load out");
        let wanted = self
            .spans
            .iter()
            .find_map(|span| span.reaches(place as f64, self.now_ns))?;
        Some((self.staggered(wanted), place))
    }

    pub(super) fn take(&mut self, place: u64, at: u64, loops: u64) {
        if self.expected.front().is_some_and(|next| next.1 == place) {
            self.expected.pop_front();
        } else if place == self.fresh {
            self.fresh += loops;
        } else {
            self.free.pop();
        }
        self.last_ns = at.max(1);
        self.now_ns = self.now_ns.max(at);
    }
}
