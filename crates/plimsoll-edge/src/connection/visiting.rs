//! Requests at the hub's path: clients that come to stay.

use std::net::IpAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use plimsoll_hub::channels::Position;
use plimsoll_hub::{Format, sse};
use plimsoll_wire::request_head::RequestHead;
use plimsoll_wire::websocket::handshake::{answer, read_request};

use super::own_answer::Own;
use super::{Connection, Stage};
use crate::client::Client;
use crate::clock;
use crate::hub::Hub;
use crate::hub::visitor::{Arrival, Visitor};
use crate::own::Reason;
use crate::record::Outcome;

/// Why somebody is not let in.
struct Refused {
    status: u16,
    why: &'static str,
    /// Whole header lines.
    extra: &'static str,
}

/// A refusal without more to say.
fn refused(status: u16, why: &'static str) -> Refused {
    Refused {
        status,
        why,
        extra: "",
    }
}

impl Connection {
    /// Lets a client into the hub, or says why not.
    pub(super) fn visit(
        &mut self,
        head: &RequestHead<'_, '_>,
        client: Option<IpAddr>,
        own: &Own,
        hub: &Arc<Hub>,
    ) {
        let mut line = Vec::new();
        self.begin_line(&mut line, head, client);
        match self.arrival(head, own, hub) {
            Ok((status, arrival)) => {
                self.tell_of_visit(own, status, &line);
                self.stage = Stage::Arriving(Box::new(arrival));
            }
            Err(Refused { status, why, extra }) => {
                self.answer_explained(own, status, Reason::Hub, (why, extra), &line);
            }
        }
    }

    fn arrival(
        &self,
        head: &RequestHead<'_, '_>,
        own: &Own,
        hub: &Arc<Hub>,
    ) -> Result<(u16, Arrival), Refused> {
        if self.is_fragment() {
            return Err(refused(404, "the hub is no part of a page"));
        }
        if own.has_body {
            return Err(refused(
                400,
                "the hub takes no body; publish at the admin address",
            ));
        }
        if self.event_loop.is_draining() || self.event_loop.is_full() {
            return Err(Refused {
                extra: "Retry-After: 1\r\n",
                ..refused(503, "there is no room; come back in a second")
            });
        }
        if !hub.is_open() {
            return Err(Refused {
                extra: "Retry-After: 1\r\n",
                ..refused(503, "the hub waits for the Redis that it shares; come back in a second")
            });
        }
        if !hub.lets_in(head) {
            return Err(refused(
                403,
                "the Origin is not this host, and not among the hub's origins",
            ));
        }
        let is_socket = head.headers.iter().any(|header| {
            header.name.eq_ignore_ascii_case("sec-websocket-key")
                || header.name.eq_ignore_ascii_case("sec-websocket-version")
        });
        if is_socket || head.upgrade {
            socket(head, hub).map(|arrival| (101, arrival))
        } else {
            self.events(head, hub).map(|arrival| (200, arrival))
        }
    }

    /// A reader of Server-Sent Events.
    fn events(&self, head: &RequestHead<'_, '_>, hub: &Arc<Hub>) -> Result<Arrival, Refused> {
        if head.method != "GET" {
            return Err(Refused {
                extra: "Allow: GET\r\n",
                ..refused(405, "the hub is asked with GET")
            });
        }
        let query = head.target.split_once('?').map_or("", |(_, query)| query);
        let channels = sse::channels(query);
        if channels.is_empty() {
            return Err(refused(
                400,
                "open a WebSocket here, or say which channels: ?channel=game-1&channel=game-2",
            ));
        }
        if channels.len() > sse::CHANNELS_MAX {
            return Err(refused(400, "at most 100 channels in one request"));
        }
        let mut said = head.headers.iter();
        let said = said.find(|header| header.name.eq_ignore_ascii_case("last-event-id"));
        let said = said.and_then(|header| std::str::from_utf8(header.value).ok());
        let since = said.and_then(sse::last_event_id);
        let mut answer = sse::HEAD.as_bytes().to_vec();
        let date = self.event_loop.date.borrow();
        let allowed = hub.foreign_origin(head).unwrap_or_default();
        let cross = if allowed.is_empty() {
            ["", "", ""]
        } else {
            [
                "Access-Control-Allow-Origin: ",
                allowed,
                "\r\nVary: Origin\r\n",
            ]
        };
        for part in cross
            .into_iter()
            .chain(["Date: ", date.as_str(), "\r\n\r\n"])
        {
            answer.extend_from_slice(part.as_bytes());
        }
        Ok(Arrival {
            hub: Arc::clone(hub),
            format: Format::Sse,
            head: answer,
            channels,
            since: since.map(|(epoch, offset)| Position { epoch, offset }),
        })
    }

    fn tell_of_visit(&mut self, own: &Own, status: u16, line: &[u8]) {
        let ended = self.event_loop.clock.now();
        self.count(status, 0, own.moments.began, ended);
        if !self.is_told_of(line) {
            return;
        }
        let outcome = Outcome {
            status,
            bytes: 0,
            reason: Some(Reason::Hub.name()),
            server: None,
            moments: own.moments,
            ended,
            wall: clock::wall(),
        };
        self.write_line(line, &outcome);
        self.end_trace(&outcome);
    }

    /// The client is in.
    pub(super) fn poll_arriving(&mut self, cx: &Context<'_>) -> Poll<()> {
        let Stage::Arriving(arrival) = std::mem::replace(&mut self.stage, Stage::Over) else {
            return Poll::Ready(());
        };
        let client = std::mem::replace(&mut self.client, Client::Gone);
        // A client that stays holds nothing that only requests need.
        let early = std::mem::take(&mut self.held);
        self.particulars = None;
        let visitor = Visitor::new(client, *arrival, early, cx, &self.event_loop, self.deadline);
        self.stage = Stage::Visiting(Box::new(visitor));
        Poll::Ready(())
    }

    /// It has left, or has been said farewell.
    pub(super) fn end_visit(&mut self) {
        if let Stage::Visiting(visitor) = std::mem::replace(&mut self.stage, Stage::Over) {
            self.client = visitor.leave();
            self.linger();
        }
    }
}

/// A WebSocket.
fn socket(head: &RequestHead<'_, '_>, hub: &Arc<Hub>) -> Result<Arrival, Refused> {
    let wish = read_request(head).map_err(|fault| {
        use plimsoll_wire::websocket::handshake::RequestFault;
        let status = fault.status();
        let why = match fault {
            RequestFault::NotAsked => "the request does not ask for a WebSocket as it must",
            RequestFault::Version => "only version 13 of WebSocket is spoken",
            RequestFault::Key => "there is not exactly one Sec-WebSocket-Key of 16 bytes in base64",
            RequestFault::NotText => "a header of the handshake is not text",
            RequestFault::Origin => "the Origin is not the host that was asked for",
        };
        let extra = if status == 426 {
            "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        } else {
            ""
        };
        Refused { status, why, extra }
    })?;
    let deflate = wish.deflate.filter(|_| hub.config.compress);
    Ok(Arrival {
        hub: Arc::clone(hub),
        format: if deflate.is_some() {
            Format::Deflated
        } else {
            Format::WebSocket
        },
        head: answer(&wish, None, deflate),
        channels: Vec::new(),
        since: None,
    })
}
