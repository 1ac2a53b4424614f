//! One virtual user.

use plimsoll_model::journey::{Inputs, StepId};
use plimsoll_model::outcome::Outcome;
use plimsoll_model::websocket::SocketCut;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::cache::UserCache;
use crate::due::NEVER;
use crate::jar::Jar;
use crate::list::NONE;
use crate::polls::UserPoll;
use crate::scenario::text::TemplateValues;

/// One virtual user. Kept small: there may be tens of thousands.
#[derive(Debug)]
pub(crate) struct User {
    /// Its number among all users of all loops, from 1.
    pub(in crate::virtual_users) number: u64,
    /// Its place among concurrent users, from 1; 0 for a session.
    pub(in crate::virtual_users) place: u64,
    pub(in crate::virtual_users) journey: u32,
    /// The next operation (program counter).
    pub(in crate::virtual_users) at: u32,
    /// Iterations begun.
    pub(in crate::virtual_users) iteration: u64,
    /// Of these, iterations in earlier loads.
    pub(in crate::virtual_users) iterations_before: u64,
    /// A response since its last complete iteration was neither good nor the target's own failure: its session may
    /// have expired.
    pub(in crate::virtual_users) in_doubt: bool,
    /// It has sent a request or paused since its iteration began.
    pub(in crate::virtual_users) acted: bool,
    /// The remaining count of each active repetition, by level.
    pub(in crate::virtual_users) counters: Box<[u32]>,
    pub(in crate::virtual_users) slots: Box<[Vec<u8>]>,
    /// Row taken from each feed.
    pub(in crate::virtual_users) rows: Box<[u32]>,
    pub(in crate::virtual_users) jar: Jar,
    /// Only where its journey has a cache.
    pub(in crate::virtual_users) cache: Option<Box<UserCache>>,
    pub(in crate::virtual_users) random: Xoshiro256PlusPlus,
    /// Its connections, with their origins.
    pub(in crate::virtual_users) lines: Vec<(u16, u32)>,
    pub(in crate::virtual_users) groups: Vec<OpenGroup>,
    /// Its current URL: origin, path and query of its last response.
    pub(in crate::virtual_users) base: (u16, Vec<u8>),
    pub(in crate::virtual_users) page: Option<Box<PageLoad>>,
    /// Only where an external script drives it.
    pub(in crate::virtual_users) script_session: Option<Box<ScriptSession>>,
    /// The next round and the end of each active interval, by pace, ns.
    pub(in crate::virtual_users) paces: Box<[(u64, u64)]>,
    /// Its WebSocket, while it is open or being reopened.
    pub(in crate::virtual_users) socket: Option<Box<UserSocket>>,
    /// How long it waits for a step before it gives up, ns; [`NEVER`] for as long as the step's time-out.
    pub(in crate::virtual_users) patience_ns: u64,
    /// What it polls, while it does.
    pub(in crate::virtual_users) poll: Option<Box<UserPoll>>,
}

/// A user's WebSocket.
#[derive(Debug)]
pub(crate) struct UserSocket {
    /// Index in the program's sockets.
    pub(in crate::virtual_users) index: u32,
    /// The connection on which it is open and ready; [`NONE`] otherwise.
    pub(in crate::virtual_users) connection: u32,
    /// Subscriptions on it, each with its channel, to be repeated after a reconnect.
    pub(in crate::virtual_users) subscriptions: Vec<(u32, u32)>,
    /// When it was lost, and the attempts to reopen it since.
    pub(in crate::virtual_users) lost_ns: u64,
    pub(in crate::virtual_users) tries: u32,
    /// The id of the last event of an event stream.
    pub(in crate::virtual_users) last_event: String,
    /// Why it was cut, where it was lost from this side and is not open again.
    pub(in crate::virtual_users) cut: Option<SocketCut>,
}

impl UserSocket {
    /// One that is about to be opened.
    pub(in crate::virtual_users) fn new(index: u32) -> Self {
        Self {
            index,
            connection: NONE,
            subscriptions: Vec::new(),
            lost_ns: NEVER,
            tries: 0,
            last_event: String::new(),
            cut: None,
        }
    }

    /// Index in the program's sockets.
    pub(crate) fn index(&self) -> u32 {
        self.index
    }

    /// The connection on which it is open and ready; [`NONE`] otherwise.
    pub(crate) fn connection(&self) -> u32 {
        self.connection
    }

    /// Subscriptions on it, each with its channel.
    pub(crate) fn subscriptions(&self) -> &[(u32, u32)] {
        &self.subscriptions
    }

    /// The id of the last event of an event stream.
    pub(crate) fn last_event(&self) -> &str {
        &self.last_event
    }

    /// Why it was cut, where it was lost from this side and is not open again.
    pub(crate) fn cut(&self) -> Option<SocketCut> {
        self.cut
    }

    /// Whether it was lost, and is not open again.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost_ns != NEVER
    }
}

/// A user's external script.
#[derive(Debug)]
pub(in crate::virtual_users) struct ScriptSession {
    /// Index of the process in the loop.
    pub(in crate::virtual_users) process: usize,
    pub(in crate::virtual_users) state: ScriptState,
    /// Its request in the program; created with the first one.
    pub(in crate::virtual_users) request: Option<u32>,
    /// Counts events, to distinguish a pending event from earlier ones.
    pub(in crate::virtual_users) sequence: u32,
    /// When the last event was sent.
    pub(in crate::virtual_users) since: u64,
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
pub(in crate::virtual_users) struct PageLoad {
    /// Index in the program's pages.
    pub(in crate::virtual_users) page: u32,
    pub(in crate::virtual_users) due: u64,
    /// Resources still to be requested, last first: request, and target when the page named it.
    pub(in crate::virtual_users) left: Vec<(u32, Option<OriginTarget>)>,
    pub(in crate::virtual_users) under_way: u32,
    pub(in crate::virtual_users) outcome: Outcome,
    pub(in crate::virtual_users) once: bool,
    pub(in crate::virtual_users) bytes_in: u64,
}

impl User {
    /// Values for placeholders, and cookies.
    pub(in crate::virtual_users) fn values<'a>(
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
    pub(in crate::virtual_users) fn count_in_groups(&mut self, busy_ns: u64, outcome: Outcome) {
        for group in &mut self.groups {
            group.busy_ns += busy_ns;
            group.has_requests = true;
            if group.outcome.is_ok() {
                group.outcome = outcome;
            }
        }
    }
}
