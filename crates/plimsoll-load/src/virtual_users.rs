//! The virtual users of one loop, and the program they run.

mod answers;
mod calls;
mod carry_over;
mod cuts;
mod messages;
mod pages;
mod patience;
mod polls;
mod scripts;
mod sockets;
mod user;
mod user_request;
mod walk;

use std::collections::HashMap;
use std::sync::Arc;

use plimsoll_model::journey::{Inputs, StepId, UserPhase};
use plimsoll_model::outcome::Outcome;
use plimsoll_model::plan::Load;
use plimsoll_model::redact;
use plimsoll_model::seed::Seed;
use plimsoll_model::window::{FAILURES_MAX, FailureSample};
use plimsoll_wire::head::{HeadLimits, HeadMemo};
use rand::RngExt as _;
use slab::Slab;

use crate::jar::Jar;
use crate::polls::UserPoll;
use crate::prepared_load::PreparedLoad;
use crate::scenario::feed::{Feeds, RowDraw};
use crate::scenario::program::Program;
use crate::scenario::request::CompiledRequest;
use crate::scenario::text::NO_ROW;
use crate::scheduler::Newcomer;

use self::carry_over::CarriedUser;
use self::user::User;
use self::user_request::SAMPLE_LEN;

pub(crate) use answers::{AnswerContext, AnswerVerdict};
pub(crate) use carry_over::LoopCarryOver;
pub(crate) use messages::{Meant, MessageSource};
pub(crate) use sockets::OpenedSocket;
pub(crate) use user::{OpenGroup, OriginTarget, ScriptState, UserSocket};
pub(crate) use user_request::{RequestRole, UserRequest};
pub(crate) use walk::NextAction;

/// Most concurrent users, over all loops.
const USERS_MAX: usize = 1 << 20;

/// Calls kept for their buffers.
const SPARE_MAX: usize = 256;

/// Label of the users' randomness among the seeds derived from a trial's.
const USERS_LABEL: u64 = 0x7573_6572;

/// All users of a loop.
pub(crate) struct VirtualUsers {
    program: Program,
    inputs: Arc<Inputs>,
    users: Slab<User>,
    /// Users carried over from earlier loads who are not wanted now.
    carry_over: LoopCarryOver,
    /// Free request slots of users with external scripts.
    requests_free: Vec<u32>,
    feeds: Feeds,
    /// The last head of each request's responses.
    memos: Vec<HeadMemo>,
    iterations_left: Option<u64>,
    /// Iterations of a user whose journey sets no limit.
    iterations_each: Option<u64>,
    users_max: usize,
    slots: usize,
    seed: Seed,
    /// Unix time of run time 0, ns.
    unix_ns: u64,
    failures_left: usize,
    body_len_max: u64,
    head_limits: HeadLimits,
    #[expect(clippy::vec_box, reason = "calls travel in their boxes")]
    spare: Vec<Box<UserRequest>>,
    scratch: Vec<u8>,
    /// The run is ending: nothing new is started.
    ending: bool,
    /// Whether WebSockets of any journey are cut from this side.
    cuts_sockets: bool,
}

/// A user who has left.
#[derive(Debug)]
pub(crate) struct DepartedUser {
    pub(crate) number: u64,
    pub(crate) place: u64,
    /// Its connections, with their origins.
    pub(crate) connections: Vec<(u16, u32)>,
    /// The external script that drove it.
    pub(crate) process: Option<usize>,
    /// What it polled.
    pub(crate) poll: Option<Box<UserPoll>>,
}

/// The result of an admission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum UserAdmission {
    Goes(u32),
    /// Rejected: no row is left, or too many users are active.
    Lost,
    /// The rows of this feed are used up where the plan requires them.
    FeedExhausted(u32),
}

impl VirtualUsers {
    /// The users of loop `index`.
    pub(crate) fn new(
        prepared: &PreparedLoad,
        index: u32,
        carry_over: LoopCarryOver,
    ) -> Option<Box<Self>> {
        let (scenario, program) = (prepared.scenario()?, prepared.program()?);
        let cores = prepared.plan().cores;
        let rows = prepared.inputs().rows.iter().map(Vec::len);
        let (iterations_left, iterations_each) = match prepared.load() {
            Load::Users { iterations, phases } => {
                let share = |all| share_of(all, phases, u64::from(index), u64::from(cores));
                (iterations.map(share), None)
            }
            _ => (None, Some(1)),
        };
        Some(Box::new(Self {
            cuts_sockets: program.cuts_sockets(),
            // Regular expressions keep their scratch space per clone: loops then never contend for it.
            program: program.clone(),
            inputs: Arc::clone(prepared.inputs()),
            users: Slab::new(),
            carry_over,
            requests_free: Vec::new(),
            feeds: Feeds::new(&scenario.feeds, rows, index, cores),
            memos: std::iter::repeat_with(HeadMemo::default)
                .take(program.requests_count())
                .collect(),
            iterations_left,
            iterations_each,
            users_max: USERS_MAX / cores as usize,
            slots: scenario.slots.len(),
            seed: prepared.seed().derive(USERS_LABEL),
            unix_ns: 0,
            failures_left: FAILURES_MAX,
            body_len_max: prepared.plan().transport.body_len_max,
            head_limits: prepared.request().expected().head,
            spare: Vec::new(),
            scratch: Vec::new(),
            ending: false,
        }))
    }

    /// Admits a user.
    pub(crate) fn enter(&mut self, newcomer: Newcomer) -> UserAdmission {
        if self.users.len() >= self.users_max {
            return UserAdmission::Lost;
        }
        let journey = self.program.journey(newcomer.journey);
        let mut random = self.seed.derive(newcomer.number).generator();
        let mut rows: Box<[u32]> = vec![NO_ROW; self.inputs.rows.len()].into();
        for &feed in journey.feeds.iter().chain(&journey.feeds_each) {
            match self.feeds.take(feed, &mut random) {
                RowDraw::Taken(row) => rows[feed as usize] = row,
                RowDraw::NoneLeft => return UserAdmission::Lost,
                RowDraw::Error => return UserAdmission::FeedExhausted(feed),
            }
        }
        let patience_ns = patience::draw_ns(journey.gives_up, &mut random);
        let id = self.users.insert(User {
            number: newcomer.number,
            place: newcomer.place,
            journey: newcomer.journey,
            at: journey.start,
            iteration: 0,
            iterations_before: 0,
            in_doubt: false,
            acted: false,
            counters: vec![0; self.program.levels()].into(),
            slots: vec![Vec::new(); self.slots].into(),
            rows,
            jar: Jar::default(),
            cache: journey.cache.then(Box::default),
            random,
            lines: Vec::new(),
            groups: Vec::new(),
            base: (0, b"/".to_vec()),
            page: None,
            script_session: None,
            paces: vec![(0, 0); self.program.paces()].into(),
            socket: None,
            patience_ns,
            poll: None,
        });
        UserAdmission::Goes(u32::try_from(id).expect("users are far below 2^32"))
    }

    /// Number of active users.
    pub(crate) fn len(&self) -> usize {
        self.users.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.users.is_empty()
    }

    /// The number of a user among all users of all loops, from 1.
    pub(crate) fn number_of(&self, id: u32) -> u64 {
        self.users[id as usize].number
    }

    /// The place of a user among concurrent users, from 1; 0 for a session.
    pub(crate) fn place_of(&self, id: u32) -> u64 {
        self.users[id as usize].place
    }

    pub(crate) fn journey_of(&self, id: u32) -> u32 {
        self.users[id as usize].journey
    }

    /// A user leaves.
    pub(crate) fn remove(&mut self, id: u32) -> DepartedUser {
        let user = self.users.remove(id as usize);
        let session = user.script_session;
        self.free_request(session.as_ref().and_then(|session| session.request));
        DepartedUser {
            number: user.number,
            place: user.place,
            connections: user.lines,
            poll: user.poll,
            process: session.map(|session| session.process),
        }
    }

    /// A response made it doubtful that the target still knows a user's session.
    pub(crate) fn set_in_doubt(&mut self, id: u32, in_doubt: bool) {
        self.users[id as usize].in_doubt = in_doubt;
    }

    /// A request or a page of a user has ended, with this duration and outcome.
    pub(crate) fn count_in_groups(&mut self, id: u32, busy_ns: u64, outcome: Outcome) {
        self.users[id as usize].count_in_groups(busy_ns, outcome);
    }

    /// A random time below a limit, from a user's own randomness, ns.
    pub(crate) fn draw_pause(&mut self, id: u32, below_ns: u64) -> u64 {
        self.users[id as usize].random.random_range(0..below_ns)
    }

    /// A connection to an origin belongs to a user.
    pub(crate) fn add_connection(&mut self, id: u32, origin: u16, connection: u32) {
        self.users[id as usize].lines.push((origin, connection));
    }

    /// A connection no longer belongs to a user, who may have left.
    pub(crate) fn remove_connection(&mut self, id: u32, connection: u32) {
        if let Some(user) = self.users.get_mut(id as usize) {
            user.lines.retain(|(_, line)| *line != connection);
        }
    }

    /// The connections of a user, with their origins.
    #[inline]
    pub(crate) fn connections_of(&self, id: u32) -> &[(u16, u32)] {
        &self.users[id as usize].lines
    }

    /// The time-out of a request, where it differs from the plan's, ns.
    pub(crate) fn timeout_of(&self, request: u32) -> Option<u64> {
        self.program.request(request).timeout_ns
    }

    /// The last head of a request's responses.
    #[inline]
    pub(crate) fn memo(&mut self, request: u32) -> &mut HeadMemo {
        &mut self.memos[request as usize]
    }

    /// Run time 0 is this Unix time, ns.
    pub(crate) fn set_unix_ns(&mut self, unix_ns: u64) {
        self.unix_ns = unix_ns;
    }

    /// The run is ending: nothing new is started.
    pub(crate) fn end(&mut self) {
        self.ending = true;
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.ending
    }

    /// Admits carried-over users, and keeps the values of all: with each, the rest of its pause.
    /// `journey` returns the journey wanted at a place, if any.
    pub(crate) fn restore(
        &mut self,
        now: u64,
        journey: impl FnMut(u64) -> Option<u32>,
    ) -> Vec<(u32, Option<u64>)> {
        let back = self.carry_over.restore(now, journey);
        for user in self.carry_over.users() {
            self.feeds.hold(&user.rows);
        }
        let mut ids = Vec::with_capacity(back.len());
        for CarriedUser {
            mut user, pause_ns, ..
        } in back
        {
            self.feeds.hold(&user.rows);
            user.iterations_before = user.iteration;
            let id = self.users.insert(user);
            ids.push((
                u32::try_from(id).expect("users are far below 2^32"),
                pause_ns,
            ));
        }
        ids
    }

    /// Numbers of all known users, active or saved.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u64> {
        let here = self.users.iter().map(|(_, user)| user.number);
        here.chain(self.carry_over.users().map(|user| user.number))
    }

    /// Saves users at a moment, with the rest of pauses by user: those who may resume. Excluded are users who never
    /// began, whose session is in doubt, or who are driven by an external script.
    pub(crate) fn suspend(&mut self, now: u64, pauses: &HashMap<u32, u64>) -> LoopCarryOver {
        let mut carry_over = std::mem::take(&mut self.carry_over);
        for (id, user) in std::mem::take(&mut self.users) {
            // Neither a WebSocket nor what was polled outlasts its loop.
            let is_bound =
                user.script_session.is_some() || user.socket.is_some() || user.poll.is_some();
            let stays = user.iteration > 0 && !user.in_doubt && !is_bound;
            if stays && user.place > 0 {
                let id = u32::try_from(id).expect("users are far below 2^32");
                carry_over.put(CarriedUser::new(user, now, pauses.get(&id).copied()));
            }
        }
        carry_over
    }

    /// A user begins an iteration; `wanted` is whether the load still wants it.
    pub(crate) fn begin(&mut self, id: u32, wanted: bool) -> UserAdmission {
        let user = &mut self.users[id as usize];
        let journey = self.program.journey(user.journey);
        let each = journey.iterations.or(self.iterations_each);
        let is_done = each.is_some_and(|each| user.iteration - user.iterations_before >= each);
        if !wanted || is_done || self.iterations_left == Some(0) {
            return UserAdmission::Lost;
        }
        // The first iteration's rows are taken at admission, where `once` steps may use them.
        if user.iteration > 0 {
            if journey.forgets {
                user.jar = Jar::default();
                user.cache = journey.cache.then(Box::default);
            }
            for &feed in &journey.feeds_each {
                match self.feeds.take(feed, &mut user.random) {
                    RowDraw::Taken(row) => user.rows[feed as usize] = row,
                    RowDraw::NoneLeft => return UserAdmission::Lost,
                    RowDraw::Error => return UserAdmission::FeedExhausted(feed),
                }
            }
        }
        if let Some(left) = &mut self.iterations_left {
            *left -= 1;
        }
        user.iteration += 1;
        user.acted = false;
        UserAdmission::Goes(id)
    }

    /// Whether all iterations of the load have been started.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.iterations_left == Some(0)
    }

    /// Whether a user has done all the iterations it may.
    pub(crate) fn is_finished(&self, id: u32) -> bool {
        let user = &self.users[id as usize];
        let journey = self.program.journey(user.journey);
        let each = journey.iterations.or(self.iterations_each);
        self.is_exhausted()
            || each.is_some_and(|each| user.iteration - user.iterations_before >= each)
    }

    /// Adds a script's request to the program; `place` is the slot of that user's last one.
    fn put_request(&mut self, place: Option<u32>, request: CompiledRequest) -> u32 {
        if let Some(place) = place.or_else(|| self.requests_free.pop()) {
            self.program.replace_request(place, request);
            return place;
        }
        self.memos.push(HeadMemo::default());
        self.program.add_request(request)
    }

    /// A user of a script has left: its request slot is free.
    fn free_request(&mut self, place: Option<u32>) {
        self.requests_free.extend(place);
    }

    /// A failure in full, while some may still be reported.
    pub(crate) fn sample(&mut self, failure: &FailureDetails<'_>) -> Option<FailureSample> {
        self.failures_left = self.failures_left.checked_sub(1)?;
        let reason = if failure.reason.is_empty() {
            default_reason(failure.outcome, failure.status)
        } else {
            failure.reason.to_owned()
        };
        let body = &failure.body[..failure.body.len().min(SAMPLE_LEN)];
        let body = String::from_utf8_lossy(body);
        Some(FailureSample {
            at_us: failure.now / 1000,
            step: failure.step,
            outcome: failure.outcome,
            // Samples are stored and shown, and the response may contain a secret.
            reason: redact::text(&reason).into_owned(),
            status: failure.status,
            body: redact::text(&body).into_owned(),
        })
    }
}

/// A loop's share of all iterations; loops without places get none.
fn share_of(all: u64, phases: &[UserPhase], index: u64, loops: u64) -> u64 {
    let most = phases
        .iter()
        .fold(0.0_f64, |most, phase| most.max(phase.from).max(phase.to));
    // Places are assigned to loops in turn, from the first on.
    let loops = (1..=loops)
        .rev()
        .find(|&loops| most >= loops as f64)
        .unwrap_or(1);
    if index < loops {
        all / loops + u64::from(index < all % loops)
    } else {
        0
    }
}

/// The details of a failure.
pub(crate) struct FailureDetails<'a> {
    pub(crate) now: u64,
    pub(crate) step: Option<StepId>,
    pub(crate) outcome: Outcome,
    pub(crate) reason: &'a str,
    pub(crate) status: u16,
    pub(crate) body: &'a [u8],
}

fn default_reason(outcome: Outcome, status: u16) -> String {
    let text = match outcome {
        Outcome::WrongStatus => return format!("status {status} does not count as good"),
        Outcome::Timeout => "no complete response within the time-out",
        Outcome::ConnectRefused => "the target refused the connection",
        Outcome::ConnectTimeout => "no connection within the time-out",
        Outcome::Reset => "the connection was closed before any byte of the answer",
        Outcome::BodyCut => "the connection ended inside the body",
        Outcome::Protocol => {
            "the answer was not valid HTTP, or its body was longer than `max_body`"
        }
        Outcome::HeadTooLong => "the head of the answer was longer than `max_head`",
        Outcome::TooManyHeaders => "the answer had more headers than `max_headers`",
        Outcome::Tls => "the TLS handshake or a TLS record failed",
        Outcome::Dropped => "due and never sent",
        Outcome::Ok | Outcome::Dns | Outcome::Expectation => outcome.name(),
    };
    text.to_owned()
}

#[cfg(test)]
mod tests;
