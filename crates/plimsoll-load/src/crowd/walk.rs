//! A user's way through the program, up to where it has to wait.

use plimsoll_model::journey::StepId;
use plimsoll_model::outcome::Outcome;
use rand::RngExt as _;

use super::Crowd;
use crate::scenario::pause;
use crate::scenario::program::Op;
use crate::user::{OpenGroup, User};

impl User {
    /// Goes where an operation says that only moves it.
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

/// Where a user has come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Asks by the request of this index.
    Ask(u32),
    /// Loads the page of this index.
    Page(u32),
    /// Thinks for so long, ns.
    Think(u64),
    /// Waits for a moment.
    Until(u64),
    /// Opens the WebSocket of this index.
    Open(u32),
    /// Sends, awaits, or both.
    Say(u32),
    /// Listens as this subscription says.
    Listen(u32),
    /// Closes the WebSocket with a code.
    Close(u16),
    /// Does what its process says.
    Obey,
    /// Is about to begin an iteration.
    Begin,
    /// Has ended one; without having done anything when not `acted`.
    Ended { acted: bool },
    /// Has closed a group.
    Group(StepId, Outcome, u64),
    /// Has gone in circles without asking or thinking.
    Lost,
}

impl Crowd {
    /// Takes a user on to where it has to wait; `budget` is what it may still do before.
    pub(crate) fn walk(&mut self, id: u32, now: u64, budget: &mut u32) -> Next {
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
                return Next::Lost;
            };
            *budget = left;
            let op = &program.ops[user.at as usize];
            user.at += 1;
            match op {
                Op::Ask(request) => return Next::Ask(*request),
                Op::Page(page) => return Next::Page(*page),
                Op::Think(pause) => {
                    let pause = pause::draw(pause, &mut user.random);
                    if pause > 0 {
                        user.acted = true;
                        return Next::Think(pause);
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
                    asked: false,
                    outcome: Outcome::Ok,
                }),
                Op::CloseGroup => {
                    if let Some(group) = user.groups.pop().filter(|group| group.asked) {
                        return Next::Group(group.id, group.outcome, group.busy_ns);
                    }
                }
                Op::Open(socket) => return Next::Open(*socket),
                Op::Say(say) => return Next::Say(*say),
                Op::Listen(subscription) => return Next::Listen(*subscription),
                Op::Close(code) => return Next::Close(*code),
                Op::Every {
                    pace,
                    interval_ns,
                    lasting_ns,
                } => user.begin_pace(*pace, now, *interval_ns, *lasting_ns),
                Op::Round {
                    pace,
                    interval_ns,
                    after,
                } => match user.next_round(*pace, now, *interval_ns) {
                    Some(at) => {
                        user.acted = true;
                        return Next::Until(at);
                    }
                    None => user.at = *after,
                },
                Op::Obey => {
                    // It stays here until its process says that the iteration is over.
                    user.at -= 1;
                    return Next::Obey;
                }
                Op::Begin => return Next::Begin,
                Op::End(begin) => {
                    user.at = *begin;
                    return Next::Ended { acted: user.acted };
                }
            }
        }
    }

    /// Ends a user's iteration before its end. The groups it was in.
    pub(crate) fn break_off(&mut self, id: u32) -> Vec<OpenGroup> {
        let user = &mut self.users[id as usize];
        user.at = self.program.ways[user.journey as usize].begin;
        user.page = None;
        std::mem::take(&mut user.groups)
    }
}
