//! The virtual users of one loop, and the program they run.

mod answers;
mod calls;
mod messages;
mod walk;

use std::collections::HashMap;
use std::sync::Arc;

use plimsoll_model::journey::{Inputs, StepId, UserPhase};
use plimsoll_model::outcome::Outcome;
use plimsoll_model::plan::Load;
use plimsoll_model::redact;
use plimsoll_model::seed::Seed;
use plimsoll_model::window::{FAILURES_MAX, FailureSample};
use plimsoll_wire::head::HeadMemo;
use slab::Slab;

use crate::jar::Jar;
use crate::prepared_load::PreparedLoad;
use crate::process::Wait;
use crate::scenario::feed::{Feeds, RowDraw};
use crate::scenario::program::Program;
use crate::scenario::request::CompiledRequest;
use crate::scenario::text::NO_ROW;
use crate::scheduler::Newcomer;
use crate::session_carry_over::{CarriedUser, LoopCarryOver};
use crate::user::{ScriptState, User};
use crate::user_request::{SAMPLE_LEN, UserRequest};

pub(crate) use answers::{AnswerContext, AnswerVerdict};
pub(crate) use messages::{Meant, MessageSource};
pub(crate) use walk::NextAction;

/// Most concurrent users, over all loops.
const USERS_MAX: usize = 1 << 20;

/// Calls kept for their buffers.
const SPARE_MAX: usize = 256;

/// Label of the users' randomness among the seeds derived from a trial's.
const USERS_LABEL: u64 = 0x7573_6572;

/// All users of a loop.
pub(crate) struct VirtualUsers {
    pub(crate) program: Program,
    pub(crate) inputs: Arc<Inputs>,
    pub(crate) users: Slab<User>,
    /// Users carried over from earlier loads who are not wanted now.
    carry_over: LoopCarryOver,
    /// Free request slots of users with external scripts.
    requests_free: Vec<u32>,
    feeds: Feeds,
    /// The last head of each request's responses.
    pub(crate) memos: Vec<HeadMemo>,
    iterations_left: Option<u64>,
    /// Iterations of a user whose journey sets no limit.
    iterations_each: Option<u64>,
    users_max: usize,
    slots: usize,
    pub(crate) seed: Seed,
    /// Unix time of run time 0, ns.
    pub(crate) unix_ns: u64,
    failures_left: usize,
    pub(crate) body_len_max: u64,
    #[expect(clippy::vec_box, reason = "calls travel in their boxes")]
    spare: Vec<Box<UserRequest>>,
    scratch: Vec<u8>,
    /// The run is ending: nothing new is started.
    pub(crate) ending: bool,
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
        let (scenario, program) = (prepared.plan.scenario.as_ref()?, prepared.program.as_ref()?);
        let cores = prepared.plan.cores;
        let rows = prepared.inputs.rows.iter().map(Vec::len);
        let (iterations_left, iterations_each) = match &prepared.load {
            Load::Users { iterations, phases } => {
                let share = |all| share_of(all, phases, u64::from(index), u64::from(cores));
                (iterations.map(share), None)
            }
            _ => (None, Some(1)),
        };
        Some(Box::new(Self {
            // Regular expressions keep their scratch space per clone: loops then never contend for it.
            program: program.clone(),
            inputs: Arc::clone(&prepared.inputs),
            users: Slab::new(),
            carry_over,
            requests_free: Vec::new(),
            feeds: Feeds::new(&scenario.feeds, rows, index, cores),
            memos: program
                .requests
                .iter()
                .map(|_| HeadMemo::default())
                .collect(),
            iterations_left,
            iterations_each,
            users_max: USERS_MAX / cores as usize,
            slots: scenario.slots.len(),
            seed: prepared.seed.derive(USERS_LABEL),
            unix_ns: 0,
            failures_left: FAILURES_MAX,
            body_len_max: prepared.plan.transport.body_len_max,
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
        let journey = &self.program.journeys[newcomer.journey as usize];
        let mut random = self.seed.derive(newcomer.number).generator();
        let mut rows: Box<[u32]> = vec![NO_ROW; self.inputs.rows.len()].into();
        for &feed in journey.feeds.iter().chain(&journey.feeds_each) {
            match self.feeds.take(feed, &mut random) {
                RowDraw::Taken(row) => rows[feed as usize] = row,
                RowDraw::NoneLeft => return UserAdmission::Lost,
                RowDraw::Error => return UserAdmission::FeedExhausted(feed),
            }
        }
        let id = self.users.insert(User {
            number: newcomer.number,
            place: newcomer.place,
            journey: newcomer.journey,
            at: journey.start,
            iteration: 0,
            iterations_before: 0,
            in_doubt: false,
            acted: false,
            counters: vec![0; self.program.levels].into(),
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
            paces: vec![(0, 0); self.program.paces].into(),
            socket: None,
        });
        UserAdmission::Goes(u32::try_from(id).expect("users are far below 2^32"))
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
            // A WebSocket does not outlast its loop.
            let is_bound = user.script_session.is_some() || user.socket.is_some();
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
        let journey = &self.program.journeys[user.journey as usize];
        let each = journey.iterations.or(self.iterations_each);
        let is_done = each.is_some_and(|each| user.iteration - user.iterations_before >= each);
        if !wanted || is_done || self.iterations_left == Some(0) {
            return UserAdmission::Lost;
        }
        // The first iteration's rows are taken at admission, where `once` steps may use them.
        if user.iteration > 0 {
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
        let journey = &self.program.journeys[user.journey as usize];
        let each = journey.iterations.or(self.iterations_each);
        self.is_exhausted()
            || each.is_some_and(|each| user.iteration - user.iterations_before >= each)
    }

    /// Adds a script's request to the program; `place` is the slot of that user's last one.
    pub(crate) fn put_request(&mut self, place: Option<u32>, request: CompiledRequest) -> u32 {
        if let Some(place) = place.or_else(|| self.requests_free.pop()) {
            self.program.requests[place as usize] = request;
            return place;
        }
        self.program.requests.push(request);
        self.memos.push(HeadMemo::default());
        u32::try_from(self.program.requests.len() - 1).expect("users are far below 2^32")
    }

    /// Whether a user still waits for the reply to this event.
    pub(crate) fn still_waits(&self, wait: &Wait) -> bool {
        let (number, sequence) = wait.event();
        let user = self.users.get(wait.user() as usize);
        user.filter(|user| user.number == number)
            .and_then(|user| user.script_session.as_ref())
            .is_some_and(|session| {
                session.sequence == sequence && session.state == ScriptState::Process
            })
    }

    /// A user of a script has left: its request slot is free.
    pub(crate) fn free_request(&mut self, place: Option<u32>) {
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
        Outcome::Protocol => "the answer was not valid HTTP, or longer than allowed",
        Outcome::Tls => "the TLS handshake or a TLS record failed",
        Outcome::Dropped => "due and never sent",
        Outcome::Ok | Outcome::Dns | Outcome::Expectation => outcome.name(),
    };
    text.to_owned()
}
