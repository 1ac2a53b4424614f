//! Pages: the page itself, then its resources over several connections, as a browser does.

use plimsoll_model::outcome::Outcome;
use plimsoll_model::plan::STREAMS_MAX;

use super::Engine;
use crate::user::state::PageLoad;
use crate::user_request::{RequestRole, UserRequest};

impl Engine {
    /// A user loads a page.
    pub(super) fn load_page(&mut self, user: u32, page: u32, due: u64, now: u64) {
        let virtual_users = self.virtual_users();
        let request = virtual_users.program.pages[page as usize].request;
        let once = virtual_users.program.requests[request as usize].once;
        virtual_users.users[user as usize].page = Some(Box::new(PageLoad {
            page,
            due,
            left: Vec::new(),
            under_way: 0,
            outcome: Outcome::Ok,
            once,
            bytes_in: 0,
        }));
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
        let virtual_users = self.virtual_users();
        let found = if outcome.is_ok() {
            virtual_users.needed(user, &call)
        } else {
            Vec::new()
        };
        if let Some(page) = &mut virtual_users.users[user as usize].page {
            page.outcome = outcome;
            page.bytes_in = call.bytes_in;
            page.left = found;
            page.left.reverse();
        }
        virtual_users.take_back(call);
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
        let virtual_users = self.virtual_users();
        virtual_users.take_back(call);
        let user_state = &mut virtual_users.users[user as usize];
        if let Some(page) = &mut user_state.page {
            page.under_way -= 1;
        }
        // The time of a group is the page's own; only the failure of the resource is passed to it.
        user_state.count_in_groups(0, outcome);
        self.load_resources(user, false, now);
    }

    /// Requests the remaining resources, within the page's connections; ends the page when none is left.
    fn load_resources(&mut self, user: u32, is_unsent: bool, now: u64) {
        let is_multiplexed = self.is_multiplexed(user);
        loop {
            let virtual_users = self.virtual_users();
            let Some(page) = &mut virtual_users.users[user as usize].page else {
                return;
            };
            let connections = virtual_users.program.pages[page.page as usize].connections;
            let at_once = if is_multiplexed {
                STREAMS_MAX
            } else {
                connections
            };
            if virtual_users.ending {
                page.left.clear();
            }
            if page.under_way >= at_once || page.left.is_empty() {
                break;
            }
            page.under_way += 1;
            let (request, named) = page.left.pop().expect("it has just been seen");
            // A resource that cannot be sent ends within this call, which then calls this again.
            self.start_request(user, request, RequestRole::Resource, named, now, now);
        }
        let user_state = &mut self.virtual_users().users[user as usize];
        let is_done = |page: &mut Box<PageLoad>| page.under_way == 0 && page.left.is_empty();
        let Some(page) = user_state.page.take_if(is_done) else {
            return;
        };
        let response_ns = now.saturating_sub(page.due);
        let id = self.virtual_users().program.pages[page.page as usize].id;
        let second = self.recorder.current();
        second.step_ended(id, page.outcome, response_ns, page.bytes_in);
        self.step_done(user, page.outcome, response_ns, page.once, is_unsent, now);
    }

    /// Whether a user has a multiplexed connection.
    fn is_multiplexed(&self, user: u32) -> bool {
        let Some(virtual_users) = &self.virtual_users else {
            return false;
        };
        let mut lines = virtual_users.users[user as usize].lines.iter();
        lines.any(|(_, line)| self.connections[*line].multiplex().is_some())
    }
}
