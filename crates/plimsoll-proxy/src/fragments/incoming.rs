//! The response to a subrequest, read from its pipe: its head, then its content without framing.

use std::sync::Arc;
use std::task::Context;

use bytes::Bytes;
use plimsoll_wire::framing::BodyReader;
use plimsoll_wire::head::{self, Head, Header};

use super::pipe::{ReadEnd, Report, WAITING_MAX};
use super::{Draft, Mosaic};

/// Progress of the response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Coming {
    #[default]
    Head,
    Body,
    /// Complete.
    Whole,
    /// It broke off.
    Broken,
}

/// The response to a subrequest.
#[derive(Debug)]
pub(crate) struct Incoming {
    end: ReadEnd,
    is_head: bool,
    /// Heads of interim responses.
    pub(crate) early: Vec<u8>,
    bytes: Vec<u8>,
    pub(crate) head: Option<Head>,
    body: BodyReader,
    /// Content received and not taken yet.
    pub(crate) content: Vec<u8>,
    /// Content received in one piece, after `content`.
    pub(crate) piece: Option<Bytes>,
    pub(crate) state: Coming,
}

impl Incoming {
    /// `is_head` for the response to a HEAD.
    pub(crate) fn new(end: ReadEnd, is_head: bool) -> Self {
        Self {
            end,
            is_head,
            early: Vec::new(),
            bytes: Vec::new(),
            head: None,
            body: BodyReader::none(),
            content: Vec::new(),
            piece: None,
            state: Coming::Head,
        }
    }

    /// Memory in use.
    pub(crate) fn memory(&self) -> usize {
        let waiting = self
            .end
            .with(|shared| shared.answer.memory() + shared.request_body.memory());
        self.bytes.capacity() + self.content.capacity() + waiting
    }

    /// Whether nothing more will come.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state, Coming::Whole | Coming::Broken)
    }

    /// Parses its head again and passes it on.
    pub(crate) fn with_head<T>(&self, read: impl FnOnce(&Head, &[Header<'_>]) -> T) -> Option<T> {
        head::parse_with(&self.bytes, read).ok()
    }

    /// The bytes of its head.
    pub(crate) fn head_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What is known about its body if it is stored, or may be.
    pub(crate) fn marks(&self) -> (Option<Arc<Mosaic>>, Option<Draft>) {
        self.end
            .with(|shared| (shared.mosaic.clone(), shared.draft.clone()))
    }

    pub(crate) fn report(&self) -> Report {
        self.end.with(|shared| shared.report.clone())
    }

    /// Space for more of the request body, bytes.
    pub(crate) fn body_capacity(&self) -> usize {
        self.end
            .with(|shared| WAITING_MAX.saturating_sub(shared.request_body.left().len()))
    }

    /// Forwards more of the request body.
    pub(crate) fn feed(&self, bytes: &[u8]) {
        self.end.with(|shared| {
            shared.request_body.append(bytes);
            shared.wake_writer();
        });
    }

    /// Reads what is available, as far as there is space.
    pub(crate) fn advance(&mut self, cx: &Context<'_>) {
        while !self.is_over() && self.content.len() < WAITING_MAX && self.take(cx) {}
    }

    /// Reads one head or one piece; whether there may be more immediately.
    fn take(&mut self, cx: &Context<'_>) -> bool {
        let Self {
            end,
            is_head,
            early,
            bytes,
            head: known,
            body,
            content,
            piece,
            state,
        } = self;
        end.with(|shared| {
            let left = shared.answer.left();
            if left.is_empty() {
                if known.is_some()
                    && let Some(whole) = shared.body.take()
                {
                    *piece = Some(whole).filter(|piece| !piece.is_empty());
                    *state = Coming::Whole;
                    return false;
                }
                if !shared.is_closed {
                    shared.file_reader(cx);
                    return false;
                }
                let is_whole = known.is_some() && body.ends_with_connection() && shared.is_whole;
                *state = if is_whole {
                    Coming::Whole
                } else {
                    Coming::Broken
                };
                return false;
            }
            let taken = if known.is_some() {
                body.take(left, |piece| content.extend_from_slice(piece))
                    .ok()
            } else {
                take_head(left, *is_head, early, bytes, known, body)
            };
            let Some(taken) = taken else {
                *state = Coming::Broken;
                return false;
            };
            let has_moved = taken > 0;
            shared.answer.advance(taken);
            shared.answer.clear_if_written();
            shared.wake_writer();
            if known.is_some() {
                *state = Coming::Body;
                if body.is_complete() && shared.body.is_none() {
                    *state = Coming::Whole;
                }
            }
            if !has_moved {
                if shared.is_closed || shared.answer.left().len() >= WAITING_MAX {
                    *state = Coming::Broken;
                } else {
                    shared.file_reader(cx);
                }
            }
            has_moved
        })
    }
}

/// Parses a head, if it is complete; returns its length. `None` when it is invalid.
fn take_head(
    left: &[u8],
    is_head: bool,
    early: &mut Vec<u8>,
    bytes: &mut Vec<u8>,
    known: &mut Option<Head>,
    body: &mut BodyReader,
) -> Option<usize> {
    let Some(end) = head::find_end(left, 0).ok()? else {
        return Some(0);
    };
    let head = head::parse(&left[..end]).ok()?;
    if head.status < 200 {
        early.extend_from_slice(&left[..end]);
        return Some(end);
    }
    bytes.extend_from_slice(&left[..end]);
    let has_none = is_head || matches!(head.status, 204 | 304);
    *body = if has_none {
        BodyReader::none()
    } else {
        BodyReader::new(head.length, u64::MAX)
    };
    *known = Some(head);
    Some(end)
}
