//! Responses to users: judged, and partly stored.

use plimsoll_model::outcome::Outcome;
use plimsoll_wire::head;

use super::VirtualUsers;
use super::user::OriginTarget;
use super::user_request::{RequestRole, UserRequest};
use crate::good_statuses::GoodStatuses;
use crate::jar::CookieSite;
use crate::scenario::answer::ParsedAnswer;
use crate::scenario::found;

/// The result of a response for its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerVerdict {
    /// The call follows a redirect.
    Follows,
    Ended(Outcome),
}

/// The inputs for judging a response.
pub(crate) struct AnswerContext<'a> {
    pub(crate) now: u64,
    pub(crate) due: u64,
    pub(crate) location: Option<&'a [u8]>,
    /// Statuses that count as good.
    pub(crate) good: &'a GoodStatuses,
}

impl VirtualUsers {
    /// Judges a complete response: stores its cookies, checks the first one against the expectations, follows
    /// redirects, and captures from the last.
    pub(crate) fn evaluate(
        &mut self,
        id: u32,
        call: &mut UserRequest,
        context: &AnswerContext<'_>,
    ) -> AnswerVerdict {
        self.keep_cookies(id, call, context.now);
        if call.is_cached
            && call.redirects == 0
            && let Some(cache) = &mut self.users[id as usize].cache
        {
            cache.store(
                call.origin,
                &call.target,
                call.status,
                &call.head,
                context.now,
            );
        }
        if call.redirects == 0
            && let Err(reason) = self.expect(id, call, context)
        {
            call.reason = reason;
            return AnswerVerdict::Ended(Outcome::Expectation);
        }
        if let Some(location) = context.location
            && self.redirect(id, call, location, context.now)
        {
            return AnswerVerdict::Follows;
        }
        let expectations = &self.program.request(call.request).expectations;
        if self.has_used_up_redirects(call) {
            call.reason = format!("more than {} redirects", call.redirects);
            return AnswerVerdict::Ended(Outcome::WrongStatus);
        }
        // The expected status is that of the first response; behind a redirect another one is judged.
        let is_expected = call.redirects == 0 && expectations.checks_status();
        if !context.good.contains(call.status) && !is_expected {
            return AnswerVerdict::Ended(Outcome::WrongStatus);
        }
        if let Err(reason) = expectations.evaluate_time(context.now.saturating_sub(context.due)) {
            call.reason = reason;
            return AnswerVerdict::Ended(Outcome::Expectation);
        }
        if let Err(reason) = self.capture(id, call, context) {
            call.reason = reason;
            return AnswerVerdict::Ended(Outcome::Expectation);
        }
        if call.role != RequestRole::Resource {
            let base = &mut self.users[id as usize].base;
            base.0 = call.origin;
            base.1.clear();
            base.1.extend_from_slice(&call.target);
        }
        AnswerVerdict::Ended(Outcome::Ok)
    }

    fn keep_cookies(&mut self, id: u32, call: &UserRequest, now: u64) {
        if !call.keeps_cookies || call.head.is_empty() {
            return;
        }
        let origin = self.program.origins().get(call.origin);
        let site = CookieSite {
            host: &origin.host,
            target: &call.target,
            secure: origin.tls,
        };
        let jar = &mut self.users[id as usize].jar;
        for (name, value) in head::headers(&call.head) {
            if name.eq_ignore_ascii_case(b"set-cookie") {
                jar.store(value, site, now, self.unix_ns + now);
            }
        }
    }

    fn expect(
        &mut self,
        id: u32,
        call: &UserRequest,
        context: &AnswerContext<'_>,
    ) -> Result<(), String> {
        let expectations = &self.program.request(call.request).expectations;
        if expectations.is_empty() {
            return Ok(());
        }
        let answer = answer(call, self.body_len_max);
        let user = &mut self.users[id as usize];
        let (mut values, _) = user.values(&self.inputs, self.unix_ns + context.now);
        expectations.evaluate(&answer, &mut values)
    }

    fn capture(
        &mut self,
        id: u32,
        call: &UserRequest,
        context: &AnswerContext<'_>,
    ) -> Result<(), String> {
        self.capture_at(id, call, context.now)
    }

    /// Stores the captures of a call.
    pub(super) fn capture_at(
        &mut self,
        id: u32,
        call: &UserRequest,
        now: u64,
    ) -> Result<(), String> {
        let captures = &self.program.request(call.request).captures;
        if captures.is_empty() {
            return Ok(());
        }
        let answer = answer(call, self.body_len_max);
        let user = &mut self.users[id as usize];
        for capture in captures {
            let slot = &mut user.slots[capture.slot as usize];
            if capture.find(&answer, &user.jar, &mut user.random, slot) {
                continue;
            }
            let Some(default) = &capture.default else {
                return Err(format!("{} matches nothing to capture", capture.place));
            };
            let (mut values, _) = user.values(&self.inputs, self.unix_ns + now);
            user.slots[capture.slot as usize] = default.filled(&mut values);
        }
        Ok(())
    }

    /// The resources of a page: requests, with targets where the page named them.
    pub(super) fn needed(&self, id: u32, call: &UserRequest) -> Vec<(u32, Option<OriginTarget>)> {
        let Some(run) = &self.users[id as usize].page else {
            return Vec::new();
        };
        let page = self.program.page(run.page);
        let mut needed: Vec<_> = page.listed.iter().map(|&request| (request, None)).collect();
        if let Some(request) = page.found {
            let found = self.found_in(call);
            needed.extend(found.into_iter().map(|target| (request, Some(target))));
        }
        needed
    }

    /// Resources that a page names on its own origin.
    fn found_in(&self, call: &UserRequest) -> Vec<(u16, Vec<u8>)> {
        let body = answer(call, self.body_len_max);
        let mut targets = Vec::new();
        for url in found::resources(body.html()) {
            let origins = self.program.origins();
            let resolved = origins.resolve(call.origin, &call.target, url.as_bytes());
            if let Some(target) = resolved.filter(|(origin, _)| *origin == call.origin)
                && !targets.contains(&target)
            {
                targets.push(target);
            }
        }
        targets
    }
}

/// The response of a call, as it is read.
pub(super) fn answer(call: &UserRequest, len_max: u64) -> ParsedAnswer<'_> {
    let answer = ParsedAnswer::new(call.status, &call.head, &call.body, call.coding, len_max);
    let decoded_len = answer.decoded_len().filter(|&len| len < len_max);
    if decoded_len.is_some() && call.body.len() < call.retained_len_max {
        call.decoded_len.set(decoded_len);
    }
    answer.json_from(call.json_at)
}
