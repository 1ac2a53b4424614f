//! Users driven by an external script: its messages become requests, and their results are reported to it.

use std::collections::BTreeMap;
use std::sync::Arc;

use plimsoll_model::outcome::Outcome;
use serde_json::{Map, Value};

use super::Engine;
use crate::due::ScheduledArrival;
use crate::process::message::{
    self, AnswerObject, Answered, Plain, ScriptAction, ScriptRequest, StartEvent,
};
use crate::recorder::RequestEnd;
use crate::requests::Request;
use crate::scenario::answer::ParsedAnswer;
use crate::scenario::request;
use crate::scheduler::REFUSED_PAUSE_NS;
use crate::user::{ScriptSession, ScriptState};
use crate::user_request::{RequestRole, UserRequest};
use crate::virtual_users::{FailureDetails, VirtualUsers};

/// What is counted of a script apart from its requests.
const LABEL: &str = "process";

impl Engine {
    /// A user of an external script is due.
    pub(super) fn consult(&mut self, user: u32, due: ScheduledArrival, now: u64) {
        let number = self.virtual_users().users[user as usize].number;
        let Some(session) = &mut self.virtual_users().users[user as usize].script_session else {
            return;
        };
        let (index, request) = (session.process, session.request);
        let state = std::mem::replace(&mut session.state, ScriptState::Target);
        if self.scripts[index].is_gone() {
            return self.leave(user, false, true, now);
        }
        debug_assert!(self.scripts[index].has_user(number), "it was assigned");
        self.be_late(due, now);
        match (state, request) {
            (ScriptState::New, _) => {
                let line = self.start_line(user);
                self.send_event(user, &line, now);
            }
            (ScriptState::PauseThenSend(line), _) => self.send_event(user, &line, now),
            (ScriptState::PauseThenRequest, Some(request)) => {
                self.start_request(user, request, RequestRole::Script, None, due.at, now);
            }
            (state, _) => self.set_script_state(user, state),
        }
    }

    /// Carries out the script's next message for a user.
    pub(super) fn obey_process(&mut self, user: u32, what: ScriptAction, now: u64) {
        match what {
            ScriptAction::End(failed) => {
                if let Some(reason) = failed {
                    self.count_failure(user, Outcome::Expectation, &reason, now);
                }
                self.end_script_iteration(user);
                let due = ScheduledArrival {
                    at: now,
                    user,
                    paced: false,
                };
                self.go_on(user, due, now);
            }
            ScriptAction::Think(pause) => {
                let virtual_users = self.virtual_users();
                virtual_users.users[user as usize].acted = true;
                let line = message::line(&Plain {
                    user: virtual_users.users[user as usize].number,
                    event: "thought",
                });
                let until = self.pause_until(user, pause, now);
                self.set_script_state(user, ScriptState::PauseThenSend(line));
                self.people().think(user, until);
            }
            ScriptAction::Request(asked, pause) => match self.prepare(user, *asked) {
                Err(error) => self.be_misled(user, &error, now),
                Ok(request) => {
                    let until = pause.map_or(now, |pause| self.pause_until(user, pause, now));
                    if until > now {
                        self.set_script_state(user, ScriptState::PauseThenRequest);
                        return self.people().think(user, until);
                    }
                    self.set_script_state(user, ScriptState::Target);
                    self.start_request(user, request, RequestRole::Script, None, now, now);
                }
            },
        }
    }

    /// End of a pause: it starts when the event was sent to the script, whose own time does not extend it.
    fn pause_until(&mut self, user: u32, pause: u64, now: u64) -> u64 {
        let session = self.virtual_users().users[user as usize]
            .script_session
            .as_ref();
        let since = session.map_or(now, |session| session.since);
        since.saturating_add(pause).max(now)
    }

    fn set_script_state(&mut self, user: u32, state: ScriptState) {
        if let Some(session) = &mut self.virtual_users().users[user as usize].script_session {
            session.state = state;
        }
    }

    /// Prepares a request; returns its index in the program.
    fn prepare(&mut self, user: u32, asked: ScriptRequest) -> Result<u32, String> {
        let prepared = Arc::clone(&self.prepared);
        let journey = self.virtual_users().users[user as usize].journey;
        let scenario = prepared.plan.scenario.as_ref();
        let plan = scenario.and_then(|scenario| scenario.journeys.get(journey as usize));
        let plan = plan.ok_or("unknown journey")?;
        let mut step = asked.step;
        step.id = self.name_step(journey, asked.once, &asked.label);
        let virtual_users = self.virtual_users();
        let origins = &virtual_users.program.origins;
        let mut made =
            request::CompiledRequest::new(&step, plan, &prepared.plan, origins, asked.once)?;
        if !made.wants_body {
            made.body_retained_max = Some(asked.body_len_max);
        }
        made.script_body_len_max = asked.body_len_max;
        (made.wants_head, made.wants_body) = (true, true);
        let session = virtual_users.users[user as usize].script_session.as_ref();
        let place = session.and_then(|session| session.request);
        let place = virtual_users.put_request(place, made);
        if let Some(session) = &mut virtual_users.users[user as usize].script_session {
            session.request = Some(place);
        }
        Ok(place)
    }

    /// The id under which a label is counted.
    fn name_step(&mut self, journey: u32, once: bool, label: &str) -> u32 {
        let names = &self.prepared.names;
        let (id, new) = self.scripts.step_id(names, (journey, once), label);
        if let Some(info) = new {
            self.recorder.current().name_step(id, info);
        }
        id
    }

    fn start_line(&mut self, user: u32) -> Vec<u8> {
        let prepared = Arc::clone(&self.prepared);
        let virtual_users = self.virtual_users();
        let user = &virtual_users.users[user as usize];
        let seed = virtual_users
            .seed
            .derive(user.number)
            .derive(user.iteration)
            .0;
        let scenario = prepared.plan.scenario.as_ref();
        let journey = scenario.and_then(|scenario| scenario.journeys.get(user.journey as usize));
        let feeds = journey.and_then(|journey| journey.process.as_ref());
        let mut row = Map::new();
        for &feed in feeds.map_or(&[][..], |process| &process.feeds) {
            let Some(plan) = scenario.and_then(|scenario| scenario.feeds.get(feed as usize)) else {
                continue;
            };
            let taken = user.rows.get(feed as usize).copied().unwrap_or(u32::MAX);
            let rows = virtual_users.inputs.rows.get(feed as usize);
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
            target: &prepared.plan.target.url,
            row,
        })
    }

    /// A script's message for a user is invalid: the iteration has failed, and another begins.
    pub(super) fn be_misled(&mut self, user: u32, error: &str, now: u64) {
        let session = self.virtual_users().users[user as usize]
            .script_session
            .as_ref();
        let Some(index) = session.map(|session| session.process) else {
            return;
        };
        let process = &self.scripts[index];
        let reason = format!("{}: {error}", process.place());
        let journey = process.journey();
        self.recorder.current().count_process_error(journey);
        self.count_failure(user, Outcome::Dropped, &reason, now);
        self.end_script_iteration(user);
        self.people().think(user, now + REFUSED_PAUSE_NS);
    }

    /// A user continues to the end of its iteration.
    fn end_script_iteration(&mut self, user: u32) {
        self.virtual_users().users[user as usize].at += 1;
        self.set_script_state(user, ScriptState::New);
    }

    /// Counts a failure that belongs to no request of a user.
    pub(super) fn count_failure(&mut self, user: u32, outcome: Outcome, reason: &str, now: u64) {
        let journey = self.virtual_users().users[user as usize].journey;
        let id = self.name_step(journey, false, LABEL);
        self.recorder.offered(now, now);
        self.recorder.ended(RequestEnd {
            outcome,
            due: now,
            sent: now,
            done: now,
        });
        self.recorder.current().step_ended(id, outcome, 0, 0);
        self.record_failure(&FailureDetails {
            now,
            step: Some(id),
            outcome,
            reason,
            status: 0,
            body: b"",
        });
    }

    /// A request of a script has ended: its result is reported to the script.
    pub(super) fn script_request_ended(
        &mut self,
        request: &Request,
        call: Box<UserRequest>,
        outcome: Outcome,
        is_unsent: bool,
        now: u64,
    ) {
        let user = request.user();
        let is_over = now >= self.scheduler.end_ns();
        let virtual_users = self.virtual_users();
        let index = virtual_users.users[user as usize]
            .script_session
            .as_ref()
            .map(|session| session.process);
        if virtual_users.ending || is_over {
            return virtual_users.take_back(call);
        }
        let response_ns = now.saturating_sub(request.due());
        let line = answer_line(virtual_users, user, &call, outcome, response_ns);
        virtual_users.take_back(call);
        if index.is_none_or(|index| self.scripts[index].is_gone()) {
            return self.leave(user, false, true, now);
        }
        if is_unsent {
            // A target that refuses must not make the script spin.
            self.set_script_state(user, ScriptState::PauseThenSend(line));
            return self.people().think(user, now + REFUSED_PAUSE_NS);
        }
        self.send_event(user, &line, now);
    }

    /// Assigns a new user to a process of its journey, if it has one. Returns whether that is so.
    pub(super) fn assign(&mut self, user: u32) -> bool {
        let (journey, number) = {
            let user = &self.virtual_users().users[user as usize];
            (user.journey, user.number)
        };
        let scenario = self.prepared.plan.scenario.as_ref();
        let plan = scenario.and_then(|scenario| scenario.journeys.get(journey as usize));
        if plan.is_none_or(|journey| journey.process.is_none()) {
            return true;
        }
        let Some(index) = self.scripts.assign(journey, number, user) else {
            return false;
        };
        self.virtual_users().users[user as usize].script_session = Some(Box::new(ScriptSession {
            process: index,
            state: ScriptState::New,
            request: None,
            sequence: 0,
            since: 0,
        }));
        true
    }

    /// A user leaves its process.
    pub(super) fn leave_process(&mut self, session: &ScriptSession, number: u64) {
        self.scripts[session.process].remove_user(number);
        self.virtual_users().free_request(session.request);
    }
}

fn answer_line(
    virtual_users: &VirtualUsers,
    user: u32,
    call: &UserRequest,
    outcome: Outcome,
    response_ns: u64,
) -> Vec<u8> {
    let len_max = virtual_users.program.requests[call.request as usize].script_body_len_max;
    let answer = ParsedAnswer::new(
        call.status,
        &call.head,
        &call.body,
        call.coding,
        virtual_users.body_len_max,
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
        user: virtual_users.users[user as usize].number,
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
