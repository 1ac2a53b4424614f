//! The body of a response in transit: its framing on both sides, compression, and capture of the learned fallback.

use std::rc::Rc;

use plimsoll_net::chunk_writer;
use plimsoll_wire::error::Http1Error;
use plimsoll_wire::framing::BodyReader;

use super::{ExchangeEnd, Side};
use crate::message::compress::{Coder, CompressionBudget};
use crate::respond::learned_fallback::Candidate;

/// Less input than this is collected, until the server has nothing more at the moment.
const PIECE_LEN_MIN: usize = 4096;

/// A coder, which counts towards the budget as long as it lives.
#[derive(Debug)]
pub(super) struct CountedCoder {
    coder: Option<Coder>,
    budget: Rc<CompressionBudget>,
}

impl CountedCoder {
    pub(super) fn new(coder: Coder, budget: &Rc<CompressionBudget>) -> Self {
        budget.enter();
        Self {
            coder: Some(coder),
            budget: Rc::clone(budget),
        }
    }
}

impl Drop for CountedCoder {
    fn drop(&mut self) {
        self.budget.leave();
    }
}

/// The body of a response.
#[derive(Debug, Default)]
pub(super) struct ResponseBody {
    reader: BodyReader,
    /// It is sent to the client in chunks.
    in_chunks: bool,
    /// Compresses it.
    coding: Option<Box<CountedCoder>>,
    /// A page that may become the route's learned fallback.
    candidate: Option<Box<Candidate>>,
}

impl ResponseBody {
    pub(super) fn new(
        reader: BodyReader,
        in_chunks: bool,
        coding: Option<Box<CountedCoder>>,
        candidate: Option<Box<Candidate>>,
    ) -> Self {
        Self {
            reader,
            in_chunks,
            coding,
            candidate,
        }
    }

    #[inline]
    pub(super) fn is_coding(&self) -> bool {
        self.coding.is_some()
    }

    /// Whether more is done to it than framing: see [`transform`](Self::transform).
    #[inline]
    pub(super) fn is_transformed(&self) -> bool {
        self.coding.is_some() || self.candidate.is_some()
    }

    #[inline]
    pub(super) fn is_complete(&self) -> bool {
        self.reader.is_complete()
    }

    /// Whether the end of the connection ends it.
    pub(super) fn ends_with_connection(&self) -> bool {
        self.reader.ends_with_connection()
    }

    /// Whether its bytes are sent as they are received.
    #[inline]
    pub(super) fn is_plain(&self) -> bool {
        self.reader.is_plain() && !self.in_chunks
    }

    /// Reads a piece; returns how many bytes belonged to it.
    #[inline]
    pub(super) fn read(
        &mut self,
        bytes: &[u8],
        content: impl FnMut(&[u8]),
    ) -> Result<usize, ExchangeEnd> {
        let taken = self.reader.take(bytes, content);
        taken.map_err(|_: Http1Error| ExchangeEnd::Broken)
    }

    /// Reads a piece, framed for the client into `out`; returns how many bytes belonged to it.
    #[inline]
    pub(super) fn frame(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<usize, ExchangeEnd> {
        if self.in_chunks {
            self.read(bytes, |content| chunk_writer::write(out, content))
        } else {
            self.read(bytes, |content| out.extend_from_slice(content))
        }
    }

    /// Compresses a piece into `out`, or captures one of at most `len_max` bytes in all; returns how many bytes
    /// belonged to it.
    pub(super) fn transform(
        &mut self,
        bytes: &[u8],
        len_max: usize,
        out: &mut Vec<u8>,
        side: &Side<'_>,
    ) -> Result<usize, ExchangeEnd> {
        let (candidate, in_chunks) = (&mut self.candidate, self.in_chunks);
        let mut coder = self
            .coding
            .as_mut()
            .and_then(|coding| coding.coder.as_mut());
        let mut is_good = true;
        let began = side.event_loop.clock.now();
        let taken = self.reader.take(bytes, |content| {
            if let Some(candidate) = candidate {
                candidate.content.extend_from_slice(content);
            }
            match &mut coder {
                Some(coder) => is_good &= coder.feed(content).is_ok(),
                None if in_chunks => chunk_writer::write(out, content),
                None => out.extend_from_slice(content),
            }
        });
        if candidate
            .as_ref()
            .is_some_and(|candidate| candidate.content.len() > len_max)
        {
            *candidate = None;
        }
        if let Some(coder) = coder {
            side.event_loop
                .figures
                .compress_in
                .add(taken.unwrap_or(0) as u64);
            if coder.out().len() >= PIECE_LEN_MIN {
                put(coder.out(), out, in_chunks, side);
            }
            let spent = side.event_loop.clock.now().saturating_sub(began);
            side.event_loop.budget.spend(spent);
        }
        if is_good {
            taken.map_err(|_| ExchangeEnd::Broken)
        } else {
            Err(ExchangeEnd::Broken)
        }
    }

    /// Flushes the coder for the client; whether there was any output.
    pub(super) fn flush(
        &mut self,
        out: &mut Vec<u8>,
        side: &Side<'_>,
    ) -> Result<bool, ExchangeEnd> {
        if !self.in_chunks {
            // The response is being stored: no client needs it early.
            return Ok(false);
        }
        let coding = self.coding.as_mut();
        let Some(coder) = coding
            .and_then(|coding| coding.coder.as_mut())
            .filter(|coder| coder.is_behind())
        else {
            return Ok(false);
        };
        let began = side.event_loop.clock.now();
        coder.flush().map_err(|_| ExchangeEnd::Broken)?;
        put(coder.out(), out, true, side);
        let spent = side.event_loop.clock.now().saturating_sub(began);
        side.event_loop.budget.spend(spent);
        Ok(true)
    }

    /// Its last byte was read: ends the coder. Returns the captured page, if any.
    pub(super) fn finish(
        &mut self,
        out: &mut Vec<u8>,
        side: &Side<'_>,
    ) -> Result<Option<Box<Candidate>>, ExchangeEnd> {
        if let Some(coder) = self
            .coding
            .take()
            .and_then(|mut coding| coding.coder.take())
        {
            let mut rest = coder.finish().map_err(|_| ExchangeEnd::Broken)?;
            put(&mut rest, out, self.in_chunks, side);
        }
        Ok(self.candidate.take())
    }

    /// Ends it for the client, after all of it was put out.
    #[inline]
    pub(super) fn end_framing(&self, out: &mut Vec<u8>) {
        if self.in_chunks {
            out.extend_from_slice(chunk_writer::LAST_CHUNK);
        }
    }
}

/// Emits output of a coder, to a client as a chunk.
fn put(packed: &mut Vec<u8>, out: &mut Vec<u8>, in_chunks: bool, side: &Side<'_>) {
    if !packed.is_empty() {
        side.event_loop
            .figures
            .compress_out
            .add(packed.len() as u64);
        if in_chunks {
            chunk_writer::write(out, packed);
        } else {
            out.extend_from_slice(packed);
        }
        packed.clear();
    }
}
