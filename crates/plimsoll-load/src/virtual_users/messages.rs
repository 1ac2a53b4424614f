//! Messages on users' WebSockets: built, matched, and partly stored.

use plimsoll_model::journey::Layout;
use plimsoll_model::outcome::Outcome;
use plimsoll_wire::head::{self, ContentCoding};
use plimsoll_wire::websocket::Opcode;

use super::VirtualUsers;
use super::user_request::{RequestRole, UserRequest};
use crate::jar::CookieSite;
use crate::scenario::answer::ParsedAnswer;

/// Identifies a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meant {
    /// The message that makes this WebSocket ready.
    Ready(u32),
    /// The message that this request awaits.
    Answer(u32),
    /// A message of this subscription.
    Channel(u32),
}

/// A message to the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageSource {
    /// The message of this step.
    Exchange(u32),
    /// The initial message of this WebSocket.
    First(u32),
}

impl VirtualUsers {
    /// Whether a message matches. A user who has left matches none.
    pub(crate) fn means(
        &mut self,
        id: u32,
        meant: Meant,
        layout: Layout,
        message: &[u8],
        now: u64,
    ) -> bool {
        let Self {
            program,
            users,
            inputs,
            ..
        } = self;
        let expectations = match meant {
            Meant::Ready(socket) => program.socket(socket).ready.as_ref(),
            Meant::Answer(request) => Some(&program.request(request).expectations),
            Meant::Channel(subscription) => Some(&program.subscription(subscription).conditions),
        };
        let Some(user) = users.get_mut(id as usize) else {
            return false;
        };
        let Some(expectations) = expectations.filter(|all| !all.is_empty()) else {
            return true;
        };
        let answer = ParsedAnswer::new(0, b"", message, ContentCoding::Other, u64::MAX);
        let answer = answer.json_from(layout.offset(message));
        let mut values = user.values(inputs, self.unix_ns + now).0;
        expectations.evaluate(&answer, &mut values).is_ok()
    }

    /// Whether any message would match.
    pub(crate) fn means_any(&self, meant: Meant) -> bool {
        let Meant::Answer(request) = meant else {
            return false;
        };
        self.program.request(request).expectations.is_empty()
    }

    /// Builds a message, and returns the kind of its frame; `None` when there is none.
    pub(crate) fn fill(
        &mut self,
        id: u32,
        source: MessageSource,
        now: u64,
        out: &mut Vec<u8>,
    ) -> Option<Opcode> {
        let template = match source {
            MessageSource::Exchange(exchange) => {
                self.program.exchange(exchange).message.as_ref()?
            }
            MessageSource::First(socket) => self.program.socket(socket).first.as_ref()?,
        };
        let user = &mut self.users[id as usize];
        let mut values = user.values(&self.inputs, self.unix_ns + now).0;
        template.text.render(&mut values, out);
        // A text must be UTF-8 (RFC 6455, 5.6); values captured from bytes may be anything.
        if template.binary || std::str::from_utf8(out).is_err() {
            Some(Opcode::Binary)
        } else {
            Some(Opcode::Text)
        }
    }

    /// The channel of a subscription; `None` for that of the URL.
    pub(crate) fn channel(&mut self, id: u32, subscription: u32, now: u64) -> Option<String> {
        let text = self.program.subscription(subscription).channel.as_ref()?;
        let user = &mut self.users[id as usize];
        let name = text.filled(&mut user.values(&self.inputs, self.unix_ns + now).0);
        Some(String::from_utf8_lossy(&name).into_owned())
    }

    /// The inputs for judging an awaited message.
    pub(crate) fn awaiting(&mut self, id: u32, request: u32) -> Box<UserRequest> {
        let mut call = self.spare();
        self.dress(&mut call, request, RequestRole::Message);
        call.idempotent = false;
        self.users[id as usize].acted = true;
        call
    }

    /// Judges the awaited message: its time, and its captures.
    pub(crate) fn evaluate_message(
        &mut self,
        id: u32,
        call: &mut UserRequest,
        due: u64,
        now: u64,
    ) -> Outcome {
        if let Err(reason) = self.capture_at(id, call, now) {
            call.reason = reason;
            return Outcome::Expectation;
        }
        let expectations = &self.program.request(call.request).expectations;
        match expectations.evaluate_time(now.saturating_sub(due)) {
            Ok(()) => Outcome::Ok,
            Err(reason) => {
                call.reason = reason;
                Outcome::Expectation
            }
        }
    }

    /// Stores the cookies of a handshake response.
    pub(crate) fn keep_cookies_of(&mut self, id: u32, call: &UserRequest, answer: &[u8], now: u64) {
        if !call.keeps_cookies {
            return;
        }
        let origin = self.program.origins().get(call.origin);
        let site = CookieSite {
            host: &origin.host,
            target: &call.target,
            secure: origin.tls,
        };
        let Some(user) = self.users.get_mut(id as usize) else {
            return;
        };
        for (name, value) in head::headers(answer) {
            if name.eq_ignore_ascii_case(b"set-cookie") {
                user.jar.store(value, site, now, self.unix_ns + now);
            }
        }
    }
}
