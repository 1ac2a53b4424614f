//! What the bytes of an answer become: it goes through, is gathered, or is put together.

use std::sync::Arc;
use std::task::Context;
use std::time::Duration;

use bytes::Bytes;
use plimsoll_wire::head::Length;

use super::super::including::Asker;
use super::super::joining::{Joining, Produced};
use super::{Assembling, Connection, Phase, Step, connection_line};
use crate::deadline::ticks;
use crate::forward;
use crate::fragments::head::{self, Joined, Lifetime};
use crate::fragments::incoming::Coming;

/// How long nothing is looked at when whoever answers keeps the time.
const LOOK: Duration = Duration::from_hours(1);

impl Assembling {
    /// The next bytes for the client, or what is waited for.
    pub(super) fn produce(&mut self, alone: &Connection, cx: &mut Context<'_>) -> Step {
        match &mut self.phase {
            Phase::Head => self.take_head(alone, cx),
            Phase::Passing(in_chunks) => {
                let in_chunks = *in_chunks;
                self.pass_on(in_chunks, cx)
            }
            Phase::Gathering(..) => self.gather(alone, cx),
            Phase::Joining(joining) => {
                let asker = Asker {
                    event_loop: &alone.event_loop,
                    peer: &alone.peer,
                    settings: &self.settings,
                    route: self.own.facts.route,
                    request: &self.request,
                    lineage: &self.lineage,
                    trace: self.trace.as_deref(),
                };
                match joining.produce(&mut self.out, &asker, cx) {
                    Produced::More if joining.is_coding() => Step::Yield,
                    Produced::More => Step::Moved,
                    Produced::Wait(due) => {
                        let left = due.saturating_sub(alone.event_loop.clock.now());
                        Step::Wait(ticks(Duration::from_nanos(left)))
                    }
                    Produced::End => {
                        self.keeps_client = joining.keeps_client;
                        self.phase = Phase::Done;
                        Step::Moved
                    }
                    Produced::Broke => Step::Broke,
                }
            }
            Phase::Done => Step::Whole,
        }
    }

    fn take_head(&mut self, alone: &Connection, cx: &mut Context<'_>) -> Step {
        let page = &mut self.page;
        page.advance(cx);
        if !page.early.is_empty() {
            let early = std::mem::take(&mut page.early);
            // HTTP/1.0 knows none.
            if self.own.facts.is_1_1 {
                self.out.bytes.extend_from_slice(&early);
            }
        }
        let Some(head) = page.head else {
            return if !self.out.is_empty() {
                Step::Moved
            } else if page.is_over() {
                Step::Broke
            } else {
                wait_for_page()
            };
        };
        self.status = head.status;
        let (mosaic, draft) = page.marks();
        let has_tags = mosaic.as_ref().map(|one| !one.parts.is_plain());
        match (draft, mosaic) {
            (Some(_), _) if matches!(head.status, 206 | 416) => return Step::Again,
            (None, None) => self.pass(),
            _ if self.own.facts.is_head && has_tags != Some(false) => {
                self.show_head(&alone.event_loop.date.borrow());
            }
            (_, Some(mosaic)) if !self.own.facts.is_head => {
                self.join(Joining::new(
                    mosaic,
                    &self.page,
                    &self.own,
                    alone,
                    &self.settings,
                ));
            }
            (Some(draft), None) => self.phase = Phase::Gathering(Vec::new(), draft),
            _ => self.pass(),
        }
        Step::Moved
    }

    fn join(&mut self, joining: Joining) {
        if joining.changes_nothing() {
            return self.pass();
        }
        let mut joining = joining;
        joining.keeps_client = self.own.facts.keep_alive && self.has_request();
        self.phase = Phase::Joining(Box::new(joining));
    }

    /// What a HEAD is told of a page that may be put together: nothing that is true of the page alone.
    fn show_head(&mut self, date: &str) {
        self.keeps_client = self.own.facts.keep_alive && self.has_request();
        let framing = connection_line(self.keeps_client, self.own.facts.is_1_1);
        let varies = self.own.facts.coding.is_some();
        let (out, bytes) = (&mut self.out.bytes, self.page.head_bytes());
        self.page.with_head(|_, headers| {
            let joined = Joined {
                lifetime: Some(Lifetime::of(headers).and(Lifetime::UNKNOWN)),
                date,
                fragments: "",
                coding: None,
                varies,
                framing,
            };
            head::write(out, bytes, headers, &joined);
        });
        self.phase = Phase::Done;
    }

    /// It goes through as it is.
    pub(super) fn pass(&mut self) {
        let Some(head) = self.page.head else {
            return;
        };
        let has_none = self.own.facts.is_head || matches!(head.status, 204 | 304);
        let is_open = head.length == Length::Unsaid && !has_none;
        self.keeps_client = head.keep_alive && !is_open;
        self.out.bytes.extend_from_slice(self.page.head_bytes());
        self.phase = Phase::Passing(head.length == Length::Chunked && !has_none);
    }

    fn pass_on(&mut self, in_chunks: bool, cx: &mut Context<'_>) -> Step {
        let page = &mut self.page;
        page.advance(cx);
        if !page.content.is_empty() {
            put(&mut self.out.bytes, &page.content, in_chunks);
            page.content.clear();
            return Step::Moved;
        }
        if let Some(piece) = page.piece.take() {
            if in_chunks {
                forward::chunk(&mut self.out.bytes, &piece);
            } else {
                self.direct = piece;
            }
            return Step::Moved;
        }
        match page.state {
            Coming::Whole => {
                if in_chunks {
                    self.out.bytes.extend_from_slice(forward::LAST_CHUNK);
                }
                self.phase = Phase::Done;
                Step::Moved
            }
            Coming::Broken => Step::Broke,
            Coming::Head | Coming::Body => wait_for_page(),
        }
    }

    fn gather(&mut self, alone: &Connection, cx: &mut Context<'_>) -> Step {
        let Phase::Gathering(gathered, draft) = &mut self.phase else {
            return Step::Moved;
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
            Coming::Broken => return Step::Broke,
            // There was no room for all that may be there.
            Coming::Head | Coming::Body if !is_long && has_moved => return Step::Moved,
            Coming::Head | Coming::Body if !is_long => return wait_for_page(),
            Coming::Head | Coming::Body | Coming::Whole => {}
        }
        let body = Bytes::from(std::mem::take(gathered));
        let mosaic = draft.mosaic(&body).map(Arc::new);
        match mosaic.filter(|_| !is_long) {
            Some(mosaic) => {
                self.join(Joining::new(
                    mosaic,
                    &self.page,
                    &self.own,
                    alone,
                    &self.settings,
                ));
            }
            None => self.pass(),
        }
        if let Phase::Passing(in_chunks) = self.phase {
            put(&mut self.out.bytes, &body, in_chunks);
        }
        Step::Moved
    }
}

fn wait_for_page() -> Step {
    Step::Wait(ticks(LOOK))
}

fn put(out: &mut Vec<u8>, content: &[u8], in_chunks: bool) {
    if !in_chunks {
        out.extend_from_slice(content);
    } else if !content.is_empty() {
        forward::chunk(out, content);
    }
}
