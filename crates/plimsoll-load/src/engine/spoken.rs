//! What users do whose steps a process says: what it said is made ready, asked, and told how it ended.

use std::collections::BTreeMap;
use std::sync::Arc;

use plimsoll_model::outcome::Outcome;
use serde_json::{Map, Value};

use super::Engine;
use crate::call::{Call, Role};
use crate::connection::Request;
use crate::crowd::{Crowd, Failure};
use crate::due::Due;
use crate::process::message::{self, AnswerObject, Answered, Asked, Plain, Start, What};
use crate::recorder::Ended;
use crate::scenario::answer::Answer;
use crate::scenario::request;
use crate::source::REFUSED_PAUSE_NS;
use crate::user::{Talk, TalkState};

/// What is counted of a process apart from its requests.
const LABEL: &str = "process";

/// Labels of one journey whose ids a loop keeps at hand.
const IDS_KEPT_MAX: usize = 1000;

impl Engine {
    /// A user with a process is due.
    pub(super) fn consult(&mut self, user: u32, due: Due, now: u64) {
        let number = self.crowd().users[user as usize].number;
        let Some(talk) = &mut self.crowd().users[user as usize].talk else {
            return;
        };
        let (index, request) = (talk.process, talk.request);
        let state = std::mem::replace(&mut talk.state, TalkState::Target);
        if self.processes[index].is_gone {
            return self.leave(user, false, true, now);
        }
        debug_assert!(
            self.processes[index].users.contains_key(&number),
            "it was assigned"
        );
        self.be_late(due, now);
        match (state, request) {
            (TalkState::New, _) => {
                let line = self.start_line(user);
                self.hand_line_over(user, &line, now);
            }
            (TalkState::PauseThenTell(line), _) => self.hand_line_over(user, &line, now),
            (TalkState::PauseThenAsk, Some(request)) => {
                self.ask(user, request, Role::Spoken, None, due.at, now);
            }
            (state, _) => self.set_talk(user, state),
        }
    }

    /// A user does what its process says.
    pub(super) fn obey_process(&mut self, user: u32, what: What, now: u64) {
        match what {
            What::End(failed) => {
                if let Some(reason) = failed {
                    self.count_failure(user, Outcome::Expectation, &reason, now);
                }
                self.end_spoken(user);
                let due = Due {
                    at: now,
                    user,
                    paced: false,
                };
                self.go_on(user, due, now);
            }
            What::Think(pause) => {
                let crowd = self.crowd();
                crowd.users[user as usize].acted = true;
                let line = message::line(&Plain {
                    user: crowd.users[user as usize].number,
                    event: "thought",
                });
                let until = self.pause_until(user, pause, now);
                self.set_talk(user, TalkState::PauseThenTell(line));
                self.people().think(user, until);
            }
            What::Request(asked, pause) => match self.prepare(user, *asked) {
                Err(fault) => self.be_misled(user, &fault, now),
                Ok(request) => {
                    let until = pause.map_or(now, |pause| self.pause_until(user, pause, now));
                    if until > now {
                        self.set_talk(user, TalkState::PauseThenAsk);
                        return self.people().think(user, until);
                    }
                    self.set_talk(user, TalkState::Target);
                    self.ask(user, request, Role::Spoken, None, now, now);
                }
            },
        }
    }

    /// When a pause ends: it begins when its process was told, whose own time does not make it longer.
    fn pause_until(&mut self, user: u32, pause: u64, now: u64) -> u64 {
        let talk = self.crowd().users[user as usize].talk.as_ref();
        let since = talk.map_or(now, |talk| talk.since);
        since.saturating_add(pause).max(now)
    }

    fn set_talk(&mut self, user: u32, state: TalkState) {
        if let Some(talk) = &mut self.crowd().users[user as usize].talk {
            talk.state = state;
        }
    }

    /// Makes a request ready; its index in the program.
    fn prepare(&mut self, user: u32, asked: Asked) -> Result<u32, String> {
        let order = Arc::clone(&self.order);
        let journey = self.crowd().users[user as usize].journey;
        let scenario = order.plan.scenario.as_ref();
        let plan = scenario.and_then(|scenario| scenario.journeys.get(journey as usize));
        let plan = plan.ok_or("its journey is not known")?;
        let mut step = asked.step;
        step.id = self.name_step(journey, asked.once, &asked.label);
        let crowd = self.crowd();
        let origins = &crowd.program.origins;
        let mut made = request::Request::new(&step, plan, &order.plan, origins, asked.once)?;
        if !made.wants_body {
            made.body_kept_max = Some(asked.body_len_max);
        }
        made.body_told_max = asked.body_len_max;
        (made.wants_head, made.wants_body) = (true, true);
        let talk = crowd.users[user as usize].talk.as_ref();
        let place = talk.and_then(|talk| talk.request);
        let place = crowd.put_request(place, made);
        if let Some(talk) = &mut crowd.users[user as usize].talk {
            talk.request = Some(place);
        }
        Ok(place)
    }

    /// The id that a label is counted under.
    fn name_step(&mut self, journey: u32, once: bool, label: &str) -> u32 {
        let known = self.step_ids.entry((journey, once)).or_default();
        if let Some(&id) = known.get(label) {
            return id;
        }
        // A label is a URL unless the process names the step, and is stored.
        let shown = plimsoll_model::redact::text(label);
        let (id, new) = self.order.names.id(journey, once, &shown);
        if known.len() < IDS_KEPT_MAX {
            known.insert(label.to_owned(), id);
        }
        if let Some(info) = new {
            self.recorder.current().window.steps_named.insert(id, info);
        }
        id
    }

    fn start_line(&mut self, user: u32) -> Vec<u8> {
        let order = Arc::clone(&self.order);
        let crowd = self.crowd();
        let user = &crowd.users[user as usize];
        let seed = crowd.seed.derive(user.number).derive(user.iteration).0;
        let scenario = order.plan.scenario.as_ref();
        let journey = scenario.and_then(|scenario| scenario.journeys.get(user.journey as usize));
        let feeds = journey.and_then(|journey| journey.process.as_ref());
        let mut row = Map::new();
        for &feed in feeds.map_or(&[][..], |process| &process.feeds) {
            let Some(plan) = scenario.and_then(|scenario| scenario.feeds.get(feed as usize)) else {
                continue;
            };
            let taken = user.rows.get(feed as usize).copied().unwrap_or(u32::MAX);
            let rows = crowd.inputs.rows.get(feed as usize);
            let Some(values) = rows.and_then(|rows| rows.get(taken as usize)) else {
                continue;
            };
            let values = plan.columns.iter().cloned().zip(values);
            let values = values.map(|(name, value)| (name, Value::from(value.as_str())));
            row.insert(plan.name.clone(), Value::Object(values.collect()));
        }
        message::line(&Start {
            user: user.number,
            event: "start",
            journey: journey.map_or("", |journey| &journey.name),
            iteration: user.iteration,
            // As many bits as a number keeps in every language.
            seed: u32::try_from(seed >> 32).unwrap_or_default(),
            target: &order.plan.target.url,
            row,
        })
    }

    /// What a process says of a user is of no use: the iteration has failed, and another begins.
    pub(super) fn be_misled(&mut self, user: u32, fault: &str, now: u64) {
        let talk = self.crowd().users[user as usize].talk.as_ref();
        let Some(index) = talk.map(|talk| talk.process) else {
            return;
        };
        let process = &self.processes[index];
        let reason = format!("{}: {fault}", process.place());
        let journey = process.journey;
        self.recorder.current().process(journey).faults += 1;
        self.count_failure(user, Outcome::Dropped, &reason, now);
        self.end_spoken(user);
        self.people().think(user, now + REFUSED_PAUSE_NS);
    }

    /// A user goes on to the end of its iteration.
    fn end_spoken(&mut self, user: u32) {
        self.crowd().users[user as usize].at += 1;
        self.set_talk(user, TalkState::New);
    }

    /// Counts what no request of a user stands for.
    pub(super) fn count_failure(&mut self, user: u32, outcome: Outcome, reason: &str, now: u64) {
        let journey = self.crowd().users[user as usize].journey;
        let id = self.name_step(journey, false, LABEL);
        self.recorder.offered(now, now);
        self.recorder.ended(Ended {
            outcome,
            due: now,
            sent: now,
            done: now,
        });
        self.recorder.current().step_ended(id, outcome, 0, 0);
        self.tell_failure(&Failure {
            now,
            step: Some(id),
            outcome,
            reason,
            status: 0,
            body: b"",
        });
    }

    /// The request that a process asked for has ended: it is told how.
    pub(super) fn spoken_ended(
        &mut self,
        request: &Request,
        call: Box<Call>,
        outcome: Outcome,
        is_unsent: bool,
        now: u64,
    ) {
        let user = request.user;
        let is_over = now >= self.source.end_ns();
        let crowd = self.crowd();
        let index = crowd.users[user as usize]
            .talk
            .as_ref()
            .map(|talk| talk.process);
        if crowd.ending || is_over {
            return crowd.take_back(call);
        }
        let response_ns = now.saturating_sub(request.due);
        let line = answer_line(crowd, user, &call, outcome, response_ns);
        crowd.take_back(call);
        if index.is_none_or(|index| self.processes[index].is_gone) {
            return self.leave(user, false, true, now);
        }
        if is_unsent {
            // A target that refuses must not make a process spin.
            self.set_talk(user, TalkState::PauseThenTell(line));
            return self.people().think(user, now + REFUSED_PAUSE_NS);
        }
        self.hand_line_over(user, &line, now);
    }

    /// Gives a user who has just come to a process of its journey, if it has one. Whether that is so.
    pub(super) fn assign(&mut self, user: u32) -> bool {
        let (journey, number) = {
            let user = &self.crowd().users[user as usize];
            (user.journey, user.number)
        };
        let scenario = self.order.plan.scenario.as_ref();
        let plan = scenario.and_then(|scenario| scenario.journeys.get(journey as usize));
        if plan.is_none_or(|journey| journey.process.is_none()) {
            return true;
        }
        let own = self.processes.iter_mut().enumerate();
        let own = own.filter(|(_, one)| one.journey == journey && !one.is_gone);
        let Some((index, process)) = own.min_by_key(|(_, one)| one.users.len()) else {
            return false;
        };
        process.users.insert(number, user);
        self.crowd().users[user as usize].talk = Some(Box::new(Talk {
            process: index,
            state: TalkState::New,
            request: None,
            turn: 0,
            since: 0,
        }));
        true
    }

    /// A user has left its process.
    pub(super) fn part_from_process(&mut self, talk: &Talk, number: u64) {
        let process = &mut self.processes[talk.process];
        process.users.remove(&number);
        if !process.is_gone {
            let line = message::line(&Plain {
                user: number,
                event: "stop",
            });
            // One that is as full as that is lost with the next event.
            let _ = process.tell(&line);
        }
        self.crowd().free_request(talk.request);
    }
}

fn answer_line(
    crowd: &Crowd,
    user: u32,
    call: &Call,
    outcome: Outcome,
    response_ns: u64,
) -> Vec<u8> {
    let len_max = crowd.program.requests[call.request as usize].body_told_max;
    let answer = Answer::new(
        call.status,
        &call.head,
        &call.body,
        call.coding,
        crowd.body_len_max,
    );
    let whole = answer.body();
    let told = &whole[..whole.len().min(len_max)];
    let body = String::from_utf8_lossy(told);
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
        user: crowd.users[user as usize].number,
        event: "answer",
        answer: AnswerObject {
            outcome: outcome.name(),
            status: call.status,
            path: &String::from_utf8_lossy(&call.target),
            headers,
            body: &body,
            body_cut: whole.len() > len_max || call.body.len() >= call.kept_len_max,
            response_ms: response_ns as f64 / 1e6,
            reason: &call.reason,
        },
    })
}
