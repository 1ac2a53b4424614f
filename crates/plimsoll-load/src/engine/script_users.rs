//! Users driven by an external script: its messages become requests, and their results are reported to it.

use std::sync::Arc;

use plimsoll_model::outcome::Outcome;

use super::Engine;
use crate::due::ScheduledArrival;
use crate::process::message::{ScriptAction, ScriptRequest};
use crate::recorder::RequestEnd;
use crate::requests::Request;
use crate::scheduler::REFUSED_PAUSE_NS;
use crate::virtual_users::{FailureDetails, ScriptState};
use crate::virtual_users::{RequestRole, UserRequest};

/// What is counted of a script apart from its requests.
const LABEL: &str = "process";

impl Engine {
    /// A user of an external script is due.
    pub(super) fn consult(&mut self, user: u32, due: ScheduledArrival, now: u64) {
        let Some((index, state, request)) = self.virtual_users().take_script_state(user) else {
            return;
        };
        if self.scripts[index].is_gone() {
            return self.leave(user, false, true, now);
        }
        let number = self.virtual_users().number_of(user);
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
            (state, _) => self.virtual_users().set_script_state(user, state),
        }
    }

    /// Carries out the script's next message for a user.
    pub(super) fn obey_process(&mut self, user: u32, what: ScriptAction, now: u64) {
        match what {
            ScriptAction::End(failed) => {
                if let Some(reason) = failed {
                    self.count_failure(user, Outcome::Expectation, &reason, now);
                }
                self.virtual_users().end_script_iteration(user);
                let due = ScheduledArrival {
                    at: now,
                    user,
                    paced: false,
                };
                self.go_on(user, due, now);
            }
            ScriptAction::Think(pause) => {
                let virtual_users = self.virtual_users();
                let line = virtual_users.thought_line(user);
                let until = virtual_users.pause_until(user, pause, now);
                self.virtual_users()
                    .set_script_state(user, ScriptState::PauseThenSend(line));
                self.people().think(user, until);
            }
            ScriptAction::Request(asked, pause) => match self.prepare(user, *asked) {
                Err(error) => self.be_misled(user, &error, now),
                Ok(request) => {
                    let virtual_users = self.virtual_users();
                    let until =
                        pause.map_or(now, |pause| virtual_users.pause_until(user, pause, now));
                    if until > now {
                        self.virtual_users()
                            .set_script_state(user, ScriptState::PauseThenRequest);
                        return self.people().think(user, until);
                    }
                    self.virtual_users()
                        .set_script_state(user, ScriptState::Target);
                    self.start_request(user, request, RequestRole::Script, None, now, now);
                }
            },
        }
    }

    /// Prepares a request; returns its index in the program.
    fn prepare(&mut self, user: u32, asked: ScriptRequest) -> Result<u32, String> {
        let journey = self.virtual_users().journey_of(user);
        let step_id = self.name_step(journey, asked.once, &asked.label);
        let prepared = Arc::clone(&self.prepared);
        self.virtual_users()
            .prepare_request(user, asked, step_id, &prepared)
    }

    /// The id under which a label is counted.
    fn name_step(&mut self, journey: u32, once: bool, label: &str) -> u32 {
        let names = self.prepared.names();
        let (id, new) = self.scripts.step_id(names, (journey, once), label);
        if let Some(info) = new {
            self.recorder.current().name_step(id, info);
        }
        id
    }

    fn start_line(&mut self, user: u32) -> Vec<u8> {
        let prepared = Arc::clone(&self.prepared);
        self.virtual_users().start_line(user, &prepared)
    }

    /// A script's message for a user is invalid: the iteration has failed, and another begins.
    pub(super) fn be_misled(&mut self, user: u32, error: &str, now: u64) {
        let Some(index) = self.virtual_users().process_of(user) else {
            return;
        };
        let process = &self.scripts[index];
        let reason = format!("{}: {error}", process.place());
        let journey = process.journey();
        self.recorder.current().count_process_error(journey);
        self.count_failure(user, Outcome::Dropped, &reason, now);
        self.virtual_users().end_script_iteration(user);
        self.people().think(user, now + REFUSED_PAUSE_NS);
    }

    /// Counts a failure that belongs to no request of a user.
    pub(super) fn count_failure(&mut self, user: u32, outcome: Outcome, reason: &str, now: u64) {
        let journey = self.virtual_users().journey_of(user);
        let id = self.name_step(journey, false, LABEL);
        self.recorder.offered(now, now);
        self.recorder.ended(RequestEnd::new(outcome, now, now, now));
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
        let index = virtual_users.process_of(user);
        if virtual_users.is_ending() || is_over {
            return virtual_users.take_back(call);
        }
        let response_ns = now.saturating_sub(request.due());
        let line = virtual_users.answer_line(user, &call, outcome, response_ns);
        virtual_users.take_back(call);
        if index.is_none_or(|index| self.scripts[index].is_gone()) {
            return self.leave(user, false, true, now);
        }
        if is_unsent {
            // A target that refuses must not make the script spin.
            self.virtual_users()
                .set_script_state(user, ScriptState::PauseThenSend(line));
            return self.people().think(user, now + REFUSED_PAUSE_NS);
        }
        self.send_event(user, &line, now);
    }

    /// Assigns a new user to a process of its journey, if it has one. Returns whether that is so.
    pub(super) fn assign(&mut self, user: u32) -> bool {
        let virtual_users = self.virtual_users();
        let (journey, number) = (
            virtual_users.journey_of(user),
            virtual_users.number_of(user),
        );
        let scenario = self.prepared.scenario();
        let plan = scenario.and_then(|scenario| scenario.journeys.get(journey as usize));
        if plan.is_none_or(|journey| journey.process.is_none()) {
            return true;
        }
        let Some(index) = self.scripts.assign(journey, number, user) else {
            return false;
        };
        self.virtual_users().assign_process(user, index);
        true
    }
}
