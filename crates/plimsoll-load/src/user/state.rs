//! One user.

use plimsoll_model::journey::StepId;
use plimsoll_model::outcome::Outcome;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::cache::UserCache;
use crate::jar::Jar;
use crate::scenario::text::TemplateValues;

use plimsoll_model::journey::Inputs;

/// One simulated person. Small, for there may be tens of thousands.
#[derive(Debug)]
pub(crate) struct User {
    /// Its number among all users of all loops, from 1.
    pub(crate) number: u64,
    /// Its place among those wanted at once, from 1; 0 for a session.
    pub(crate) place: u64,
    pub(crate) journey: u32,
    /// The next operation.
    pub(crate) at: u32,
    /// Iterations begun.
    pub(crate) iteration: u64,
    /// Of these, in loads before this one.
    pub(crate) iterations_before: u64,
    /// An answer since its last whole iteration was neither good nor the target's own failure: its session may be over.
    pub(crate) in_doubt: bool,
    /// It has asked or thought since its iteration began.
    pub(crate) acted: bool,
    /// What is left of each repetition it is in, by level.
    pub(crate) counters: Box<[u32]>,
    pub(crate) slots: Box<[Vec<u8>]>,
    /// Row taken of each feed.
    pub(crate) rows: Box<[u32]>,
    pub(crate) jar: Jar,
    /// Only where its journey keeps one.
    pub(crate) cache: Option<Box<UserCache>>,
    pub(crate) random: Xoshiro256PlusPlus,
    /// Its connections, with their origins.
    pub(crate) lines: Vec<(u16, u32)>,
    pub(crate) groups: Vec<OpenGroup>,
    /// Where it is: origin, path and query of its last answer.
    pub(crate) base: (u16, Vec<u8>),
    pub(crate) page: Option<Box<PageLoad>>,
    /// Only where a process says what it does.
    pub(crate) script_session: Option<Box<ScriptSession>>,
    /// The next round and the end of each interval it is in, by pace, ns.
    pub(crate) paces: Box<[(u64, u64)]>,
    /// Its WebSocket, while it has one or is to get it back.
    pub(crate) socket: Option<Box<UserSocket>>,
}

/// How a user and its WebSocket stand.
#[derive(Debug)]
pub(crate) struct UserSocket {
    /// Index in the program's sockets.
    pub(crate) index: u32,
    /// The connection on which it is open and ready; [`crate::list::NONE`] while it is not.
    pub(crate) connection: u32,
    /// Subscriptions made on it, each with its channel, to be made again after a reconnect.
    pub(crate) subscriptions: Vec<(u32, u32)>,
    /// When it was lost, and how often it was tried to open it again since.
    pub(crate) lost_ns: u64,
    pub(crate) tries: u32,
    /// The id of the last event that came, where it is a stream.
    pub(crate) last_event: String,
}

/// How a user and the process stand that says what it does.
#[derive(Debug)]
pub(crate) struct ScriptSession {
    /// Index among the loop's processes.
    pub(crate) process: usize,
    pub(crate) state: ScriptState,
    /// The request that it asks by, in the program's requests; made with its first.
    pub(crate) request: Option<u32>,
    /// Counts events, so that one that is waited for is told from those before.
    pub(crate) sequence: u32,
    /// When the last event was handed over.
    pub(crate) since: u64,
}

/// What a user with a process is waiting for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ScriptState {
    /// Its next turn: nothing of this iteration was said yet.
    New,
    /// Its process.
    Process,
    /// An answer of the target.
    Target,
    /// The end of a pause, after which the request that was made ready is asked.
    PauseThenRequest,
    /// The end of a pause, of which its process is told by this line.
    PauseThenSend(Vec<u8>),
}

/// A group that a user is in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenGroup {
    pub(crate) id: StepId,
    /// Time from requests' being due to their ends, ns: without thinking.
    pub(crate) busy_ns: u64,
    pub(crate) has_requests: bool,
    pub(crate) outcome: Outcome,
}

/// Path and query on an origin, by index of the program's origins.
pub(crate) type OriginTarget = (u16, Vec<u8>);

/// A page that is being loaded.
#[derive(Debug)]
pub(crate) struct PageLoad {
    /// Index in the program's pages.
    pub(crate) page: u32,
    pub(crate) due: u64,
    /// Resources still to be asked for, last first: request, and target when the page named it.
    pub(crate) left: Vec<(u32, Option<OriginTarget>)>,
    pub(crate) under_way: u32,
    pub(crate) outcome: Outcome,
    pub(crate) once: bool,
    pub(crate) bytes_in: u64,
}

impl User {
    /// What fills the holes of its texts, and its cookies beside it.
    pub(crate) fn values<'a>(
        &'a mut self,
        inputs: &'a Inputs,
        unix_ns: u64,
    ) -> (TemplateValues<'a>, &'a Jar) {
        let values = TemplateValues {
            slots: &self.slots,
            rows: &self.rows,
            inputs,
            user: self.number,
            iteration: self.iteration,
            unix_ns,
            random: &mut self.random,
        };
        (values, &self.jar)
    }

    /// A request, a page included, took so long and ended so.
    pub(crate) fn count_in_groups(&mut self, busy_ns: u64, outcome: Outcome) {
        for group in &mut self.groups {
            group.busy_ns += busy_ns;
            group.has_requests = true;
            if group.outcome.is_ok() {
                group.outcome = outcome;
            }
        }
    }
}
