//! Requests at the hub's path: WebSocket upgrades and event streams.

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use plimsoll_hub::channels::Since;
use plimsoll_hub::command_handler::Rights as _;
use plimsoll_hub::{ClientFormat, sse};
use plimsoll_hub_io::access::token::{ClientAccess, Grant};
use plimsoll_hub_io::browser_client::File;
use plimsoll_hub_io::hub::ActiveHub;
use plimsoll_hub_io::subscribers::subscriber::{Arrival, SubscriberConnection};
use plimsoll_net::clock;
use plimsoll_net::reason::Reason;
use plimsoll_wire::request_head::RequestHead;
use plimsoll_wire::websocket::handshake::read_request;

use super::admitted::ResponseContext;
use super::{DownstreamConnection, RequestStage};
use crate::respond::hub;
use crate::telemetry::access_log_entry::RequestOutcome;

/// Why a client is rejected.
pub(super) struct UpgradeRefusal {
    pub(super) status: u16,
    pub(super) why: &'static str,
    /// Complete header lines.
    pub(super) extra: &'static str,
}

/// A rejection without further headers.
pub(super) fn refused(status: u16, why: &'static str) -> UpgradeRefusal {
    UpgradeRefusal {
        status,
        why,
        extra: "",
    }
}

impl DownstreamConnection {
    /// Handles a request for the hub; whether it was one.
    #[inline]
    pub(super) fn goes_to_hub(
        &mut self,
        head: &RequestHead<'_, '_>,
        client: Option<IpAddr>,
        own: &ResponseContext,
        hub: &Arc<ActiveHub>,
    ) -> bool {
        if hub.takes(head.target) {
            self.visit(head, client, own, hub);
        } else if hub.takes_mercure(head.target) {
            self.meet(head, client, own, hub);
        } else if let Some(file) = hub.file(head.target) {
            self.give_file(head, client, own, file);
        } else {
            return false;
        }
        true
    }

    /// Admits a client to the hub, or answers why not.
    fn visit(
        &mut self,
        head: &RequestHead<'_, '_>,
        client: Option<IpAddr>,
        own: &ResponseContext,
        hub: &Arc<ActiveHub>,
    ) {
        let mut line = Vec::new();
        self.begin_line(&mut line, head, client);
        match self.arrival(head, own, hub) {
            Ok(arrival) => self.come_in(arrival, head, client, own, line),
            Err(UpgradeRefusal { status, why, extra }) => {
                self.answer_explained(own, status, Reason::Hub, (why, extra), &line);
            }
        }
    }

    /// Serves a file of the hub's browser client.
    fn give_file(
        &mut self,
        head: &RequestHead<'_, '_>,
        client: Option<IpAddr>,
        own: &ResponseContext,
        file: &File,
    ) {
        let mut line = Vec::new();
        self.begin_line(&mut line, head, client);
        if !matches!(head.method, "GET" | "HEAD") {
            let why = ("method not allowed; use GET", "Allow: GET, HEAD\r\n");
            return self.answer_explained(own, 405, Reason::Hub, why, &line);
        }
        let is_known = head.headers.iter().any(|header| {
            header.name.eq_ignore_ascii_case("if-none-match")
                && header.value.trim_ascii() == file.tag.as_bytes()
        });
        self.answer_file(own, file, is_known, &line);
    }

    fn arrival(
        &self,
        head: &RequestHead<'_, '_>,
        own: &ResponseContext,
        hub: &Arc<ActiveHub>,
    ) -> Result<(u16, Arrival), UpgradeRefusal> {
        if own.has_body {
            return Err(refused(
                400,
                "a request to the hub must have no body; publish at the admin address",
            ));
        }
        self.may_come(head, hub)?;
        let is_socket = head.headers.iter().any(|header| {
            header.name.eq_ignore_ascii_case("sec-websocket-key")
                || header.name.eq_ignore_ascii_case("sec-websocket-version")
        });
        let mut grant = grant(head, hub)?;
        let (status, mut arrival) = if is_socket || head.upgrade {
            (101, socket(head, hub)?)
        } else {
            let arrival = self.events(head, hub)?;
            may_read(hub, &mut grant, &arrival.channels)?;
            (200, arrival)
        };
        arrival.grant = grant;
        Ok((status, arrival))
    }

    /// Whether the hub has capacity for a client, and its origin is allowed.
    pub(super) fn may_come(
        &self,
        head: &RequestHead<'_, '_>,
        hub: &Arc<ActiveHub>,
    ) -> Result<(), UpgradeRefusal> {
        if self.is_fragment() {
            return Err(refused(404, "the hub cannot be included as a fragment"));
        }
        if self.event_loop.is_draining() || self.event_loop.memory.is_full() {
            return Err(UpgradeRefusal {
                extra: "Retry-After: 1\r\n",
                ..refused(503, "the hub has no free capacity; retry in a second")
            });
        }
        if !hub.is_open() {
            return Err(UpgradeRefusal {
                extra: "Retry-After: 1\r\n",
                ..refused(
                    503,
                    "the hub is waiting for its shared backend; retry in a second",
                )
            });
        }
        if !hub.lets_in(head) {
            return Err(refused(
                403,
                "the Origin is neither this host nor one of the hub's allowed origins",
            ));
        }
        Ok(())
    }

    /// A reader of Server-Sent Events.
    fn events(
        &self,
        head: &RequestHead<'_, '_>,
        hub: &Arc<ActiveHub>,
    ) -> Result<Arrival, UpgradeRefusal> {
        if head.method != "GET" {
            return Err(UpgradeRefusal {
                extra: "Allow: GET\r\n",
                ..refused(405, "method not allowed; use GET")
            });
        }
        let query = head.target.split_once('?').map_or("", |(_, query)| query);
        let channels = sse::channels(query);
        if channels.is_empty() {
            return Err(refused(
                400,
                "the channels are missing; open a WebSocket, or name them: ?channel=game-1&channel=game-2",
            ));
        }
        if channels.len() > sse::CHANNELS_MAX {
            return Err(refused(
                400,
                "too many channels; valid: at most 100 in one request",
            ));
        }
        let since = last_event_id(head).map_or(Since::Now, |id| sse::since(&id));
        let allowed = hub.foreign_origin(head).unwrap_or_default();
        let cross = if allowed.is_empty() {
            String::new()
        } else {
            format!("Access-Control-Allow-Origin: {allowed}\r\nVary: Origin\r\n")
        };
        Ok(Arrival {
            hub: Arc::clone(hub),
            format: ClientFormat::Sse,
            head: self.events_head(&cross),
            channels: distinct(channels),
            since,
            event_id: None,
            active: None,
            grant: None,
            dialog: None,
            settled: Vec::new(),
            person: None,
        })
    }

    /// The response head for a reader of events; `extra` are complete header lines.
    pub(super) fn events_head(&self, extra: &str) -> Vec<u8> {
        hub::events(extra, &self.event_loop.date.borrow())
    }

    pub(super) fn report_upgrade(&mut self, own: &ResponseContext, status: u16, line: &[u8]) {
        let ended = self.event_loop.clock.now();
        self.count(status, 0, own.moments.began, ended);
        if !self.is_reported(line) {
            return;
        }
        let outcome = RequestOutcome {
            status,
            bytes: 0,
            reason: Some(Reason::Hub.name()),
            limit: None,
            server: None,
            moments: own.moments,
            ended,
            wall: clock::wall(),
        };
        self.write_line(line, &outcome);
        self.end_trace(&outcome);
    }

    /// Hands an admitted client over to the hub.
    pub(super) fn poll_arriving(&mut self, cx: &Context<'_>) -> Poll<()> {
        let RequestStage::Arriving(arrival) =
            std::mem::replace(&mut self.stage, RequestStage::Over)
        else {
            return Poll::Ready(());
        };
        let Some((client, early)) = self.client.take_socket() else {
            // Fragments and background fetches are refused before.
            return Poll::Ready(());
        };
        // A subscriber keeps nothing that only requests need.
        self.context = None;
        let local_hub = self.event_loop.local_hub(&arrival.hub);
        let subscriber = SubscriberConnection::new(
            client,
            *arrival,
            early,
            cx,
            local_hub,
            &self.event_loop,
            self.timer.key(),
        );
        self.stage = RequestStage::Subscribed(Box::new(subscriber));
        Poll::Ready(())
    }

    /// The subscriber has disconnected, or was disconnected.
    pub(super) fn end_visit(&mut self) {
        if let RequestStage::Subscribed(subscriber) =
            std::mem::replace(&mut self.stage, RequestStage::Over)
        {
            self.client.return_socket(subscriber.leave());
            self.linger();
        }
    }
}

/// The permissions of a request, by its token: `Authorization: Bearer …`, or `token=…` in the query, because browsers
/// cannot set headers when they open a stream.
fn grant(
    head: &RequestHead<'_, '_>,
    hub: &ActiveHub,
) -> Result<Option<Box<Grant>>, UpgradeRefusal> {
    let query = head.target.split_once('?').map_or("", |(_, query)| query);
    let token = bearer(head).or_else(|| sse::token(query));
    admit(hub, token)
}

/// The permissions of a token, if there is one.
pub(super) fn admit(
    hub: &ActiveHub,
    token: Option<&str>,
) -> Result<Option<Box<Grant>>, UpgradeRefusal> {
    let (Some(gate), Some(token)) = (&hub.gate, token) else {
        return Ok(None);
    };
    let token = token.trim();
    let mut grant = gate.admit(token, clock::unix_s()).map_err(unauthorized)?;
    grant
        .count(&hub.bounds(), Some(token), None)
        .map_err(|why| refused(429, why))?;
    Ok(Some(Box::new(grant)))
}

/// The token of `Authorization: Bearer …`.
pub(super) fn bearer<'b>(head: &RequestHead<'_, 'b>) -> Option<&'b str> {
    value(head, "authorization")?.trim().strip_prefix("Bearer ")
}

/// The id that a returning reader names. It may be any bytes, which then are no id of the hub.
pub(super) fn last_event_id(head: &RequestHead<'_, '_>) -> Option<String> {
    let mut headers = head.headers.iter();
    let header = headers.find(|header| header.name.eq_ignore_ascii_case("last-event-id"))?;
    Some(String::from_utf8_lossy(header.value).into_owned())
}

/// Without repetitions: who names a channel twice reads it once.
pub(super) fn distinct(names: Vec<String>) -> Vec<String> {
    let mut known = HashSet::new();
    let is_first: Vec<bool> = names
        .iter()
        .map(|name| known.insert(name.as_str()))
        .collect();
    let names = names.into_iter().zip(is_first);
    names
        .filter_map(|(name, is_first)| is_first.then_some(name))
        .collect()
}

/// The first value of a header, if it is UTF-8.
pub(super) fn value<'b>(head: &RequestHead<'_, 'b>, name: &str) -> Option<&'b str> {
    let mut headers = head.headers.iter();
    let header = headers.find(|header| header.name.eq_ignore_ascii_case(name))?;
    std::str::from_utf8(header.value).ok()
}

pub(super) fn unauthorized(why: &'static str) -> UpgradeRefusal {
    UpgradeRefusal {
        extra: "WWW-Authenticate: Bearer\r\n",
        ..refused(401, why)
    }
}

/// A reader of events must be rejected with a status: browsers reconnect when a stream ends.
pub(super) fn may_read(
    hub: &ActiveHub,
    grant: &mut Option<Box<Grant>>,
    channels: &[String],
) -> Result<(), UpgradeRefusal> {
    if hub
        .hooks
        .as_ref()
        .is_some_and(|hooks| hooks.decides_reading())
    {
        // The application is consulted before the response.
        return Ok(());
    }
    let has_token = grant.is_some();
    let access = ClientAccess {
        gate: hub.gate.as_deref(),
        grant,
        is_known: false,
        now_s: clock::unix_s(),
        hooks: hub.hooks.as_ref().map(|hooks| &hooks.config),
        dialog: None,
        settled: &[],
        bounds: None,
    };
    if channels.iter().all(|channel| access.may_subscribe(channel)) {
        Ok(())
    } else if has_token {
        Err(refused(
            403,
            "the token does not permit reading this channel",
        ))
    } else {
        Err(unauthorized(
            "reading this channel requires a token: ?token=…, or Authorization: Bearer …",
        ))
    }
}

/// A WebSocket upgrade.
fn socket(head: &RequestHead<'_, '_>, hub: &Arc<ActiveHub>) -> Result<Arrival, UpgradeRefusal> {
    let handshake = read_request(head).map_err(|error| {
        use plimsoll_wire::websocket::handshake::UpgradeError;
        let status = error.status();
        let why = match error {
            UpgradeError::NoUpgrade => "not a valid WebSocket upgrade request",
            UpgradeError::Version => "unsupported WebSocket version; valid: 13",
            UpgradeError::Key => "expected exactly one Sec-WebSocket-Key of 16 bytes in base64",
            UpgradeError::NotText => "a header of the handshake is not valid text",
            UpgradeError::Origin => "the Origin is not the requested host",
        };
        let extra = if status == 426 {
            "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        } else {
            ""
        };
        UpgradeRefusal { status, why, extra }
    })?;
    let deflate = handshake.deflate.filter(|_| hub.config.compress);
    Ok(Arrival {
        hub: Arc::clone(hub),
        format: if deflate.is_some() {
            ClientFormat::Deflated
        } else {
            ClientFormat::WebSocket
        },
        head: hub::websocket(&handshake, deflate),
        channels: Vec::new(),
        since: Since::Now,
        event_id: None,
        active: None,
        grant: None,
        dialog: None,
        settled: Vec::new(),
        person: None,
    })
}
