//! Pages: the page itself, then its resources over several connections, as a browser does.

use plimsoll_model::outcome::Outcome;

use super::Engine;
use super::user_steps::StepEnd;
use crate::virtual_users::{RequestRole, UserRequest};

impl Engine {
    /// A user loads a page.
    pub(super) fn load_page(&mut self, user: u32, page: u32, due: u64, now: u64) {
        let request = self.virtual_users().begin_page(user, page, due);
        self.start_request(user, request, RequestRole::Page, None, due, now);
    }

    /// The page itself is loaded, or failed.
    pub(super) fn page_ended(
        &mut self,
        user: u32,
        call: Box<UserRequest>,
        outcome: Outcome,
        is_unsent: bool,
        now: u64,
    ) {
        self.virtual_users().page_ended(user, call, outcome);
        self.load_resources(user, is_unsent, now);
    }

    /// A resource is loaded, or failed. The page continues either way, as in a browser.
    pub(super) fn resource_ended(
        &mut self,
        user: u32,
        call: Box<UserRequest>,
        outcome: Outcome,
        now: u64,
    ) {
        self.virtual_users().resource_ended(user, call, outcome);
        self.load_resources(user, false, now);
    }

    /// Requests the remaining resources, within the page's connections; ends the page when none is left.
    fn load_resources(&mut self, user: u32, is_unsent: bool, now: u64) {
        let has_given_up = self.virtual_users().gives_up_at(user, now) <= now;
        if has_given_up {
            self.virtual_users().skip_resources(user);
        }
        let over_http2 = self.has_http2(user);
        while let Some((request, named)) = self.virtual_users().next_resource(user, over_http2) {
            // A resource that cannot be sent ends within this call, which then calls this again.
            self.start_request(user, request, RequestRole::Resource, named, now, now);
        }
        let Some(page) = self.virtual_users().take_loaded_page(user) else {
            return;
        };
        let response_ns = now.saturating_sub(page.due);
        let outcome = if has_given_up && page.outcome.is_ok() {
            // The page came, and not all that belongs to it.
            Outcome::Timeout
        } else {
            page.outcome
        };
        let second = self.recorder.current();
        second.step_ended(page.id, outcome, response_ns, page.bytes_in);
        let step = StepEnd {
            id: page.id,
            outcome,
            busy_ns: response_ns,
            once: page.once,
            is_unsent,
            gave_up: has_given_up,
        };
        self.step_done(user, &step, now);
    }

    /// Whether a user has a connection of HTTP/2.
    fn has_http2(&self, user: u32) -> bool {
        let Some(virtual_users) = &self.virtual_users else {
            return false;
        };
        let mut lines = virtual_users.connections_of(user).iter();
        lines.any(|(_, line)| self.connections[*line].http2().is_some())
    }
}
