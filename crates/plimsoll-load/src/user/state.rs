//! One virtual user.

use plimsoll_model::journey::StepId;
use plimsoll_model::outcome::Outcome;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::cache::UserCache;
use crate::jar::Jar;
use crate::scenario::text::TemplateValues;

use plimsoll_model::journey::Inputs;

/// One virtual user. Kept small: there may be tens of thousands.
#[derive(Debug)]
pub(crate) struct User {
    /// Its number among all users of all loops, from 1.
    pub(crate) number: u64,
    /// Its place among concurrent users, from 1; 0 for a session.
    pub(crate) place: u64,
    pub(crate) journey: u32,
    /// The next operation (program counter).
    pub(crate) at: u32,
    /// Iterations begun.
    pub(crate) iteration: u64,
    /// Of these, iterations in earlier loads.
    pub(crate) iterations_before: u64,
    /// A response since its last complete iteration was neither good nor the target's own failure: its session may
    /// have expired.
    pub(crate) in_doubt: bool,
    /// It has sent a request or paused since its iteration began.
    pub(crate) acted: bool,
    /// The remaining count of each active repetition, by level.
    pub(crate) counters: Box<[u32]>,
    pub(crate) slots: Box<[Vec<u8>]>,
    /// Row taken from each feed.
    pub(crate) rows: Box<[u32]>,
    pub(crate) jar: Jar,
    /// Only where its journey has a cache.
    pub(crate) cache: Option<Box<UserCache>>,
    pub(crate) random: Xoshiro256PlusPlus,
    /// Its connections, with their origins.
    pub(crate) lines: Vec<(u16, u32)>,
    pub(crate) groups: Vec<OpenGroup>,
    /// Its current URL: origin, path and query of its last response.
    pub(crate) base: (u16, Vec<u8>),
    pub(crate) page: Option<Box<PageLoad>>,
    /// Only where an external script drives it.
    pub(crate) script_session: Option<Box<ScriptSession>>,
    /// The next round and the end of each active interval, by pace, ns.
    pub(crate) paces: Box<[(u64, u64)]>,
    /// Its WebSocket, while it is open or being reopened.
    pub(crate) socket: Option<Box<UserSocket>>,
}

/// A user's WebSocket.
#[derive(Debug)]
pub(crate) struct UserSocket {
    /// Index in the program's sockets.
    pub(crate) index: u32,
    /// The connection on which it is open and ready; [`crate::list::NONE`] otherwise.
    pub(crate) connection: u32,
    /// Subscriptions on it, each with its channel, to be repeated after a reconnect.
    pub(crate) subscriptions: Vec<(u32, u32)>,
    /// When it was lost, and the attempts to reopen it since.
    pub(crate) lost_ns: u64,
    pub(crate) tries: u32,
    /// The id of the last event of an event stream.
    pub(crate) last_event: String,
}

/// A user's external script.
#[derive(Debug)]
pub(crate) struct ScriptSession {
    /// Index of the process in the loop.
    pub(crate) process: usize,
    pub(crate) state: ScriptState,
    /// Its request in the program; created with the first one.
    pub(crate) request: Option<u32>,
    /// Counts events, to distinguish a pending event from earlier ones.
    pub(crate) sequence: u32,
    /// When the last event was sent.
    pub(crate) since: u64,
}

/// What a user of an external script waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ScriptState {
    /// Its next step: no event of this iteration was sent yet.
    New,
    /// A reply of its process.
    Process,
    /// A response of the target.
    Target,
    /// The end of a pause, after which the prepared request is sent.
    PauseThenRequest,
    /// The end of a pause, which is reported to its process by this line.
    PauseThenSend(Vec<u8>),
}

/// A group that a user is in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenGroup {
    pub(crate) id: StepId,
    /// Time from requests' due times to their ends, ns: without think time.
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
    /// Resources still to be requested, last first: request, and target when the page named it.
    pub(crate) left: Vec<(u32, Option<OriginTarget>)>,
    pub(crate) under_way: u32,
    pub(crate) outcome: Outcome,
    pub(crate) once: bool,
    pub(crate) bytes_in: u64,
}

impl User {
    /// Values for placeholders, and cookies.
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

    /// A request or a page has ended, with this duration and outcome.
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
