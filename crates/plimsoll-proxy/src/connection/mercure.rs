//! Requests of Mercure clients: readers become subscribers of the hub, publishers are answered when their update has
//! its offset.

use std::net::IpAddr;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use plimsoll_hub::channels::Since;
use plimsoll_hub::pattern::check_name;
use plimsoll_hub::{ClientFormat, sse};
use plimsoll_hub_io::access::token::Grant;
use plimsoll_hub_io::hub::ActiveHub;
use plimsoll_hub_io::hub::active::TooManyActive;
use plimsoll_hub_io::hub::mercure::{Post, Update};
use plimsoll_hub_io::hub::publish::ORDER_LEN_MAX;
use plimsoll_hub_io::subscribers::subscriber::Arrival;
use plimsoll_net::reason::Reason;
use plimsoll_wire::error::Http1Error;
use plimsoll_wire::framing::BodyReader;
use plimsoll_wire::request_head::RequestHead;

use super::admitted::ResponseContext;
use super::balance::length;
use super::hub_upgrade::{
    UpgradeRefusal, admit, bearer, distinct, last_event_id, may_read, refused, unauthorized, value,
};
use super::{DownstreamConnection, RequestStage};
use crate::client::channel::BodyPiece;
use crate::respond::head::CONTINUE;

/// An update being received.
#[derive(Debug)]
pub(super) struct Posting {
    hub: Arc<ActiveHub>,
    grant: Box<Grant>,
    own: ResponseContext,
    /// The beginning of its access-log entry.
    line: Vec<u8>,
    /// Complete header lines of the response.
    extra: String,
    /// The rest of the interim response.
    go_on: &'static [u8],
    body: BodyReader,
    bytes: Vec<u8>,
    /// The update is complete, and waits for its offset.
    post: Option<Post>,
}

/// The kind of a Mercure request.
enum Met {
    Reader(Arrival),
    Publisher(Box<Grant>),
    /// A preflight request of a browser (CORS).
    Browser,
    /// A request for active subscriptions, and its document.
    List(String),
}

impl Posting {
    pub(super) fn memory(&self) -> usize {
        self.bytes.capacity()
    }

    /// Takes a piece of the body; returns how many bytes belonged to it.
    fn take(&mut self, bytes: &[u8]) -> Result<usize, Http1Error> {
        let held = &mut self.bytes;
        self.body
            .take(bytes, |content| held.extend_from_slice(content))
    }
}

impl DownstreamConnection {
    /// Handles a request at the Mercure endpoint.
    pub(super) fn meet(
        &mut self,
        head: &RequestHead<'_, '_>,
        client: Option<IpAddr>,
        own: &ResponseContext,
        hub: &Arc<ActiveHub>,
    ) {
        let mut line = Vec::new();
        self.begin_line(&mut line, head, client);
        let extra = cross(head, hub);
        match self.met(head, own, hub, &extra) {
            Ok(Met::Reader(arrival)) => {
                self.report_upgrade(own, 200, &line);
                self.stage = RequestStage::Arriving(Box::new(arrival));
            }
            Ok(Met::Publisher(grant)) => {
                let is_plain = head.expects_continue && !self.client.is_http2();
                let ticks = self.event_loop.settings().ticks.body;
                self.timer.set(&self.event_loop, ticks);
                self.stage = RequestStage::Posting(Box::new(Posting {
                    hub: Arc::clone(hub),
                    grant,
                    own: *own,
                    line,
                    extra,
                    go_on: if is_plain { CONTINUE } else { &[] },
                    body: BodyReader::new(length(head), ORDER_LEN_MAX as u64),
                    bytes: Vec::new(),
                    post: None,
                }));
            }
            Ok(Met::List(document)) => {
                self.answer_document(own, "application/ld+json", &document, &extra, &line);
            }
            Ok(Met::Browser) => {
                let why = ("use GET to read updates and POST to publish", &*extra);
                self.answer_explained(own, 200, Reason::Hub, why, &line);
            }
            Err(UpgradeRefusal { status, why, extra }) => {
                self.answer_explained(own, status, Reason::Hub, (why, extra), &line);
            }
        }
    }

    fn met(
        &self,
        head: &RequestHead<'_, '_>,
        own: &ResponseContext,
        hub: &Arc<ActiveHub>,
        extra: &str,
    ) -> Result<Met, UpgradeRefusal> {
        self.may_come(head, hub)?;
        if let Some(path) = hub.subscriptions_path(head.target) {
            return listed(head, own, hub, path);
        }
        match head.method {
            "GET" if own.has_body => Err(refused(400, "a GET request must have no body")),
            "GET" => self.reader(head, hub, extra).map(Met::Reader),
            "POST" => publisher(head, hub).map(Met::Publisher),
            "OPTIONS" if !own.has_body => Ok(Met::Browser),
            _ => Err(UpgradeRefusal {
                extra: "Allow: GET, POST, OPTIONS\r\n",
                ..refused(405, "use GET to read updates and POST to publish")
            }),
        }
    }

    fn reader(
        &self,
        head: &RequestHead<'_, '_>,
        hub: &Arc<ActiveHub>,
        extra: &str,
    ) -> Result<Arrival, UpgradeRefusal> {
        let query = query(head);
        let topics: Vec<String> = sse::values(query, "topic")
            .chain(sse::values(query, "match"))
            .take(sse::CHANNELS_MAX + 1)
            .collect();
        if topics.is_empty() {
            return Err(refused(
                400,
                "the topics are missing; for example ?topic=https%3A%2F%2Fa.example%2Fbooks%2F1",
            ));
        }
        if topics.len() > sse::CHANNELS_MAX {
            return Err(refused(
                400,
                "too many topics; valid: at most 100 in one request",
            ));
        }
        let topics = distinct(topics);
        if topics.iter().any(|topic| check_name(topic).is_err()) {
            return Err(refused(
                400,
                "invalid topic; valid: 1 to 200 bytes without control characters",
            ));
        }
        let (mut grant, _) = grant(head, hub)?;
        may_read(hub, &mut grant, &topics)?;
        let wide = topics.iter().filter(|topic| ActiveHub::is_template(topic));
        for topic in wide {
            if !hub.wants_template(topic) {
                return Err(refused(
                    503,
                    "the limit of topic templates is reached; subscribe to exact topics",
                ));
            }
        }
        let active = hub.list_reader(&topics, grant.as_deref());
        let active = active.map_err(|TooManyActive| {
            refused(
                503,
                "the limit of active subscriptions is reached; retry later",
            )
        })?;
        let event_id = event_id(head);
        let since = event_id.as_deref().map_or(Since::Now, sse::since);
        Ok(Arrival {
            hub: Arc::clone(hub),
            format: ClientFormat::Mercure,
            head: self.events_head(extra),
            channels: topics,
            since,
            event_id,
            active,
            grant,
            dialog: None,
            settled: Vec::new(),
            person: None,
        })
    }

    /// Receives the body of an update, and answers when the update has its offset.
    pub(super) fn poll_posting(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let read = ready!(self.poll_update(cx));
        let RequestStage::Posting(posting) = &mut self.stage else {
            return Poll::Ready(());
        };
        let done = match read {
            Ok(true) => {
                let Posting {
                    hub,
                    grant,
                    bytes,
                    post,
                    ..
                } = &mut **posting;
                let post = post.get_or_insert_with(|| {
                    Update::read(&std::mem::take(bytes))
                        .and_then(|update| update.begin(hub, grant))
                        .into()
                });
                ready!(post.poll(cx))
            }
            // The client disconnected before the end of the body.
            Ok(false) => {
                self.count_gone();
                self.stage = RequestStage::Over;
                return Poll::Ready(());
            }
            Err(Http1Error::BodyTooLong) => Err((
                413,
                "the update is too large; valid: at most 4 MiB".to_owned(),
            )),
            Err(_) => Err((400, "invalid framing of the body".to_owned())),
        };
        let RequestStage::Posting(posting) = std::mem::replace(&mut self.stage, RequestStage::Over)
        else {
            return Poll::Ready(());
        };
        let Posting {
            mut own,
            line,
            extra,
            ..
        } = *posting;
        // The end of a malformed body is unknown.
        own.has_body = read.is_err();
        match done {
            Ok(id) => self.answer_text(&own, &id, &extra, &line),
            Err((status, why)) => {
                self.answer_explained(&own, status, Reason::Hub, (&why, &extra), &line);
            }
        }
        Poll::Ready(())
    }

    /// Receives more of the body; `false` when the client has disconnected before its end.
    fn poll_update(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool, Http1Error>> {
        let RequestStage::Posting(posting) = &mut self.stage else {
            return Poll::Ready(Ok(false));
        };
        let mut shared = self.event_loop.shared.borrow_mut();
        while !posting.body.is_complete() {
            // What is held comes first: a part of the body that was sent without waiting.
            while self.client.is_idle() && !posting.go_on.is_empty() {
                match ready!(self.client.poll_write(cx, posting.go_on, &[])) {
                    Ok(count) if count > 0 => posting.go_on = &posting.go_on[count..],
                    _ => return Poll::Ready(Ok(false)),
                }
            }
            let take = |bytes: &[u8]| posting.take(bytes);
            match ready!(self.client.poll_body(cx, &mut shared, usize::MAX, take))? {
                BodyPiece::Held => {}
                BodyPiece::Read(count) => self.event_loop.figures.bytes_in.add(count as u64),
                BodyPiece::Gone => return Poll::Ready(Ok(false)),
            }
        }
        Poll::Ready(Ok(true))
    }
}

/// The document about active subscriptions at a path, for a client whose token permits this path as a topic.
fn listed(
    head: &RequestHead<'_, '_>,
    own: &ResponseContext,
    hub: &ActiveHub,
    path: &str,
) -> Result<Met, UpgradeRefusal> {
    match head.method {
        "OPTIONS" if !own.has_body => return Ok(Met::Browser),
        "GET" if !own.has_body => {}
        "GET" => return Err(refused(400, "a GET request must have no body")),
        _ => {
            return Err(UpgradeRefusal {
                extra: "Allow: GET, OPTIONS\r\n",
                ..refused(405, "use GET to list active subscriptions")
            });
        }
    }
    let (mut grant, _) = grant(head, hub)?;
    may_read(hub, &mut grant, &[path.to_owned()])?;
    let document = hub.list(path);
    let document = document.ok_or_else(|| refused(404, "there is no such active subscription"))?;
    Ok(Met::List(document))
}

fn query<'b>(head: &RequestHead<'_, 'b>) -> &'b str {
    head.target.split_once('?').map_or("", |(_, query)| query)
}

/// The id of the last event that a reader knows: in the header, in the query, or in the query by its former name.
fn event_id(head: &RequestHead<'_, '_>) -> Option<String> {
    let query = query(head);
    let named = last_event_id(head).into_iter();
    named
        .chain(sse::values(query, "lastEventID"))
        .chain(sse::values(query, "Last-Event-ID"))
        .map(|id| id.trim().to_owned())
        .find(|id| !id.is_empty())
}

/// CORS headers for an allowed origin, as complete header lines.
fn cross(head: &RequestHead<'_, '_>, hub: &ActiveHub) -> String {
    let Some(origin) = hub.foreign_origin(head) else {
        return String::new();
    };
    // Cookies are only for explicitly listed origins.
    let credentials = if hub.trusts(origin) {
        "Access-Control-Allow-Credentials: true\r\n"
    } else {
        ""
    };
    let asked = if head.method == "OPTIONS" {
        "Access-Control-Allow-Methods: GET, POST\r\n\
         Access-Control-Allow-Headers: authorization, cache-control, content-type, last-event-id\r\n"
    } else {
        "Access-Control-Expose-Headers: last-event-id\r\n"
    };
    format!("Access-Control-Allow-Origin: {origin}\r\nVary: Origin\r\n{credentials}{asked}")
}

/// The permissions of a request, and whether they come from a cookie. Browsers attach cookies to requests from pages of
/// other sites. The protection against that is the check of `Origin`, so publishing with a cookie requires this header.
fn grant(
    head: &RequestHead<'_, '_>,
    hub: &ActiveHub,
) -> Result<(Option<Box<Grant>>, bool), UpgradeRefusal> {
    let token = bearer(head).or_else(|| sse::authorization(query(head)));
    let cookie = cookie(head).filter(|_| token.is_none());
    let grant = admit(hub, token.or(cookie))?;
    Ok((grant, cookie.is_some()))
}

/// The token in Mercure's authorization cookie.
fn cookie<'b>(head: &RequestHead<'_, 'b>) -> Option<&'b str> {
    let mut cookies = head
        .headers
        .iter()
        .filter(|header| header.name.eq_ignore_ascii_case("cookie"))
        .filter_map(|header| std::str::from_utf8(header.value).ok())
        .flat_map(|value| value.split(';'));
    cookies.find_map(|pair| pair.trim().strip_prefix("mercureAuthorization="))
}

/// Whether a client may publish at all; the topics are checked when the body is complete.
fn publisher(head: &RequestHead<'_, '_>, hub: &ActiveHub) -> Result<Box<Grant>, UpgradeRefusal> {
    let form = "application/x-www-form-urlencoded";
    let kind = value(head, "content-type").unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let (grant, by_cookie) = grant(head, hub)?;
    let grant = grant.ok_or_else(|| {
        unauthorized("publishing requires a token with mercure.publish: Authorization: Bearer …")
    })?;
    if by_cookie && value(head, "origin").is_none() {
        return Err(refused(
            403,
            "publishing with a cookie requires an Origin header",
        ));
    }
    if !kind.eq_ignore_ascii_case(form) {
        return Err(refused(
            400,
            "unsupported content type; send Content-Type: application/x-www-form-urlencoded",
        ));
    }
    Ok(grant)
}
