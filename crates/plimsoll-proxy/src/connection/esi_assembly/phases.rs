//! Phases of ESI assembly: pass through, buffer, or merge.

use std::sync::Arc;
use std::task::Context;
use std::time::Duration;

use bytes::Bytes;
use plimsoll_net::chunk_writer;
use plimsoll_net::deadline::ticks;
use plimsoll_wire::head::BodyLength;

use super::super::esi_include::FragmentRequester;
use super::super::esi_merge::{EsiMerge, Produced};
use super::{AssemblyPhase, AssemblyStep, DownstreamConnection, EsiAssembly};
use crate::fragments::head::{self, FragmentLifetime, Framing, MergedHead};
use crate::fragments::incoming::Coming;
use crate::respond::head::ConnectionHeader;

/// Poll interval while the subrequest has its own timeouts.
const IDLE_WAIT: Duration = Duration::from_hours(1);

impl EsiAssembly {
    /// Produces the next bytes for the client, or what to wait for.
    pub(super) fn produce(
        &mut self,
        alone: &DownstreamConnection,
        cx: &mut Context<'_>,
    ) -> AssemblyStep {
        match &mut self.phase {
            AssemblyPhase::Head => self.take_head(alone, cx),
            AssemblyPhase::Passing(in_chunks) => {
                let in_chunks = *in_chunks;
                self.pass_on(in_chunks, cx)
            }
            AssemblyPhase::Gathering(..) => self.gather(alone, cx),
            AssemblyPhase::Merging(merge) => {
                let requester = FragmentRequester {
                    event_loop: &alone.event_loop,
                    peer: &alone.peer,
                    settings: &self.settings,
                    route: self.own.facts.route,
                    request: &self.request,
                    nesting: &self.nesting,
                    trace: self.trace.as_deref(),
                };
                match merge.produce(&mut self.out, &requester, cx) {
                    Produced::More if merge.is_coding() => AssemblyStep::Yield,
                    Produced::More => AssemblyStep::Moved,
                    Produced::Wait(due) => {
                        let left = due.saturating_sub(alone.event_loop.clock.now());
                        AssemblyStep::Wait(ticks(Duration::from_nanos(left)))
                    }
                    Produced::End => {
                        self.keeps_client = merge.keeps_client;
                        self.phase = AssemblyPhase::Done;
                        AssemblyStep::Moved
                    }
                    Produced::Broke => AssemblyStep::Broke,
                }
            }
            AssemblyPhase::Done => AssemblyStep::Whole,
        }
    }

    fn take_head(&mut self, alone: &DownstreamConnection, cx: &mut Context<'_>) -> AssemblyStep {
        let page = &mut self.page;
        page.advance(cx);
        if !page.early.is_empty() {
            let early = std::mem::take(&mut page.early);
            // HTTP/1.0 has no interim responses.
            if self.own.facts.is_1_1 {
                self.out.append(&early);
            }
        }
        let Some(head) = page.head else {
            return if !self.out.is_empty() {
                AssemblyStep::Moved
            } else if page.is_over() {
                AssemblyStep::Broke
            } else {
                wait_for_page()
            };
        };
        self.status = head.status;
        let (mosaic, draft) = page.marks();
        let has_tags = mosaic.as_ref().map(|tagged| !tagged.pieces.is_plain());
        match (draft, mosaic) {
            (Some(_), _) if matches!(head.status, 206 | 416) => return AssemblyStep::Again,
            (None, None) => self.pass(),
            _ if self.own.facts.is_head && has_tags != Some(false) => {
                self.show_head(&alone.event_loop.date.borrow());
            }
            (_, Some(mosaic)) if !self.own.facts.is_head => {
                self.join(EsiMerge::new(
                    mosaic,
                    &self.page,
                    &self.own,
                    alone,
                    &self.settings,
                ));
            }
            (Some(draft), None) => self.phase = AssemblyPhase::Gathering(Vec::new(), draft),
            _ => self.pass(),
        }
        AssemblyStep::Moved
    }

    fn join(&mut self, merge: EsiMerge) {
        if merge.changes_nothing() {
            return self.pass();
        }
        let mut merge = merge;
        merge.keeps_client = self.own.facts.keep_alive && self.has_request();
        self.phase = AssemblyPhase::Merging(Box::new(merge));
    }

    /// Answers HEAD for a possible ESI page: without headers that describe only the page itself.
    fn show_head(&mut self, date: &str) {
        self.keeps_client = self.own.facts.keep_alive && self.has_request();
        let connection = ConnectionHeader::new(self.keeps_client, self.own.facts.is_1_1);
        let varies = self.own.facts.coding.is_some();
        let (out, bytes) = (self.out.buffer(), self.page.head_bytes());
        self.page.with_head(|_, headers| {
            let merged = MergedHead {
                lifetime: Some(FragmentLifetime::of(headers).and(FragmentLifetime::UNKNOWN)),
                date,
                fragments: "",
                coding: None,
                varies,
                framing: Framing::UntilClose,
                connection,
            };
            head::write(out, bytes, headers, &merged);
        });
        self.phase = AssemblyPhase::Done;
    }

    /// Passes the response through.
    pub(super) fn pass(&mut self) {
        let Some(head) = self.page.head else {
            return;
        };
        let has_none = self.own.facts.is_head || matches!(head.status, 204 | 304);
        let is_open = head.length == BodyLength::Unspecified && !has_none;
        self.keeps_client = head.keep_alive && !is_open;
        self.out.append(self.page.head_bytes());
        self.phase = AssemblyPhase::Passing(head.length == BodyLength::Chunked && !has_none);
    }

    fn pass_on(&mut self, in_chunks: bool, cx: &mut Context<'_>) -> AssemblyStep {
        let page = &mut self.page;
        page.advance(cx);
        if !page.content.is_empty() {
            put(self.out.buffer(), &page.content, in_chunks);
            page.content.clear();
            return AssemblyStep::Moved;
        }
        if let Some(piece) = page.piece.take() {
            if in_chunks {
                chunk_writer::write(self.out.buffer(), &piece);
            } else {
                self.direct = piece;
            }
            return AssemblyStep::Moved;
        }
        match page.state {
            Coming::Whole => {
                if in_chunks {
                    self.out.append(chunk_writer::LAST_CHUNK);
                }
                self.phase = AssemblyPhase::Done;
                AssemblyStep::Moved
            }
            Coming::Broken => AssemblyStep::Broke,
            Coming::Head | Coming::Body => wait_for_page(),
        }
    }

    fn gather(&mut self, alone: &DownstreamConnection, cx: &mut Context<'_>) -> AssemblyStep {
        let AssemblyPhase::Gathering(gathered, draft) = &mut self.phase else {
            return AssemblyStep::Moved;
        };
        let page = &mut self.page;
        page.advance(cx);
        let has_moved = !page.content.is_empty();
        gathered.append(&mut page.content);
        if let Some(piece) = page.piece.take() {
            gathered.extend_from_slice(&piece);
        }
        let is_long = gathered.len() as u64 > draft.len_max;
        match page.state {
            Coming::Broken => return AssemblyStep::Broke,
            // The pipe may hold more than fitted into the buffer.
            Coming::Head | Coming::Body if !is_long && has_moved => return AssemblyStep::Moved,
            Coming::Head | Coming::Body if !is_long => return wait_for_page(),
            Coming::Head | Coming::Body | Coming::Whole => {}
        }
        let body = Bytes::from(std::mem::take(gathered));
        let mosaic = draft.mosaic(&body).map(Arc::new);
        match mosaic.filter(|_| !is_long) {
            Some(mosaic) => {
                self.join(EsiMerge::new(
                    mosaic,
                    &self.page,
                    &self.own,
                    alone,
                    &self.settings,
                ));
            }
            None => self.pass(),
        }
        if let AssemblyPhase::Passing(in_chunks) = self.phase {
            put(self.out.buffer(), &body, in_chunks);
        }
        AssemblyStep::Moved
    }
}

fn wait_for_page() -> AssemblyStep {
    AssemblyStep::Wait(ticks(IDLE_WAIT))
}

fn put(out: &mut Vec<u8>, content: &[u8], in_chunks: bool) {
    if !in_chunks {
        out.extend_from_slice(content);
    } else if !content.is_empty() {
        chunk_writer::write(out, content);
    }
}
