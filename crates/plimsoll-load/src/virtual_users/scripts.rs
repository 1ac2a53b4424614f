//! Users driven by external scripts: what each waits for, and the lines that are exchanged.

use std::collections::BTreeMap;

use plimsoll_model::outcome::Outcome;
use serde_json::{Map, Value};

use super::VirtualUsers;
use super::user::{ScriptSession, ScriptState};
use super::user_request::UserRequest;
use crate::prepared_load::PreparedLoad;
use crate::process::Wait;
use crate::process::message::{self, AnswerObject, Answered, Plain, ScriptRequest, StartEvent};
use crate::scenario::answer::ParsedAnswer;
use crate::scenario::request::CompiledRequest;

impl VirtualUsers {
    /// A user is driven by the process of this index.
    pub(crate) fn assign_process(&mut self, id: u32, process: usize) {
        self.users[id as usize].script_session = Some(Box::new(ScriptSession {
            process,
            state: ScriptState::New,
            request: None,
            sequence: 0,
            since: 0,
        }));
    }

    /// The process that drives a user.
    pub(crate) fn process_of(&self, id: u32) -> Option<usize> {
        let session = self.users[id as usize].script_session.as_ref();
        session.map(|session| session.process)
    }

    /// A user of a script is due: its process, what it waited for, and its request in the program.
    pub(crate) fn take_script_state(
        &mut self,
        id: u32,
    ) -> Option<(usize, ScriptState, Option<u32>)> {
        let session = self.users[id as usize].script_session.as_mut()?;
        let state = std::mem::replace(&mut session.state, ScriptState::Target);
        Some((session.process, state, session.request))
    }

    pub(crate) fn set_script_state(&mut self, id: u32, state: ScriptState) {
        if let Some(session) = &mut self.users[id as usize].script_session {
            session.state = state;
        }
    }

    /// A user continues to the end of its iteration.
    pub(crate) fn end_script_iteration(&mut self, id: u32) {
        self.users[id as usize].at += 1;
        self.set_script_state(id, ScriptState::New);
    }

    /// An event of a user is sent: its process, and the user's number with that of the event.
    pub(crate) fn begin_event(&mut self, id: u32, now: u64) -> Option<(usize, (u64, u32))> {
        let user = &mut self.users[id as usize];
        let session = user.script_session.as_mut()?;
        session.state = ScriptState::Process;
        session.sequence = session.sequence.wrapping_add(1);
        session.since = now;
        Some((session.process, (user.number, session.sequence)))
    }

    /// Since when a user waits for its process; `None` when it does not.
    pub(crate) fn waits_since(&self, id: u32) -> Option<u64> {
        let session = self.users[id as usize].script_session.as_ref();
        let session = session.filter(|session| session.state == ScriptState::Process);
        session.map(|session| session.since)
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

    /// End of a pause: it starts when the event was sent to the script, whose own time does not extend it.
    pub(crate) fn pause_until(&self, id: u32, pause: u64, now: u64) -> u64 {
        let session = self.users[id as usize].script_session.as_ref();
        let since = session.map_or(now, |session| session.since);
        since.saturating_add(pause).max(now)
    }

    /// A user thinks; returns the line that reports the end of its pause.
    pub(crate) fn thought_line(&mut self, id: u32) -> Vec<u8> {
        let user = &mut self.users[id as usize];
        user.acted = true;
        message::line(&Plain {
            user: user.number,
            event: "thought",
        })
    }

    /// Prepares a request, counted under `step_id`; returns its index in the program.
    pub(crate) fn prepare_request(
        &mut self,
        id: u32,
        asked: ScriptRequest,
        step_id: u32,
        prepared: &PreparedLoad,
    ) -> Result<u32, String> {
        let journey = self.users[id as usize].journey;
        let scenario = prepared.scenario();
        let plan = scenario.and_then(|scenario| scenario.journeys.get(journey as usize));
        let plan = plan.ok_or("unknown journey")?;
        let mut step = asked.step;
        step.id = step_id;
        let origins = self.program.origins();
        let mut made = CompiledRequest::new(&step, plan, prepared.plan(), origins, asked.once)?;
        if !made.wants_body {
            made.body_retained_max = Some(asked.body_len_max);
        }
        made.script_body_len_max = asked.body_len_max;
        (made.wants_head, made.wants_body) = (true, true);
        let session = self.users[id as usize].script_session.as_ref();
        let place = session.and_then(|session| session.request);
        let place = self.put_request(place, made);
        if let Some(session) = &mut self.users[id as usize].script_session {
            session.request = Some(place);
        }
        Ok(place)
    }

    /// The line with which a user's iteration begins.
    pub(crate) fn start_line(&self, id: u32, prepared: &PreparedLoad) -> Vec<u8> {
        let user = &self.users[id as usize];
        let seed = self.seed.derive(user.number).derive(user.iteration).0;
        let scenario = prepared.scenario();
        let journey = scenario.and_then(|scenario| scenario.journeys.get(user.journey as usize));
        let feeds = journey.and_then(|journey| journey.process.as_ref());
        let mut row = Map::new();
        for &feed in feeds.map_or(&[][..], |process| &process.feeds) {
            let Some(plan) = scenario.and_then(|scenario| scenario.feeds.get(feed as usize)) else {
                continue;
            };
            let taken = user.rows.get(feed as usize).copied().unwrap_or(u32::MAX);
            let rows = self.inputs.rows.get(feed as usize);
            let Some(values) = rows.and_then(|rows| rows.get(taken as usize)) else {
                continue;
            };
            let values = plan.columns.iter().cloned().zip(values);
            let values = values.map(|(name, value)| (name, Value::from(value.as_str())));
            row.insert(plan.name.clone(), Value::Object(values.collect()));
        }
        message::line(&StartEvent {
            user: user.number,
            event: "start",
            journey: journey.map_or("", |journey| &journey.name),
            iteration: user.iteration,
            // As many bits as a number keeps in every language.
            seed: u32::try_from(seed >> 32).unwrap_or_default(),
            target: &prepared.plan().target.url,
            row,
        })
    }

    /// The line that reports the result of a user's request.
    pub(crate) fn answer_line(
        &self,
        id: u32,
        call: &UserRequest,
        outcome: Outcome,
        response_ns: u64,
    ) -> Vec<u8> {
        let len_max = self.program.request(call.request).script_body_len_max;
        let answer = ParsedAnswer::new(
            call.status,
            &call.head,
            &call.body,
            call.coding,
            self.body_len_max,
        );
        let whole = answer.body();
        let prefix = &whole[..whole.len().min(len_max)];
        let body = String::from_utf8_lossy(prefix);
        let mut headers = BTreeMap::<String, String>::new();
        for (name, value) in plimsoll_wire::head::headers(&call.head) {
            let name = String::from_utf8_lossy(name).to_ascii_lowercase();
            let value = String::from_utf8_lossy(value);
            headers
                .entry(name)
                .and_modify(|before| {
                    before.push_str(", ");
                    before.push_str(&value);
                })
                .or_insert_with(|| value.clone().into_owned());
        }
        message::line(&Answered {
            user: self.users[id as usize].number,
            event: "answer",
            answer: AnswerObject {
                outcome: outcome.name(),
                status: call.status,
                path: &String::from_utf8_lossy(&call.target),
                headers,
                body: &body,
                body_cut: whole.len() > len_max || call.body.len() >= call.retained_len_max,
                response_ms: response_ns as f64 / 1e6,
                reason: &call.reason,
            },
        })
    }
}
