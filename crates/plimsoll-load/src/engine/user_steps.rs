//! Steps of users: a due user continues until it waits for a response or for time to pass.

use plimsoll_model::journey::StepId;
use plimsoll_model::outcome::Outcome;

use super::Engine;
use crate::connections::TargetConnection;
use crate::due::{NEWCOMER, ScheduledArrival};
use crate::requests::Request;
use crate::scheduler::{People, REFUSED_PAUSE_NS};
use crate::virtual_users::{
    FailureDetails, NextAction, OpenGroup, OriginTarget, UserAdmission, VirtualUsers,
};
use crate::virtual_users::{RequestRole, UserRequest};

/// Operations that a user may take in one turn without a request or a pause.
const OPS_MAX: u32 = 10_000;

/// Pause of a user whose iteration had no request and took no time: it must not make a loop spin.
const IDLE_PAUSE_NS: u64 = 10_000_000;

/// Where pauses end: users who go on at the same moment share a wake-up of the loop and of the target.
const PAUSE_GRID_NS: u64 = 1_000_000;

/// Pauses from here on end at a whole millisecond, which changes them by 2.5 % at most.
const COARSE_PAUSE_NS: u64 = 20 * PAUSE_GRID_NS;

/// Pause of a user whose WebSocket is being reopened: without it each of its steps would fail at once.
const LOST_PAUSE_NS: u64 = 1_000_000_000;

/// How a step of a user ended.
pub(super) struct StepEnd {
    /// Id under which it is counted.
    pub(super) id: StepId,
    pub(super) outcome: Outcome,
    /// Time since it was due, ns.
    pub(super) busy_ns: u64,
    pub(super) once: bool,
    pub(super) is_unsent: bool,
    /// Its user gave up waiting for it.
    pub(super) gave_up: bool,
}

/// When a user whose pause starts at this moment is due again.
fn end_of_pause(from: u64, pause: u64) -> u64 {
    let end = from.saturating_add(pause);
    if pause < COARSE_PAUSE_NS {
        return end;
    }
    // To the nearest, so that pauses have the same length on average.
    end.saturating_add(PAUSE_GRID_NS / 2) / PAUSE_GRID_NS * PAUSE_GRID_NS
}

impl Engine {
    /// The users; only called where there are any.
    pub(super) fn virtual_users(&mut self) -> &mut VirtualUsers {
        self.virtual_users
            .as_deref_mut()
            .expect("users have calls and turns only where there is a crowd")
    }

    /// The moments at which users are due; only called where there are any.
    pub(super) fn people(&mut self) -> &mut People {
        self.scheduler
            .people()
            .expect("a crowd comes by its own source")
    }

    /// A user is due.
    pub(super) fn run_user(&mut self, due: ScheduledArrival, now: u64) {
        let user = if due.user == NEWCOMER {
            let Some(newcomer) = self.people().welcome() else {
                return;
            };
            if self.virtual_users().is_exhausted() {
                return self.end_when_over(now);
            }
            match self.virtual_users().enter(newcomer) {
                UserAdmission::Goes(user) if self.assign(user) => user,
                UserAdmission::Goes(user) => return self.leave(user, false, true, now),
                UserAdmission::Lost => {
                    self.recorder.current().count_lost_user();
                    return self.end_when_over(now);
                }
                UserAdmission::FeedExhausted(feed) => return self.end_by_plan_error(feed, now),
            }
        } else {
            due.user
        };
        let users = self.virtual_users().len();
        self.recorder.set_users(users);
        let is_loading = self.virtual_users().is_loading(user);
        debug_assert!(!is_loading, "a page is done before its user goes on");
        self.go_on(user, due, now);
    }

    /// Advances a user until it has to wait.
    pub(super) fn go_on(&mut self, user: u32, due: ScheduledArrival, now: u64) {
        if let Some(until) = self.virtual_users().waits_until(user, now) {
            return self.people().think(user, until);
        }
        let mut budget = OPS_MAX;
        loop {
            match self.virtual_users().walk(user, now, &mut budget) {
                NextAction::Request(request) => {
                    self.be_late(due, now);
                    return self.start_request(user, request, RequestRole::Step, None, due.at, now);
                }
                NextAction::Page(page) => {
                    self.be_late(due, now);
                    return self.load_page(user, page, due.at, now);
                }
                // From the moment it was due: late handling does not extend the pause.
                NextAction::Think(pause) => {
                    return self.people().think(user, end_of_pause(due.at, pause));
                }
                NextAction::Until(at) => return self.people().think(user, at),
                NextAction::Open(socket) => {
                    self.be_late(due, now);
                    return self.open_socket(user, socket, due.at, now);
                }
                NextAction::Exchange(exchange) => {
                    if !self.exchange_message(user, exchange, due, now) {
                        return;
                    }
                }
                NextAction::Listen(subscription) => self.listen(user, subscription, now),
                NextAction::Close(code) => self.close_socket(user, code, now),
                NextAction::BeginPoll(poll) => self.begin_poll(user, poll),
                NextAction::EndPoll => self.end_poll(user),
                NextAction::Obey => return self.consult(user, due, now),
                NextAction::Begin => {
                    if !self.begin(user, now) {
                        return;
                    }
                }
                NextAction::Ended { acted } => {
                    self.virtual_users().set_in_doubt(user, false);
                    self.count_iteration(user);
                    if !acted {
                        return self.people().think(user, now + IDLE_PAUSE_NS);
                    }
                }
                NextAction::Group(id, outcome, busy_ns) => {
                    self.recorder.current().step_ended(id, outcome, busy_ns, 0);
                }
                NextAction::Lost => return self.lose_the_way(user, now),
            }
        }
    }

    pub(super) fn be_late(&mut self, due: ScheduledArrival, now: u64) {
        if due.paced {
            self.recorder.late(due.at, now);
        }
    }

    /// A user begins an iteration, unless the load no longer wants it or its iterations are used up.
    fn begin(&mut self, user: u32, now: u64) -> bool {
        let virtual_users = self.virtual_users();
        let (place, journey) = (virtual_users.place_of(user), virtual_users.journey_of(user));
        let wanted = self.people().wants(place, journey, now);
        match self.virtual_users().begin(user, wanted) {
            UserAdmission::Goes(_) => return true,
            UserAdmission::FeedExhausted(feed) => self.end_by_plan_error(feed, now),
            UserAdmission::Lost => {
                let is_lost = wanted && !self.virtual_users().is_finished(user);
                self.leave(user, !wanted, is_lost, now);
            }
        }
        false
    }

    /// A user took too many steps without a request or a pause.
    fn lose_the_way(&mut self, user: u32, now: u64) {
        let journey = self.virtual_users().journey_of(user);
        let name = self.prepared.scenario().map(|scenario| &scenario.journeys);
        let name = name.map_or("", |journeys| &journeys[journey as usize].name);
        let reason = format!(
            "a user of {name} took {OPS_MAX} steps without a request or a pause; the iteration was stopped"
        );
        self.record_failure(&FailureDetails {
            now,
            step: None,
            outcome: Outcome::Dropped,
            reason: &reason,
            status: 0,
            body: b"",
        });
        let groups = self.virtual_users().break_off(user);
        self.close_groups(groups, Outcome::Dropped);
        self.count_iteration(user);
        self.people().think(user, now + IDLE_PAUSE_NS);
    }

    /// A user leaves, and its connections are closed. Its place is reassigned when `vacates`.
    pub(super) fn leave(&mut self, user: u32, vacates: bool, is_lost: bool, now: u64) {
        let mut gone = self.virtual_users().remove(user);
        self.close_poll(gone.poll.take());
        if let Some(process) = gone.process {
            self.scripts[process].remove_user(gone.number);
        }
        for (_, line) in &gone.connections {
            self.release_connection(*line, now);
        }
        if is_lost {
            self.recorder.current().count_lost_user();
        }
        if vacates && gone.place > 0 {
            self.people().vacate(gone.place, now);
        }
        let users = self.virtual_users().len();
        self.recorder.set_users(users);
        if !gone.connections.is_empty() {
            self.serve_waiting(now);
        }
        self.end_when_over(now);
    }

    /// The load ends early when no user is left and none will arrive.
    pub(super) fn end_when_over(&mut self, now: u64) {
        let is_empty = self.virtual_users().is_empty();
        if is_empty && (self.virtual_users().is_exhausted() || self.people().is_over()) {
            self.scheduler.cut(now);
        }
    }

    /// The plan's data is used up where the plan requires rows: the run ends.
    fn end_by_plan_error(&mut self, feed: u32, now: u64) {
        let scenario = self.prepared.scenario();
        let feed = scenario.and_then(|scenario| scenario.feeds.get(feed as usize));
        let (name, rows) = feed.map_or(("", 0), |feed| (&feed.name, feed.rows));
        let message = format!(
            "all {rows} rows of the data {name} are used; provide more rows, fewer users, or an `at_end` other than error"
        );
        // Another loop may have reported it first.
        if self.prepared.end_by_plan_error(message.clone()) {
            self.recorder.current().add_load_error(&message);
        }
        self.scheduler.cut(now);
    }

    /// A user sends a request.
    pub(super) fn start_request(
        &mut self,
        user: u32,
        request: u32,
        role: RequestRole,
        named: Option<OriginTarget>,
        due: u64,
        now: u64,
    ) {
        let mut call = self.virtual_users().call(user, request, role, named, now);
        if call.is_fresh() {
            return self.is_had(user, call, due, now);
        }
        let expiry = self.own_expiry(user, request, role, due);
        call.set_expiry(expiry);
        let cannot_go = call.is_empty();
        let id = self.await_response(user, call, due, now);
        let expiry = expiry.unwrap_or(self.prepared.timing().expiry_of(due));
        if cannot_go || expiry <= now {
            return self.end_request(id, Outcome::Dropped, now);
        }
        self.dispatch_call(id, now);
    }

    /// The deadline of a user's request where it differs from the plan's time-out: by a time-out of its own, or where its user
    /// gives up before.
    pub(super) fn own_expiry(
        &mut self,
        user: u32,
        request: u32,
        role: RequestRole,
        due: u64,
    ) -> Option<u64> {
        let timeout_ns = self.virtual_users().timeout_of(request);
        let expiry = timeout_ns.map(|timeout_ns| due.saturating_add(timeout_ns));
        if role == RequestRole::Reopening {
            // Nobody waits for it.
            return expiry;
        }
        let gives_up_at = self.virtual_users().gives_up_at(user, due);
        let usual = expiry.unwrap_or(self.prepared.timing().expiry_of(due));
        if gives_up_at < usual {
            Some(gives_up_at)
        } else {
            expiry
        }
    }

    /// Adds a request of a user to those that are pending; returns its id.
    pub(super) fn await_response(
        &mut self,
        user: u32,
        call: Box<UserRequest>,
        due: u64,
        now: u64,
    ) -> u32 {
        if !call.is_once() {
            self.recorder.offered(due, now);
        }
        self.requests.insert(Request::of_user(due, user, call))
    }

    /// The response is in the user's cache: nothing is sent, and nothing counted.
    fn is_had(&mut self, user: u32, call: Box<UserRequest>, due: u64, now: u64) {
        if call.role() == RequestRole::Resource {
            return self.resource_ended(user, call, Outcome::Ok, now);
        }
        self.virtual_users().take_back(call);
        self.people().be_ready(user, due);
    }

    /// Sends a call on a connection of its user or on a new one; or queues it.
    pub(super) fn dispatch_call(&mut self, id: u32, now: u64) {
        let request = &self.requests[id];
        let origin = request.call().map_or(0, UserRequest::origin);
        if self.is_socket_request(id) {
            return self.dial_for_socket(id, now);
        }
        let Some(virtual_users) = &self.virtual_users else {
            return;
        };
        let lines = virtual_users.connections_of(request.user());
        let line = |fits: fn(&TargetConnection) -> bool| {
            let mut lines = lines.iter().filter(|(other, _)| *other == origin);
            lines.find(|(_, line)| fits(&self.connections[*line]))
        };
        if let Some(&(_, line)) = line(TargetConnection::is_free) {
            self.send_on(line, id, now);
        } else if let Some(&(_, line)) = line(TargetConnection::may_use_http2)
            && self.prepared.offers_http2(origin)
            && !self.http2.is_http1(origin)
        {
            // One connection carries all of a user's requests to an origin, as in a browser.
            self.http2.line_up(line, id);
            self.requests[id].assign(line);
        } else if self.connections.have_capacity() || self.evict() {
            self.open_for(id, now);
        } else {
            self.wait(id, now);
        }
    }

    /// A WebSocket has a connection of its own.
    fn dial_for_socket(&mut self, id: u32, now: u64) {
        if self.connections.have_capacity() || self.evict() {
            self.open_for(id, now);
        } else if self.is_reopening(id) {
            self.end_request(id, Outcome::Dropped, now);
        } else {
            self.wait(id, now);
        }
    }

    /// Closes the connection that has been idle longest, for a user without a connection.
    pub(super) fn evict(&mut self) -> bool {
        if self.connections.backlog_is_full() {
            return false;
        }
        let Some(oldest) = self.connections.oldest_idle() else {
            return false;
        };
        self.close(oldest, false);
        true
    }

    /// A user's connection is free; a waiting call may take its slot.
    pub(super) fn keep_line(&mut self, id: u32, now: u64) {
        self.connections.release(id);
        if self.requests.queue_len() > 0 && self.evict() {
            self.serve_waiting(now);
        }
    }

    /// A call has ended.
    pub(super) fn call_ended(
        &mut self,
        request: &Request,
        mut call: Box<UserRequest>,
        outcome: Outcome,
        now: u64,
    ) {
        let (user, is_unsent) = (request.user(), request.is_unsent());
        if call.role() == RequestRole::Reopening {
            self.virtual_users().take_back(call);
            return self.reopening_ended(user, outcome, now);
        }
        if self.polls.is_some() && call.is_once() && self.poll_is_over(user) {
            // A long poll waits until the load is over, which is no failure of it.
            return self.virtual_users().take_back(call);
        }
        if call.role() == RequestRole::Opening && !outcome.is_ok() {
            self.handshake_failed(outcome);
            self.virtual_users().drop_socket(user);
        }
        if !call.is_once() {
            self.recorder.ended(request.ended(outcome, now));
        }
        let gave_up =
            !outcome.is_ok() && self.virtual_users().gives_up_at(user, request.due()) <= now;
        if !outcome.is_ok() {
            if call.role() != RequestRole::Resource {
                self.doubt(user, call.status());
            }
            if gave_up && call.reason().is_empty() {
                call.set_reason(self.virtual_users().give_up_reason(user));
            }
            self.record_failure(&FailureDetails {
                now,
                step: Some(call.id()),
                outcome,
                reason: call.reason(),
                status: call.status(),
                body: call.body(),
            });
        }
        if outcome.is_ok() && self.polls.is_some() {
            self.poll_answered(user, &call, (request.due(), now));
        }
        let response_ns = now.saturating_sub(request.due());
        if call.role() != RequestRole::Page {
            let second = self.recorder.current();
            second.step_ended(call.id(), outcome, response_ns, call.bytes_in());
        }
        let role = call.role();
        let step = StepEnd {
            id: call.id(),
            outcome,
            busy_ns: response_ns,
            once: call.is_once(),
            is_unsent,
            gave_up,
        };
        match role {
            RequestRole::Step
            | RequestRole::Opening
            | RequestRole::Reopening
            | RequestRole::Message => {
                self.virtual_users().take_back(call);
                self.step_done(user, &step, now);
            }
            RequestRole::Page => self.page_ended(user, call, outcome, is_unsent, now),
            RequestRole::Resource => self.resource_ended(user, call, outcome, now),
            RequestRole::Script => {
                self.script_request_ended(request, call, outcome, is_unsent, now);
            }
        }
    }

    /// A step is done: its user continues, or the page or script that it belongs to does.
    pub(super) fn step_done(&mut self, user: u32, step: &StepEnd, now: u64) {
        let (outcome, is_unsent) = (step.outcome, step.is_unsent);
        let virtual_users = self.virtual_users();
        virtual_users.count_in_groups(user, step.busy_ns, outcome);
        if outcome.is_ok() {
            return self.people().be_ready(user, now);
        }
        if self.polls.is_some() && self.virtual_users().is_polling(user) {
            return self.poll_again(user, now);
        }
        let groups = self.virtual_users().break_off(user);
        self.close_groups(groups, outcome);
        if !step.once {
            self.count_iteration(user);
        }
        if step.gave_up {
            let second = self.recorder.current();
            second.user_gave_up(step.id, step.busy_ns);
        }
        if step.once || step.gave_up {
            // Others come for those who lost their patience. A login that fails would fail for others too.
            return self.leave(user, step.gave_up, true, now);
        }
        if is_unsent && self.virtual_users().misses_socket(user) {
            self.people().think(user, now + LOST_PAUSE_NS);
        } else if is_unsent {
            self.people().think(user, now + REFUSED_PAUSE_NS);
        } else {
            self.people().be_ready(user, now);
        }
    }

    /// An iteration has ended, successfully or not.
    fn count_iteration(&mut self, user: u32) {
        let journey = self.virtual_users().journey_of(user);
        self.recorder.current().count_iteration(journey);
    }

    fn close_groups(&mut self, groups: Vec<OpenGroup>, outcome: Outcome) {
        for group in groups.into_iter().rev().filter(|group| group.has_requests) {
            self.recorder
                .current()
                .step_ended(group.id, outcome, group.busy_ns, 0);
        }
    }

    pub(super) fn record_failure(&mut self, failure: &FailureDetails<'_>) {
        if let Some(sample) = self.virtual_users().sample(failure) {
            self.recorder.current().add_failure(sample);
        }
    }

    /// Removes a connection from its user.
    pub(super) fn forget_line(&mut self, user: u32, id: u32) {
        if let Some(virtual_users) = &mut self.virtual_users {
            virtual_users.remove_connection(user, id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_pauses_end_at_whole_milliseconds_and_short_ones_as_said() {
        assert_eq!(end_of_pause(300, 19_999_999), 20_000_299);
        assert_eq!(end_of_pause(300, 20_000_000), 20_000_000);
        assert_eq!(end_of_pause(499_999, 20_000_000), 20_000_000);
        assert_eq!(end_of_pause(500_000, 20_000_000), 21_000_000);
        assert_eq!(end_of_pause(u64::MAX - 1, 1_000_000_000) % PAUSE_GRID_NS, 0);
    }
}
