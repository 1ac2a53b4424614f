//! Admission to the hub: waits while the application decides.

use std::fmt;
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use plimsoll_hub::{ClientFormat, sse};
use plimsoll_hub_io::access::dialog::Dialog;
use plimsoll_hub_io::access::hooks::Hooks;
use plimsoll_hub_io::access::hooks::authorization::{Admission, AdmissionRequest, Denied};
use plimsoll_hub_io::subscribers::subscriber::Arrival;
use plimsoll_net::deadline::ticks;
use plimsoll_net::reason::Reason;
use plimsoll_wire::request_head::RequestHead;

use super::admitted::ResponseContext;
use super::{DownstreamConnection, RequestStage};

/// The pending decision of the application.
type AdmissionFuture = Pin<Box<dyn Future<Output = Result<Admission, Denied>>>>;

/// A request that waits for the decision.
pub(super) struct HubAdmission {
    arrival: Arrival,
    /// Status of the response if it is admitted.
    status: u16,
    own: ResponseContext,
    line: Vec<u8>,
    /// Dropped with the request: no decision is needed for a client that disconnected.
    answer: AdmissionFuture,
}

impl fmt::Debug for HubAdmission {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Asking")
            .field("arrival", &self.arrival)
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

impl DownstreamConnection {
    /// Admits a client, or consults the application first.
    pub(super) fn come_in(
        &mut self,
        (status, mut arrival): (u16, Arrival),
        head: &RequestHead<'_, '_>,
        client: Option<IpAddr>,
        own: &ResponseContext,
        line: Vec<u8>,
    ) {
        let Some(hooks) = arrival.hub.hooks.clone() else {
            return self.let_in(own, status, arrival, &line);
        };
        let address = match client {
            Some(client) => client.to_string(),
            None => self.peer.text().to_owned(),
        };
        let person = hooks.person(head, &address);
        let subscriptions_max = arrival.hub.config.subscriptions_max;
        if hooks.has_dialogs() && arrival.format != ClientFormat::Sse {
            arrival.dialog = Some(Box::new(Dialog::new(person.clone(), subscriptions_max)));
        }
        if hooks.config.disconnect.is_some() {
            arrival.person = Some(Box::new(person.clone()));
        }
        if !hooks.must_authorize(&arrival.channels) {
            return self.let_in(own, status, arrival, &line);
        }
        let query = head.target.split_once('?').map_or("", |(_, query)| query);
        let visit = AdmissionRequest {
            person,
            token: sse::token(query).map(str::to_owned),
            bounds: arrival.hub.bounds(),
            grant: arrival.grant.take(),
            channels: arrival.channels.clone(),
        };
        let timeout = hooks.config.timeout.saturating_mul(3);
        self.timer.set(&self.event_loop, ticks(timeout));
        let answer = self.request_admission(hooks, &arrival, visit);
        self.stage = RequestStage::Authorizing(Box::new(HubAdmission {
            arrival,
            status,
            own: *own,
            line,
            answer,
        }));
    }

    fn request_admission(
        &self,
        hooks: Arc<Hooks>,
        arrival: &Arrival,
        visit: AdmissionRequest,
    ) -> AdmissionFuture {
        let links = Rc::clone(&self.event_loop.local_hub(&arrival.hub).links);
        let gate = arrival.hub.gate.clone();
        Box::pin(async move { hooks.admit(&links, gate.as_deref(), visit).await })
    }

    fn let_in(&mut self, own: &ResponseContext, status: u16, arrival: Arrival, line: &[u8]) {
        self.report_upgrade(own, status, line);
        self.stage = RequestStage::Arriving(Box::new(arrival));
    }

    pub(super) fn poll_authorizing(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.client_left(cx) {
            self.count_gone();
            self.stage = RequestStage::Over;
            return Poll::Ready(());
        }
        let RequestStage::Authorizing(admission) = &mut self.stage else {
            return Poll::Ready(());
        };
        let answer = ready!(admission.answer.as_mut().poll(cx));
        let RequestStage::Authorizing(admission) =
            std::mem::replace(&mut self.stage, RequestStage::Over)
        else {
            return Poll::Ready(());
        };
        let HubAdmission {
            mut arrival,
            status,
            own,
            line,
            ..
        } = *admission;
        match answer {
            Ok(Admission { grant, settled }) => {
                arrival.grant = grant;
                arrival.settled = settled;
                self.let_in(&own, status, arrival, &line);
            }
            Err(Denied { status, why, extra }) => {
                self.answer_explained(&own, status, Reason::Hub, (why.as_str(), extra), &line);
            }
        }
        Poll::Ready(())
    }
}
