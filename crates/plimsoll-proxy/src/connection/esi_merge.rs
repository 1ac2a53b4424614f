//! Merges a page and its fragments into one response.

use std::rc::Rc;
use std::sync::Arc;
use std::task::Context;

use plimsoll_cache::fragments::EsiSegment;
use plimsoll_config::edge::Fragments;
use plimsoll_net::chunk_writer;
use plimsoll_net::clock::Nanoseconds;
use plimsoll_net::fragment_outcome::FragmentOutcome;
use plimsoll_wire::head::{BodyLength, Header};

use super::DownstreamConnection;
use super::admitted::ResponseContext;
use super::esi_include::{Fragment, FragmentInput, FragmentRequester};
use crate::fragments::Mosaic;
use crate::fragments::head::{self, FragmentLifetime, Framing, MergedHead};
use crate::fragments::incoming::Incoming;
use crate::message::compress::{self, Coder};
use crate::respond::head::ConnectionHeader;
use crate::settings::Settings;
use crate::worker::Worker;

/// Concurrent subrequests of one page.
const ABREAST_MAX: usize = 16;
/// Bytes processed in one step.
const STEP_LEN: usize = 64 * 1024;
/// Less output than this waits in the coder for more.
const PIECE_LEN_MIN: usize = 4096;

/// A page being merged with its fragments.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own about the client or the page"
)]
pub(super) struct EsiMerge {
    mosaic: Arc<Mosaic>,
    config: Fragments,
    /// Its own head.
    bytes: Vec<u8>,
    is_1_1: bool,
    pub(super) keeps_client: bool,
    /// The piece being sent, and the bytes of it sent so far.
    piece: usize,
    at: usize,
    fragments: Vec<Fragment>,
    /// Fragments started, and fragments sent.
    started: usize,
    done: usize,
    packing: Option<Packing>,
    /// The response may be compressed, depending on the client.
    varies: bool,
    framing: Option<Framing>,
    is_over: bool,
}

/// Result of one step.
pub(super) enum Produced {
    More,
    /// Wait until then at most.
    Wait(Nanoseconds),
    End,
    Broke,
}

/// A coder, which counts towards the budget as long as it lives.
#[derive(Debug)]
struct Packing {
    coding: plimsoll_config::edge::CompressCoding,
    coder: Option<Coder>,
    event_loop: Rc<Worker>,
}

impl Drop for Packing {
    fn drop(&mut self) {
        self.event_loop.budget.leave();
    }
}

impl Packing {
    /// Compresses content; `is_last` ends the stream, empty content flushes it. `None` when it fails.
    fn pack(&mut self, content: &[u8], is_last: bool) -> Option<Vec<u8>> {
        let began = self.event_loop.clock.now();
        let figures = &self.event_loop.figures;
        figures.compress_in.add(content.len() as u64);
        let coder = self.coder.as_mut()?;
        coder.feed(content).ok()?;
        if content.is_empty() {
            coder.flush().ok()?;
        }
        let mut packed = Vec::new();
        if content.is_empty() || coder.out().len() >= PIECE_LEN_MIN {
            packed = std::mem::take(coder.out());
        }
        if is_last && let Some(coder) = self.coder.take() {
            packed.extend(coder.finish().ok()?);
        }
        figures.compress_out.add(packed.len() as u64);
        let spent = self.event_loop.clock.now().saturating_sub(began);
        self.event_loop.budget.spend(spent);
        Some(packed)
    }

    fn is_behind(&self) -> bool {
        self.coder.as_ref().is_some_and(Coder::is_behind)
    }
}

impl EsiMerge {
    /// Begins a merge for a page with the head `page`.
    pub(super) fn new(
        mosaic: Arc<Mosaic>,
        page: &Incoming,
        own: &ResponseContext,
        alone: &DownstreamConnection,
        settings: &Settings,
    ) -> Self {
        let route = &settings.routes.get(own.facts.route).config;
        let fragments = mosaic.pieces.include_tags().map(Fragment::new).collect();
        let is_plain = mosaic.pieces.is_plain();
        let len = is_plain.then_some(mosaic.text.len() as u64);
        let varies = route.compress.as_ref().is_some_and(|compress| {
            let is_worth_it = page.with_head(|head, headers| {
                let mut head = *head;
                head.length = len.map_or(BodyLength::Unspecified, BodyLength::Sized);
                let headers: Vec<Header<'_>> = headers
                    .iter()
                    .filter(|header| !header.name.eq_ignore_ascii_case("content-encoding"))
                    .copied()
                    .collect();
                compress::is_worth_it(&head, &headers, compress)
            });
            is_worth_it == Some(true)
        });
        let packing = varies.then(|| packing(own, route, len, alone)).flatten();
        Self {
            config: route.fragments.clone().unwrap_or_default(),
            bytes: page.head_bytes().to_vec(),
            is_1_1: own.facts.is_1_1,
            keeps_client: false,
            piece: 0,
            at: 0,
            fragments,
            started: 0,
            done: 0,
            packing,
            varies,
            framing: None,
            is_over: false,
            mosaic,
        }
    }

    /// Whether the page is sent unchanged.
    pub(super) fn changes_nothing(&self) -> bool {
        self.mosaic.pieces.is_plain() && self.packing.is_none()
    }

    pub(super) fn is_coding(&self) -> bool {
        self.packing.is_some()
    }

    pub(super) fn memory(&self) -> usize {
        let fragments = self.fragments.iter().map(Fragment::memory);
        self.bytes.capacity() + fragments.sum::<usize>()
    }

    /// Produces the next bytes, appended to `out`.
    pub(super) fn produce(
        &mut self,
        out: &mut crate::message::outgoing::Outgoing,
        requester: &FragmentRequester<'_>,
        cx: &Context<'_>,
    ) -> Produced {
        self.advance(requester, cx);
        if self.framing.is_none() {
            return self.write_head(out.buffer(), &requester.event_loop.date.borrow());
        }
        let produced = match self.mosaic.pieces.pieces().get(self.piece) {
            None if self.is_over => return Produced::End,
            None => {
                self.is_over = true;
                self.emit(&[], out.buffer(), true)
            }
            Some(EsiSegment::Text(range)) => {
                let start = range.start + self.at;
                let end = range.end.min(start + STEP_LEN);
                self.at += end - start;
                if end == range.end {
                    self.next_piece();
                }
                let text = self.mosaic.text.slice(start..end);
                self.emit(&text, out.buffer(), false)
            }
            Some(EsiSegment::Include(_)) => match self.fragments[self.done].next() {
                FragmentInput::Bytes(bytes) => self.emit(&bytes, out.buffer(), false),
                FragmentInput::End => {
                    self.done += 1;
                    self.next_piece();
                    Some(())
                }
                FragmentInput::Wait if self.packing.as_ref().is_some_and(Packing::is_behind) => {
                    // Flush, so that the client gets everything available.
                    self.emit(&[], out.buffer(), false)
                }
                FragmentInput::Wait => return Produced::Wait(self.next_due()),
                FragmentInput::Broke => None,
            },
        };
        produced.map_or(Produced::Broke, |()| Produced::More)
    }

    fn next_piece(&mut self) {
        self.piece += 1;
        self.at = 0;
    }

    /// The earliest deadline of pending fragments.
    fn next_due(&self) -> Nanoseconds {
        let awaited = self.fragments[self.done..self.started]
            .iter()
            .filter(|fragment| fragment.may_be_late());
        awaited
            .map(|fragment| fragment.due)
            .min()
            .unwrap_or(u64::MAX)
    }

    /// Starts subrequests up to the limit, and processes what has arrived.
    fn advance(&mut self, requester: &FragmentRequester<'_>, cx: &Context<'_>) {
        loop {
            let mut under_way = 0;
            for fragment in &mut self.fragments[self.done..self.started] {
                fragment.advance(&self.config, requester, cx);
                under_way += usize::from(fragment.served.is_none());
            }
            if under_way >= ABREAST_MAX || self.started == self.fragments.len() {
                return;
            }
            let room = ABREAST_MAX - under_way;
            let end = self.fragments.len().min(self.started + room);
            for fragment in &mut self.fragments[self.started..end] {
                fragment.start(&self.config, requester);
            }
            self.started = end;
        }
    }

    /// Writes the head when the first bytes can be sent: a fragment is not waited for before its turn.
    fn write_head(&mut self, out: &mut Vec<u8>, date: &str) -> Produced {
        let mut counts = [0; FragmentOutcome::COUNT];
        let mut awaited = 0;
        for fragment in &self.fragments {
            match fragment.served {
                Some(served) => counts[served as usize] += 1,
                None => awaited += 1,
            }
        }
        let framing = self.choose_framing();
        self.keeps_client &= framing != Framing::UntilClose;
        self.framing = Some(framing);
        let summary = head::describe(&counts, awaited);
        let lifetimes: Option<Vec<FragmentLifetime>> = self
            .fragments
            .iter()
            .map(|fragment| fragment.lifetime)
            .collect();
        let is_plain = self.mosaic.pieces.is_plain();
        let written = plimsoll_wire::head::parse_with(&self.bytes, |_, headers| {
            let own = FragmentLifetime::of(headers);
            let all = lifetimes.map(|all| all.into_iter().fold(own, FragmentLifetime::and));
            let merged = MergedHead {
                lifetime: (!is_plain).then(|| all.unwrap_or(own.and(FragmentLifetime::UNKNOWN))),
                date,
                fragments: &summary,
                coding: self.packing.as_ref().map(|packing| packing.coding),
                varies: self.varies,
                framing,
                connection: ConnectionHeader::new(self.keeps_client, self.is_1_1),
            };
            head::write(out, &self.bytes, headers, &merged);
        });
        written.map_or(Produced::Broke, |()| Produced::More)
    }

    fn choose_framing(&self) -> Framing {
        let len = self.len().filter(|_| self.packing.is_none());
        match len {
            Some(len) => Framing::Sized(len),
            None if self.is_1_1 => Framing::Chunked,
            // HTTP/1.0 has no chunked coding.
            None => Framing::UntilClose,
        }
    }

    /// The total length, if everything is complete.
    fn len(&self) -> Option<u64> {
        let mut fragments = self.fragments.iter();
        let pieces = self.mosaic.pieces.pieces().iter();
        pieces
            .map(|piece| match piece {
                EsiSegment::Text(range) => Some(range.len() as u64),
                EsiSegment::Include(_) => fragments.next()?.len(),
            })
            .sum()
    }

    /// Emits content in the coding and framing of the response. `None` when the coder fails.
    fn emit(&mut self, content: &[u8], out: &mut Vec<u8>, is_last: bool) -> Option<()> {
        let packed = match &mut self.packing {
            Some(packing) => Some(packing.pack(content, is_last)?),
            None => None,
        };
        let content = packed.as_deref().unwrap_or(content);
        let is_chunked = self.framing == Some(Framing::Chunked);
        if !is_chunked {
            out.extend_from_slice(content);
        } else if !content.is_empty() {
            chunk_writer::write(out, content);
        }
        if is_chunked && is_last {
            out.extend_from_slice(chunk_writer::LAST_CHUNK);
        }
        Some(())
    }
}

/// A coder for a page, if the client accepts one and the budget allows it.
fn packing(
    own: &ResponseContext,
    route: &plimsoll_config::edge::RouteConfig,
    len: Option<u64>,
    alone: &DownstreamConnection,
) -> Option<Packing> {
    // HTTP/1.0 has no chunked coding, and the length is not known in advance.
    let coding = own.facts.coding.filter(|_| own.facts.is_1_1)?;
    let config = route.compress.as_ref()?;
    let event_loop = &alone.event_loop;
    let may = event_loop
        .budget
        .allows(event_loop.clock.now(), config.cpu_share);
    let Some(Ok(coder)) = may.then(|| Coder::new(coding, config.level, len)) else {
        event_loop.figures.compress_skipped.increment();
        return None;
    };
    event_loop.budget.enter();
    event_loop.figures.compressed.increment();
    Some(Packing {
        coding,
        coder: Some(coder),
        event_loop: Rc::clone(event_loop),
    })
}
