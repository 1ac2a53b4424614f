//! Answers to users, judged, and what is kept of them.

use plimsoll_model::outcome::Outcome;
use plimsoll_wire::head;

use super::Crowd;
use crate::call::{Call, Role};
use crate::jar::Site;
use crate::scenario::answer::Answer;
use crate::scenario::found;
use crate::user::Place;

/// What an answer means to its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The call goes on to where the answer points.
    Follows,
    Ended(Outcome),
}

/// What is known when an answer is judged.
pub(crate) struct Judged<'a> {
    pub(crate) now: u64,
    pub(crate) due: u64,
    pub(crate) location: Option<&'a [u8]>,
    /// Statuses that the plan takes as good.
    pub(crate) good: &'a [bool; 1000],
}

impl Crowd {
    /// Judges a complete answer: keeps its cookies, holds the first one against the expectations, follows where it
    /// points, and captures from the last.
    pub(crate) fn judge(&mut self, id: u32, call: &mut Call, judged: &Judged<'_>) -> Verdict {
        self.keep_cookies(id, call, judged.now);
        if call.is_cached
            && call.redirects == 0
            && let Some(cache) = &mut self.users[id as usize].cache
        {
            cache.store(
                call.origin,
                &call.target,
                call.status,
                &call.head,
                judged.now,
            );
        }
        if call.redirects == 0
            && let Err(reason) = self.expect(id, call, judged)
        {
            call.reason = reason;
            return Verdict::Ended(Outcome::Expectation);
        }
        if let Some(location) = judged.location
            && self.redirect(id, call, location, judged.now)
        {
            return Verdict::Follows;
        }
        let expectations = &self.program.requests[call.request as usize].expectations;
        if self.has_used_up_redirects(call) {
            call.reason = format!(
                "another redirect after {} that were followed",
                call.redirects
            );
            return Verdict::Ended(Outcome::WrongStatus);
        }
        let is_good = judged
            .good
            .get(usize::from(call.status))
            .is_some_and(|good| *good);
        if !is_good && !expectations.judge_status() {
            return Verdict::Ended(Outcome::WrongStatus);
        }
        if let Err(reason) = expectations.judge_time(judged.now.saturating_sub(judged.due)) {
            call.reason = reason;
            return Verdict::Ended(Outcome::Expectation);
        }
        if let Err(reason) = self.capture(id, call, judged) {
            call.reason = reason;
            return Verdict::Ended(Outcome::Expectation);
        }
        if call.role != Role::Resource {
            let base = &mut self.users[id as usize].base;
            base.0 = call.origin;
            base.1.clear();
            base.1.extend_from_slice(&call.target);
        }
        Verdict::Ended(Outcome::Ok)
    }

    fn keep_cookies(&mut self, id: u32, call: &Call, now: u64) {
        if !call.keeps_cookies || call.head.is_empty() {
            return;
        }
        let origin = self.program.origins.get(call.origin);
        let site = Site {
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

    fn expect(&mut self, id: u32, call: &Call, judged: &Judged<'_>) -> Result<(), String> {
        let expectations = &self.program.requests[call.request as usize].expectations;
        if expectations.is_empty() {
            return Ok(());
        }
        let answer = answer(call, self.body_len_max);
        let user = &mut self.users[id as usize];
        let (mut values, _) = user.values(&self.inputs, self.unix_ns + judged.now);
        expectations.judge(&answer, &mut values)
    }

    fn capture(&mut self, id: u32, call: &Call, judged: &Judged<'_>) -> Result<(), String> {
        self.capture_at(id, call, judged.now)
    }

    /// Keeps what the captures of a call find in its answer.
    pub(super) fn capture_at(&mut self, id: u32, call: &Call, now: u64) -> Result<(), String> {
        let captures = &self.program.requests[call.request as usize].captures;
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
                return Err(format!("{} finds nothing to capture", capture.place));
            };
            let (mut values, _) = user.values(&self.inputs, self.unix_ns + now);
            user.slots[capture.slot as usize] = default.filled(&mut values);
        }
        Ok(())
    }

    /// What a page needs: requests, with targets where the page named them.
    pub(crate) fn needed(&self, id: u32, call: &Call) -> Vec<(u32, Option<Place>)> {
        let Some(run) = &self.users[id as usize].page else {
            return Vec::new();
        };
        let page = &self.program.pages[run.page as usize];
        let mut needed: Vec<_> = page.listed.iter().map(|&request| (request, None)).collect();
        if let Some(request) = page.found {
            let found = self.found_in(call);
            needed.extend(found.into_iter().map(|target| (request, Some(target))));
        }
        needed
    }

    /// What a page names on its own origin.
    fn found_in(&self, call: &Call) -> Vec<(u16, Vec<u8>)> {
        let body = answer(call, self.body_len_max);
        let mut targets = Vec::new();
        for url in found::resources(body.html()) {
            let origins = &self.program.origins;
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

fn answer(call: &Call, len_max: u64) -> Answer<'_> {
    let answer = Answer::new(call.status, &call.head, &call.body, call.coding, len_max);
    answer.json_from(call.json_at)
}
