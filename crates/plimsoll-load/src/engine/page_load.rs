//! Pages: the page itself, then all it needs over several connections, as a browser does.

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

    /// The page itself is there, or is not.
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

    /// Something that a page needs is there, or is not. The page goes on either way, as it does in a browser.
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
        // The time of a group is the page's own; that something was missing it is told here.
        user_state.count_in_groups(0, outcome);
        self.load_resources(user, false, now);
    }

    /// Asks for what is left, as far as the page's connections go; ends the page when nothing is.
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
            // What cannot be sent at once ends within this call, and comes by here on its own.
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

    /// Whether a user has a connection that carries several requests at once.
    fn is_multiplexed(&self, user: u32) -> bool {
        let Some(virtual_users) = &self.virtual_users else {
            return false;
        };
        let mut lines = virtual_users.users[user as usize].lines.iter();
        lines.any(|(_, line)| self.connections[*line as usize].multiplex.is_some())
    }
}
