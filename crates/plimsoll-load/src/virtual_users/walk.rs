//! Runs a user through the program until it has to wait.

use plimsoll_model::journey::StepId;
use plimsoll_model::outcome::Outcome;
use rand::RngExt as _;

use super::VirtualUsers;
use super::user::{OpenGroup, User};
use crate::scenario::program::Op;
use crate::spread::golden_offset;

impl User {
    /// Begins an interval: its first round is due at this user's even share of it.
    fn begin_pace(&mut self, op: &Op, now: u64) {
        if let Op::Every {
            pace,
            interval_ns,
            lasting_ns,
        } = op
        {
            let first = now.saturating_add(golden_offset(self.number, *interval_ns));
            self.paces[*pace as usize] = (first, now.saturating_add(*lasting_ns));
        }
    }

    /// When the next round of an interval is due; `None` when the interval is over. Missed rounds are skipped.
    fn next_round(&mut self, op: &Op, now: u64) -> Option<u64> {
        let Op::Round {
            pace,
            interval_ns,
            after,
        } = op
        else {
            return None;
        };
        let (next, end) = &mut self.paces[*pace as usize];
        if *next < now {
            let missed = (now - *next).div_ceil(*interval_ns);
            *next = next.saturating_add(missed.saturating_mul(*interval_ns));
        }
        let at = *next;
        *next = at.saturating_add(*interval_ns);
        if at < *end {
            return Some(at);
        }
        self.at = *after;
        None
    }

    /// Executes a jump.
    fn jump(&mut self, op: &Op) {
        match op {
            Op::Repeat {
                times,
                level,
                after,
            } => {
                let (low, high) = (times.min.min(times.max), times.max.max(times.min));
                let drawn = self.random.random_range(low..=high);
                self.counters[*level as usize] = drawn;
                if drawn == 0 {
                    self.at = *after;
                }
            }
            Op::Again { level, start } => {
                let left = &mut self.counters[*level as usize];
                *left -= 1;
                if *left > 0 {
                    self.at = *start;
                }
            }
            Op::Choose(ways) => {
                let drawn: f64 = self.random.random();
                let way = ways.iter().find(|(upto, _)| drawn < *upto);
                // Shares add up to 1 but for rounding.
                self.at = way.or(ways.last()).map_or(self.at, |(_, at)| *at);
            }
            Op::Jump(to) => self.at = *to,
            _ => {}
        }
    }
}

/// The operation at which a user stops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NextAction {
    /// Sends the request of this index.
    Request(u32),
    /// Loads the page of this index.
    Page(u32),
    /// Thinks for this time, ns.
    Think(u64),
    /// Waits for a moment.
    Until(u64),
    /// Opens the WebSocket of this index.
    Open(u32),
    /// Sends a message, awaits one, or both.
    Exchange(u32),
    /// Subscribes.
    Listen(u32),
    /// Closes the WebSocket with a code.
    Close(u16),
    /// Begins to poll.
    BeginPoll(u32),
    /// Ends polling.
    EndPoll,
    /// Is driven by its external script.
    Obey,
    /// Is about to begin an iteration.
    Begin,
    /// Has ended one; without any request or pause when not `acted`.
    Ended { acted: bool },
    /// Has closed a group.
    Group(StepId, Outcome, u64),
    /// Took too many steps without a request or a pause.
    Lost,
}

impl NextAction {
    /// The action that an operation is by itself, without a change of the user.
    #[inline]
    fn of(op: &Op) -> Option<Self> {
        match op {
            Op::Request(request) => Some(Self::Request(*request)),
            Op::Page(page) => Some(Self::Page(*page)),
            Op::Begin => Some(Self::Begin),
            Op::Open(socket) => Some(Self::Open(*socket)),
            Op::Exchange(exchange) => Some(Self::Exchange(*exchange)),
            Op::Listen(subscription) => Some(Self::Listen(*subscription)),
            Op::Close(code) => Some(Self::Close(*code)),
            Op::BeginPoll(poll) => Some(Self::BeginPoll(*poll)),
            Op::EndPoll => Some(Self::EndPoll),
            _ => None,
        }
    }
}

impl VirtualUsers {
    /// Advances a user until it has to wait; `budget` is the number of operations it may take.
    pub(crate) fn walk(&mut self, id: u32, now: u64, budget: &mut u32) -> NextAction {
        let Self {
            program,
            users,
            inputs,
            ..
        } = self;
        let user = &mut users[id as usize];
        let unix_ns = self.unix_ns + now;
        loop {
            let Some(left) = budget.checked_sub(1) else {
                return NextAction::Lost;
            };
            *budget = left;
            let op = program.op(user.at);
            user.at += 1;
            match op {
                Op::Think(pause) => {
                    let pause = pause.draw_ns(&mut user.random);
                    if pause > 0 {
                        user.acted = true;
                        return NextAction::Think(pause);
                    }
                }
                Op::Set(slot, text) => {
                    let value = text.filled(&mut user.values(inputs, unix_ns).0);
                    user.slots[*slot as usize] = value;
                }
                Op::Repeat { .. } | Op::Again { .. } | Op::Choose(_) | Op::Jump(_) => {
                    user.jump(op);
                }
                Op::Unless(condition, otherwise) => {
                    if !condition.holds(&mut user.values(inputs, unix_ns).0) {
                        user.at = *otherwise;
                    }
                }
                Op::OpenGroup(group) => user.groups.push(OpenGroup {
                    id: *group,
                    busy_ns: 0,
                    has_requests: false,
                    outcome: Outcome::Ok,
                }),
                Op::CloseGroup => {
                    if let Some(group) = user.groups.pop().filter(|group| group.has_requests) {
                        return NextAction::Group(group.id, group.outcome, group.busy_ns);
                    }
                }
                Op::Every { .. } => user.begin_pace(op, now),
                Op::Round { .. } => {
                    if let Some(at) = user.next_round(op, now) {
                        user.acted = true;
                        return NextAction::Until(at);
                    }
                }
                Op::Obey => {
                    // It stays here until its script ends the iteration.
                    user.at -= 1;
                    return NextAction::Obey;
                }
                Op::End(begin) => {
                    user.at = *begin;
                    return NextAction::Ended { acted: user.acted };
                }
                other => {
                    if let Some(action) = NextAction::of(other) {
                        return action;
                    }
                }
            }
        }
    }

    /// Ends a user's iteration early. Returns the open groups.
    pub(crate) fn break_off(&mut self, id: u32) -> Vec<OpenGroup> {
        let user = &mut self.users[id as usize];
        user.at = self.program.journey(user.journey).begin;
        user.page = None;
        std::mem::take(&mut user.groups)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::due::NEVER;
    use crate::jar::Jar;
    use plimsoll_model::seed::Seed;

    fn user(number: u64) -> User {
        User {
            number,
            place: 0,
            journey: 0,
            at: 0,
            iteration: 0,
            iterations_before: 0,
            in_doubt: false,
            acted: false,
            counters: Box::default(),
            slots: Box::default(),
            rows: Box::default(),
            jar: Jar::default(),
            cache: None,
            random: Seed(1).generator(),
            lines: Vec::new(),
            groups: Vec::new(),
            base: (0, Vec::new()),
            page: None,
            script_session: None,
            paces: Box::new([(0, 0)]),
            socket: None,
            patience_ns: NEVER,
            poll: None,
        }
    }

    #[test]
    fn rounds_keep_to_their_grid_and_leave_out_what_was_missed() {
        let mut user = user(3);
        let every = Op::Every {
            pace: 0,
            interval_ns: 100,
            lasting_ns: 1000,
        };
        let round = Op::Round {
            pace: 0,
            interval_ns: 100,
            after: 7,
        };
        user.begin_pace(&every, 1000);
        let first = user.next_round(&round, 1000).unwrap();
        assert!((1000..1100).contains(&first));
        assert_eq!(user.next_round(&round, first + 5), Some(first + 100));
        // The last one took two intervals and a half.
        assert_eq!(user.next_round(&round, first + 350), Some(first + 400));
        assert_eq!((user.at, user.next_round(&round, 2001)), (0, None));
        assert_eq!(user.at, 7);
    }
}
