//! Builds requests of users, and redirects them.

use plimsoll_wire::response::Expected;

use super::VirtualUsers;
use super::user::cache::UserCacheLookup;
use super::user_request::{RequestRole, SAMPLE_LEN, UserRequest};
use crate::scenario::request::Aim;

impl VirtualUsers {
    /// A call with reused buffers.
    pub(super) fn spare(&mut self) -> Box<UserRequest> {
        self.spare.pop().unwrap_or_else(UserRequest::empty)
    }

    /// Returns a call when it has ended.
    pub(crate) fn take_back(&mut self, mut call: Box<UserRequest>) {
        if self.spare.len() < super::SPARE_MAX {
            call.clear();
            self.spare.push(call);
        }
    }

    /// Builds a user's request; `named` is the target named by a page. A call without bytes and with a reason cannot be
    /// sent.
    pub(crate) fn call(
        &mut self,
        id: u32,
        index: u32,
        role: RequestRole,
        named: Option<(u16, Vec<u8>)>,
        now: u64,
    ) -> Box<UserRequest> {
        let mut call = self.spare();
        self.dress(&mut call, index, role);
        let unix_ns = self.unix_ns + now;
        let Self {
            program,
            users,
            inputs,
            scratch,
            ..
        } = self;
        let user = &mut users[id as usize];
        let request = program.request(index);
        if let Some((origin, target)) = named {
            (call.origin, call.target) = (origin, target);
        } else {
            let base = (user.base.0, std::mem::take(&mut user.base.1));
            let mut values = user.values(inputs, unix_ns).0;
            let from = (base.0, &base.1[..]);
            let aimed = request.target(program.origins(), from, &mut values, &mut call.target);
            user.base = base;
            match aimed {
                Ok(origin) => call.origin = origin,
                Err(reason) => {
                    call.reason = reason;
                    return call;
                }
            }
        }
        let mut lines = Vec::new();
        if !matches!(
            role,
            RequestRole::Page | RequestRole::Opening | RequestRole::Reopening
        ) && request.may_be_cached()
            && let Some(cache) = &user.cache
        {
            (call.is_cached, call.keeps_head) = (true, true);
            match cache.find(call.origin, &call.target, now) {
                UserCacheLookup::Nothing => {}
                UserCacheLookup::Stale(found) => lines = found,
                UserCacheLookup::Fresh => {
                    call.is_fresh = true;
                    return call;
                }
            }
        }
        user.acted = true;
        let (mut values, jar) = user.values(inputs, unix_ns);
        scratch.clear();
        request.body.render(&mut values, scratch);
        let aim = Aim {
            method: &request.method,
            target: &call.target,
            origin: program.origins().get(call.origin),
            body_len: Some(scratch.len()),
            lines: &lines,
        };
        request.head(&aim, jar, now, &mut values, &mut call.bytes);
        call.head_len = call.bytes.len();
        call.bytes.extend_from_slice(scratch);
        call
    }

    /// The parts of a request that a call needs, and what it stores of the response.
    pub(super) fn dress(&self, call: &mut UserRequest, index: u32, role: RequestRole) {
        let request = self.program.request(index);
        call.id = request.id;
        call.request = index;
        call.role = role;
        // A reconnect is counted separately.
        call.once = request.once || role == RequestRole::Reopening;
        call.idempotent = request.idempotent;
        call.keeps_head = request.wants_head;
        call.keeps_cookies = request.keeps_cookies;
        call.retained_len_max = if let Some(max) = request.body_retained_max {
            max.max(SAMPLE_LEN)
        } else if request.wants_body {
            let max = usize::try_from(self.body_len_max).unwrap_or(usize::MAX);
            max.max(SAMPLE_LEN + 1)
        } else if self.failures_left > 0 {
            SAMPLE_LEN
        } else {
            0
        };
        call.expected = Expected {
            no_body: request.method == "HEAD",
            keep_location: request.follow > 0,
            head: self.head_limits,
            body_len_max: self.body_len_max,
        };
    }

    /// Follows a redirect. Not to an origin outside the plan, and not beyond the limit: then the redirect itself is
    /// the response.
    pub(crate) fn redirect(
        &mut self,
        id: u32,
        call: &mut UserRequest,
        location: &[u8],
        now: u64,
    ) -> bool {
        let Self {
            program,
            users,
            inputs,
            scratch,
            ..
        } = self;
        let request = program.request(call.request);
        if call.redirects >= request.follow {
            return false;
        }
        let Some((origin, target)) = program
            .origins()
            .resolve(call.origin, &call.target, location)
        else {
            return false;
        };
        // As browsers and curl do (RFC 9110, 15.4): after 303 a GET, after 301 and 302 a POST becomes one.
        call.is_get |= match call.status {
            303 => request.method != "HEAD",
            301 | 302 => request.method == "POST",
            _ => false,
        };
        call.idempotent |= call.is_get;
        call.redirects += 1;
        call.origin = origin;
        call.target = target;
        scratch.clear();
        if !call.is_get {
            scratch.extend_from_slice(&call.bytes[call.head_len..]);
        }
        call.bytes.clear();
        call.is_rewritten();
        let user = &mut users[id as usize];
        let (mut values, jar) = user.values(inputs, self.unix_ns + now);
        let aim = Aim {
            method: if call.is_get { "GET" } else { &request.method },
            target: &call.target,
            origin: program.origins().get(origin),
            body_len: (!call.is_get).then_some(scratch.len()),
            lines: b"",
        };
        request.head(&aim, jar, now, &mut values, &mut call.bytes);
        call.head_len = call.bytes.len();
        call.bytes.extend_from_slice(scratch);
        true
    }

    /// Whether a response is a redirect beyond the step's limit.
    pub(crate) fn has_used_up_redirects(&self, call: &UserRequest) -> bool {
        let follow = self.program.request(call.request).follow;
        matches!(call.status, 301 | 302 | 303 | 307 | 308) && follow > 0 && call.redirects >= follow
    }
}
