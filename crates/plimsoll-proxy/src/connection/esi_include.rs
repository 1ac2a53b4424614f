//! One ESI fragment, fetched by a subrequest on behalf of the client.

use std::rc::Rc;
use std::task::Context;

use bytes::Bytes;
use plimsoll_cache::fragments::Include;
use plimsoll_cache::fragments::address::Address;
use plimsoll_config::edge::Fragments;
use plimsoll_net::clock::{Nanoseconds, nanoseconds};
use plimsoll_net::fragment_outcome::FragmentOutcome;
use plimsoll_wire::request_head::{header_buffer, parse};

use super::balance::default_host;
use super::esi_assembly::launch;
use super::{DownstreamConnection, Peer};
use crate::client::ClientStream;
use crate::fragments::head::FragmentLifetime;
use crate::fragments::incoming::{Coming, Incoming};
use crate::fragments::nesting::FragmentNesting;
use crate::fragments::pipe::pipe;
use crate::fragments::{coding, request};
use crate::message::compress::decompress;
use crate::settings::Settings;
use crate::worker::Worker;

/// Context for the subrequests of a page.
pub(super) struct FragmentRequester<'a> {
    pub(super) event_loop: &'a Rc<Worker>,
    pub(super) peer: &'a Peer,
    pub(super) settings: &'a Rc<Settings>,
    pub(super) route: usize,
    /// The head of the request for the page.
    pub(super) request: &'a [u8],
    pub(super) nesting: &'a Rc<FragmentNesting>,
    pub(super) trace: Option<&'a str>,
}

impl FragmentRequester<'_> {
    /// Starts a subrequest; `None` when its URL is not permitted.
    fn send_request(&self, config: &Fragments, reference: &str) -> Option<Incoming> {
        let mut room = header_buffer();
        let head = parse(self.request, &mut room).ok()?;
        let route = self.settings.routes.get(self.route);
        let host = head.host.unwrap_or(default_host(route, self.settings));
        let address = Address::resolve(host, head.target, reference)?;
        let bytes = request::write(&head, &address, self.trace);
        if !address.is_same_host && !self.is_routed(&bytes) {
            return None;
        }
        let nesting = self
            .nesting
            .child(&address.host, &address.target, config.depth)?;
        let (inner, end) = pipe(Some(Rc::new(nesting)));
        let client = ClientStream::Inner(inner);
        let mut alone = DownstreamConnection::of_stream(client, self.peer.clone(), self.event_loop);
        if alone.begin_if_complete(&bytes, 0) {
            launch(alone);
        }
        Some(Incoming::new(end, false))
    }

    /// Whether a route names the host of a request: subrequests only go to configured hosts.
    fn is_routed(&self, bytes: &[u8]) -> bool {
        let mut room = header_buffer();
        let Ok(head) = parse(bytes, &mut room) else {
            return false;
        };
        let found = self.settings.routes.find(&head, 0.0);
        found.is_ok_and(|found| {
            found.is_some_and(|route| {
                let route = self.settings.routes.get(route);
                !route.config.matches.hosts.is_empty()
            })
        })
    }
}

/// A fragment being fetched.
#[derive(Debug)]
pub(super) struct Fragment {
    include: Include,
    incoming: Option<Incoming>,
    is_alt: bool,
    /// When the page continues without it.
    pub(super) due: Nanoseconds,
    /// Set if it is compressed: it is buffered first.
    packed: Option<(Vec<u8>, Vec<u8>)>,
    /// Its cache lifetime; known from its head on.
    pub(super) lifetime: Option<FragmentLifetime>,
    /// The outcome, once it is complete or has failed.
    pub(super) served: Option<FragmentOutcome>,
    /// The client has received some of it.
    has_begun: bool,
}

/// The available input of a fragment.
pub(super) enum FragmentInput {
    Bytes(Bytes),
    Wait,
    End,
    Broke,
}

impl Fragment {
    pub(super) fn new(include: &Include) -> Self {
        Self {
            include: include.clone(),
            incoming: None,
            is_alt: false,
            due: 0,
            packed: None,
            lifetime: None,
            served: None,
            has_begun: false,
        }
    }

    pub(super) fn memory(&self) -> usize {
        let packed = self
            .packed
            .as_ref()
            .map_or(0, |(_, packed)| packed.capacity());
        packed + self.incoming.as_ref().map_or(0, Incoming::memory)
    }

    /// Starts the fetch.
    pub(super) fn start(&mut self, config: &Fragments, requester: &FragmentRequester<'_>) {
        let reference = match &self.include.alt {
            Some(alt) if self.is_alt => alt,
            _ => &self.include.src,
        };
        self.due = requester.event_loop.clock.now() + nanoseconds(config.timeout);
        self.incoming = requester.send_request(config, reference);
        if self.incoming.is_none() {
            self.fail(FragmentOutcome::Refused, config, requester);
        }
    }

    /// The fetch failed: tries the alternative URL, or leaves a gap.
    fn fail(
        &mut self,
        served: FragmentOutcome,
        config: &Fragments,
        requester: &FragmentRequester<'_>,
    ) {
        self.incoming = None;
        self.packed = None;
        self.lifetime = None;
        if !self.is_alt && self.include.alt.is_some() {
            self.is_alt = true;
            return self.start(config, requester);
        }
        self.lifetime = Some(FragmentLifetime::UNKNOWN);
        self.end(
            match served {
                FragmentOutcome::Failed if self.include.may_fail => FragmentOutcome::LeftOut,
                served => served,
            },
            requester,
        );
    }

    fn end(&mut self, served: FragmentOutcome, requester: &FragmentRequester<'_>) {
        self.served = Some(served);
        requester.event_loop.figures.fragments[served as usize].increment();
    }

    /// Processes received bytes.
    pub(super) fn advance(
        &mut self,
        config: &Fragments,
        requester: &FragmentRequester<'_>,
        cx: &Context<'_>,
    ) {
        // A second time for the alternative URL.
        for _ in 0..2 {
            if self.served.is_some() || self.take(config, cx).is_some() {
                break;
            }
            self.fail(FragmentOutcome::Failed, config, requester);
        }
        if self.may_be_late() && requester.event_loop.clock.now() >= self.due {
            self.fail(FragmentOutcome::Failed, config, requester);
        }
        let is_whole = self
            .incoming
            .as_ref()
            .is_some_and(|incoming| incoming.state == Coming::Whole);
        if self.served.is_none() && is_whole && self.packed.is_none() {
            let reason = self
                .incoming
                .as_ref()
                .and_then(|incoming| incoming.report().reason);
            let served = if self.is_alt {
                FragmentOutcome::Alt
            } else {
                FragmentOutcome::of_reason(reason)
            };
            self.end(served, requester);
        }
    }

    /// Whether the page may continue without it. From its head on, its own connection has the timeouts.
    pub(super) fn may_be_late(&self) -> bool {
        self.served.is_none() && (self.lifetime.is_none() || self.packed.is_some())
    }

    /// `None` when it has failed, and the client has received nothing of it.
    fn take(&mut self, config: &Fragments, cx: &Context<'_>) -> Option<()> {
        let Some(incoming) = &mut self.incoming else {
            return Some(());
        };
        incoming.advance(cx);
        incoming.early.clear();
        if incoming.state == Coming::Broken {
            return self.has_begun.then_some(());
        }
        if self.lifetime.is_none() {
            let Some(head) = incoming.head else {
                return Some(());
            };
            if !matches!(head.status, 200..=205 | 207..=299) {
                return None;
            }
            let (lifetime, coding) = incoming
                .with_head(|_, headers| (FragmentLifetime::of(headers), coding(headers)))?;
            self.lifetime = Some(lifetime);
            self.packed = (!coding.is_empty()).then(|| (coding, Vec::new()));
        }
        let Some((coding, packed)) = &mut self.packed else {
            return Some(());
        };
        // The pipe may hold more than fitted into the buffer.
        while !incoming.content.is_empty() && packed.len() as u64 <= config.len_max {
            packed.append(&mut incoming.content);
            incoming.advance(cx);
        }
        if let Some(piece) = incoming.piece.take() {
            packed.extend_from_slice(&piece);
        }
        if packed.len() as u64 > config.len_max || incoming.state == Coming::Broken {
            return None;
        }
        if incoming.state == Coming::Whole {
            incoming.content = decompress(coding, packed, config.len_max)?;
            self.packed = None;
        }
        Some(())
    }

    /// Its length, once it is complete.
    pub(super) fn len(&self) -> Option<u64> {
        self.served?;
        Some(self.incoming.as_ref().map_or(0, |incoming| {
            let piece = incoming.piece.as_ref().map_or(0, Bytes::len);
            (incoming.content.len() + piece) as u64
        }))
    }

    /// The next input for the client.
    pub(super) fn next(&mut self) -> FragmentInput {
        let Some(incoming) = &mut self.incoming else {
            return if self.served.is_some() {
                FragmentInput::End
            } else {
                FragmentInput::Wait
            };
        };
        if self.lifetime.is_none() || self.packed.is_some() {
            return FragmentInput::Wait;
        }
        let content = std::mem::take(&mut incoming.content);
        let bytes = if content.is_empty() {
            incoming.piece.take()
        } else {
            Some(content.into())
        };
        match (bytes, incoming.state) {
            (Some(bytes), _) => {
                self.has_begun = true;
                FragmentInput::Bytes(bytes)
            }
            (None, Coming::Whole) => FragmentInput::End,
            (None, Coming::Broken) => FragmentInput::Broke,
            (None, Coming::Head | Coming::Body) => FragmentInput::Wait,
        }
    }
}
