//! Pages that users load: the page itself, then its resources.

use plimsoll_model::journey::StepId;
use plimsoll_model::outcome::Outcome;
use plimsoll_model::plan::STREAMS_MAX;

use super::VirtualUsers;
use super::user::{OriginTarget, PageLoad};
use super::user_request::UserRequest;

/// A page that was loaded with its resources, or failed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoadedPage {
    pub(crate) id: StepId,
    pub(crate) due: u64,
    pub(crate) outcome: Outcome,
    pub(crate) once: bool,
    /// Bytes of the page itself.
    pub(crate) bytes_in: u64,
}

impl VirtualUsers {
    /// A user begins to load a page; returns the request for the page itself.
    pub(crate) fn begin_page(&mut self, id: u32, page: u32, due: u64) -> u32 {
        let request = self.program.page(page).request;
        let once = self.program.request(request).once;
        self.users[id as usize].page = Some(Box::new(PageLoad {
            page,
            due,
            left: Vec::new(),
            under_way: 0,
            outcome: Outcome::Ok,
            once,
            bytes_in: 0,
        }));
        request
    }

    /// Whether resources of a user's page are under way.
    pub(crate) fn is_loading(&self, id: u32) -> bool {
        let page = self.users[id as usize].page.as_ref();
        page.is_some_and(|page| page.under_way > 0)
    }

    /// The page itself is loaded, or failed.
    pub(crate) fn page_ended(&mut self, id: u32, call: Box<UserRequest>, outcome: Outcome) {
        let found = if outcome.is_ok() {
            self.needed(id, &call)
        } else {
            Vec::new()
        };
        if let Some(page) = &mut self.users[id as usize].page {
            page.outcome = outcome;
            page.bytes_in = call.bytes_in;
            page.left = found;
            page.left.reverse();
        }
        self.take_back(call);
    }

    /// A resource is loaded, or failed. The page continues either way, as in a browser.
    pub(crate) fn resource_ended(&mut self, id: u32, call: Box<UserRequest>, outcome: Outcome) {
        self.take_back(call);
        let user = &mut self.users[id as usize];
        if let Some(page) = &mut user.page {
            page.under_way -= 1;
        }
        // The time of a group is the page's own; only the failure of the resource is passed to it.
        user.count_in_groups(0, outcome);
    }

    /// The next resource to request within the page's connections: its request, and its target when the page named it. `None`
    /// also for a user who has left.
    pub(crate) fn next_resource(
        &mut self,
        id: u32,
        over_http2: bool,
    ) -> Option<(u32, Option<OriginTarget>)> {
        let page = self.users.get_mut(id as usize)?.page.as_mut()?;
        if self.ending {
            page.left.clear();
        }
        let at_once = if over_http2 {
            STREAMS_MAX
        } else {
            self.program.page(page.page).connections
        };
        if page.under_way >= at_once {
            return None;
        }
        let next = page.left.pop()?;
        page.under_way += 1;
        Some(next)
    }

    /// The page of a user, once nothing of it is left to load.
    pub(crate) fn take_loaded_page(&mut self, id: u32) -> Option<LoadedPage> {
        let is_done = |page: &mut Box<PageLoad>| page.under_way == 0 && page.left.is_empty();
        let user = self.users.get_mut(id as usize)?;
        let page = user.page.take_if(is_done)?;
        Some(LoadedPage {
            id: self.program.page(page.page).id,
            due: page.due,
            outcome: page.outcome,
            once: page.once,
            bytes_in: page.bytes_in,
        })
    }
}
