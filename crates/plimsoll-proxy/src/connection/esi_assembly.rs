//! ESI assembly: a page and its fragments are fetched by subrequests, and sent in order.
//!
//! A response that is not an ESI page is passed through as it arrives. The request body, if any, is forwarded with the
//! subrequest for the page.

mod phases;

use std::convert::Infallible;
use std::future::Future as _;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bytes::{Buf as _, Bytes};
use plimsoll_net::clock;
use plimsoll_wire::framing::BodyReader;
use plimsoll_wire::request_head::{header_buffer, parse};

use super::admitted::{Admitted, ResponseContext};
use super::balance::{default_host, length};
use super::client_address::client_of;
use super::esi_merge::EsiMerge;
use super::lookup::Seeking;
use super::serving::Slowness;
use super::{After, DownstreamConnection, RequestStage};
use crate::client::ClientStream;
use crate::client::channel::BodyPiece;
use crate::fragments::Draft;
use crate::fragments::incoming::Incoming;
use crate::fragments::nesting::FragmentNesting;
use crate::fragments::pipe::{ReadEnd, pipe};
use crate::fragments::request::without_range;
use crate::message::outgoing::Outgoing;
use crate::settings::Settings;
use crate::telemetry::access_log_entry::RequestOutcome;
use crate::telemetry::trace::RequestTrace;

/// A request for an ESI page.
#[derive(Debug)]
pub(super) struct EsiAssembly {
    own: ResponseContext,
    settings: Rc<Settings>,
    /// The beginning of its access-log entry.
    line: Vec<u8>,
    /// Its head.
    request: Vec<u8>,
    nesting: Rc<FragmentNesting>,
    trace: Option<String>,
    /// The subrequest for the page, before it is started.
    starting: Option<Box<DownstreamConnection>>,
    page: Incoming,
    phase: AssemblyPhase,
    /// The rest of the request body.
    body: BodyReader,
    is_bad: bool,
    out: Outgoing,
    /// Sent after `out`, unchanged.
    direct: Bytes,
    bytes_out: u64,
    status: u16,
    keeps_client: bool,
    slowness: Slowness,
    is_for_client: bool,
}

#[derive(Debug)]
enum AssemblyPhase {
    Head,
    /// Not an ESI page: passed through, chunked or not.
    Passing(bool),
    /// A possible ESI page, buffered until it is complete.
    Gathering(Vec<u8>, Draft),
    Merging(Box<EsiMerge>),
    Done,
}

enum AssemblyStep {
    Moved,
    /// Lets other tasks run.
    Yield,
    Wait(u64),
    Whole,
    Left,
    Broke,
    /// The page must be fetched in full, because a range of an ESI page was requested.
    Again,
}

impl EsiAssembly {
    pub(super) fn memory(&self) -> usize {
        let phase = match &self.phase {
            AssemblyPhase::Gathering(gathered, _) => gathered.capacity(),
            AssemblyPhase::Merging(merge) => merge.memory(),
            AssemblyPhase::Head | AssemblyPhase::Passing(_) | AssemblyPhase::Done => 0,
        };
        self.request.capacity() + self.out.memory() + self.page.memory() + phase
    }

    /// Whether the request body is complete.
    fn has_request(&self) -> bool {
        self.body.is_complete() && !self.is_bad
    }

    /// Forwards bytes that belong to the request; returns their number.
    fn feed(&mut self, bytes: &[u8]) -> usize {
        let taken = self.body.take(bytes, |_| ()).unwrap_or_else(|_| {
            // The receiving end detects the error too.
            self.is_bad = true;
            bytes.len()
        });
        self.page.feed(&bytes[..taken]);
        taken
    }
}

/// Starts a subrequest. If it is served from the cache, it completes immediately.
pub(super) fn launch(mut alone: DownstreamConnection) {
    if matches!(
        alone.stage,
        RequestStage::Serving(_)
            | RequestStage::Answering(..)
            | RequestStage::Assembling(_)
            | RequestStage::Over
    ) {
        let mut cx = Context::from_waker(Waker::noop());
        if std::pin::Pin::new(&mut alone).poll(&mut cx).is_ready() {
            return;
        }
        alone.timer.forget_waker();
    }
    tokio::task::spawn_local(alone);
}

impl DownstreamConnection {
    /// Starts the assembly of a page.
    pub(super) fn assemble(&mut self, request: Admitted<'_>) {
        let (own, settings) = (request.own, request.settings);
        let route = settings.routes.get(own.facts.route);
        let Some(config) = &route.config.fragments else {
            return self.look_up(request, Seeking::default());
        };
        let head = request.head;
        let inner = self.client.inner();
        let nesting = inner.and_then(|inner| inner.fragment.clone());
        let nesting = nesting.unwrap_or_else(|| {
            let host = head.host.unwrap_or(default_host(route, settings));
            Rc::new(FragmentNesting::of_page(host, head.target, config.most))
        });
        let mut line = Vec::new();
        self.begin_line(&mut line, head, request.client);
        let trace = self.trace().map(RequestTrace::header);
        let (starting, end) = self.page(request);
        self.stage = RequestStage::Assembling(Box::new(EsiAssembly {
            own,
            settings: Rc::clone(settings),
            line,
            request: request.bytes.to_vec(),
            nesting,
            trace,
            starting: Some(starting),
            page: Incoming::new(end, own.facts.is_head),
            phase: AssemblyPhase::Head,
            body: BodyReader::new(length(head), u64::MAX),
            is_bad: false,
            out: Outgoing::default(),
            direct: Bytes::new(),
            bytes_out: 0,
            status: 0,
            keeps_client: false,
            slowness: Slowness::default(),
            is_for_client: false,
        }));
    }

    /// The subrequest for the page, on behalf of the client.
    fn page(&mut self, request: Admitted<'_>) -> (Box<Self>, ReadEnd) {
        let (inner, end) = pipe(None);
        let peer = (*self.peer).clone();
        let mut page = Self::of_stream(ClientStream::Inner(inner), peer, &self.event_loop);
        page.context = self.context.take();
        page.look_up(request, Seeking::default());
        (Box::new(page), end)
    }

    /// Fetches the full page after a range request.
    fn page_again(&mut self, assembly: &mut EsiAssembly) -> AssemblyStep {
        let bytes = without_range(&assembly.request);
        if bytes.len() == assembly.request.len() {
            assembly.pass();
            return AssemblyStep::Moved;
        }
        let mut room = header_buffer();
        let Ok(head) = parse(&bytes, &mut room) else {
            return AssemblyStep::Broke;
        };
        let settings = Rc::clone(&assembly.settings);
        let (starting, end) = self.page(Admitted {
            bytes: &bytes,
            head: &head,
            client: client_of(&self.peer, &head, &settings),
            own: assembly.own,
            settings: &settings,
        });
        assembly.starting = Some(starting);
        assembly.page = Incoming::new(end, assembly.own.facts.is_head);
        assembly.request = bytes;
        AssemblyStep::Moved
    }

    pub(super) fn poll_assembling(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let RequestStage::Assembling(mut assembly) =
                std::mem::replace(&mut self.stage, RequestStage::Over)
            else {
                return Poll::Ready(());
            };
            let step = self.assemble_step(&mut assembly, cx);
            match step {
                AssemblyStep::Moved | AssemblyStep::Again => {
                    self.stage = RequestStage::Assembling(assembly);
                }
                AssemblyStep::Yield => {
                    self.stage = RequestStage::Assembling(assembly);
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                AssemblyStep::Wait(ticks) => {
                    self.stage = RequestStage::Assembling(assembly);
                    self.timer.set(&self.event_loop, ticks);
                    return Poll::Pending;
                }
                AssemblyStep::Whole => {
                    self.report_assembled(&assembly, None);
                    let keeps = assembly.keeps_client && assembly.has_request();
                    let after = if keeps {
                        After::NextRequest
                    } else {
                        After::Close
                    };
                    self.follow_answer(after);
                    return Poll::Ready(());
                }
                AssemblyStep::Left => {
                    self.count_gone();
                    self.report_assembled(&assembly, Some("client-gone"));
                    return Poll::Ready(());
                }
                AssemblyStep::Broke => {
                    self.report_assembled(&assembly, Some("broken"));
                    return Poll::Ready(());
                }
            }
        }
    }

    fn assemble_step(&mut self, assembly: &mut EsiAssembly, cx: &mut Context<'_>) -> AssemblyStep {
        if let Some(page) = assembly.starting.take() {
            launch(*page);
        }
        if !self.pump(assembly, cx) {
            return AssemblyStep::Left;
        }
        if !(assembly.out.is_empty() && assembly.direct.is_empty()) {
            return self.write_out(assembly, cx);
        }
        let step = assembly.produce(self, cx);
        if matches!(step, AssemblyStep::Again) {
            return self.page_again(assembly);
        }
        if !matches!(step, AssemblyStep::Wait(_) | AssemblyStep::Whole) {
            return step;
        }
        assembly.is_for_client = false;
        assembly.slowness.moved(self.event_loop.clock.now());
        match self.client.poll_flush(cx) {
            Poll::Ready(Ok(())) => {}
            Poll::Ready(Err(_)) => return AssemblyStep::Left,
            Poll::Pending => return self.wait_for_client(assembly),
        }
        let waits = matches!(step, AssemblyStep::Wait(_));
        if waits && assembly.has_request() && self.client_left(cx) {
            return AssemblyStep::Left;
        }
        step
    }

    fn write_out(&mut self, assembly: &mut EsiAssembly, cx: &mut Context<'_>) -> AssemblyStep {
        let first = assembly.out.left();
        let first_len = first.len();
        match self.client.poll_write(cx, first, &assembly.direct) {
            Poll::Ready(Ok(count)) if count > 0 => {
                assembly.out.advance(count.min(first_len));
                assembly.out.clear_if_written();
                assembly.direct.advance(count.saturating_sub(first_len));
                assembly.bytes_out += count as u64;
                AssemblyStep::Moved
            }
            Poll::Ready(_) => AssemblyStep::Left,
            Poll::Pending => self.wait_for_client(assembly),
        }
    }

    fn wait_for_client(&self, assembly: &mut EsiAssembly) -> AssemblyStep {
        assembly.is_for_client = true;
        AssemblyStep::Wait(
            assembly
                .slowness
                .patience(assembly.bytes_out, &self.event_loop),
        )
    }

    /// Forwards received bytes of the request body; `false` when the client has disconnected.
    fn pump(&mut self, assembly: &mut EsiAssembly, cx: &mut Context<'_>) -> bool {
        while !assembly.body.is_complete() && !assembly.is_bad && !assembly.page.is_over() {
            let room = assembly.page.body_capacity();
            if room == 0 {
                break;
            }
            let mut shared = self.event_loop.shared.borrow_mut();
            let fed = self.client.poll_body(cx, &mut shared, room, |bytes| {
                Ok::<_, Infallible>(assembly.feed(bytes))
            });
            match fed {
                Poll::Ready(Ok(BodyPiece::Held | BodyPiece::Read(_))) => {}
                Poll::Ready(Ok(BodyPiece::Gone)) => return false,
                Poll::Pending => break,
            }
        }
        true
    }

    /// Its deadline has passed. Late fragments are handled when the assembly continues.
    pub(super) fn assembling_expired(&mut self) {
        let RequestStage::Assembling(assembly) = &self.stage else {
            return;
        };
        if !assembly.is_for_client {
            return;
        }
        if let RequestStage::Assembling(assembly) =
            std::mem::replace(&mut self.stage, RequestStage::Over)
        {
            self.count_gone();
            self.report_assembled(&assembly, Some("client-gone"));
        }
    }

    fn report_assembled(&mut self, assembly: &EsiAssembly, reason: Option<&'static str>) {
        if assembly.status == 0 {
            return;
        }
        let report = assembly.page.report();
        let ended = self.event_loop.clock.now();
        let moments = crate::telemetry::moments::Moments {
            began: assembly.own.moments.began,
            ..report.moments
        };
        self.count(assembly.status, assembly.bytes_out, moments.began, ended);
        if !self.is_reported(&assembly.line) {
            return;
        }
        let outcome = RequestOutcome {
            status: assembly.status,
            bytes: assembly.bytes_out,
            reason: reason.or(report.reason),
            limit: None,
            server: report.server.as_deref(),
            moments,
            ended,
            wall: clock::wall(),
        };
        self.write_line(&assembly.line, &outcome);
    }
}
